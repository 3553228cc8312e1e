"""Conduit: from one zone to another."""

from uuid import UUID

from beamkeep.contexts.trust.conduit import (
    OPERATIONS,
    Conduit,
    ConduitDefined,
    DefineConduit,
    InvalidConduitZonesError,
    begin,
)
from beamkeep.contexts.trust.zone import ZoneDefined, ZoneNotFoundError
from beamkeep.testing.past import ABSENT, NEW, NOW
from beamkeep.testing.scenario import Scenario

A, B = UUID(int=10), UUID(int=11)

given = Scenario(OPERATIONS, [ZoneDefined(NOW, A, "A"), ZoneDefined(NOW, B, "B")])


def define(source: UUID = A, target: UUID = B) -> DefineConduit:
    return DefineConduit(name="Entry", source_zone_id=source, target_zone_id=target)


def test_a_conduit_is_defined():
    given.when(define()).then(ConduitDefined(NOW, NEW, "Entry", A, B))


def test_both_zones_must_exist():
    given.when(define(source=ABSENT)).refused(ZoneNotFoundError)
    given.when(define(target=ABSENT)).refused(ZoneNotFoundError)


def test_a_conduit_does_not_lead_back_to_its_own_zone():
    given.when(define(target=A)).refused(InvalidConduitZonesError)


def test_a_conduit_is_what_its_first_event_says():
    assert begin(ConduitDefined(NOW, NEW, "Entry", A, B)) == Conduit(NEW, "Entry", A, B)
