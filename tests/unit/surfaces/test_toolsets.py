"""Agents: every answer fits its schema, and words find what is not listed."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.support.examples import CALLERS, EXAMPLES
from tests.support.prepared import Prepared
from tests.support.rest_client import RestClient
from tests.support.rows import selected

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation, Question
from beamkeep.surfaces.tools.compact import compact
from beamkeep.surfaces.tools.finding import operation_index
from beamkeep.surfaces.tools.listing import tools
from beamkeep.surfaces.tools.selection import CALL_OPERATION, EVERYDAY, FIND_OPERATION, HTTP_ONLY
from beamkeep.testing.calling import Mcp, SurfaceAnswer
from beamkeep_client.shared.words import GLOSSARY

pytestmark = pytest.mark.anyio

TOOLS = tools(CATALOGUE)
PAGE = (Path(__file__).parents[3] / "docs/how-to/connect-an-agent.md").read_text()
INDEX = operation_index(CATALOGUE)


@pytest.fixture
def rest(prepared: Prepared) -> RestClient:
    return prepared.rest


OTHERS_FORMS = frozenset({"export_dataset_datacite", "get_edition_manifest"})
"""Answers in a form of others, whose schemas and validators other tests ask."""


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        TOOLS[name].output_schema or {}, validate_formats=True
    )


async def tool(rest: RestClient, name: str, arguments: Any, **options: Any) -> SurfaceAnswer:
    return await Mcp(rest.http).send(CALLERS.get(name, "ada"), name, arguments, **options)


async def test_every_answer_fits_the_schema_of_its_tool(
    prepared: Prepared, subtests: pytest.Subtests
):
    for row in selected(CATALOGUE.named.values()):
        if row.name not in HTTP_ONLY:
            with subtests.test(row.name):
                arguments = await prepared.example(row.name)
                await require_fitting_answers(row, arguments, prepared.rest)


async def require_fitting_answers(
    row: Operation | Question, arguments: dict[str, Any], rest: RestClient
) -> None:
    """Fail unless a rehearsal and the call itself are answered as the schema says."""
    if isinstance(row, Operation):
        planned = await tool(rest, row.name, arguments, dry_run=True)
        assert planned.ok, planned.body
        validator(row.name).validate(planned.body)
    answer = await tool(rest, row.name, arguments)
    assert answer.ok, answer.body
    validator(row.name).validate(answer.body or {})
    if row.name not in OTHERS_FORMS:
        with pytest.raises(jsonschema_rs.ValidationError):
            validator(row.name).validate({**(answer.body or {}), "another": 1})


SAID: dict[str, str] = {
    "pause the scan": "hold_run",
    "continue the paused scan": "resume_run",
    "begin a scan": "start_run",
    "finish the run": "complete_run",
    "emergency: kill the run": "abort_run",
    "stop the run early, data are good": "stop_run",
    "tune a parameter of the running scan": "adjust_run",
    "write a note about the run": "append_run_logbook_entry",
    "read the notes of a run": "list_run_logbook_entries",
    "is the plan ready": "get_plan_readiness",
    "what happened in the last shift": "get_shift_handover",
    "which hutches are open": "list_enclosures",
    "new hutch": "register_enclosure",
    "is the beam there": "list_supplies",
    "the beam is lost": "mark_supply_unavailable",
    "beam is recovering": "mark_supply_recovering",
    "restore the water": "restore_supply",
    "register a utility": "register_supply",
    "mount the sample": "mount_subject",
    "dismount the sample": "dismount_subject",
    "a new sample arrived": "register_subject",
    "throw away the specimen: discard": "discard_subject",
    "list samples": "list_subjects",
    "the detector is broken": "fault_asset",
    "put the motor into maintenance": "enter_asset_maintenance",
    "device is out of maintenance": "exit_asset_maintenance",
    "move a device to another parent": "relocate_asset",
    "rename equipment": "rename_asset",
    "change the settings of a device": "update_asset_settings",
    "serial number of a device": "add_asset_alternate_identifier",
    "history of an instrument": "get_asset_history",
    "install a device in a slot": "install_asset",
    "take a device out of its slot: uninstall": "uninstall_asset",
    "warnings about equipment": "list_cautions",
    "add a warning": "register_caution",
    "retire a warning": "retire_caution",
    "create a safety form": "register_clearance",
    "approve the safety form": "approve_clearance",
    "submit clearance for review": "submit_clearance",
    "new user account": "register_actor",
    "bind a login to a person": "bind_actor_identity",
    "give permission to a user: add a grant": "add_grant",
    "withdraw a permission grant": "revoke_grant",
    "why was a call denied": "list_conduit_denials",
    "visitor arrived for beamtime": "record_visit_arrival",
    "begin an experiment campaign": "start_campaign",
    "add the scan to the campaign": "add_run_to_campaign",
    "new calibration revision": "append_calibration_revision",
    "conduct the procedure": "conduct_procedure",
    "optimise by an advisor": "conduct_until_advised",
    "audit all events": "list_events",
}
"""What an agent says, and the operation that it means."""


def test_the_agent_wants_fifty_operations():
    assert len(set(SAID.values())) >= 50


async def test_an_agent_finds_an_operation_by_words_and_calls_it(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for words, name in SAID.items():
        with subtests.test(words):
            made = await prepared.example(name)
            found = (await tool(rest, "find_operation", {"words": words})).body["operations"]
            (definition,) = [each for each in found if each["name"] == name]
            example = json.loads(json.dumps(made, default=str))
            # Examples of questions are written as in an address.
            arguments = {n: {"true": True}.get(str(value), value) for n, value in example.items()}
            jsonschema_rs.Draft202012Validator(definition["inputSchema"]).validate(arguments)
            answer = await tool(rest, "call_operation", {"name": name, "arguments": arguments})
            assert answer.ok, answer.body
            output = jsonschema_rs.Draft202012Validator(definition["outputSchema"])
            output.validate(answer.body or {})


async def test_the_calls_on_the_page_for_agents_are_answered(rest: RestClient):
    calls = [json.loads(text) for text in re.findall(r"```json\n(\{\"name\".*?)\n```", PAGE)]
    assert [call["name"] for call in calls] == ["find_operation", "call_operation"]
    find, call = (each["arguments"] for each in calls)
    found = (await tool(rest, "find_operation", find)).body["operations"]
    assert found[0]["name"] == call["name"] == "hold_run"
    run = await EXAMPLES["hold_run"](rest.do)
    call["arguments"]["run_id"] = run["run_id"]
    assert (await tool(rest, "call_operation", call)).ok


async def test_what_is_called_by_name_is_refused_like_its_own_tool(rest: RestClient):
    for name, arguments in {
        "define_zone": {"name": 7},
        "get_zone": {"zone_id": "00000000-0000-7000-8000-0000000000ff"},
        "launch_rocket": {},
    }.items():
        named = await tool(rest, "call_operation", {"name": name, "arguments": arguments})
        assert not named.ok
        assert named == await tool(rest, name, arguments)
    bob = Mcp(rest.http)
    asked = {"name": "define_zone", "arguments": {"name": "Hutch"}}
    denied = await bob.send("bob", "call_operation", asked)
    assert (denied.status, denied.body["code"]) == (403, "UnauthorizedError")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("find_operation", {}),
        ("find_operation", {"words": ""}),
        ("find_operation", {"words": "run", "limit": 21}),
        ("find_operation", {"words": "run", "colour": "red"}),
        ("call_operation", {}),
        ("call_operation", {"name": 7}),
        ("call_operation", {"name": "list_runs", "arguments": "all"}),
    ],
)
async def test_a_search_of_the_wrong_shape_is_refused(
    name: str, arguments: dict[str, Any], rest: RestClient
):
    answer = await tool(rest, name, arguments)
    assert (answer.status, answer.body["code"]) == (422, "MalformedRequestError")


async def test_nobody_finds_what_they_may_not_call(rest: RestClient):
    found = await Mcp(rest.http).send("bob", "find_operation", {"words": "pause the scan"})
    assert found.body == {"operations": []}


async def test_words_that_mean_nothing_find_nothing(rest: RestClient):
    assert (await tool(rest, "find_operation", {"words": "qwertz"})).body == {"operations": []}


def test_every_word_of_the_glossary_finds_an_operation(subtests: pytest.Subtests):
    for word in GLOSSARY:
        with subtests.test(word):
            assert INDEX.find(word, CATALOGUE.named, 5)


def test_every_everyday_tool_exists():
    assert set(EVERYDAY) <= CATALOGUE.named.keys()
    assert {FIND_OPERATION.name, CALL_OPERATION.name}.isdisjoint(CATALOGUE.named)


@pytest.mark.parametrize(
    ("schema", "short"),
    [
        (
            {"anyOf": [{"type": "string", "format": "uuid"}, {"type": "null"}], "description": "x"},
            # A format refuses no value: it is an annotation.
            {"type": ["string", "null"]},
        ),
        (
            {"type": "object", "properties": {"title": {"title": "T", "type": "string"}}},
            {"type": "object", "properties": {"title": {"type": "string"}}},
        ),
        (
            {
                "properties": {"a": {}, "b": {}},
                "required": ["a", "b"],
                "additionalProperties": False,
            },
            {"properties": {"a": {}, "b": {}}, "additionalProperties": False, "minProperties": 2},
        ),
        (
            {"properties": {"a": {}, "b": {}}, "required": ["a"], "additionalProperties": False},
            {"properties": {"a": {}, "b": {}}, "required": ["a"], "additionalProperties": False},
        ),
        (
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
    ],
)
def test_a_schema_is_shortened_to_one_that_accepts_the_same(schema: Any, short: Any):
    assert compact(schema, texts=False) == short
