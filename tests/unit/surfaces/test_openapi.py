"""The OpenAPI document says what the service does."""

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, cast
from uuid import UUID, uuid4

import httpx2
import jsonschema_rs
import pytest
from tests.support.described import document
from tests.support.examples import CALLERS, REPLIES, WITHOUT_BODY
from tests.support.prepared import Prepared
from tests.support.rest_client import RestClient
from tests.support.rows import selected

from beamkeep import contexts
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.run.run import HoldRun, Run, RunHeld
from beamkeep.kernel import Accepted, Axis, Call, Catalogue, Many, Operation, Question, replace
from beamkeep.surfaces.http.openapi import describe, document_text

pytestmark = pytest.mark.anyio

ROWS = selected([*CATALOGUE.operations, *CATALOGUE.questions])
type Row = Operation | Question


@pytest.fixture
def rest(prepared: Prepared) -> RestClient:
    return prepared.rest


def described(row: Row) -> dict[str, Any]:
    return document()["paths"][row.route.path][row.route.method.lower()]


def resolved(value: dict[str, Any]) -> dict[str, Any]:
    """What a reference stands for."""
    while "$ref" in value:
        found: Any = document()
        for part in value["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        value = found
    return value


@cache
def validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    whole = {**json.loads(schema), "components": document()["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def require_documented(row: Row, answer: httpx2.Response) -> None:
    """Fail unless status, media type, headers and body are as the document says."""
    responses = described(row)["responses"]
    assert str(answer.status_code) in responses, (row.name, answer.status_code)
    response = resolved(responses[str(answer.status_code)])
    if not answer.content:
        # A proposal of the same operation has a body.
        assert "content" not in response or row.name in WITHOUT_BODY
    else:
        schema = response["content"][answer.headers["content-type"]]["schema"]
        validator(json.dumps(schema)).validate(answer.json())
    for name in ("etag", "location", "position-token", "www-authenticate", "retry-after"):
        if name in answer.headers:
            assert name in {header.lower() for header in response["headers"]}


def test_every_operation_and_question_is_described_once_by_its_name():
    found = [
        operation["operationId"]
        for methods in document()["paths"].values()
        for operation in methods.values()
    ]
    assert sorted(found) == sorted(CATALOGUE.named)
    assert document()["openapi"] == "3.1.0"
    assert document()["components"]["securitySchemes"] == {
        "bearer": {"type": "http", "scheme": "bearer"}
    }


def test_the_parameters_are_those_of_the_call(subtests: pytest.Subtests):
    for row in ROWS:
        with subtests.test(row.name):
            parameters = [resolved(parameter) for parameter in described(row)["parameters"]]
            found = {(parameter["in"], parameter["name"]) for parameter in parameters}
            assert len(found) == len(parameters)
            assert {name for where, name in found if where == "path"} == set(row.route.fields)
            model = row.command if isinstance(row, Operation) else row.query
            named = {field.alias or name for name, field in model.model_fields.items()}
            own = named - set(row.route.fields)
            if isinstance(row, Operation):
                body = described(row).get("requestBody")
                sent = body and body["content"]["application/json"]["schema"]["properties"]
                assert set(sent or ()) == own
                assert {name for where, name in found if where == "query"} == {"dry_run"}
                assert {("header", "Idempotency-Key"), ("header", "If-Match")} <= found
            else:
                assert {name for where, name in found if where == "query"} == own
            assert ("header", "X-Surface-Id") in found


def test_every_refusal_of_a_call_is_documented_under_its_status(subtests: pytest.Subtests):
    for row in ROWS:
        with subtests.test(row.name):
            responses = described(row)["responses"]
            for refusal in row.refusals:
                response = resolved(responses[str(refusal.status)])
                assert refusal.__name__ in response["description"]
                schema = response["content"]["application/problem+json"]["schema"]
                assert refusal.__name__ in schema["allOf"][1]["properties"]["code"]["enum"]
            expected = {"400", "401", "403", "414", "422", "429", "431", "500", "503"}
            if isinstance(row, Operation):
                done = "201" if row.genesis else str(REPLIES.get(row.name, 204))
                expected |= {"200", "408", "409", "412", "413", "415", done}
            if row.aggregate.id_field in row.route.fields:
                expected.add("404")
            assert expected <= responses.keys()


class Queued(Accepted):
    work_id: UUID


def test_an_operation_whose_work_is_done_later_answers_202():
    def hold_run(run: Run, command: HoldRun, call: Call) -> list[RunHeld | Queued]:
        """Hold a run later."""
        raise NotImplementedError

    row = next(row for row in CATALOGUE.operations if row.name == "hold_run")
    others = [other for other in CATALOGUE.operations if other is not row]
    catalogue = Catalogue([*others, replace(row, rule=hold_run)], CATALOGUE.questions)
    responses = describe(catalogue)["paths"][row.route.path]["post"]["responses"]
    assert {"200", "202"} == {status for status in responses if status < "300"}
    accepted, proposed = responses["202"]["content"]["application/json"]["schema"]["anyOf"]
    assert proposed == {"$ref": "#/components/schemas/Proposed"}
    assert accepted["required"] == ["work_id"]
    assert "ETag" in responses["202"]["headers"]


def schemas_in(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if isinstance(members.get("schema"), dict):
            yield members["schema"]
        for each in members.values():
            yield from schemas_in(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from schemas_in(each)


def test_every_schema_is_a_schema_and_every_reference_leads_somewhere():
    schemas = [*schemas_in(document()), *document()["components"]["schemas"].values()]
    assert len(schemas) > len(CATALOGUE.named)
    for schema in schemas:
        assert jsonschema_rs.meta.is_valid({**schema, "$schema": SCHEMA_DIALECT})
    for where in set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document()))):
        assert resolved({"$ref": where})


SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def test_nothing_is_defined_that_nothing_refers_to():
    used = set(re.findall(r'"\$ref": "#/components/([^"]+)"', json.dumps(document())))
    parts = document()["components"]
    defined = {f"{kind}/{name}" for kind in parts for name in parts[kind]}
    assert defined - {"securitySchemes/bearer"} == used


def test_the_text_is_the_same_every_time():
    text = document_text(CATALOGUE)
    assert text == document_text.__wrapped__(CATALOGUE)
    assert text.endswith("}\n")
    assert json.loads(text) == document()


async def test_what_is_answered_has_the_documented_shape(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in ROWS:
        with subtests.test(row.name):
            for answer in await every_answer(row, prepared, rest):
                require_documented(row, answer)


async def every_answer(row: Row, prepared: Prepared, rest: RestClient) -> list[httpx2.Response]:
    """Return an answer of each kind that a call can get."""
    answers: list[httpx2.Response] = []
    arguments = await prepared.example(row.name)
    if isinstance(row, Operation):
        answers.append(await rest.send(row.name, arguments, params={"dry_run": "true"}))
        assert answers[0].status_code == 200
    caller = CALLERS.get(row.name, "ada")
    answers += [await rest.send(row.name, arguments, token) for token in (caller, "bob", "x", None)]
    assert answers[-4].is_success
    answers.append(await rest.send(row.name, arguments | {"odd": "1"}))
    answers.append(await rest.send(row.name, arguments, x_surface_id="nowhere"))
    if row.route.fields:
        arguments |= {field: str(uuid4()) for field in row.route.fields}
        answers.append(await rest.send(row.name, arguments))
    return answers


async def test_a_list_that_shows_something_has_the_documented_shape(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in selected(CATALOGUE.questions):
        if isinstance(row.source, Many):
            with subtests.test(row.name):
                get = f"get_{row.aggregate.noun}"
                await rest.do(get, await prepared.example(get))
                answer = await rest.send(row.name, {})
                assert answer.json()["items"]
                require_documented(row, answer)


async def test_the_denials_of_a_conduit_have_the_documented_shape(rest: RestClient):
    await rest.send("list_zones", {}, token="bob")
    answer = await rest.send(
        "list_conduit_denials", {"conduit_id": "00000000-0000-7000-8000-000000000020"}
    )
    assert answer.json()["items"]
    row = CATALOGUE.named["list_conduit_denials"]
    require_documented(row, answer)


async def test_the_document_is_served(rest: RestClient):
    assert (await rest.http.get("/openapi.json")).text == document_text(CATALOGUE)


def axes_of_modules() -> dict[int, Axis[Any, Any]]:
    """Every axis that some module of the contexts has, by identity."""
    names = [m.name for m in walk_packages(contexts.__path__, f"{contexts.__name__}.")]
    values = [value for name in names for value in vars(import_module(name)).values()]
    found = [cast("Axis[Any, Any]", value) for value in values if isinstance(value, Axis)]
    return {id(axis): axis for axis in found}


def test_every_axis_is_declared_by_the_aggregate_of_its_events():
    declared = {
        id(axis): aggregate.name
        for aggregate in CATALOGUE.aggregates.values()
        for axis in aggregate.axes
    }
    expected = {
        key: CATALOGUE.streams[next(iter(axis.moves))].name
        for key, axis in axes_of_modules().items()
    }
    assert declared == expected


ELSEWHERE = {("Distribution", "status", "DistributionVerified")}
"""Moves that only an operation on another aggregate makes: here `record_attestation`."""


def test_every_move_of_an_axis_belongs_to_an_operation():
    offered = {
        (extension["aggregate"], move["axis"], move["event"])
        for row in CATALOGUE.operations
        if (extension := described(row)["x-beamkeep"])
        for move in extension["moves"]
    }
    assert offered | ELSEWHERE == {
        (aggregate.name, axis.name, event.__name__)
        for aggregate in CATALOGUE.aggregates.values()
        for axis in aggregate.axes
        for event in axis.moves
    }


EXTENSIONS: dict[str, dict[str, Any]] = {
    "start_run": {
        "title": "Start a run",
        "command_line": "run start",
        "aggregate": "Run",
        "kind": "create",
        "destructive": False,
        "moves": [],
    },
    "hold_run": {
        "title": "Hold a run",
        "command_line": "run hold",
        "aggregate": "Run",
        "kind": "change",
        "destructive": False,
        "moves": [
            {
                "axis": "status",
                "from": ["Running"],
                "to": "Held",
                "terminal": False,
                "event": "RunHeld",
            }
        ],
    },
    "abort_run": {
        "title": "Abort a run",
        "command_line": "run abort",
        "aggregate": "Run",
        "kind": "change",
        "destructive": True,
        "moves": [
            {
                "axis": "status",
                "from": ["Held", "Running"],
                "to": "Aborted",
                "terminal": True,
                "event": "RunAborted",
            }
        ],
    },
    "deactivate_actor": {
        "title": "Deactivate an actor",
        "command_line": "actor deactivate",
        "aggregate": "Actor",
        "kind": "change",
        "destructive": True,
        "moves": [
            {
                "axis": "active",
                "from": ["true"],
                "to": "false",
                "terminal": True,
                "event": "ActorDeactivated",
            }
        ],
    },
    "get_run": {
        "title": "Show a run",
        "command_line": "run get",
        "aggregate": "Run",
        "kind": "get",
    },
    "get_run_history": {
        "title": "Show the history of a run",
        "command_line": "run history",
        "aggregate": "Run",
        "kind": "history",
    },
    "list_runs": {
        "title": "List runs",
        "command_line": "run list",
        "aggregate": "Run",
        "kind": "list",
    },
    "list_run_observations": {
        "title": "List run observations",
        "command_line": "run observations",
        "aggregate": "Run",
        "kind": "list",
    },
    "get_plan_readiness": {
        "title": "Show whether a run of a plan can start",
        "command_line": "plan readiness",
        "aggregate": "Plan",
        "kind": "answer",
        "composed_of": [
            *("Asset", "Calibration", "Capability", "Caution", "Clearance", "Enclosure"),
            *("Facility", "Family", "Method", "Mount", "Practice", "Procedure", "Run", "Subject"),
            "Supply",
        ],
    },
}


@pytest.mark.parametrize(("name", "extension"), EXTENSIONS.items())
def test_the_document_tells_what_an_operation_does_to_its_object(
    name: str, extension: dict[str, Any]
):
    assert described(CATALOGUE.named[name])["x-beamkeep"] == extension
