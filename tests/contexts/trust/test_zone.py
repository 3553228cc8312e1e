"""Zone: a name, for good."""

from tests.support.spec import NEW, NOW, Scenario, misshapen

from beamkeep.contexts.trust.zone import (
    OPERATIONS,
    DefineZone,
    InvalidZoneNameError,
    Zone,
    ZoneDefined,
    begin,
)

given = Scenario(OPERATIONS)


def test_a_zone_is_defined_with_its_name_trimmed():
    given.when(DefineZone(name=" Hutch ")).then(ZoneDefined(NOW, NEW, "Hutch"))


def test_a_blank_name_is_refused():
    given.when(DefineZone(name=" ")).refused(
        InvalidZoneNameError, saying="Enter at least one visible character."
    )


def test_a_name_has_1_to_200_characters():
    given.when(DefineZone(name="x" * 200)).then(ZoneDefined(NOW, NEW, "x" * 200))
    misshapen(DefineZone, "name", name="x" * 201)
    misshapen(DefineZone, "name", name="")


def test_a_zone_is_what_its_first_event_says():
    assert begin(ZoneDefined(NOW, NEW, "Hutch")) == Zone(NEW, "Hutch")
