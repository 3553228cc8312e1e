"""Random walks of people who try to get more power than anybody gave them.

A walk has one administrator and one help desk, who are honest: they give power to actors whom they
know, bind logins to the persons that these belong to, and confirm a login only after looking whose
it is. Everybody else works together: people with some permissions, a gateway and an agent that is
under somebody's influence. They call with the logins they have at the identity provider.

The oracle keeps what was given to the actors of those who work together, and compares it after
every call with what each of their logins permits.
"""

import random
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch
from uuid import UUID

from beamkeep.adapters.memory.store import MemoryBackup, MemoryStore
from beamkeep.contexts.access import actor as access
from beamkeep.contexts.access.profile import IDENTITIES, STANDINGS, digest_of
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.enclosure.enclosure import enclosures
from beamkeep.contexts.trust.grants import POLICY_GRANTS, GrantRequiresConfirmedLoginError
from beamkeep.contexts.trust.seeded import ENTRY, SURFACES
from beamkeep.kernel import (
    Allow,
    Deny,
    Grant,
    ObjectScope,
    Operation,
    Refusal,
    Standing,
    SurfaceKind,
    authorize,
)
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import StoredEvent
from beamkeep.testing.installation import FACILITY_CODE, ISSUER
from beamkeep.testing.service import by, call, memory_service

STEPS = 24
ANOTHER_AGENT = "another agent"
LOGIN_KEY = b"k" * 32
HONEST = ("ada", "help")
"""The subjects of those who only do what they should."""
PEOPLE = ("eve", "mallory")
LOGINS = ("eve", "eve-2", "eve-3", "mallory", "mallory-2", "gateway", "robot")
"""The subjects that those who work together have at the identity provider."""
NEVER_GIVEN = ("define_zone", "make_procedure_safe")
"""Commands that the walks look at beside those that they give."""
GIVEN = (
    "add_grant",
    "bind_actor_identity",
    "bind_enclosure_monitor",
    "confirm_actor_identity",
    "define_agent",
    "define_policy",
    "forget_actor",
    "get_zone",
    "grant_agent_tool",
    "hold_procedure",
    "observe_enclosure_status",
    "register_actor",
    "revoke_grant",
    "unbind_actor_identity",
)
COMMANDS = (*GIVEN, *NEVER_GIVEN)
MOVES = tuple(sorted({*GIVEN} - {"get_zone", "hold_procedure"}))
"""What those who work together call."""
HTTP, MCP = SurfaceKind.HTTP, SurfaceKind.MCP_STREAMABLE_HTTP
PLACES = {SURFACES[HTTP]: HTTP, SURFACES[MCP]: MCP}
SCOPES = tuple(ObjectScope)
REACHED = {
    ObjectScope.ALL: (ObjectScope.ALL, ObjectScope.TEAM, ObjectScope.OWN),
    ObjectScope.TEAM: (ObjectScope.TEAM, ObjectScope.OWN),
    ObjectScope.OWN: (ObjectScope.OWN,),
}
"""The scopes that a scope includes."""
type Power = tuple[str, UUID, ObjectScope, bool]
"""A command, a surface, a scope, and whether the command may be run and not only proposed."""


class Breach(Exception):
    """Somebody has more than was given to those who work together."""


class World(NamedTuple):
    """A service with the people of a walk, and how it was before the walk."""

    service: Service
    store: MemoryStore
    before: MemoryBackup
    ids: Mapping[str, UUID]
    """The actors of the people, the gateway and the agent, by subject."""
    enclosure_id: UUID
    codec: Codec


