"""Resuming a run: the gates of its start are asked again, and a failure can be acknowledged."""

import json
from typing import Any
from uuid import UUID

import pytest
from tests.unit.contexts.starting.fair import (
    BEAM,
    CAMERA,
    HUTCH,
    METHOD,
    PAPER,
    PLAN,
    STAGE,
    SUBJECT,
    Part,
    moved,
    observed,
    past,
    service_after,
)

from beamkeep.contexts.enclosure.enclosure import PermitStatus
from beamkeep.contexts.equipment.asset import AssetDecommissioned
from beamkeep.contexts.run.run import InvalidRunReasonError, RunCannotResumeError, RunHeld
from beamkeep.contexts.run.run import RunStarted as Started
from beamkeep.contexts.safety.clearance import ClearanceExpired
from beamkeep.contexts.starting.resume import (
    OPERATIONS,
    ResumeRun,
    RunResumeRequiresAcknowledgementError,
)
from beamkeep.contexts.subject.subject import SubjectRemoved
from beamkeep.contexts.supply.supply import SupplyMarkedUnavailable
from beamkeep.kernel import Refusal
from beamkeep.runtime import Service
from beamkeep.schemas import JsonObject
from beamkeep.surfaces.problem import problem
from beamkeep.testing.past import NOW
from beamkeep.testing.scenario import Scenario
from beamkeep.testing.service import call

pytestmark = pytest.mark.anyio

RUN = UUID(int=95)
NONE: JsonObject = {}
started = Started(
    *(NOW, RUN, "Night 1", PLAN, None, METHOD, (STAGE, CAMERA), SUBJECT, None),
    *(NONE, NONE, (), (), None),
)
held = RunHeld(NOW, RUN, "The beam was lost", None)
RESUME: JsonObject = {"run_id": str(RUN)}
BECAUSE: JsonObject = {**RESUME, "acknowledgement": "The scan needs no beam for its dark frames"}

# What fails, the facts that say so, and what would clear it.
FAILURES: dict[str, tuple[Part, str, list[str]]] = {
    "subject": (SubjectRemoved(NOW, SUBJECT, None), "Subject 'Fossil 7'", []),
    "assets": (AssetDecommissioned(NOW, STAGE), "Asset 'Stage'", []),
    "clearance": (
        ClearanceExpired(NOW, PAPER, "Over"),
        "Clearance 'Salts'",
        ["register_clearance"],
    ),
    "supply": (
        moved(SupplyMarkedUnavailable),
        "Supply 'Ring beam'",
        ["mark_supply_recovering", "restore_supply"],
    ),
    "enclosure": (observed(HUTCH, PermitStatus.NOT_PERMITTED), "Enclosure 'Hutch'", []),
}


async def service_with(*more: Part) -> Service:
    service, _ = await service_after(past(started, held, *more))
    return service


async def refused(service: Service, arguments: JsonObject, **more: Any) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        await call(service, "resume_run", arguments, **more)
    return refusal.value


async def last_event(service: Service) -> dict[str, Any]:
    answer = await call(service, "get_run_history", RESUME)
    found: dict[str, Any] = json.loads(answer.body or b"")["items"][-1]
    return found


async def test_a_run_continues_when_every_gate_of_its_start_passes():
    service = await service_with()
    await call(service, "resume_run", RESUME)
    event = await last_event(service)
    assert event["event_type"] == "RunResumed"
    assert event["payload"]["acknowledged"] == []


@pytest.mark.parametrize("gate", FAILURES)
async def test_a_run_does_not_continue_while_a_gate_of_its_start_fails(gate: str):
    what, fact, ways = FAILURES[gate]
    service = await service_with(what)
    for dry_run in (True, False):
        told = problem(await refused(service, RESUME, dry_run=dry_run))
        assert told["code"] == RunResumeRequiresAcknowledgementError.__name__
        assert fact in told["detail"]
        assert (told["checks"], told["cleared_by"]) == ([gate], ways)
    assert (await last_event(service))["event_type"] == "RunHeld"


def test_the_refusal_of_a_resumption_says_what_fails_and_how_to_continue():
    scenario = Scenario(OPERATIONS, past(started, held, moved(SupplyMarkedUnavailable)))
    asked = scenario.when(ResumeRun(run_id=RUN))
    refusal = asked.refused(RunResumeRequiresAcknowledgementError, saying="Ring beam")
    assert str(refusal).endswith(
        "Mark it recovering, then restore it. "
        "Clear this, or resume with an acknowledgement that says why the run continues."
    )


async def test_every_gate_that_fails_is_reported_at_once():
    service = await service_with(*(what for what, _, _ in FAILURES.values()))
    told = problem(await refused(service, RESUME))
    assert told["checks"] == [*FAILURES]
    assert all(fact in told["detail"] for _, fact, _ in FAILURES.values())


@pytest.mark.parametrize("gate", FAILURES)
async def test_a_failure_is_acknowledged_with_a_reason_which_is_stored_with_its_facts(gate: str):
    what, fact, _ = FAILURES[gate]
    service = await service_with(what)
    await call(service, "resume_run", BECAUSE)
    payload = (await last_event(service))["payload"]
    assert payload["acknowledgement"] == BECAUSE["acknowledgement"]
    kinds = {each["kind"] for each in payload["acknowledged"]}
    assert kinds == {fact.partition(" ")[0]}
    assert all("name" not in each for each in payload["acknowledged"])


async def test_a_blank_acknowledgement_is_none():
    service = await service_with(moved(SupplyMarkedUnavailable))
    assert isinstance(
        await refused(service, {**RESUME, "acknowledgement": " "}), InvalidRunReasonError
    )


async def test_only_a_held_run_is_resumed_whatever_its_gates_say():
    service, _ = await service_after(past(started, moved(SupplyMarkedUnavailable)))
    assert isinstance(await refused(service, BECAUSE), RunCannotResumeError)


async def test_a_gate_that_opens_again_lets_the_run_continue():
    service = await service_with(moved(SupplyMarkedUnavailable))
    about = {"supply_id": str(BEAM), "reason": "The ring is filled"}
    await refused(service, RESUME)
    for way in ("mark_supply_recovering", "restore_supply"):
        await call(service, way, about)
    await call(service, "resume_run", RESUME)
    assert (await last_event(service))["event_type"] == "RunResumed"
