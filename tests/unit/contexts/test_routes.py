"""Routes: the longest prefix decides, and what is not opened is not written."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamkeep.contexts.operation.routing import step_findings
from beamkeep.contexts.recipe.steps import RecipeSetpointStep
from beamkeep.contexts.seams.routes import (
    AddressBounds,
    ControlRoute,
    Substrate,
    address_findings,
    route_of,
    table_findings,
    value_findings,
    write_findings,
)
from beamkeep.kernel import replace
from beamkeep.schemas import Json

CA, TANGO = Substrate.EPICS_CA, Substrate.TANGO
ASSET = UUID(int=1)
BOUNDS = AddressBounds("bl:mono:energy", 5.0, 30.0)
ROUTES = (
    ControlRoute("bl:", CA),
    ControlRoute("bl:mono:", CA, writable=True, inline=True, asset_id=ASSET, bounds=(BOUNDS,)),
    ControlRoute("bl:mono:limit", CA, writable=True, asset_id=ASSET),
    ControlRoute("bl:mono:offset.", CA, writable=True, inline=True, asset_id=ASSET),
    ControlRoute("bl:mono:permit", CA),
    ControlRoute("id/", TANGO, writable=True, simulated=True, inline=True),
)
NOT_ROUTED, NOT_WRITABLE = "ControlAddressNotRoutedError", "ControlAddressNotWritableError"


def test_the_longest_prefix_wins():
    assert route_of(ROUTES, "bl:mono:energy") is ROUTES[1]
    assert route_of(ROUTES, "bl:mono:permit:a") is ROUTES[4]
    assert route_of(ROUTES, "bl:slit") is ROUTES[0]
    assert route_of(ROUTES, "xl:slit") is None


# What is found for a setpoint of a recipe, and for an inline one.
WRITTEN: list[tuple[str, list[str], list[str]]] = [
    ("bl:mono:energy", [], []),
    ("bl:mono:limit", [], [NOT_WRITABLE]),
    ("bl:mono:permit", [NOT_WRITABLE], [NOT_WRITABLE]),
    ("bl:slit", [NOT_WRITABLE], [NOT_WRITABLE]),
    ("xl:slit", [NOT_ROUTED], [NOT_ROUTED]),
    ("BL:mono:energy", [NOT_ROUTED], [NOT_ROUTED]),
    ("bl:mono:energy.DRVH", [NOT_WRITABLE], [NOT_WRITABLE]),
    ("bl:mono:offset.OFF", [], []),
    ("bl:mono:energy.VAL", [NOT_ROUTED, NOT_WRITABLE], [NOT_ROUTED, NOT_WRITABLE]),
    ("bl:mono:offset.VAL", [NOT_ROUTED], [NOT_ROUTED]),
    ("bl:mono:offset.", [NOT_ROUTED], [NOT_ROUTED]),
    ("bl:mono:energy{}", [NOT_ROUTED], [NOT_ROUTED]),
    ("bl:mono:energy$", [NOT_ROUTED], [NOT_ROUTED]),
    ("bl:mono:energy[0:0]", [NOT_ROUTED], [NOT_ROUTED]),
    ("bl:mono:energy.VAL[0:0]", [NOT_ROUTED, NOT_WRITABLE], [NOT_ROUTED, NOT_WRITABLE]),
    ("bl:mono:offset.VAL[0:0]", [NOT_ROUTED], [NOT_ROUTED]),
    ('bl:mono:offset.VAL{"arr":{}}', [NOT_ROUTED], [NOT_ROUTED]),
    ("bl:mono:energy ", [NOT_ROUTED], [NOT_ROUTED]),
    ("bl:mono:energy\n", [NOT_ROUTED], [NOT_ROUTED]),
    ("id/motor/1/position", [], []),
    ("id/motor/1/Position", [NOT_ROUTED], [NOT_ROUTED]),
    ("id/motor/1", [NOT_ROUTED], [NOT_ROUTED]),
    ("id/motor/1/position/x", [NOT_ROUTED], [NOT_ROUTED]),
    ("id//1/position", [NOT_ROUTED], [NOT_ROUTED]),
    ("tango://host:1/id/motor/1/position", [NOT_ROUTED], [NOT_ROUTED]),
]


@pytest.mark.parametrize(("address", "of_recipe", "inline"), WRITTEN)
def test_an_address_is_written_only_where_a_route_opens_it(
    address: str, of_recipe: list[str], inline: list[str]
):
    found = [each.error_class for each in write_findings(ROUTES, address, inline=False)]
    assert found == of_recipe
    found = [each.error_class for each in write_findings(ROUTES, address, inline=True)]
    assert found == inline


def test_an_address_that_cannot_be_written_can_be_read():
    assert [*address_findings(ROUTES, "bl:mono:energy.RBV")] == []


VALUES: list[tuple[Json, bool]] = [
    (5, True),
    (30.0, True),
    (4.999, False),
    (30.001, False),
    (float("nan"), False),
    (float("inf"), False),
    (10**400, False),
    (True, False),
    ("12", False),
    (None, False),
    ([6, 7.0], True),
    ([6, 31], False),
    ([6, "7"], False),
    ([6, True], False),
    ([[6]], False),
    ([], False),
]


@pytest.mark.parametrize(("value", "fits"), VALUES)
def test_an_address_with_bounds_takes_finite_numbers_inside_them(value: Json, fits: bool):
    found = [each.error_class for each in value_findings(ROUTES, BOUNDS.address, value)]
    assert found == ([] if fits else ["ControlLimitExceededError"])


def test_an_address_without_bounds_takes_any_value():
    assert [*value_findings(ROUTES, "bl:mono:mode", "fast")] == []


def test_a_value_that_is_not_resolved_yet_is_not_judged():
    step = RecipeSetpointStep(BOUNDS.address, {"$capture": "home"})
    assert [*step_findings(ROUTES, step, inline=False)] == []
    assert [*step_findings(ROUTES, replace(step, value=31.0), inline=False)] != []


PIECES = st.sampled_from(
    ["bl:", "mono:", "energy", "limit", "offset", ".", "VAL", "DRVH", "{", "$", "[0:0]"]
)
ADDRESSES = st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=20)
SCALARS = st.floats() | st.integers() | st.booleans() | st.text(max_size=3) | st.none()


@given(ADDRESSES, SCALARS | st.lists(SCALARS, max_size=3), st.booleans())
def test_nothing_gets_through_that_no_route_opens(address: str, value: Json, inline: bool):
    step = RecipeSetpointStep(address, value)
    if [*step_findings(ROUTES, step, inline=inline)]:
        return
    fitting = [each for each in ROUTES if address.startswith(each.prefix)]
    longest = max(fitting, key=lambda each: len(each.prefix))
    assert longest.writable
    assert longest.inline or not inline
    assert not address.endswith(".VAL")
    assert "[" not in address
    if address == BOUNDS.address:
        items = value if isinstance(value, list) else [value]
        assert items
        for each in items:
            assert type(each) in (int, float)
            assert isinstance(each, int | float)
            assert BOUNDS.minimum <= each <= BOUNDS.maximum


FAULTY = [
    ((ControlRoute("bl:", CA), ControlRoute("BL:", CA)), "differ in case only"),
    ((ControlRoute("bl:", CA), ControlRoute("bl:", TANGO)), "two routes"),
    ((ControlRoute("bl:", CA, writable=True),), "name the asset"),
    ((replace(ROUTES[1], bounds=(replace(BOUNDS, minimum=31.0),)),), "empty"),
    ((replace(ROUTES[1], bounds=(replace(BOUNDS, minimum=float("nan")),)),), "empty"),
    ((*ROUTES[:1], replace(ROUTES[5], bounds=(BOUNDS,))), "another route"),
]


@pytest.mark.parametrize(("routes", "fault"), FAULTY)
def test_a_faulty_table_says_what_is_wrong(routes: tuple[ControlRoute, ...], fault: str):
    (found,) = table_findings(routes)
    assert fault in found


def test_a_sound_table_has_no_fault():
    assert [*table_findings(ROUTES)] == []
    assert [
        *table_findings((ControlRoute("bl:", CA), ControlRoute("BL:", Substrate.EPICS_PVA)))
    ] == []
