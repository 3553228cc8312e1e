"""A member comes and goes many times under load: a removal binds each call that begins after it."""

import asyncio
import json
from bisect import bisect
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from beamkeep.adapters.postgres import listing
from beamkeep.adapters.postgres.listing import fewest_marks, merged_marks, scan
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Question, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.waiting import until
from tests.faults.conftest import Report
from tests.faults.ground import fresh_ground
from tests.faults.report import rounds
from tests.faults.workers import Worker
from tests.faults.workload import Client, Step, made

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

READERS, WRITERS, FIRST_OBJECTS, FEWEST = 6, 2, 20, 10
CACHED = (fewest_marks, merged_marks, scan)
CALLS_BETWEEN = 12
"""How many calls begin and end between two changes, of all readers together."""
NEXT = ", the next page"
PAGE = f"list_events{NEXT}"
NAME = "Ammonite"
"""What every object of the team is called, and nothing else."""


class Change(NamedTuple):
    """The member was added or removed: when the command was sent, and when it was answered."""

    is_in: bool
    sent: int
    answered: int


class Read(NamedTuple):
    """A call of the member: when it was sent and answered, and whether it showed the team."""

    name: str
    sent: int
    answered: int
    shows: bool


class History:
    """What was sent and answered, in one order for all."""

    def __init__(self) -> None:
        self.now = count(1)
        self.changes: list[Change] = []
        self.reads: list[Read] = []

    def judged(self) -> Iterator[tuple[Read, bool]]:
        """Yield the reads of which it is known whether the caller was a member throughout."""
        answered = [change.answered for change in self.changes]
        sent = [*(change.sent for change in self.changes), next(self.now)]
        for read in self.reads:
            last = bisect(answered, read.sent)
            if last and read.answered < sent[last]:
                yield read, self.changes[last - 1].is_in


class Facility:
    """A team with a member who comes and goes, and others who work meanwhile."""

    def __init__(self, services: Sequence[Service]) -> None:
        self.services, self.staff = services, Client(services[0])
        self.history, self.objects = History(), list[str]()
        self.team_id = self.other_id = self.me = ""
        self.cursor: str | None = None
        """How far the feed was paged."""

    async def furnish(self) -> None:
        """Register the member and the teams, with some objects."""
        staff = self.staff
        self.me = await staff.succeed("register_actor", name="Mia")
        await staff.succeed(
            "define_policy",
            name="Visitors",
            conduit_id=str(seeded.ENTRY),
            surface_id=str(seeded.SURFACES[SurfaceKind.HTTP]),
            permitted_principal_ids=[self.me],
            permitted_commands=["*"],
            object_scope="Team",
        )
        self.team_id = await staff.succeed("register_team", title="T")
        other = [{"principal_id": self.me}]
        self.other_id = await staff.succeed("register_team", title="O", members=other)
        await self.change(is_in=True)
        for _ in range(FIRST_OBJECTS):
            await self.create(self.team_id, NAME)
            await self.create(self.other_id, "Cable")

    async def create(self, team_id: str, name: str) -> None:
        """Create an object of a team, unless the team keeps changing."""
        step = Step("register_subject", {"name": name, "team_id": team_id})
        attempt = await self.staff.attempt(str(uuid4()), step)
        if not attempt.answered:
            assert attempt.refusal == "ConcurrencyError", attempt
        elif name == NAME:
            self.objects.append(made(step, attempt.answered))

    async def change(self, *, is_in: bool) -> None:
        """Add or remove the member."""
        member = {"team_id": self.team_id, "principal_id": self.me}
        sent = next(self.history.now)
        if is_in:
            await self.staff.succeed("add_team_member", **member)
        else:
            await self.staff.succeed("remove_team_member", **member, reason="Left")
        self.history.changes.append(Change(is_in, sent, next(self.history.now)))

    async def read(self, draw: Random) -> None:
        """Make one call as the member, and note what it showed."""
        one = draw.choice(self.objects[-FIRST_OBJECTS:])
        name, asked = draw.choice(READS)(one, self.team_id)
        if name == PAGE and self.cursor:
            asked["after"] = self.cursor
        sent = next(self.history.now)
        told = await self.told(draw.choice(self.services), name.removesuffix(NEXT), asked)
        if told is None:
            return
        if name == PAGE:
            self.cursor = json.loads(told)["next_cursor"]
        shows = NAME in told or self.team_id in told
        self.history.reads.append(Read(name, sent, next(self.history.now), shows))

    async def told(self, service: Service, name: str, asked: Mapping[str, Any]) -> str | None:
        """Return the answer to a call of the member: empty for an absent object, None for none."""
        question = CATALOGUE.named[name]
        assert isinstance(question, Question)
        caller = Caller(uuid4(), principal_id=UUID(self.me), transport=SurfaceKind.HTTP)
        try:
            return (await service.queries.ask(question, Request(caller, asked))).body.decode()
        except Refusal as refusal:
            if refusal.status not in {404, 503}:
                raise
            return "" if refusal.status == 404 else None

    async def shown_in_lists(self) -> bool:
        """Whether the lists show the member all that there is."""
        told = await self.told(self.services[0], "list_subjects", {"count": True, "name": NAME})
        return bool(told) and json.loads(told)["total"] == len(self.objects)


