"""What readiness and a refused start tell of what is another's, to who may see only their own."""

import json
from typing import Any
from uuid import UUID

import pytest
from tests.unit.contexts.starting.fair import (
    CAMPAIGN,
    DUST,
    LEAK,
    PAPER,
    PLAN,
    START,
    SUBJECT,
    Part,
    past,
    service_after,
)
from tests.unit.contexts.starting.test_start import FAILING

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.subject.subject import SubjectNotFoundError
from beamkeep.kernel import NOT_SHOWN, Refusal, replace
from beamkeep.runtime import Service
from beamkeep.runtime.codec import encode
from beamkeep.surfaces.problem import problem
from beamkeep.testing.past import ABSENT, LATER
from beamkeep.testing.service import call, enrol

pytestmark = pytest.mark.anyio

STARTING: dict[str, Any] = json.loads(START.model_dump_json())
SAMPLE, TITLE = "Fossil 7", "Salts"


class Beamline:
    """A service in which everything but a plan and a campaign is another's."""

    def __init__(self, service: Service, store: MemoryStore, me: UUID) -> None:
        self.service, self.store, self.me = service, store, me

    def give(self, name: str, id: UUID) -> None:
        """Make an object one's own."""
        stored = self.store.streams[name, id]
        stored[0] = replace(stored[0], principal_id=self.me)

    async def ready(self, subject_id: UUID | None = None) -> dict[str, Any]:
        asked = {"plan_id": str(PLAN), **({"subject_id": str(subject_id)} if subject_id else {})}
        found = await call(self.service, "get_plan_readiness", asked, subject="otto")
        return json.loads(found.body)

    async def refused(self) -> dict[str, Any]:
        """What a start is refused with, as it is told."""
        with pytest.raises(Refusal) as refused:
            await call(self.service, "start_run", STARTING, subject="otto")
        return json.loads(encode(problem(refused.value)))


async def beamline(*more: Part, scope: str = "Own", without: tuple[str, ...] = ()) -> Beamline:
    service, store = await service_after(past(*more, without=without))
    me = await enrol(service, "otto", "get_plan_readiness", "start_run", scope=scope)
    here = Beamline(service, store, me)
    here.give("Plan", PLAN)
    here.give("Campaign", CAMPAIGN)  # the run joins it, so the start changes it
    return here


def clearance_in(told: dict[str, Any]) -> dict[str, Any]:
    (check,) = [each for each in told["checks"] if each["check"] == "clearance"]
    (fact,) = check["facts"]
    return fact


async def test_another_ones_subject_is_missed_as_one_that_does_not_exist():
    here = await beamline()
    answers: list[str] = []
    for id in (SUBJECT, ABSENT):
        with pytest.raises(SubjectNotFoundError) as refused:
            await here.ready(id)
        answers.append(str(refused.value).replace(str(id), "ID"))
    assert answers[0] == answers[1]


async def test_ones_own_subject_is_shown():
    here = await beamline()
    here.give("Subject", SUBJECT)
    told = await here.ready(SUBJECT)
    assert told["ready"]
    assert SAMPLE in json.dumps(told)


async def test_another_ones_clearance_is_shown_by_status_and_dates_without_its_title():
    here = await beamline()
    told = await here.ready()
    fact = clearance_in(told)
    assert (fact["id"], fact["name"], fact["state"]) == (str(PAPER), NOT_SHOWN, "Active")
    assert fact["until"] == LATER.isoformat().replace("+00:00", "Z")
    assert told["ready"]
    assert TITLE not in json.dumps(told)


async def test_ones_own_clearance_is_shown_with_its_title():
    here = await beamline()
    here.give("Clearance", PAPER)
    assert clearance_in(await here.ready())["name"] == TITLE


async def test_who_may_see_everything_is_shown_every_name():
    here = await beamline(scope="All")
    told = json.dumps(await here.ready(SUBJECT))
    assert SAMPLE in told
    assert TITLE in told


async def test_cautions_of_every_author_are_shown():
    told = await (await beamline()).ready()
    assert {each["caution_id"] for each in told["cautions"]} == {str(LEAK), str(DUST)}
    assert all(each["text"] and each["workaround"] for each in told["cautions"])


@pytest.mark.parametrize("check", FAILING)
async def test_a_refused_start_names_nothing_that_readiness_does_not(check: str):
    wrong = FAILING[check]
    for scope in ("Own", "All"):
        here = await beamline(*wrong.past, scope=scope, without=wrong.without)
        told = await here.refused()
        assert (told["code"], told["check"]) == (wrong.refusal.__name__, check)
        named = json.dumps(told)
        if scope == "Own":
            assert SAMPLE not in named
            assert TITLE not in named
            assert told["detail"] == told["title"], "everything but the plan is of others"
            others = [fact for fact in told["facts"] if fact["id"] != str(PLAN)]
            assert {(fact["name"], fact["state"]) for fact in others} <= {(NOT_SHOWN, NOT_SHOWN)}
            assert not (others and told["cleared_by"])
        elif check == "subject":
            assert SAMPLE in named
        elif check == "clearance":
            assert TITLE in named


async def test_another_ones_subject_may_be_measured():
    here = await beamline()
    started = await call(here.service, "start_run", STARTING, subject="otto")
    assert started.status == 201
