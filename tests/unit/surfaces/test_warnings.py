"""What a call warns of: accepted, answered with advice, the same on every surface."""

import json
from typing import Any

import jsonschema_rs
import pytest
from tests.support.described import document
from tests.support.examples.equipment import LINEAR_STAGE, version_family
from tests.support.prepared import Prepared
from tests.support.rest_client import RestClient
from tests.support.rows import selected

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation

pytestmark = pytest.mark.anyio

CARELESS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"gap_mm": {}},
}
WARNINGS = [
    {"path": "$", "rule": "close every object level"},
    {"path": "$.properties.gap_mm", "rule": "keep units out of names"},
]
CARELESS_STAGE = LINEAR_STAGE | {"settings_schema": CARELESS}
DECLARERS = "family", "capability", "method"
DECLARING = {f"{verb}_{each}" for verb in ("define", "version") for each in DECLARERS}
WARNING = {*DECLARING, "amend_clearance"}


@pytest.fixture
def rest(prepared: Prepared) -> RestClient:
    return prepared.rest


async def careless_version(rest: RestClient) -> dict[str, Any]:
    return await version_family(rest.do) | {"settings_schema": CARELESS}


async def test_a_creation_answers_its_warnings_with_the_id(rest: RestClient):
    answer = await rest.send("define_family", CARELESS_STAGE)
    assert answer.status_code == 201
    family_id = answer.headers["location"].rpartition("/")[2]
    assert answer.json() == {"family_id": family_id, "warnings": WARNINGS}
    shown = await rest.do("get_family", {"family_id": family_id})
    assert shown["settings_schema"] == CARELESS


async def test_a_change_answers_its_warnings_with_200(rest: RestClient):
    arguments = await careless_version(rest)
    answer = await rest.send("version_family", arguments)
    assert (answer.status_code, answer.json()) == (200, {"warnings": WARNINGS})
    assert answer.headers["etag"] == '"2"'
    assert answer.headers["position-token"] == str(rest.store.position)


async def test_nothing_to_warn_of_is_answered_with_nothing(rest: RestClient):
    answer = await rest.do("define_family", LINEAR_STAGE)
    assert answer.keys() == {"family_id"}
    changed = await rest.send("version_family", await version_family(rest.do))
    assert (changed.status_code, changed.content) == (204, b"")
    rehearsed = await rest.do("define_family", LINEAR_STAGE, params={"dry_run": "true"})
    assert rehearsed.keys() == {"events"}


async def test_a_dry_run_warns_too(rest: RestClient):
    for name, arguments in (
        ("define_family", CARELESS_STAGE),
        ("version_family", await careless_version(rest)),
    ):
        answer = await rest.do(name, arguments, params={"dry_run": "true"})
        assert answer.keys() == {"events", "warnings"}
        assert len(answer["events"]) == 1
        assert answer["warnings"] == WARNINGS


async def test_warnings_are_answered_again_with_the_same_key(rest: RestClient):
    for name, arguments in (
        ("define_family", CARELESS_STAGE),
        ("version_family", await careless_version(rest)),
    ):
        first = await rest.send(name, arguments, idempotency_key=name)
        again = await rest.send(name, arguments, idempotency_key=name)
        assert again.headers["idempotency-replayed"] == "true"
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.json()["warnings"] == WARNINGS


def documented(row: Operation, status: str) -> dict[str, Any]:
    responses = document()["paths"][row.route.path]["post"]["responses"]
    return responses[status]["content"]["application/json"]["schema"]


async def test_an_answer_with_warnings_has_the_documented_shape(rest: RestClient):
    dry = {"dry_run": "true"}
    for name, arguments, params, status in (
        ("define_family", CARELESS_STAGE, None, "201"),
        ("define_family", CARELESS_STAGE, dry, "200"),
        ("version_family", await careless_version(rest), dry, "200"),
        ("version_family", await careless_version(rest), None, "200"),
    ):
        row = CATALOGUE.named[name]
        assert isinstance(row, Operation)
        answer = await rest.send(name, arguments, params=params)
        assert str(answer.status_code) == status
        whole = {**documented(row, status), "components": document()["components"]}
        jsonschema_rs.Draft202012Validator(whole).validate(answer.json())


def test_only_what_can_warn_is_documented_to(subtests: pytest.Subtests):
    for row in selected(CATALOGUE.operations):
        with subtests.test(row.name):
            shape = documented(row, "200")
            told = {choice["$ref"] for choice in shape.get("anyOf", [shape]) if "$ref" in choice}
            assert told == {f"#/components/schemas/{'Warned' if row.name in WARNING else 'DryRun'}"}
            if row.genesis:
                assert ("warnings" in json.dumps(documented(row, "201"))) == (row.name in WARNING)