async def make_world() -> World:
    """Return a service in which the people are registered and permitted nothing yet."""
    service, store = await memory_service()
    ids: dict[str, UUID] = {}
    for subject in ("help", "nora", *PEOPLE, "gateway"):
        kind = "service_account" if subject == "gateway" else "human"
        ids[subject] = (
            await call(service, "register_actor", registering(subject, subject, kind=kind))
        ).id
    ids["robot"] = (await call(service, "define_agent", an_agent())).id
    login = {"actor_id": str(ids["robot"]), "issuer": ISSUER, "subject": "robot"}
    await call(service, "bind_actor_identity", login)
    hutch = {"name": "Hutch", "facility_code": FACILITY_CODE}
    enclosure = await call(service, "register_enclosure", hutch)
    return World(
        service, store, store.backup(), ids, enclosure.id, Codec(CATALOGUE.aggregates.values())
    )


def registering(name: str, *subjects: str, kind: str = "human") -> dict[str, Any]:
    logins = [{"issuer": ISSUER, "subject": each} for each in subjects]
    return {"name": name, "kind": kind, "identities": logins}


def an_agent(*tools: str) -> dict[str, Any]:
    return {
        "name": "Agent",
        "kind": "Scheduler",
        "version": "1",
        "description": "Plans",
        "model_ref": {"provider": "local", "model": "a", "snapshot_pin": "a-1"},
        "capabilities": ["plans"],
        "tools": list(tools),
    }


