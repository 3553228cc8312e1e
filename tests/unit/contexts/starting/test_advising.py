"""What is worth knowing at a start: the same before it, in its answer and of the run afterwards."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.unit.contexts.operation.procedures import PROCEDURE, a_procedure
from tests.unit.contexts.starting.fair import (
    BEAM,
    CALIBRATION,
    CAMERA,
    METHOD,
    OTHER_BEAM,
    OTHER_REVISION,
    PAPER,
    PLAN,
    REVISION,
    SHED,
    STAGE,
    START,
    SUBJECT,
    Part,
    energy_in,
    moved,
    past,
    revision,
    service_after,
    supply,
)

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.calibration.calibration import (
    CalibrationDefined,
    CalibrationRevisionNotFoundError,
)
from beamkeep.contexts.calibration.quantity import Quantity
from beamkeep.contexts.equipment.asset import AssetDegraded
from beamkeep.contexts.operation.procedure import ProcedureStarted
from beamkeep.contexts.run.run import InvalidRunParametersError, RunCompleted, RunStarted
from beamkeep.contexts.safety.clearance import ClearanceActivated, ClearanceApproved
from beamkeep.contexts.starting.checks import RunParameterUnitsChangedError
from beamkeep.contexts.starting.others import live_runs_on
from beamkeep.contexts.subject.subject import SubjectMounted, SubjectRegistered
from beamkeep.contexts.supply.supply import SupplyMarkedAvailable, SupplyMarkedRecovering
from beamkeep.kernel import Refusal, UnnamedListing, replace
from beamkeep.runtime import Service
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.schemas import JsonObject
from beamkeep.surfaces.problem import problem
from beamkeep.testing.past import LATER, NOW, Past
from beamkeep.testing.service import call

pytestmark = pytest.mark.anyio

type World = tuple[Service, MemoryStore]

STARTING: dict[str, Any] = json.loads(START.model_dump_json())
ASKED = {
    "plan_id": str(PLAN),
    "subject_id": str(SUBJECT),
    "pinned_calibration_id": [str(REVISION), str(OTHER_REVISION)],
}
OTHER, SOONER = UUID(int=90), LATER - timedelta(hours=1)
NONE: JsonObject = {}
other_run = RunStarted(
    *(NOW, OTHER, "Night of somebody", PLAN, None, METHOD, (STAGE, CAMERA, SHED), None, None),
    *(NONE, NONE, (), (), None),
)
# Everything that is worth knowing, at once.
UNUSUAL: tuple[Part, ...] = (
    AssetDegraded(NOW, STAGE, "It drifts"),
    supply(OTHER_BEAM, "Lamp"),
    moved(SupplyMarkedAvailable, OTHER_BEAM),
    moved(SupplyMarkedRecovering, BEAM),
    ClearanceApproved(NOW, PAPER, NOW, SOONER),
    ClearanceActivated(NOW, PAPER),
    other_run,
    replace(a_procedure(), target_asset_ids=(SHED, STAGE)),
    ProcedureStarted(NOW, PROCEDURE, ()),
    SubjectRegistered(NOW, SUBJECT, "Fossil 7"),
    SubjectMounted(NOW, SUBJECT, SHED, "No room"),
    CalibrationDefined(NOW, CALIBRATION, SHED, Quantity.ROTATION_CENTER, {}, None),
    *revision(REVISION),
    *revision(OTHER_REVISION, supersedes=REVISION),
)


def fact(kind: str, id: UUID, name: str, state: str, **times: object) -> dict[str, Any]:
    none = {"until": None, "valid_from": None, "in_force": None}
    return {"kind": kind, "id": str(id), "name": name, "state": state, **none, **times}


OUTSIDE = f"asset {SHED}, which is not in the plan"
ADVISED = [
    fact("Asset", STAGE, "Stage", "Degraded"),
    fact("Supply", BEAM, "Ring beam", "Recovering"),
    fact(
        *("Clearance", PAPER, "Salts", "Active"),
        until=SOONER.isoformat().replace("+00:00", "Z"),
        valid_from=NOW.isoformat().replace("+00:00", "Z"),
        in_force=True,
    ),
    fact("Run", OTHER, "Stage, Camera", "Running"),
    fact("Procedure", PROCEDURE, "Stage", "Running"),
    fact("Subject", SUBJECT, "Fossil 7", f"Mounted on {OUTSIDE}"),
    fact("CalibrationRevision", REVISION, "rotation_center", f"Superseded by {OTHER_REVISION}"),
    fact("CalibrationRevision", REVISION, "rotation_center", f"Calibrates {OUTSIDE}"),
    fact("CalibrationRevision", OTHER_REVISION, "rotation_center", f"Calibrates {OUTSIDE}"),
]


@pytest.fixture
async def world() -> World:
    return await service_after(past(*UNUSUAL, without=["subject", "calibration"]))


async def asked(service: Service, name: str, arguments: Mapping[str, Any], **more: Any) -> Any:
    answer = await call(service, name, arguments, **more)
    return json.loads(answer.body or b"null")


async def refused(service: Service, name: str, arguments: Mapping[str, Any]) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        await call(service, name, arguments)
    return refusal.value


async def test_readiness_and_the_answer_of_a_start_tell_the_same(world: World):
    service, _ = world
    before = await asked(service, "get_plan_readiness", ASKED)
    assert (before["ready"], before["advisories"]) == (True, ADVISED)
    assert (await asked(service, "start_run", STARTING))["advisories"] == ADVISED


async def test_a_run_stores_the_advice_without_names(world: World):
    service, store = world
    answer = await asked(service, "start_run", STARTING, idempotency_key="once")
    run = await asked(service, "get_run", {"run_id": answer["run_id"]})
    unnamed = [{key: each[key] for key in each if key != "name"} for each in ADVISED]
    assert run["advisories"] == unnamed
    (kept,) = store.answers.values()
    assert json.loads(kept.result) == {"run_id": answer["run_id"]}


async def test_a_repetition_is_answered_the_same_when_all_of_it_is_over(world: World):
    service, _ = world
    first = await asked(service, "start_run", STARTING, idempotency_key="once")
    await call(service, "complete_run", {"run_id": str(OTHER)})
    away = {"subject_id": str(SUBJECT), "reason": "Done"}
    await call(service, "dismount_subject", away)
    assert await asked(service, "start_run", STARTING, idempotency_key="once") == first


async def test_the_name_of_anothers_run_is_not_shown(world: World):
    service, _ = world
    answers = [
        await asked(service, "get_plan_readiness", ASKED),
        await asked(service, "start_run", STARTING, dry_run=True),
        await asked(service, "start_run", STARTING),
    ]
    assert other_run.name not in json.dumps(answers)


async def test_a_list_that_lags_shows_no_run_that_has_ended():
    class Lagging(Past):
        async def matching(
            self,
            query: UnnamedListing,
            to_show: bool = False,
            most: int = 10_000,
            newest: bool = False,
        ) -> tuple[UUID, ...]:
            return (OTHER,)

    assert await live_runs_on([STAGE], Lagging([other_run, RunCompleted(NOW, OTHER)])) == []


async def test_readiness_takes_the_revisions_that_a_start_would(world: World):
    service, _ = world
    too_many = [str(UUID(int=n)) for n in range(1000, 1065)]
    for ids, refusal in (
        (too_many[:64], CalibrationRevisionNotFoundError),
        (too_many, MalformedRequestError),
    ):
        found = await refused(
            service, "get_plan_readiness", {**ASKED, "pinned_calibration_id": ids}
        )
        assert type(found) is refusal


def in_unit(code: str, tag: str) -> dict[str, Any]:
    """A new version of the method, which declares the energy in this unit."""
    schema = energy_in(code)
    schema["properties"]["energy"]["maximum"] = 35_000
    return {
        "method_id": str(METHOD),
        "version_tag": tag,
        "name": "Fly scan",
        "needed_family_ids": [],
        "needed_supplies": [],
        "parameters_schema": schema,
    }


BARE = {"name": "Night 1", "plan_id": str(PLAN)}
PATCHING = {"plan_id": str(PLAN), "default_parameters_patch": {"energy": 25_000}}


@pytest.fixture
async def service() -> Service:
    """One in which a run is live when its method comes to declare the energy in eV."""
    capability = {
        "capability_id": str(UUID(int=28)),
        "version_tag": "2",
        "name": "Scan",
        "description": None,
        "required_affordances": [],
        "executor_shapes": ["METHOD"],
        "parameters_schema": None,
    }
    found, _ = await service_after(past())
    await call(found, "version_capability", capability)
    return found


async def test_a_change_of_unit_stops_every_start_until_the_plan_is_rewritten(service: Service):
    await call(service, "version_method", in_unit("eV", "2"))
    refusal = await refused(service, "start_run", BARE)
    assert type(refusal) is RunParameterUnitsChangedError
    told = problem(refusal)
    assert (told["status"], told["check"]) == (409, "units")
    assert told["parameters"] == [
        {"path": "$.energy", "value": 25, "before": "keV (udunits)", "now": "eV (udunits)"}
    ]
    assert told["cleared_by"] == ["update_plan_default_parameters", "version_plan"]
    found = await asked(service, "get_plan_readiness", {"plan_id": str(PLAN)})
    (failed,) = [check for check in found["checks"] if not check["passed"]]
    assert failed["facts"][0]["name"] == "$.energy"
    await call(service, "update_plan_default_parameters", PATCHING)
    run = await asked(service, "start_run", BARE)
    shown = await asked(service, "get_run", {"run_id": run["run_id"]})
    assert shown["effective_parameters"]["energy"] == 25_000
    versions = {"plan": 2, "practice": 1, "method": 2, "capability": 2}
    assert shown["declaration_versions"] == versions


async def test_a_live_run_is_adjusted_in_the_unit_it_was_started_in(service: Service):
    run = await asked(service, "start_run", BARE)
    await call(service, "version_method", in_unit("eV", "2"))
    adjustment = {"run_id": run["run_id"], "reason": "Edge"}
    within = {**adjustment, "parameters_patch": {"energy": 26}}
    assert (await asked(service, "adjust_run", within))["effective_parameters"]["energy"] == 26
    beyond = {**adjustment, "parameters_patch": {"energy": 26_000}}
    assert type(await refused(service, "adjust_run", beyond)) is InvalidRunParametersError