type Asked = tuple[str, dict[str, Any]]
READS: Sequence[Callable[[str, str], Asked]] = (
    lambda one, _: ("get_subject", {"subject_id": one}),
    lambda one, _: ("get_subject", {"subject_id": one}),
    lambda one, _: ("get_subject_history", {"subject_id": one}),
    lambda _, team_id: ("get_team", {"team_id": team_id}),
    lambda _, __: ("list_subjects", {"limit": 100}),
    lambda _, __: ("list_subjects", {"order": "oldest", "name": NAME, "names": True}),
    lambda _, team_id: ("list_subjects", {"team_id": team_id, "count": True}),
    lambda _, __: ("list_teams", {}),
    lambda _, __: ("search", {"q": NAME}),
    lambda _, __: ("search", {"q": NAME[:4]}),
    lambda one, _: ("resolve_names", {"id": [one]}),
    lambda _, __: ("list_events", {"order": "newest"}),
    lambda _, __: (PAGE, {"limit": 500}),
    lambda one, _: ("list_events", {"stream_id": [one]}),
)
AT_ONCE = {"get_subject", "get_subject_history", "get_team", "list_events"}
"""What shows an object from the next call on after an addition."""


async def come_and_go(facility: Facility, turns: Iterator[int]) -> Counter[str]:
    """Let the member come and go while others read and write; return the figures."""
    history, draw = facility.history, dice(seed(), "membership")

    async def reading(number: int) -> None:
        mine = dice(seed(), "reader", number)
        while True:
            await facility.read(mine)

    async def writing(number: int) -> None:
        mine = dice(seed(), "writer", number)
        while True:
            is_ours = mine.random() < 0.5
            team_id = facility.team_id if is_ours else facility.other_id
            await facility.create(team_id, NAME if is_ours else "Cable")
            # A log of every size is paged; the readers have most of the time.
            await asyncio.sleep(mine.uniform(0, 0.05))

    async def between(calls: int) -> None:
        """Wait until so many calls have been sent and answered since now."""
        since = next(history.now)

        async def enough() -> bool:
            recent = history.reads[-4 * (calls + READERS) :]
            return sum(read.sent > since for read in recent) >= calls

        await until(enough, "the readers have read")

    async def changing() -> None:
        for _ in turns:
            for is_in in (False, True):
                await facility.change(is_in=is_in)
                await between(draw.choice([1, CALLS_BETWEEN, 2 * CALLS_BETWEEN]))

    others = [asyncio.create_task(reading(number)) for number in range(READERS)]
    others += [asyncio.create_task(writing(number)) for number in range(WRITERS)]
    changer = asyncio.create_task(changing())
    try:
        await asyncio.wait([changer, *others], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in others:
            task.cancel()
    for task in others:
        with suppress(asyncio.CancelledError):
            await task
    await changer
    return figures_of(history)


def figures_of(history: History) -> Counter[str]:
    """Return what the reads showed, by whether the caller was a member."""
    figures = Counter[str](changes=len(history.changes), reads=len(history.reads), leaked=0, lost=0)
    for read, is_in in history.judged():
        figures["while in" if is_in else "while out"] += 1
        figures["shown"] += read.shows
        figures["leaked"] += read.shows and not is_in
        figures["lost"] += is_in and not read.shows and read.name in AT_ONCE
    return figures


@asynccontextmanager
async def facility_with_worker(folder: Path) -> AsyncGenerator[tuple[Facility, Worker]]:
    """Provide a facility whose lists have followed, and the worker that keeps them."""
    async with fresh_ground() as ground:
        deployments = [ground.deployment() for _ in range(2)]
        facility = Facility([await each.service() for each in deployments])
        worker = Worker(ground, "worker", folder)
        try:
            await facility.furnish()
            await until(facility.shown_in_lists, "the lists have followed")
            yield facility, worker
        finally:
            worker.close()
            for each in deployments:
                await each.close()


def require_known(figures: Counter[str]) -> None:
    """Require that there was something to judge by."""
    turns = (figures["changes"] - 1) // 2
    assert turns >= FEWEST
    assert figures["while out"] >= turns
    assert figures["while in"] >= turns
    assert figures["shown"] > 0


async def test_a_removal_binds_each_call_that_begins_after_it(report: Report, tmp_path: Path):
    async with facility_with_worker(tmp_path) as (facility, worker):
        figures = await come_and_go(facility, rounds("MEMBERSHIPS", 60, FEWEST, 45))
        await until(facility.shown_in_lists, "the lists show everything again")
        worker.require_alive()
    report("memberships", figures)
    require_known(figures)
    assert figures["leaked"] == figures["lost"] == 0


async def test_a_removal_binds_although_no_list_follows(report: Report, tmp_path: Path):
    async with facility_with_worker(tmp_path) as (facility, worker):
        worker.close()
        figures = await come_and_go(facility, rounds("MEMBERSHIPS", 60, FEWEST, 45))
    report("memberships while no list follows", figures)
    require_known(figures)
    assert figures["leaked"] == figures["lost"] == 0


async def test_lists_that_took_marks_for_the_truth_are_found_out(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def not_compared(*_: str) -> str:
        return "true"

    monkeypatch.setattr(listing, "of_teams", not_compared)
    for cached in CACHED:
        cached.cache_clear()
    async with facility_with_worker(tmp_path) as (facility, worker):
        worker.close()
        figures = await come_and_go(facility, iter(range(FEWEST)))
    for cached in CACHED:
        cached.cache_clear()
    report("memberships by marks", {"found": [f"leaked {figures['leaked']}"]})
    require_known(figures)
    assert figures["leaked"] > 0