class Walk:
    """One walk: who is who, what was given, and what has been done."""

    def __init__(self, world: World, dice: random.Random) -> None:
        self.world, self.dice = world, dice
        self.done: list[str] = []
        self.figures = Counter[str]()
        self.given: set[Power] = set()
        self.tools: set[str] = set()
        """The tools that the honest gave to the agent."""
        self.agent_given: set[Power] = set()
        """The powers that the honest gave to the agent."""
        self.reporting: set[UUID] = set()
        """The accounts of those who work together that the administrator bound as monitors."""
        self.faces: dict[UUID, str] = {id: name for name, id in world.ids.items()}
        """Who each actor is, as far as the honest know: nora is, or would be, an honest person."""
        self.policies: dict[UUID, Mapping[str, Any]] = {}

    async def go(self) -> None:
        """Walk; raise Breach at the first step after which somebody has too much."""
        self.world.store.restore(self.world.before)
        for name in ("help", *PEOPLE):
            await self._administrator_gives(self.world.ids[name])
        for _ in range(STEPS):
            await (self._honest_step() if self.dice.random() < 0.45 else self._their_step())
            self._compare()

    # What the honest do

    async def _honest_step(self) -> None:
        gives = self._administrator_gives, self._administrator_adds
        others = self._binds_monitor, self._help_desk_registers, self._gives_tool, self._binds
        await self.dice.choice((*gives, *gives, *others))(self.dice.choice([*self.faces]))

    async def _administrator_gives(self, actor_id: UUID) -> None:
        theirs = self._is_theirs(actor_id)
        wanted = self._a_policy(actor_id, everything=not theirs)
        if await self._insists(actor_id, "define_policy", wanted):
            self._keep(actor_id, wanted)

    async def _administrator_adds(self, actor_id: UUID) -> None:
        if self.policies:
            policy_id = self.dice.choice([*self.policies])
            wanted = {"policy_id": str(policy_id), "permitted_principal_id": str(actor_id)}
            # An administrator gives those who work together no policy that permits everything.
            policy = self.policies[policy_id]
            if self._is_theirs(actor_id) and policy["permitted_commands"] == ["*"]:
                return
            if await self._insists(actor_id, "add_grant", wanted):
                self._keep(actor_id, policy)

    async def _binds_monitor(self, actor_id: UUID) -> None:
        wanted = {"enclosure_id": str(self.world.enclosure_id), "monitor_id": str(actor_id)}
        if await self._insists(actor_id, "bind_enclosure_monitor", wanted):
            self.reporting |= {actor_id} if self._is_theirs(actor_id) else set()

    async def _help_desk_registers(self, _: UUID) -> None:
        """Register who stands at the desk, with the login that belongs to that person."""
        subject = self.dice.choice(("eve-2", "nora-2"))
        if made := await self._try("help", "register_actor", registering(subject, subject)):
            self.faces[made.id] = subject

    async def _gives_tool(self, _: UUID) -> None:
        tool, actor_id = self.dice.choice(COMMANDS), self.dice.choice(self._agents())
        wanted = {"agent_id": str(actor_id), "tool_name": tool}
        if await self._insists(actor_id, "grant_agent_tool", wanted):
            self.tools |= {tool} if actor_id == self.world.ids["robot"] else set()

    async def _binds(self, actor_id: UUID) -> None:
        """Bind a login of the person, or take one away that belongs to nobody who is known."""
        theirs = self._logins_of(actor_id)
        for subject in theirs:
            if not self._is_login_of(subject, actor_id):
                await self._try("ada", "unbind_actor_identity", a_login(actor_id, subject))
                return
        subject = self.faces[actor_id]
        await self._try(self.dice.choice(HONEST), "bind_actor_identity", a_login(actor_id, subject))

    async def _insists(self, actor_id: UUID, name: str, arguments: dict[str, Any]) -> bool:
        """Call as the administrator; look whose the logins are that a refusal names."""
        for _ in range(access.MOST_BINDINGS + 1):
            try:
                await self._call("ada", name, arguments)
            except GrantRequiresConfirmedLoginError as refusal:
                self.done.append(f"ada: {name} refused: {refusal}")
                self.figures["logins named"] += 1
                await self._looks_at(actor_id, str(refusal.facts["subject_digest"]))
            except Refusal:
                return False
            else:
                return True
        raise AssertionError(f"{name} names logins for ever")

    async def _looks_at(self, actor_id: UUID, digest: str) -> None:
        digests = {
            digest_of(LOGIN_KEY, actor_id, ISSUER, each): each for each in self._logins_of(actor_id)
        }
        subject = digests[digest]
        verb = "confirm" if self._is_login_of(subject, actor_id) else "unbind"
        await self._call("ada", f"{verb}_actor_identity", a_login(actor_id, subject))

    # What those who work together do

    async def _their_step(self) -> None:
        """Call something that a login of theirs permits, or anything."""
        rows, dice = self.world.store.tables[IDENTITIES.name], self.dice
        bound = {each: row.actor_id for each in LOGINS if (row := rows.get((ISSUER, each)))}
        permitted = [
            (subject, PLACES[place], name)
            for subject, actor_id in bound.items()
            for name, place, scope, may_run in sorted(self._powers_of(actor_id), key=str)
            if may_run and scope is ObjectScope.OWN and name in MOVES
        ]
        if not permitted or dice.random() < 0.1:
            permitted = [(dice.choice(LOGINS), dice.choice([*SURFACES]), dice.choice(MOVES))]
        subject, over, name = dice.choice(permitted)
        moves = self._moves(bound.get(subject))
        if made := await self._try(subject, name, moves[name](), over):
            if name == "register_actor":
                self.faces[made.id] = self.dice.choice(("nora", subject))
            elif name == "define_agent":
                self.faces[made.id] = ANOTHER_AGENT

    def _moves(self, own_id: UUID | None) -> dict[str, Callable[[], dict[str, Any]]]:
        dice = self.dice
        rows = self.world.store.tables[IDENTITIES.name]
        free = [each for each in LOGINS if (ISSUER, each) not in rows]
        subject = dice.choice(free or LOGINS)
        someone = own_id if own_id and dice.random() < 0.2 else dice.choice([*self.faces])
        login = a_login(someone, subject)
        known = [a_login(row.actor_id, row.subject) for row in rows.values()]
        theirs = [each for each in known if each["subject"] in LOGINS]
        policy_id = str(dice.choice([*self.policies])) if self.policies else str(UUID(int=1))
        grant = {"policy_id": policy_id, "permitted_principal_id": str(someone)}
        hutch = {"enclosure_id": str(self.world.enclosure_id)}
        kind = dice.choice(("human", "human", "service_account"))
        return {
            "register_actor": lambda: registering("new", subject, kind=kind),
            "bind_actor_identity": lambda: login,
            "unbind_actor_identity": lambda: dice.choice(known),
            "confirm_actor_identity": lambda: dice.choice(theirs or known),
            "define_policy": lambda: self._a_policy(someone, everything=True),
            "add_grant": lambda: grant,
            "revoke_grant": lambda: grant | {"reason": "Less"},
            "forget_actor": lambda: {"actor_id": str(someone)},
            "define_agent": lambda: an_agent(dice.choice(COMMANDS)),
            "grant_agent_tool": lambda: {
                "agent_id": str(dice.choice(self._agents())),
                "tool_name": dice.choice(COMMANDS),
            },
            "bind_enclosure_monitor": lambda: hutch | {"monitor_id": str(someone)},
            "observe_enclosure_status": lambda: (
                hutch | {"permit_status": "Permitted", "reason": "Seen", "monitor_ref": "plc"}
            ),
        }

    async def _try(
        self, subject: str, name: str, arguments: Mapping[str, Any], over: SurfaceKind = HTTP
    ) -> Any:
        """Call as somebody; return None if the call is refused."""
        try:
            return await self._call(subject, name, arguments, over)
        except Refusal as refusal:
            self.figures[f"{'' if subject in HONEST else 'their '}refusals"] += 1
            self.figures[type(refusal).__name__] += 1
            return None

    async def _call(
        self, subject: str, name: str, arguments: Mapping[str, Any], over: SurfaceKind = HTTP
    ) -> Any:
        row = CATALOGUE.named[name]
        assert isinstance(row, Operation)
        request = Request(by(subject, over), arguments)
        answer = await self.world.service.dispatcher.execute(row, request)
        self.done.append(f"{subject} over {over}: {name} {dict(arguments)} -> {answer.id}")
        self.figures["calls" if subject in HONEST else "their calls"] += 1
        if name == "define_policy":
            assert answer.id
            self.policies[answer.id] = arguments
        return answer

    # Who is who, and who has what

    def _is_theirs(self, actor_id: UUID) -> bool:
        return self.faces[actor_id] in LOGINS and actor_id != self.world.ids["robot"]

    def _is_login_of(self, subject: str, actor_id: UUID) -> bool:
        face = self.faces[actor_id]
        return subject.partition("-")[0] == face.partition("-")[0]

    def _agents(self) -> list[UUID]:
        others = [id for id, face in self.faces.items() if face == ANOTHER_AGENT]
        return [self.world.ids["robot"], *others]

    def _logins_of(self, actor_id: UUID) -> list[str]:
        rows = self.world.store.tables[IDENTITIES.name].values()
        return sorted(row.subject for row in rows if row.actor_id == actor_id)

    def _a_policy(self, actor_id: UUID, *, everything: bool) -> dict[str, Any]:
        dice = self.dice
        some = dice.sample(GIVEN, dice.randint(2, 8))
        if everything and dice.random() < 0.4:
            some = ["*"]
        proposable = dice.sample(["hold_procedure", "bind_enclosure_monitor"], dice.randint(0, 1))
        return {
            "name": "Policy",
            "conduit_id": str(ENTRY),
            "surface_id": str(dice.choice([SURFACES[HTTP], SURFACES[HTTP], *PLACES])),
            "permitted_principal_ids": [str(actor_id)],
            "permitted_commands": some,
            "proposable_commands": proposable if "*" not in some else [],
            "object_scope": dice.choice((*SCOPES, ObjectScope.ALL)),
        }

    def _keep(self, actor_id: UUID, policy: Mapping[str, Any]) -> None:
        """Remember what the honest gave to this actor."""
        surface_id = UUID(policy["surface_id"])
        run, propose = _named(policy["permitted_commands"]), {*policy["proposable_commands"]}
        powers = {
            (name, surface_id, scope, may_run)
            for names, may_run in ((run, True), (run | propose, False))
            for name in names
            for scope in REACHED[ObjectScope(policy["object_scope"])]
        }
        if self._is_theirs(actor_id):
            self.given |= powers
        elif actor_id == self.world.ids["robot"]:
            self.agent_given |= powers

    def _powers_of(self, actor_id: UUID) -> frozenset[Power]:
        """Return what a login of this actor permits, with what is weaker than it."""
        tables = self.world.store.tables
        grants = (
            row for row in tables[POLICY_GRANTS.name].values() if row.principal_id == actor_id
        )
        return _powers(tables[STANDINGS.name][actor_id,], tuple(grants))

    def _compare(self) -> None:
        """Raise Breach if a login of theirs permits what was not given."""
        rows = self.world.store.tables[IDENTITIES.name]
        theirs = {row.actor_id for each in LOGINS if (row := rows.get((ISSUER, each)))}
        allowed = self.given | self._powers_of_robot()
        for actor_id in sorted(theirs):
            if more := self._powers_of(actor_id) - allowed:
                some = ", ".join(sorted(f"{name} at {place}" for name, place, *_ in more)[:3])
                raise Breach(f"actor {actor_id} ({self.faces[actor_id]}) has {some}")
        kept = self.world.store.streams["Enclosure", self.world.enclosure_id]
        stored = [StoredEvent(e.version, e.event_type, e.schema_version, e.payload) for e in kept]
        enclosure = self.world.codec.fold(enclosures, stored)
        assert enclosure
        if more := (theirs & enclosure.monitor_ids) - self.reporting:
            raise Breach(f"{more} may report on the enclosure")

    def _powers_of_robot(self) -> set[Power]:
        """Return what the agent has been given: over MCP only with the tools for it.

        A tool may come from the administrator or from somebody who may run it on some surface.
        """
        tools = self.tools | {name for name, *_, may_run in self.given if may_run}
        return {
            power for power in self.agent_given if power[1] == SURFACES[HTTP] or power[0] in tools
        }


