"""What is known while a command is decided, and what was decided."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from beamkeep import kernel
from beamkeep.kernel import Command, Operation, Outcome, Record, Refusal, replace

from .admission import Admitted, Caller, Request
from .codec import encode
from .outcomes import one_of
from .parsing import MalformedRequestError, parse, parse_id
from .session import Session
from .store import NewEvent, Position, Stream

IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class CommandResult(Record):
    """The answer to a command; its body is JSON or empty."""

    status: int
    body: bytes
    id: UUID | None = None
    version: int | None = None
    token: Position | None = None
    replayed: bool = False
    shows_once: bool = False
    """Whether a part of it is left out when it is given again."""


class OutsideNeededError(Exception):
    """A rule needs a result from outside the service before it can decide."""

    def __init__(self, request: Record, now: datetime) -> None:
        self.request, self.now = request, now


class OutdatedError(Exception):
    """What was recalled does not suffice. Decide again by what is stored."""


class Pending(Record):
    """A command that is being carried out, and the stream that it changes, if it names one."""

    operation: Operation
    request: Request
    stream: Stream | None

    def parsed(self) -> tuple["Pending", Command]:
        """Return this with its arguments read, and the command. Raise if they cannot be read."""
        pending, request = self, self.request
        if request.parses:
            request = replace(request, arguments=request.parses(), parses=None)
            pending = Pending(self.operation, request, self.stream)
        if isinstance(request.arguments, Refusal):
            raise request.arguments
        command = request.command or parse(self.operation.command, request.arguments)
        key = request.idempotency_key
        if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
            raise MalformedRequestError(
                "An idempotency key must have 1 to 255 visible ASCII characters."
            )
        return pending, command


class EarlierAttempts(Record):
    """What earlier attempts at the same commands found out."""

    stored: dict[object, object]
    """Rows that are stored already: their value, by key."""
    results: dict[Record, object]
    """Results of steps outside the service, by request."""
    takes_steps: bool = True
    """Whether steps outside the service are taken."""
    now: datetime | None = None
    """The time of the decision that asked for the last step, which the next decision has too."""
    recalls: bool = False
    """Whether what the store remembers may decide."""


class DecidedCommand(NamedTuple):
    """What the rule of one command decided."""

    operation: Operation
    caller: Caller
    admitted: Admitted
    call: kernel.Call
    target: UUID
    version: int
    """The version of the target when the rule decided."""
    outcome: Outcome
    events: Sequence[NewEvent]
    digest: bytes
    carried: "DecidedCommand | None" = None
    """The command that an approval carries out."""

    def result(self, versions: Mapping[Stream, int], repeated: bool = False) -> CommandResult:
        """Return the answer, first or repeated, given the versions after the append."""
        of, reply = self.operation.aggregate, one_of(self.outcome, kernel.Reply)
        advice = [part for part in self.outcome if isinstance(part, kernel.Advice)]
        values = msgspec.structs.asdict(reply) if reply else {}
        values |= dict.fromkeys(reply.shown_once) if reply and repeated else {}
        body: dict[str, Any] = {of.id_field: self.target} if self.operation.genesis else {}
        body |= values | ({"warnings": advice} if advice else {})
        later = isinstance(reply, kernel.Accepted)
        made = self.operation.genesis or isinstance(reply, kernel.Created)
        status = 202 if later else 201 if made else 200 if body else 204
        # If the command created another aggregate of this type, report that one's version.
        version = versions.get((of.name, values.get(of.id_field, self.target)), self.version)
        once = reply is not None and bool(reply.shown_once)
        encoded = encode(body) if body else b""
        return CommandResult(status, encoded, self.target, version=version, shows_once=once)

    def recorded(
        self, versions: Mapping[Stream, int]
    ) -> tuple[Sequence[kernel.WrittenStream], int, dict[str, Any] | None]:
        """Return what an approval records: the streams written, the status and the body."""
        answer = self.result(versions)
        streams = [kernel.WrittenStream(*stream, version) for stream, version in versions.items()]
        return streams, answer.status, msgspec.json.decode(answer.body) if answer.body else None


type Assigns = Callable[[Outcome, kernel.Call, Session], Awaitable[Outcome]]
"""Returns an outcome in which every new object says to which team it belongs."""


async def nobody(outcome: Outcome, call: kernel.Call, session: Session) -> Outcome:
    """Return an outcome in which no object belongs to a team."""
    return outcome


type Decide = Callable[
    [Pending, Session, EarlierAttempts], Awaitable[DecidedCommand | CommandResult]
]
"""Decides one command, or returns what was answered to it before."""


def target_of(operation: Operation, request: Request) -> Stream | None:
    """Return the stream that a command changes, if it names one."""
    if operation.genesis:
        return None
    of, command = operation.aggregate, request.command
    id = getattr(command, of.id_field) if command else parse_id(request.arguments, of.id_field)
    return (of.name, id) if id else None
