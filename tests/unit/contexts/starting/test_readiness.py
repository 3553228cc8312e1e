"""Readiness: every check a start would meet, and never another verdict than the start's own."""

import json
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec import to_builtins
from tests.unit.contexts.starting.fair import (
    BEAM,
    BEAMLINE,
    CAMERA,
    DUST,
    FAIR,
    HALL,
    HUTCH,
    LEAK,
    METHOD,
    OTHER_PAPER,
    PAPER,
    PLAN,
    REQUIRING,
    STAGE,
    SUBJECT,
    Part,
    clearance,
    moved,
    past,
    service_after,
)
from tests.unit.contexts.starting.situations import Situation, drawn
from tests.unit.contexts.starting.test_start import FAILING

from beamkeep.contexts.equipment import asset
from beamkeep.contexts.recipe import plan
from beamkeep.contexts.run.run import CautionTarget
from beamkeep.contexts.safety.clearance import AssetBinding, ClearanceActivated, ClearanceApproved
from beamkeep.contexts.starting.acknowledging import ShownCaution
from beamkeep.contexts.starting.gates import StartFact
from beamkeep.contexts.starting.readiness import (
    GetPlanReadiness,
    PlanReadiness,
    ReadinessCheck,
    readiness,
)
from beamkeep.contexts.starting.start import StartRun, run_start, start_run
from beamkeep.contexts.subject.subject import SubjectDismounted, SubjectNotFoundError
from beamkeep.contexts.supply.supply import SupplyMarkedRecovering
from beamkeep.kernel import Refusal, replace
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, LATER, NOW, Past
from beamkeep.testing.service import call

pytestmark = pytest.mark.anyio

SEED, DRAWN, DRAWN_FOR_A_SERVICE = 20300131, 2000, 50
IN_ORDER = [
    *("parameters", "units", "plan", "window", "subject", "assets"),
    *("families", "clearance", "supply", "enclosure"),
]
ASSETS = (
    StartFact("Asset", STAGE, "Stage", "Commissioned"),
    StartFact("Asset", CAMERA, "Camera", "Commissioned"),
)
ENCLOSURES = (
    StartFact("Enclosure", HALL, "Hall", "Permitted, Active"),
    StartFact("Enclosure", HUTCH, "Hutch", "Permitted, Active"),
)
LEAK_SHOWN = ShownCaution(
    LEAK, CautionTarget("Asset", BEAMLINE), "Wear", "Warning", "Text 81", "Workaround 81"
)
DUST_SHOWN = ShownCaution(
    DUST, CautionTarget("Asset", STAGE), "Wear", "Caution", "Text 80", "Workaround 80"
)


async def ready(
    *more: Part, subject_id: UUID | None = SUBJECT, without: tuple[str, ...] = ()
) -> PlanReadiness:
    read = Past(past(*more, without=without), REQUIRING)
    return await readiness(GetPlanReadiness(plan_id=PLAN, subject_id=subject_id), read)


def passed(check: str, *facts: StartFact) -> ReadinessCheck:
    return ReadinessCheck(check, True, None, facts, ())


async def test_a_plan_that_is_ready_passes_every_check_with_the_facts_behind_it():
    assert await ready() == PlanReadiness(
        PLAN,
        True,
        (
            passed("parameters", StartFact("Method", METHOD, "Fly scan", "Defined")),
            passed("units", StartFact("Method", METHOD, "Fly scan", "Defined")),
            passed("plan", StartFact("Plan", PLAN, "Monday", "Defined")),
            passed("window", StartFact("Plan", PLAN, "Monday", "Defined", LATER)),
            passed("subject", StartFact("Subject", SUBJECT, "Fossil 7", "Mounted")),
            passed("assets", *ASSETS),
            passed("families", *ASSETS),
            passed(
                "clearance", StartFact("Clearance", PAPER, "Salts", "Active", LATER, None, True)
            ),
            passed("supply", StartFact("Supply", BEAM, "Ring beam", "Available")),
            passed("enclosure", *ENCLOSURES),
        ),
        (),
        (LEAK_SHOWN, DUST_SHOWN),
    )


async def test_one_failing_check_fails_alone_in_order_and_says_what_a_start_would():
    for name, wrong in FAILING.items():
        found = await ready(*wrong.past)
        (failed,) = (check for check in found.checks if not check.passed)
        error = wrong.refusal.__name__
        assert failed == ReadinessCheck(name, False, error, wrong.facts, wrong.cleared_by)
        assert not found.ready
        assert [check.check for check in found.checks] == IN_ORDER == list(FAILING)


async def test_all_faults_are_reported_at_once():
    at_once = [part for wrong in reversed(FAILING.values()) for part in wrong.past]
    found = await ready(*at_once)
    expected = [wrong.refusal.__name__ for wrong in FAILING.values()]
    assert [check.error for check in found.checks] == expected


async def test_without_a_subject_none_is_checked():
    dismounted = SubjectDismounted(NOW, SUBJECT, STAGE, "Turned over")
    found = await ready(dismounted, subject_id=None)
    assert found.checks[4] == passed("subject")


async def test_a_deployment_that_requires_no_clearance_looks_for_none():
    query = GetPlanReadiness(plan_id=PLAN)
    found = await readiness(query, Past(past(), FACTS))
    assert found.checks[7] == passed("clearance")


async def advised(*more: Part, without: tuple[str, ...] = ()) -> tuple[StartFact, ...]:
    found = await ready(*more, without=without)
    return found.advisories


