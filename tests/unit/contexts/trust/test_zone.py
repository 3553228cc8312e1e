"""Zone: a name, for good."""

from beamkeep.contexts.trust.zone import OPERATIONS, DefineZone, Zone, ZoneDefined, begin
from beamkeep.testing.past import NEW, NOW
from beamkeep.testing.scenario import Scenario

given = Scenario(OPERATIONS)


def test_a_zone_is_defined_by_its_name():
    given.when(DefineZone(name="Hutch")).then(ZoneDefined(NOW, NEW, "Hutch"))


def test_a_zone_is_what_its_first_event_says():
    assert begin(ZoneDefined(NOW, NEW, "Hutch")) == Zone(NEW, "Hutch")
