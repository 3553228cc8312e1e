"""What REST and MCP answer alike: the same refusals word for word, successes of the same shape."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from pydantic import create_model

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.equipment.mount import InvalidMountPlacementError
from beamkeep.contexts.seams.log import InvalidFeedCursorError
from beamkeep.contexts.seams.witnessed import EventDiffersError, EventNotWitnessedError
from beamkeep.kernel import Fresh, Operation, Question, Refusal
from beamkeep.kernel.values import declared_refusals
from beamkeep.surfaces.schema import input_schema
from beamkeep.testing.examples import Do, Make
from beamkeep.testing.properties import (
    CallRow,
    CallStage,
    Property,
    a_caller_without_permission_is_refused,
    a_change_of_another_version_is_refused,
    a_dry_run_answers_the_same_events,
    a_key_used_for_something_else_is_refused,
    a_request_of_the_wrong_shape_is_refused,
    a_success_has_the_same_shape,
    an_absent_object_is_not_found,
    refers,
    refused_alike,
)
from tests.support.examples import OUTSIDE, WITHOUT_EVENT
from tests.support.examples.assets import ORIGIN, a_decommissioned_mount, a_part, an_asset
from tests.support.examples.campaign import a_closed_campaign
from tests.support.examples.data import a_dataset, a_discarded_copy
from tests.support.examples.decision import a_decision, one_inference_twice
from tests.support.examples.edition import an_edition
from tests.support.examples.federation import a_facility, a_key, an_active_permit
from tests.support.examples.feed import a_retired_subscription
from tests.support.examples.operation import one_activity_twice
from tests.support.examples.run import one_reading_twice
from tests.support.examples.trust import a_team

ROWS = (*CATALOGUE.operations, *CATALOGUE.questions)
EARLIER = "2030-01-31T07:30:00Z"
EARLIEST = "2000-01-31T07:30:00Z"
LATEST = "2999-01-31T07:30:00Z"


async def no_creators(do: Do) -> list[str]:
    return []


# How the arguments of an example are spoiled, so that the first refusal about sense is given, where
# that is not the refusal of a blank text. The name of another argument stands for what that is.
SPOILED: dict[str, dict[str, str | dict[str, Any] | Make]] = {
    "grant_agent_tool": {"tool_name": "open_gate"},
    "evaluate_authorization": {"command_name": "open_gate"},
    "get_shift_handover": {"to": "from"},
    "get_board": {"asset_id": a_part},
    "get_run_series": {"from": "2031-01-01T00:00:00Z"},
    "add_team_member": {"since": LATEST, "until": EARLIER},
    "change_team_member": {"since": LATEST, "until": EARLIER},
    "register_visit": {"team_id": a_team},
    "add_facility_trust_anchor_credential": {"facility_id": a_facility},
    "start_credential_rotation": {"new_public_key": "key"},
    "complete_credential_rotation": {"credential_id": a_key},
    "activate_permit": {"permit_id": an_active_permit},
    "resume_permit": {"permit_id": an_active_permit},
    "export_artifact": {"permit_id": an_active_permit},
    "import_artifact": {"signature": "A" * 86},
    "initialize_seal": {"facility_id": a_facility},
    "sign_seal_pointer": {"head_hash": "x"},
    "rotate_seal_online_key": {"offline_root_signature": "A" * 86},
    "assign_subject_external_id": {"external_id": "igsn:10.58052/IEJCK00AB"},
    "add_run_to_campaign": {"campaign_id": a_closed_campaign},
    "append_inferences": {"entries": one_inference_twice},
    "define_calibration": {"operating_point": {}},
    "append_calibration_revision": {"value": {}},
    "approve_clearance": {"valid_until": EARLIEST},
    "rotate_subscription_secret": {"subscription_id": a_retired_subscription},
    "promote_caution_proposal": {"decision_id": a_decision},
    "register_distribution": {"checksum": {"algorithm": "sha256", "value": "0"}},
    "record_distribution_removal": {"removed_at": LATEST},
    "record_acquisition": {"captured_at": LATEST},
    "get_custody_report": {"after": "nowhere"},
    "append_observations": {"entries": one_reading_twice},
    "request_distribution_check": {"distribution_id": a_discarded_copy},
    "append_activities": {"entries": one_activity_twice},
    "update_asset_settings": {"settings_patch": {"speed": "fast"}},
    "assign_asset_external_id": {"external_id": "doi:10.5281/zenodo.42"},
    "get_asset_pidinst": {"asset_id": an_asset},
    "install_asset": {"mount_id": a_decommissioned_mount},
    "update_mount_placement": {"mount_id": a_decommissioned_mount},
    "update_frame_placement": {"placement": {"frame_id": str(uuid4()), **ORIGIN}},
    "deprecate_capability": {"replaced_by_capability_id": "capability_id"},
    "deprecate_recipe": {"replaced_by_recipe_id": "recipe_id"},
    "seal_edition": {"license": "©"},
    "assign_edition_external_id": {"external_id": "doi:10.1234/x"},
    "assign_dataset_external_id": {"external_id": "doi:10.1234/x"},
    "mint_dataset_external_id": {"creator_ids": no_creators},
    "export_dataset_datacite": {"dataset_id": a_dataset},
    "get_edition_manifest": {"edition_id": an_edition},
    "update_plan_default_parameters": {"default_parameters_patch": {"energy": "high"}},
}
# JSON has no number that is not finite, only a log that was restored has lost an event, and a proof
# is refused only before the next checkpoint or after somebody has changed the log.
UNSPEAKABLE = {
    *(InvalidMountPlacementError, InvalidFeedCursorError),
    *(EventNotWitnessedError, EventDiffersError),
}
HTTP_ONLY = {"approve_proposal"}
"""Operations that MCP refuses before their own checks; tests of proposals try them there."""
ONCE = {"initialize_seal"}
"""What a deployment can do once; it has a test and a deployment of its own."""


def first_of_its_own(row: CallRow) -> type[Refusal] | None:
    """The first refusal of the row that is about sense or state."""
    own = [each for each in row.refusals if each.status in {400, 409}]
    return next((each for each in own if each not in UNSPEAKABLE), None)


def blank(row: CallRow, first: type[Refusal]) -> Mapping[str, str]:
    """Return a blank text for the first field of a command that refuses one so."""
    fields = row.command.model_fields.items() if isinstance(row, Operation) else ()
    for name, field in fields:
        if first in declared_refusals(
            create_model("Alone", field=(field.annotation or str, field))
        ):
            return {field.alias or name: " "}
    return {}


async def the_first_refusal_of_its_own_is_given(row: CallRow, stage: CallStage) -> None:
    first = first_of_its_own(row)
    assert first
    arguments = await stage.example(row, fresh=True)
    spoiling = SPOILED.get(row.name) or blank(row, first)
    for name, spoiled in spoiling.items():
        match spoiled:
            case str():
                arguments[name] = arguments.get(spoiled, spoiled)
            case dict():
                arguments[name] = spoiled
            case _:
                arguments[name] = await spoiled(stage.do)
    if not spoiling:
        # What was done cannot be done again.
        await stage.rest(row.name, arguments)
    refused = await refused_alike((stage.rest, stage.mcp), row.name, arguments)
    assert (refused.status, refused.body["code"]) == (first.status, first.__name__)


ON_BOTH = tuple(row for row in ROWS if row.name not in HTTP_ONLY)
PROPERTIES: Mapping[Property, tuple[CallRow, ...]] = {
    a_caller_without_permission_is_refused: ROWS,
    an_absent_object_is_not_found: tuple(row for row in ROWS if refers(row)),
    a_request_of_the_wrong_shape_is_refused: ROWS,
    the_first_refusal_of_its_own_is_given: tuple(row for row in ON_BOTH if first_of_its_own(row)),
    a_change_of_another_version_is_refused: tuple(
        row for row in CATALOGUE.operations if not row.genesis
    ),
    a_key_used_for_something_else_is_refused: CATALOGUE.operations,
    a_success_has_the_same_shape: tuple(row for row in ON_BOTH if row.name not in ONCE),
    a_dry_run_answers_the_same_events: tuple(
        row for row in ON_BOTH if isinstance(row, Operation) and row.name not in ONCE
    ),
}
"""What holds for which rows."""


def kinds(row: CallRow) -> frozenset[str]:
    """Return what a row has that another may lack: its sources, outcomes and kinds of argument."""
    schema = input_schema(row)
    arguments = {
        f"{'in the path' if name in row.route.fields else 'an argument'}: {kind}"
        for name, field in schema["properties"].items()
        for kind in _kinds_of_value(field, schema.get("$defs", {}))
    }
    outcomes = {f"may be refused with {each.status}" for each in row.refusals}
    match row:
        case Operation():
            sources = {
                "creates" if row.genesis else "changes",
                "reads more" if row.given else "reads its object alone",
                *(["writes no event"] if row.name in WITHOUT_EVENT else []),
                *(["acts outside"] if row.name in OUTSIDE else []),
            }
        case Question():
            sources = {
                f"answers by {type(row.source).__name__}",
                "is fresh" if issubclass(row.query, Fresh) else "is read at once",
                "is about one" if row.about else "is about many",
            }
    return frozenset(sources | outcomes | arguments)


def _kinds_of_value(schema: Mapping[str, Any], named: Mapping[str, Any]) -> set[str]:
    """Return the kinds of value that a JSON schema takes, one level deep."""
    match schema:
        case {"$ref": str(ref)}:
            return _kinds_of_value(named[ref.rpartition("/")[2]], {})
        case {"anyOf": [*several]} | {"oneOf": [*several]}:
            return {kind for each in several for kind in _kinds_of_value(each, named)}
        case {"enum": _} | {"const": _}:
            return {"a choice"}
        case {"format": str(form)}:
            return {form}
        case _:
            return {str(schema.get("type", "anything"))}


def sample(rows: Iterable[CallRow]) -> list[CallRow]:
    """Return few rows that have together every kind that all of them have."""
    waiting = {row.name: (row, kinds(row)) for row in rows}
    lacking = frozenset[str]().union(*(each for _, each in waiting.values()))
    chosen: list[CallRow] = []
    while lacking:
        name = max(waiting, key=lambda name: (len(waiting[name][1] & lacking), name))
        row, has = waiting.pop(name)
        chosen.append(row)
        lacking -= has
    return chosen