async def test_assets_that_are_not_as_they_should_be_are_worth_knowing():
    assert await advised(
        asset.AssetActivated(NOW, STAGE),
        asset.AssetMaintenanceEntered(NOW, STAGE),
        asset.AssetDegraded(NOW, STAGE, "It drifts"),
        asset.AssetFaulted(NOW, CAMERA, "Blind"),
        asset.AssetFaulted(NOW, BEAMLINE, "Not of the plan itself"),
    ) == (
        StartFact("Asset", STAGE, "Stage", "Degraded"),
        StartFact("Asset", STAGE, "Stage", "Maintenance"),
        StartFact("Asset", CAMERA, "Camera", "Faulted"),
    )


async def test_a_supply_that_is_coming_back_is_worth_knowing():
    assert await advised(moved(SupplyMarkedRecovering)) == (
        StartFact("Supply", BEAM, "Ring beam", "Recovering"),
    )


async def test_a_clearance_that_ends_before_the_plan_does_is_worth_knowing():
    sooner, window = LATER - timedelta(hours=1), plan.Window(NOW, None)
    approved = ClearanceApproved(NOW, PAPER, None, sooner), ClearanceActivated(NOW, PAPER)
    ends = StartFact("Clearance", PAPER, "Salts", "Active", sooner, None, True)
    assert await advised(*approved) == (ends,)
    endless = plan.PlanVersioned.of(FAIR["plan"][0], version_tag="2", window=window)
    assert await advised(endless) == (replace(ends, until=LATER),)


async def test_a_clearance_that_outlasts_the_plan_or_is_not_in_force_is_not_worth_knowing():
    endless = ClearanceApproved(NOW, PAPER, None, None), ClearanceActivated(NOW, PAPER)
    assert await advised(*endless) == ()
    over = ClearanceApproved(NOW, PAPER, None, NOW), ClearanceActivated(NOW, PAPER)
    assert await advised(*over) == ()
    drafted = clearance(OTHER_PAPER, "Lasers", AssetBinding(STAGE), valid_until=NOW)
    assert await advised(drafted) == ()


async def shown(*more: Part, **arguments: Any) -> dict[str, Any]:
    service, _ = await service_after(past(*more))
    answer = await call(service, "get_plan_readiness", {"plan_id": str(PLAN), **arguments})
    return json.loads(answer.body)


async def test_readiness_has_this_shape():
    found = await shown(*FAILING["supply"].past, subject_id=str(SUBJECT))
    assert list(found) == ["plan_id", "ready", "checks", "advisories", "cautions"]
    assert found["checks"][8] == {
        "check": "supply",
        "passed": False,
        "error": "RunRequiresAvailableSupplyError",
        "facts": [to_builtins(StartFact("Supply", BEAM, "Ring beam", "Unavailable"))],
        "cleared_by": ["mark_supply_recovering", "restore_supply"],
    }
    assert found["cautions"][0] == to_builtins(LEAK_SHOWN)


async def test_readiness_of_what_does_not_exist_is_refused():
    service, _ = await service_after(past())
    for plan_id, subject_id, refusal in (
        (ABSENT, SUBJECT, plan.PlanNotFoundError),
        (PLAN, ABSENT, SubjectNotFoundError),
    ):
        asked = {"plan_id": str(plan_id), "subject_id": str(subject_id)}
        with pytest.raises(refusal):
            await call(service, "get_plan_readiness", asked)


async def test_readiness_writes_nothing():
    service, store = await service_after(past())
    before = store.position
    await call(service, "get_plan_readiness", {"plan_id": str(PLAN)})
    assert store.position == before


async def decided(situation: Situation) -> tuple[str | None, str | None]:
    """What readiness and what a start find wrong first, by the same past."""
    facts = REQUIRING if situation.requires_clearance else FACTS
    read, subject_id = Past(situation.past, facts), situation.subject_id
    told = await readiness(GetPlanReadiness(plan_id=PLAN, subject_id=subject_id), read)
    first = next((check.error for check in told.checks if not check.passed), None)
    assert told.ready is (first is None)
    command = StartRun(name="Night 1", plan_id=PLAN, subject_id=subject_id)
    try:
        start_run(command, await run_start(command, read), CALL)
    except Refusal as refusal:
        return first, type(refusal).__name__
    return first, None


async def test_readiness_and_a_start_never_differ():
    found = Counter[str | None]()
    for number, situation in enumerate(drawn(SEED, DRAWN)):
        expected = situation.first_wrong
        assert (number, *await decided(situation)) == (number, expected, expected)
        found[expected] += 1
    assert found.total() == DRAWN
    # Every verdict was met, and often enough to mean something.
    assert len(found) == len(IN_ORDER) + 3
    assert min(found.values()) >= 20


async def test_readiness_and_a_dry_run_of_a_service_never_differ():
    for number, situation in enumerate(drawn(SEED + 1, DRAWN_FOR_A_SERVICE)):
        facts = REQUIRING if situation.requires_clearance else FACTS
        service, _ = await service_after(situation.past, facts)
        asked: dict[str, Any] = {"plan_id": str(PLAN)}
        if situation.subject_id:
            asked["subject_id"] = str(situation.subject_id)
        answer = await call(service, "get_plan_readiness", asked)
        checks = json.loads(answer.body)["checks"]
        first = next((check["error"] for check in checks if not check["passed"]), None)
        refused = None
        try:
            await call(service, "start_run", {"name": "Night 1", **asked}, dry_run=True)
        except Refusal as refusal:
            refused = type(refusal).__name__
        expected = situation.first_wrong
        assert (number, first, refused) == (number, expected, expected)