def _named(commands: Sequence[str]) -> set[str]:
    """Return what a policy with these commands permits, of the commands that are looked at."""
    if "*" in commands:
        return {*COMMANDS}
    # Whoever may hold a procedure may make it safe.
    return {*commands} | ({"make_procedure_safe"} if "hold_procedure" in commands else set())


def a_login(actor_id: UUID, subject: str) -> dict[str, Any]:
    return {"actor_id": str(actor_id), "issuer": ISSUER, "subject": subject}


@cache
def _powers(standing: Standing, grants: tuple[Grant, ...]) -> frozenset[Power]:
    """Return what these grants permit somebody, with everything that is weaker than it."""
    powers: set[Power] = set()
    for name in COMMANDS:
        for place, kind in PLACES.items():
            verdict = authorize(standing, grants, name, ENTRY, place, kind, proposable=True)
            if isinstance(verdict, Deny):
                continue
            scopes = REACHED[verdict.object_scope]
            may_run = {False, isinstance(verdict, Allow)}
            powers |= {(name, place, scope, run) for scope in scopes for run in may_run}
    return frozenset(powers)


async def walks(
    world: World, numbers: Iterable[int], dice: Callable[[int], random.Random]
) -> tuple[Counter[str], list[str]]:
    """Walk until somebody has too much; return figures, and what was done in that walk."""
    figures = Counter[str](walks=0, breaches=0)
    for number in numbers:
        walk = Walk(world, dice(number))
        figures["walks"] += 1
        try:
            await walk.go()
        except Breach as breach:
            figures["breaches"] += 1
            return figures | walk.figures, [*walk.done, str(breach)]
        figures += walk.figures
    return figures, []


# What a guard that is left out lets through


def _nothing(*_: object, **__: object) -> None: ...


@contextmanager
def without(name: str, module: ModuleType, by: Callable[..., Any] = _nothing) -> Generator[None]:
    """Leave a guard out of a module."""
    with patch.object(module, name, by):
        yield
