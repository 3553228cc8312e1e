"""Monitors: enclosures and supplies hear only the accounts that an administrator bound to them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from beamkeep.contexts.access import profile
from beamkeep.contexts.access.actor import (
    ActorDeactivated,
    ActorIdentityBound,
    ActorIdentityConfirmed,
    ActorNotFoundError,
    ActorRegistered,
    AdministratorRequiredError,
)
from beamkeep.contexts.enclosure import enclosure
from beamkeep.contexts.supply import supply
from beamkeep.contexts.supply.supply import SupplyStatus
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.grants import POLICY_GRANTS, GrantRequiresConfirmedLoginError
from beamkeep.contexts.trust.monitors import MOST_MONITORS, MonitorTriggerNotBoundError
from beamkeep.contexts.trust.policy import PolicyDefined, begin, grants_of
from beamkeep.contexts.trust.trigger import MonitorTriggerRequiredError, TriggerSource
from beamkeep.kernel import (
    ActorKind,
    Cannot,
    Command,
    Event,
    ObjectScope,
    Operation,
    SideWrite,
    SurfaceKind,
    replace,
)
from beamkeep.testing.past import ABSENT, CALL, ME, NOW
from beamkeep.testing.scenario import Scenario

ID, GATE, EVE = UUID(int=1), UUID(int=50), UUID(int=51)
HTTP = seeded.SURFACES[SurfaceKind.HTTP]
gate = ActorRegistered(NOW, GATE, ActorKind.SERVICE_ACCOUNT)
weak = ActorIdentityBound(NOW, GATE, "https://idp", "d", bound_by=EVE, confirmed=False)
MACHINE = replace(CALL, principal_id=GATE, principal_kind=ActorKind.SERVICE_ACCOUNT)


class Observed(NamedTuple):
    """What is reported on, and how accounts are bound to it."""

    operations: Sequence[Operation]
    registered: Event
    ended: Event
    report: Command
    bound: Callable[[UUID], Event]
    unbound: Callable[[UUID], Event]
    bind: Callable[[UUID], Command]
    unbind: Callable[[UUID], Command]
    cannot_bind: type[Cannot]
    cannot_unbind: type[Cannot]


def about(kind: Any, **of: UUID) -> Callable[[UUID], Any]:
    return lambda account_id: kind(**of, monitor_id=account_id)


def event(kind: Any) -> Callable[[UUID], Any]:
    return lambda account_id: kind(NOW, ID, account_id)


HUTCH = Observed(
    operations=enclosure.OPERATIONS,
    registered=enclosure.EnclosureRegistered(NOW, ID, "Hutch", "site"),
    ended=enclosure.EnclosureDecommissioned(NOW, ID, "rebuilt"),
    report=enclosure.ObserveEnclosureStatus(
        enclosure_id=ID,
        permit_status=enclosure.PermitStatus.PERMITTED,
        reason="searched",
        monitor_ref="pss",
    ),
    bound=event(enclosure.EnclosureMonitorBound),
    unbound=event(enclosure.EnclosureMonitorUnbound),
    bind=about(enclosure.BindEnclosureMonitor, enclosure_id=ID),
    unbind=about(enclosure.UnbindEnclosureMonitor, enclosure_id=ID),
    cannot_bind=enclosure.EnclosureCannotBindMonitorError,
    cannot_unbind=enclosure.EnclosureCannotUnbindMonitorError,
)
BEAM = Observed(
    operations=supply.OPERATIONS,
    registered=supply.SupplyRegistered(NOW, ID, "photon_beam", "Beam", "site", None),
    ended=supply.SupplyDeregistered(
        *(NOW, ID, SupplyStatus.UNKNOWN, TriggerSource.OPERATOR, None), reason="typed twice"
    ),
    report=supply.ObserveSupplyStatus(
        supply_id=ID, status=SupplyStatus.UNAVAILABLE, reason="dump", monitor_ref="SR:DCCT"
    ),
    bound=event(supply.SupplyMonitorBound),
    unbound=event(supply.SupplyMonitorUnbound),
    bind=about(supply.BindSupplyMonitor, supply_id=ID),
    unbind=about(supply.UnbindSupplyMonitor, supply_id=ID),
    cannot_bind=supply.SupplyCannotBindMonitorError,
    cannot_unbind=supply.SupplyCannotUnbindMonitorError,
)
BOTH = (HUTCH, BEAM)


def everything(scope: ObjectScope = ObjectScope.ALL) -> list[Event | SideWrite]:
    defined = PolicyDefined(NOW, UUID(int=7), "All", seeded.ENTRY, HTTP, (ME,), ("*",), scope)
    return [defined, *map(POLICY_GRANTS.insert, grants_of(begin(defined)))]


def given(of: Observed, *history: Event | SideWrite) -> Scenario:
    return Scenario(of.operations, (of.registered, *history))


def test_an_account_reports_once_it_is_bound_and_no_longer_once_it_is_unbound():
    for of in BOTH:
        told = given(of).when(of.report, call=MACHINE).refused(MonitorTriggerNotBoundError)
        assert f"account {GATE}" in str(told)
        assert "_monitor" in str(told)
        assert given(of, of.bound(GATE)).when(of.report, call=MACHINE).decided()
        other = given(of, of.bound(EVE)).when(of.report, call=MACHINE)
        other.refused(MonitorTriggerNotBoundError)
        gone = given(of, of.bound(GATE), of.unbound(GATE)).when(of.report, call=MACHINE)
        gone.refused(MonitorTriggerNotBoundError)


def test_the_workers_of_the_service_report_without_being_bound():
    for of in BOTH:
        worker = replace(MACHINE, principal_id=profile.MONITOR)
        assert given(of).when(of.report, call=worker).decided()


def test_no_person_and_no_agent_reports_even_if_bound():
    for of in BOTH:
        for kind in (ActorKind.HUMAN, ActorKind.AGENT):
            call = replace(MACHINE, principal_kind=kind)
            given(of, of.bound(GATE)).when(of.report, call=call).refused(
                MonitorTriggerRequiredError
            )


def test_an_administrator_binds_an_account():
    for of in BOTH:
        given(of, gate, *everything()).when(of.bind(GATE)).then(of.bound(GATE))


def test_nobody_else_binds_an_account():
    for of in BOTH:
        given(of, gate).when(of.bind(GATE)).refused(AdministratorRequiredError)
        own = given(of, gate, *everything(ObjectScope.OWN)).when(of.bind(GATE))
        own.refused(AdministratorRequiredError)
        for kind in (ActorKind.SERVICE_ACCOUNT, ActorKind.AGENT):
            call = replace(CALL, principal_kind=kind)
            given(of, gate, *everything()).when(of.bind(GATE), call=call).refused(
                AdministratorRequiredError
            )


def test_an_account_whose_login_is_not_confirmed_is_not_bound():
    confirmed = ActorIdentityConfirmed(NOW, GATE, "https://idp", "d")
    for of in BOTH:
        refused = given(of, gate, weak, *everything()).when(of.bind(GATE))
        told = refused.refused(GrantRequiresConfirmedLoginError, saying=f"actor {EVE}")
        assert told.facts["subject_digest"] == "d"
        assert given(of, gate, weak, confirmed, *everything()).when(of.bind(GATE)).decided()


@pytest.mark.parametrize(
    ("history", "saying"),
    [
        ([ActorRegistered(NOW, GATE, ActorKind.HUMAN)], "of kind human"),
        ([ActorRegistered(NOW, GATE, ActorKind.AGENT)], "of kind agent"),
        ([gate, ActorDeactivated(NOW, GATE)], "not active"),
    ],
)
def test_only_an_active_service_account_is_bound(history: list[Event], saying: str):
    for of in BOTH:
        given(of, *history, *everything()).when(of.bind(GATE)).refused(of.cannot_bind, saying)


def test_an_account_is_bound_once_and_ten_are_enough():
    for of in BOTH:
        again = given(of, gate, of.bound(GATE), *everything()).when(of.bind(GATE))
        again.refused(of.cannot_bind, saying="bound already")
        ten = [of.bound(UUID(int=1000 + n)) for n in range(MOST_MONITORS)]
        given(of, gate, *ten, *everything()).when(of.bind(GATE)).refused(
            of.cannot_bind, saying="There are 10 monitors"
        )
        assert given(of, gate, *ten[:9], *everything()).when(of.bind(GATE)).decided()


def test_nothing_is_bound_to_what_has_ended_or_of_what_does_not_exist():
    for of in BOTH:
        given(of, gate, of.ended, *everything()).when(of.bind(GATE)).refused(
            of.cannot_bind, saying="Decommissioned"
        )
        given(of, *everything()).when(of.bind(ABSENT)).refused(ActorNotFoundError)


def test_every_permitted_caller_unbinds_an_account_that_is_bound():
    for of in BOTH:
        given(of, of.bound(GATE)).when(of.unbind(GATE)).then(of.unbound(GATE))
        given(of, of.bound(EVE)).when(of.unbind(GATE)).refused(of.cannot_unbind)
        given(of, of.bound(GATE), of.ended).when(of.unbind(GATE)).then(of.unbound(GATE))
