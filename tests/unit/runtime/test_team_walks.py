"""Random walks: the service assigns and shows what the model of docs/domain/team.md says."""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from tests.support.examples.data import new_dataset
from tests.support.examples.run import a_plan_to_run
from tests.support.examples.trust import ENTRY
from tests.support.team_model import Belonging, Kind, Member, Model, RefusedError, Team, Thing

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.testing.service import AdminClient, call, enrol, memory_service

pytestmark = pytest.mark.anyio

WALKS = int(os.environ.get("BEAMKEEP_TEAM_WALKS", "40"))
STEPS = 45
BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
PEOPLE = ("p0", "p1", "p2", "p3")
GETS = {kind: f"get_{kind.lower()}" for kind in Kind}


class World(NamedTuple):
    """A service with its people, a surface and what a run needs."""

    service: Service
    store: MemoryStore
    people: Mapping[int, UUID]
    plan_id: str
    asset_id: str
    policy_id: str
    time: list[int]
    """The minute that it is."""


async def a_world() -> World:
    time = [0]

    def clock() -> datetime:
        return BEGIN + timedelta(minutes=time[0])

    service, store = await memory_service(clock=clock)
    store.clock = clock
    people = {n: await enrol(service, name, "*", scope="Team") for n, name in enumerate(PEOPLE)}
    do = AdminClient(service, store)
    plan_id = await a_plan_to_run(do)
    plan = await do("get_plan", {"plan_id": plan_id})
    policy = {
        "name": "Staff",
        "conduit_id": ENTRY,
        "surface_id": str(seeded.SURFACES[SurfaceKind.HTTP]),
        "permitted_principal_ids": [(await do("get_plan", {"plan_id": plan_id}))["owner_id"]],
        "permitted_commands": ["get_visit"],
        "object_scope": "All",
    }
    policy_id = (await do("define_policy", policy))["policy_id"]
    asset_id: str = plan["asset_ids"][0]
    if (await do("get_asset", {"asset_id": asset_id}))["lifecycle"] == "Commissioned":
        await do("activate_asset", {"asset_id": asset_id})
    return World(service, store, people, plan_id, asset_id, policy_id, time)


