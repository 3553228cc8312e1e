"""A seeded stream of real commands, and the history of what came of each."""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from random import Random
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec

from beamkeep.adapters.postgres.connections import CONNECTION_ERRORS, UNAVAILABLE_ERRORS
from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.kernel import Operation, Record, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.deciding import CommandResult
from beamkeep.runtime.store import IdempotencyInFlightError, OutcomeUnknownError

CODEC = Codec(CATALOGUE.aggregates.values())
SLOW, ROLLED_BACK, WITHOUT_KEY, REPEATED = 0.05, 0.05, 0.1, 0.5

NEXT = {
    "Planned": ("record_visit_arrival",),
    "Arrived": ("start_visit", "take_visit_surface_control"),
    "InProgress": ("hold_visit", "complete_visit", "take_visit_surface_control"),
    "OnHold": ("resume_visit", "release_visit_surface_control"),
    "Completed": (),
}
LEADS_TO = {
    "record_visit_arrival": "Arrived",
    "start_visit": "InProgress",
    "hold_visit": "OnHold",
    "resume_visit": "InProgress",
    "complete_visit": "Completed",
}

# A zone written past the service, in a transaction that stays open as long as the test likes.
RAW_ZONE = """
INSERT INTO bk.events (stream_type, stream_id, version, event_id, event_type, schema_version,
                       payload, command_name, principal_id, correlation_id, occurred_at)
VALUES ('Zone', $1, 1, $2, 'ZoneDefined', 1, $3::text::json, 'define_zone', $4, $5, $6)
"""


class End(StrEnum):
    """How an attempt ended, as far as its client knows."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    """The service said that nothing was written."""
    UNKNOWN = "unknown"
    LEAKED = "leaked"
    """An error came out that is no answer of the service."""


UNDECIDED = (OutcomeUnknownError, IdempotencyInFlightError)


class Step(Record):
    """One command with its arguments."""

    name: str
    arguments: Mapping[str, Any]


class Attempt(Record):
    """One try of one request; all tries of a request bear its key."""

    key: str
    name: str
    correlation_id: UUID
    end: End
    at: float
    answered: CommandResult | None = None
    refusal: str | None = None


class Client:
    """Calls the service and writes down what came of it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.history: list[Attempt] = []

    async def attempt(self, key: str, step: Step, idempotent: bool = True) -> Attempt:
        """Try one request once."""
        operation = CATALOGUE.named[step.name]
        assert isinstance(operation, Operation)
        correlation_id = uuid4()
        caller = Caller(correlation_id, principal_id=DEVELOPER, transport=SurfaceKind.HTTP)
        request = Request(caller, step.arguments, key if idempotent else None)
        answered: CommandResult | None = None
        refusal: str | None = None
        try:
            answered = await self._service.dispatcher.execute(operation, request)
            end = End.ACKNOWLEDGED
        except UNDECIDED as undecided:
            end, refusal = End.UNKNOWN, type(undecided).__name__
        except Refusal as refused:
            end, refusal = End.REFUSED, type(refused).__name__
        except Exception as error:
            end, refusal = End.LEAKED, repr(error)
        return self.note(
            Attempt(key, step.name, correlation_id, end, time.monotonic(), answered, refusal)
        )

    async def succeed(self, name: str, /, **arguments: Any) -> str:
        """Make one request that must succeed, and give back the id of what it made."""
        step = Step(name, arguments)
        attempt = await self.attempt(str(uuid4()), step)
        assert attempt.answered, attempt.refusal
        return made(step, attempt.answered)

    def note(self, attempt: Attempt) -> Attempt:
        """Add an attempt to the history."""
        self.history.append(attempt)
        return attempt


class World:
    """What the writers know to exist, and may therefore change."""

    def __init__(self) -> None:
        self.actors: list[str] = []
        self.places: list[tuple[str, str]] = []
        """Surfaces, each with a policy on it."""
        self.visits: dict[str, str] = {}
        """Visits, each with the status it was last known to have."""

    async def furnish(self, client: Client, places: int = 4) -> None:
        """Make what the first commands need."""
        self.actors = [await client.succeed("register_actor", name="Grace") for _ in range(4)]
        for _ in range(places):
            self.places.append(await a_place(client))

    def choose(self, dice: Random) -> Step:
        """The next command, made of things that exist."""
        match dice.choices(("actor", "zone", "profile", "grant", "visit"), (4, 2, 5, 4, 5))[0]:
            case "actor":
                return Step("register_actor", {"name": f"Grace {dice.random()}"})
            case "zone":
                return Step("define_zone", {"name": f"Hutch {dice.random()}"})
            case "profile":
                who = dice.choice(self.actors)
                return Step("update_actor_profile", {"actor_id": who, "phone": str(dice.random())})
            case "grant":
                return self._grant(dice)
            case _:
                return self._visit(dice)

    def learn(self, step: Step, answered: CommandResult) -> None:
        """Remember what an acknowledged command made or moved."""
        if step.name == "register_actor":
            self.actors.append(made(step, answered))
        elif step.name == "register_visit":
            self.visits[made(step, answered)] = "Planned"
        elif step.name in LEADS_TO:
            self.visits[step.arguments["visit_id"]] = LEADS_TO[step.name]

    def _grant(self, dice: Random) -> Step:
        _, policy_id = dice.choice(self.places)
        whom = {"policy_id": policy_id, "permitted_principal_id": dice.choice(self.actors[:20])}
        if dice.random() < 0.5:
            return Step("add_grant", whom)
        return Step("revoke_grant", {**whom, "reason": "Left"})

    def _visit(self, dice: Random) -> Step:
        moves = [(id, name) for id, status in self.visits.items() for name in NEXT[status]]
        if not moves or dice.random() < 0.2:
            return Step("register_visit", a_visit(*dice.choice(self.places)))
        id, name = dice.choice(moves[-40:])
        return Step(name, {"visit_id": id} | ({"reason": "Leak"} if name == "hold_visit" else {}))


