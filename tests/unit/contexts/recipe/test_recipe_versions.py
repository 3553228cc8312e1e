"""Every version of a recipe stays readable for ever."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.support.examples.recipe import define_recipe, version_capability
from tests.support.rest_client import RestClient, rest_client
from tests.unit.contexts.recipe.test_steps import CLOSING, WORKED, step, wire

pytestmark = pytest.mark.anyio
ONE_STEP: dict[str, Any] = {"kind": "setpoint", "address": "bl:x", "value": 1}


@pytest.fixture
async def rest() -> AsyncGenerator[RestClient]:
    async with rest_client() as client:
        yield client


async def a_recipe_of_three_versions(rest: RestClient) -> str:
    made = await rest.do("define_recipe", await define_recipe(rest.do))
    for tag, count in (("two", 2), ("three", 3)):
        steps = {"steps": [ONE_STEP] * count, "closing_steps": []}
        named = {"recipe_id": made["recipe_id"], "version_tag": tag}
        await rest.do("version_recipe", named | steps)
    return made["recipe_id"]


async def version(rest: RestClient, recipe_id: str, number: object) -> dict[str, Any]:
    named = {"recipe_id": recipe_id, "version_number": str(number)}
    return await rest.do("get_recipe_version", named)


async def test_a_version_that_was_replaced_is_shown_as_it_was(rest: RestClient):
    recipe_id = await a_recipe_of_three_versions(rest)
    shown = await version(rest, recipe_id, 2)
    del shown["defined_at"], shown["capability_id"]
    whole = {**ONE_STEP, "verify": False, "timeout": 30.0, "repeatable": True, "makes_safe": False}
    assert shown == {
        "recipe_id": recipe_id,
        "version_number": 2,
        "version_tag": "two",
        "steps": [whole] * 2,
        "closing_steps": [],
        "current": False,
    }


async def test_only_the_newest_version_is_current(rest: RestClient):
    recipe_id = await a_recipe_of_three_versions(rest)
    shown = [await version(rest, recipe_id, number) for number in (1, 2, 3)]
    assert [each["current"] for each in shown] == [False, False, True]
    assert [each["version_tag"] for each in shown] == [None, "two", "three"]


async def test_versions_stay_readable_after_deprecation(rest: RestClient):
    recipe_id = await a_recipe_of_three_versions(rest)
    before = [await version(rest, recipe_id, number) for number in (1, 2, 3)]
    await rest.do("deprecate_recipe", {"recipe_id": recipe_id})
    assert [await version(rest, recipe_id, number) for number in (1, 2, 3)] == before


async def test_a_version_that_never_was_is_missed(rest: RestClient):
    recipe_id = await a_recipe_of_three_versions(rest)
    await rest.do("deprecate_recipe", {"recipe_id": recipe_id})
    named = {"recipe_id": recipe_id, "version_number": "4"}
    answer = await rest.send("get_recipe_version", named)
    assert (answer.status_code, answer.json()["code"]) == (404, "RecipeVersionNotFoundError")


async def test_what_is_no_number_is_misshapen(rest: RestClient):
    recipe_id = await a_recipe_of_three_versions(rest)
    for odd in ("0", "-1", "two", "1.5"):
        named = {"recipe_id": recipe_id, "version_number": odd}
        assert (await rest.send("get_recipe_version", named)).status_code == 422


async def test_versions_are_listed_newest_first(rest: RestClient):
    recipe_id = await a_recipe_of_three_versions(rest)
    listed = await rest.do("list_recipe_versions", {"recipe_id": recipe_id})
    rows = listed["items"]
    assert [row.pop("defined_at") for row in rows] == [
        (await version(rest, recipe_id, number))["defined_at"] for number in (3, 2, 1)
    ]
    first = await define_recipe(rest.do)
    counts = {"step_count": len(first["steps"]), "closing_step_count": len(first["closing_steps"])}
    assert rows == [
        {"version_number": 3, "version_tag": "three", "step_count": 3, "closing_step_count": 0},
        {"version_number": 2, "version_tag": "two", "step_count": 2, "closing_step_count": 0},
        {"version_number": 1, "version_tag": None, **counts},
    ]


async def test_versions_are_paged(rest: RestClient):
    recipe_id = await a_recipe_of_three_versions(rest)
    asked: dict[str, Any] = {"recipe_id": recipe_id, "limit": "2"}
    page = await rest.do("list_recipe_versions", asked)
    rest_of_it = await rest.do("list_recipe_versions", asked | {"cursor": page["next_cursor"]})
    numbers = [row["version_number"] for row in (*page["items"], *rest_of_it["items"])]
    assert (numbers, rest_of_it["next_cursor"]) == ([3, 2, 1], None)


async def test_the_current_steps_are_shown_with_the_recipe(rest: RestClient):
    recipe_id = await a_recipe_of_three_versions(rest)
    shown = await rest.do("get_recipe", {"recipe_id": recipe_id})
    assert (len(shown["steps"]), shown["version_number"], shown["version_tag"]) == (3, 3, "three")


async def test_steps_are_answered_in_their_shape_on_the_wire(rest: RestClient):
    opened: dict[str, Any] = {**await version_capability(rest.do), "parameters_schema": {}}
    await rest.do("version_capability", opened)
    capability_id = opened["capability_id"]
    told = {"name": "x", "capability_id": capability_id, "steps": WORKED, "closing_steps": CLOSING}
    made = await rest.do("define_recipe", told)
    shown = await rest.do("get_recipe", made)
    assert shown["steps"] == [wire(step(**each)) for each in WORKED]
    assert shown["closing_steps"] == [wire(step(**each)) for each in CLOSING]


async def test_a_misshapen_reference_and_a_reserved_name_are_distinguished(rest: RestClient):
    told = await define_recipe(rest.do)
    for value, status, code in (
        ({"$binding": "energy", "unit": "keV"}, 422, "MalformedRequestError"),
        ({"$unit": "keV"}, 400, "InvalidRecipeStepsError"),
    ):
        action = {"kind": "action", "name": "x", "params": {"p": value}}
        answer = await rest.send("define_recipe", told | {"steps": [action]})
        assert (answer.status_code, answer.json()["code"]) == (status, code)