class Walk:
    """One walk: each step is taken in the model and in the service."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random, self.model = world, Random(seed), Model()  # noqa: S311
        self.ids: dict[int, str] = {}
        """The id in the service of each team, visit and object of the model."""
        self.met = Counter[str]()
        self._number = 0

    async def send(self, name: str, arguments: Mapping[str, Any], who: str = "ada") -> Any:
        return await call(self.world.service, name, arguments, subject=who)

    async def tried(
        self, name: str, arguments: Mapping[str, Any], who: str = "ada"
    ) -> tuple[Any, Refusal | None]:
        """Return what one call answers, or its refusal."""
        try:
            return await self.send(name, arguments, who), None
        except Refusal as refusal:
            return None, refusal

    def new(self, id: UUID) -> int:
        self._number += 1
        self.ids[self._number] = str(id)
        return self._number

    def some(self, of: Sequence[int], share: float = 0.7) -> int | None:
        return self.random.choice(of) if of and self.random.random() < share else None

    def things(self, *kinds: Kind) -> list[int]:
        return [id for id, each in self.model.things.items() if each.kind in kinds]

    async def step(self) -> None:
        self.model.now = self.world.time[0] = self.model.now + 1
        steps: list[tuple[Callable[[], Any], int]] = [
            (self.register_team, 8),
            (self.register_visit, 8),
            (self.change_control, 10),
            (self.close_or_reopen, 4),
            (self.change_members, 14),
            (self.create, 55),
        ]
        await self.random.choices([s for s, _ in steps], [w for _, w in steps])[0]()

    async def register_team(self) -> None:
        first = self.random.randrange(len(PEOPLE))
        members = [{"principal_id": str(self.world.people[first]), "role": "Leader"}]
        made = await self.send("register_team", {"title": "Fossils", "members": members})
        self.model.teams[self.new(made.id)] = Team({first: Member("Leader")})

    async def register_visit(self) -> None:
        open_teams = [id for id, team in self.model.teams.items() if not team.closed]
        team = self.some(open_teams, 0.8)
        people = (
            {"policy_id": self.world.policy_id} if team is None else {"team_id": self.ids[team]}
        )
        made = await self.send(
            "register_visit",
            {
                **people,
                "parent_surface_id": str(seeded.SURFACES[SurfaceKind.HTTP]),
                "type": "user",
                "planned_start_at": "2030-01-01T00:00:00Z",
                "planned_end_at": "2030-01-03T00:00:00Z",
            },
        )
        await self.send("record_visit_arrival", {"visit_id": str(made.id)})
        self.model.visits[self.new(made.id)] = team

    async def change_control(self) -> None:
        if self.model.control is not None:
            released = {"visit_id": self.ids[self.model.control]}
            await self.send("release_visit_surface_control", released)
            self.model.control = None
        visit = self.some([*self.model.visits], 0.8)
        if visit is None:
            return
        team = self.model.visits[visit]
        who = "ada"
        if team is not None:
            members = self.model.teams[team].members
            here = [n for n, each in members.items() if each.counts(self.model.now)]
            if not here:
                with pytest.raises(Refusal):
                    await self.send("take_visit_surface_control", {"visit_id": self.ids[visit]})
                return
            who = PEOPLE[self.random.choice(here)]
            # A member takes control of a visit that somebody else registered for the team.
        await self.send("take_visit_surface_control", {"visit_id": self.ids[visit]}, who)
        self.model.control = visit

    async def close_or_reopen(self) -> None:
        if (team := self.some([*self.model.teams])) is not None:
            closed = self.model.teams[team].closed
            await self.send("reopen_team" if closed else "close_team", {"team_id": self.ids[team]})
            self.model.teams[team].closed = not closed

    async def change_members(self) -> None:
        if (team := self.some([*self.model.teams])) is None:
            return
        person, members = self.random.randrange(len(PEOPLE)), self.model.teams[team].members
        of = {"team_id": self.ids[team], "principal_id": str(self.world.people[person])}
        if person in members and self.random.random() < 0.5:
            await self.send("remove_team_member", {**of, "reason": "Left"})
            del members[person]
            return
        since = self.random.choice([None, self.model.now - 3, self.model.now, self.model.now + 4])
        until = self.random.choice([None, self.model.now + 6, self.model.now + 9])
        period = {"since": moment(since), "until": moment(until)}
        name = "change_team_member" if person in members else "add_team_member"
        made, refusal = await self.tried(name, {**of, "role": "Member", **period})
        if made is None:
            # The same again changes nothing.
            assert type(refusal).__name__ == "TeamCannotChangeMemberError", refusal
            return
        members[person] = Member("Member", since, until)

    async def create(self) -> None:
        kind = self.random.choice([*Kind])
        given = Belonging(
            self.some([*self.model.teams]) if self.random.random() < 0.3 else None,
            self.some([*self.model.visits]) if self.random.random() < 0.2 else None,
        )
        wholes, others, arguments = self.request(kind)
        if kind is Kind.EDITION and not wholes:
            return
        try:
            expected = self.model.belonging(kind, given, wholes, others)
        except RefusedError as refused:
            expected = refused.code
        named = {
            "team_id": given.team and self.ids[given.team],
            "visit_id": given.visit and self.ids[given.visit],
        }
        sent = {**arguments, **{name: id for name, id in named.items() if id}}
        operation = "start_run" if kind is Kind.RUN else f"register_{kind.lower()}"
        made, refusal = await self.tried(operation, sent)
        at = kind, given, wholes, others
        if made is None:
            assert type(refusal).__name__ == expected, (*at, str(refusal))
            self.met[str(expected)] += 1
            return
        assert isinstance(expected, Belonging), (*at, expected)
        found = json.loads((await self.send(GETS[kind], {self.field(kind): str(made.id)})).body)
        wanted = [each and self.ids[each] for each in (expected.team, expected.visit)]
        assert [found["team_id"], found["visit_id"]] == wanted, at
        self.met["of a team" if expected.team else "of nobody"] += 1
        self.model.things[self.new(made.id)] = Thing(
            kind, -1, expected, tuple(wholes), tuple(others)
        )
        if kind is Kind.SUBJECT:
            mounted = {"asset_id": self.world.asset_id, "reason": "For the walk"}
            await self.send("mount_subject", {"subject_id": str(made.id), **mounted})

    def request(self, kind: Kind) -> tuple[list[int], list[int], dict[str, Any]]:
        """Return what a new object is a part of, what it is about, and its arguments."""
        subject = self.some(self.things(Kind.SUBJECT))
        campaign = self.some(self.things(Kind.CAMPAIGN))
        run, dataset = self.some(self.things(Kind.RUN)), self.some(self.things(Kind.DATASET))
        match kind:
            case Kind.SUBJECT:
                return [], [], {"name": "F"}
            case Kind.CAMPAIGN:
                lead = {"lead_actor_id": str(self.world.people[0]), "intent": "Sweep"}
                return [], present(subject), {"name": "C", **lead, **self.by(subject_id=subject)}
            case Kind.RUN:
                named = self.by(subject_id=subject, campaign_id=campaign)
                begun = {"name": "R", "plan_id": self.world.plan_id, **named}
                begun["override_parameters"] = {"energy": 26.0}
                return [], present(subject, campaign), begun
            case Kind.PROCEDURE:
                named = self.by(parent_run_id=run)
                aimed = {"target_asset_ids": [self.world.asset_id], "kind": "alignment"}
                return present(run), [], {"name": "P", **aimed, **named}
            case Kind.DATASET:
                of_run = run and self.model.things[run]
                about = (
                    next((o for o in of_run.others if self.kind(o) is Kind.SUBJECT), None)
                    if (of_run)
                    else subject
                )
                derived = [self.ids[dataset]] if dataset else []
                made = new_dataset(derived_from=derived, **self.by(producing_run_id=run))
                # Without a subject, a dataset has that of its run.
                made |= self.by(subject_id=about)
                return present(run, dataset), present(about), made
            case Kind.EDITION:
                chosen = sorted(d for d in {dataset, self.some(self.things(Kind.DATASET))} if d)
                named = {"dataset_ids": [self.ids[each] for each in chosen]}
                named["creator_ids"] = [str(self.world.people[0])]
                return chosen, [], {"title": "E", "kind": "ROCrate", **named}
            case Kind.DECISION:
                inputs = self.by(run_id=run, subject_id=subject, dataset_id=dataset)
                named = {"inputs": inputs} if inputs else {}
                decided = {"context": "Walk", "choice": "Go", **named}
                return present(run, subject, dataset), [], decided

    def by(self, **named: int | None) -> dict[str, Any]:
        return {field: self.ids[id] for field, id in named.items() if id is not None}

    def kind(self, id: int) -> Kind:
        return self.model.things[id].kind

    @staticmethod
    def field(kind: Kind) -> str:
        return f"{kind.lower()}_id"

    async def require_seen(self) -> None:
        """Require that every person reads and lists exactly what the model shows."""
        for person, name in enumerate(PEOPLE):
            expected = {
                kind: {self.ids[id] for id in self.things(kind) if self.model.sees(person, id)}
                for kind in Kind
            }
            for kind in Kind:
                page = {"limit": 100}
                answer = await self.send(f"list_{kind.lower()}s", page, name)
                shown = {row[self.field(kind)] for row in json.loads(answer.body)["items"]}
                assert shown == expected[kind], (name, kind)
            for id, thing in self.model.things.items():
                asked = {self.field(thing.kind): self.ids[id]}
                found, refusal = await self.tried(GETS[thing.kind], asked, name)
                assert (found is not None) is self.model.sees(person, id), (name, thing)
                assert refusal is None or refusal.status == 404


def present(*ids: int | None) -> list[int]:
    return [id for id in ids if id is not None]


def moment(minute: int | None) -> str | None:
    return None if minute is None else (BEGIN + timedelta(minutes=minute)).isoformat()


async def test_the_service_assigns_and_shows_what_the_model_says():
    world = await a_world()
    fresh, met = world.store.backup(), Counter[str]()
    for seed in range(WALKS):
        world.store.restore(fresh)
        world.time[0] = 0
        walk = Walk(world, seed)
        for _ in range(STEPS):
            await walk.step()
        await walk.require_seen()
        met += walk.met
    assert met.keys() == {"of a team", "of nobody", "TeamsDifferError", "TeamIsClosedError"}, met