class Writer:
    """Gives one command after another until told to stop."""

    def __init__(self, number: int, client: Client, world: World, dice: Random, url: str) -> None:
        self._name, self._client, self._world = f"writer-{number}", client, world
        self._dice, self._url = dice, url

    async def run(self, stop: asyncio.Event) -> None:
        """Write, now and then in a transaction of one's own that is slow or comes to nothing."""
        count = 0
        while not stop.is_set():
            count += 1
            key = f"{self._name}-{count}"
            drawn = self._dice.random()
            if drawn < SLOW:
                await write_zone(self._url, self._client, key, self._dice.uniform(0.02, 0.3), True)
            elif drawn < SLOW + ROLLED_BACK:
                await write_zone(self._url, self._client, key, self._dice.uniform(0, 0.05), False)
            else:
                await self._call(key)

    async def _call(self, key: str) -> None:
        step, idempotent = self._world.choose(self._dice), self._dice.random() >= WITHOUT_KEY
        attempt = await self._client.attempt(key, step, idempotent)
        if attempt.end is End.UNKNOWN and idempotent and self._dice.random() < REPEATED:
            attempt = await self._client.attempt(key, step)
        if attempt.answered:
            self._world.learn(step, attempt.answered)


async def write_zone(url: str, client: Client, key: str, seconds: float, commit: bool) -> None:
    """Define a zone in a transaction that holds its id for a while, then commits or does not."""
    zone = ZoneDefined(datetime.now(UTC), uuid4(), "Slow")
    event = CODEC.encode(zone, 1, uuid4())
    correlation_id, end = uuid4(), End.UNKNOWN
    try:
        connection = await asyncpg.connect(url, timeout=5)
    except (*CONNECTION_ERRORS, *UNAVAILABLE_ERRORS, asyncpg.InternalServerError):
        # Nothing was sent yet.
        client.note(Attempt(key, "raw", correlation_id, End.REFUSED, time.monotonic()))
        return
    try:
        try:
            await connection.execute("BEGIN")
            await connection.execute(
                RAW_ZONE,
                zone.zone_id,
                event.event_id,
                event.payload.decode(),
                DEVELOPER,
                correlation_id,
                zone.occurred_at,
            )
            await connection.execute("SELECT pg_sleep($1)", seconds)
            await connection.execute("COMMIT" if commit else "ROLLBACK")
            end = End.ACKNOWLEDGED if commit else End.REFUSED
        finally:
            connection.terminate()
    except (*CONNECTION_ERRORS, asyncpg.InternalServerError):
        end = End.UNKNOWN if commit else End.REFUSED
    except UNAVAILABLE_ERRORS:
        end = End.REFUSED
    client.note(Attempt(key, "raw", correlation_id, end, time.monotonic()))


async def a_place(client: Client) -> tuple[str, str]:
    """A surface, and a policy on it that permits the one who calls."""
    entry = str(seeded.ENTRY)
    surface_id = await client.succeed(
        "define_surface", name="Console", kind="HTTP", conduit_id=entry
    )
    policy_id = await client.succeed(
        "define_policy",
        name="Users",
        conduit_id=entry,
        surface_id=surface_id,
        permitted_principal_ids=[str(DEVELOPER)],
        permitted_commands=["get_visit"],
        object_scope="Own",
    )
    return surface_id, policy_id


def a_visit(surface_id: str, policy_id: str, parent_id: str | None = None) -> dict[str, Any]:
    """The arguments of a visit to a place."""
    return {
        "policy_id": policy_id,
        "parent_surface_id": surface_id,
        "type": "user",
        "planned_start_at": "2030-01-31T07:30:00Z",
        "planned_end_at": "2030-02-01T07:30:00Z",
        "parent_id": parent_id,
    }


def made(step: Step, answered: CommandResult) -> str:
    """The id of what a creation made; nothing for a change."""
    body: dict[str, str] = msgspec.json.decode(answered.body) if answered.body else {}
    return next(iter(body.values()), "")
