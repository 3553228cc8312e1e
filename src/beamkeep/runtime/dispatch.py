"""The one path every command takes, whichever surface it came in by."""

import asyncio
import random
import re
from collections.abc import Callable, Mapping, Set
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
import structlog

from beamkeep.kernel import (
    Advice,
    Appended,
    Call,
    Cannot,
    Created,
    Event,
    Insert,
    Operation,
    Outcome,
    Question,
    Record,
    Refusal,
    Reply,
    Rows,
    SideWrite,
    replace,
)

from .admission import Admission, Admitted, Caller, Request
from .codec import Codec, encode
from .fingerprint import fingerprint, fingerprint_as_sent
from .parsing import MalformedRequestError, parse, parse_id
from .session import Session
from .store import (
    AlreadyAnsweredError,
    AnswerToStore,
    Append,
    EventStore,
    KeyTakenError,
    MovedError,
    NewEvent,
    OutcomeUnknownError,
    Position,
    RowsStoredError,
    StoreUnavailableError,
    Stream,
)

log: structlog.stdlib.BoundLogger = structlog.get_logger()

ATTEMPTS = 4
IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class ConcurrencyError(Refusal, status=409):
    """Others kept changing the same thing; nothing was written. Read it again and repeat."""


class PreconditionFailedError(Refusal, status=412):
    """It is no longer at the version the request names. Read it again and decide anew."""


class IdempotencyConflictError(Refusal, status=422):
    """The idempotency key was used for a different request. Use a new key."""


class CommandResult(Record):
    """What a command is answered with."""

    status: int
    body: bytes
    """JSON, or nothing."""
    id: UUID | None = None
    version: int | None = None
    token: Position | None = None
    replayed: bool = False


class Dispatcher:
    """Carries out commands."""

    def __init__(
        self,
        admission: Admission,
        store: EventStore,
        codec: Codec,
        sessions: Callable[[], Session],
        clock: Callable[[], datetime],
        new_id: Callable[[], UUID],
        gets: Mapping[str, Question],
    ) -> None:
        self._admission, self._store, self._codec, self._gets = admission, store, codec, gets
        self._sessions, self._clock, self._new_id = sessions, clock, new_id

    async def execute(self, operation: Operation, request: Request) -> CommandResult:
        """Carry out one command, deciding again when something it rests on has moved."""
        of, looked_again = operation.aggregate, False
        target = None if operation.genesis else parse_id(request.arguments, of.id_field)
        stream = (of.name, target) if target else None
        stored: dict[object, object] = {}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if self._store.is_contended(stream):
                    # Only those who may call wait in the queue of those who may.
                    await self._admission.admit(operation.name, request.caller)
                async with self._store.wait_turn(stream):
                    return await self._attempt(operation, request, stream, stored)
            except (MovedError, AlreadyAnsweredError):
                pass
            except RowsStoredError as found:
                stored |= found.under
            except KeyTakenError as taken:
                if taken.insert.loser:
                    raise taken.insert.loser from None
            except Cannot as refusal:
                # The same request, sent twice, may have caused this: then its answer is there now.
                if request.idempotency_key is None or looked_again:
                    await self._record(refusal, request)
                    raise
                looked_again = True
            await asyncio.sleep(random.uniform(0, 0.004) * attempt)  # noqa: S311
        raise ConcurrencyError

    async def _attempt(
        self,
        operation: Operation,
        request: Request,
        stream: Stream | None,
        stored: Mapping[object, object],
    ) -> CommandResult:
        # 1-3. Who, where, may it. The same statement reads what steps 4 and 5 need.
        of, target, key = operation.aggregate, stream and stream[1], request.idempotency_key
        sound = key if key and IDEMPOTENCY_KEY.fullmatch(key) else None
        fold = self._codec.folds[of.name]
        admitted = await self._admission.admit(operation.name, request.caller, stream, sound, fold)
        opened = admitted.opened
        if isinstance(request.arguments, Refusal):
            raise request.arguments
        command = parse(operation.command, request.arguments)
        if key != sound:
            raise MalformedRequestError("An idempotency key is 1 to 255 visible ASCII characters.")

        session = self._sessions().read_for(admitted.standing.principal_id, admitted.scope)

        # 4. Again?
        digest = b"" if key is None else fingerprint(operation.name, command)
        if (kept := opened.stored_answer) and not request.dry_run:
            # An answer that an earlier release kept bears the digest of the arguments as sent.
            if kept.fingerprint != digest and kept.fingerprint != fingerprint_as_sent(
                operation.name, request.arguments
            ):
                raise IdempotencyConflictError
            again = CommandResult(
                status=kept.status,
                body=kept.result,
                version=kept.version,
                token=kept.position,
                replayed=True,
            )
            return await self._completed(operation, again, admitted)

        # 5. Load.
        given: list[Any] = [command]
        if not operation.genesis:
            given.insert(0, await session.adopt(of, target, opened.loaded))
        if operation.given:
            given.append(await operation.given(*given, session))
        version = session.versions[stream] if stream else 0
        if request.if_match is not None:
            _require_version(request.if_match, version)

        # 6. Decide.
        who, where = admitted.standing, admitted.place.surface_id
        now, called = self._clock(), request.caller.correlation_id
        call = Call(who.principal_id, who.kind, now, self._new_id(), where, called)
        outcome = _without_stored(operation.rule(*given, call), stored)
        advice = [part for part in outcome if isinstance(part, Advice)]
        warnings = {"warnings": advice} if advice else {}
        if request.dry_run:
            shown = await self._shown(request.caller, admitted, stream, outcome)
            return await self._would_write(outcome, shown, warnings)

        # 7. Append.
        id = target or call.new_id
        reply = next((part for part in outcome if isinstance(part, Reply)), None)
        told = msgspec.structs.asdict(reply) if reply else {}
        answer = ({of.id_field: id} if operation.genesis else {}) | told | warnings
        made = operation.genesis or isinstance(reply, Created)
        status = 201 if made else 200 if answer else 204
        body = encode(answer) if answer else b""
        events, versions = self._numbered(outcome, session.versions)
        # Of what a change made of the same kind, the version of that.
        version = versions.get((of.name, told.get(of.id_field, id)), version)
        token = await self._store.append(
            Append(
                events=events,
                read={s: v for s, v in session.versions.items() if s not in versions},
                side_writes=side_writes_of(outcome),
                answer=AnswerToStore(key, digest, status, body, version) if key else None,
                command_name=operation.name,
                principal_id=call.principal_id,
                surface_id=where,
                correlation_id=called,
                causation_id=None,
                occurred_at=call.now,
                snapshots=session.snapshots(events),
            )
        )

        # 8. Answer.
        answered = CommandResult(status, body, id, version, token)
        return await self._completed(operation, answered, admitted)

    async def _record(self, refusal: Cannot, request: Request) -> None:
        """Write the row that a refusal leaves; the refusal stands whether or not that succeeds."""
        if refusal.row is None or request.dry_run:
            return
        try:
            await self._store.record_refusal(refusal.row)
        except Exception:
            log.exception("refusal not recorded", code=type(refusal).__name__)

    async def _completed(
        self, operation: Operation, answered: CommandResult, admitted: Admitted
    ) -> CommandResult:
        """The answer with what is read for it whenever it is given."""
        if operation.answered_with is None or answered.status != 201:
            return answered
        body: dict[str, Any] = msgspec.json.decode(answered.body)
        id = UUID(body[operation.aggregate.id_field])
        try:
            reading = self._sessions().read_for(admitted.standing.principal_id, admitted.scope)
            beside = (await operation.answered_with([id], reading))[id]
        except StoreUnavailableError:
            # It would say that nothing was written.
            raise OutcomeUnknownError from None
        return replace(answered, body=encode(body | msgspec.to_builtins(beside)))

    def _numbered(
        self, outcome: Outcome, read: Mapping[Stream, int]
    ) -> tuple[list[NewEvent], dict[Stream, int]]:
        """The events as they will be stored, and the version each written stream then has."""
        versions: dict[Stream, int] = {}
        events: list[NewEvent] = []
        for event in outcome:
            if isinstance(event, Event):
                stream = self._codec.stream(event)
                versions[stream] = versions.get(stream, read.get(stream, 0)) + 1
                events.append(self._codec.encode(event, versions[stream], self._new_id()))
        return events, versions

    async def _shown(
        self, caller: Caller, admitted: Admitted, target: Stream | None, outcome: Outcome
    ) -> Set[Stream]:
        """The streams of an outcome that the caller may read; none if the target is not."""
        written = {self._codec.stream(event) for event in outcome if isinstance(event, Event)}
        gets = {stream: self._gets[stream[0]] for stream in {*written, target} if stream}
        reach = await self._admission.reach(caller, [get.name for get in gets.values()])
        owners = await self._store.owners(sorted(gets))
        me = admitted.standing.principal_id
        shown = {
            stream
            for stream, get in gets.items()
            if (scope := reach.get(get.name))
            # What does not exist yet would be the caller's own.
            and replace(admitted, scope=scope).sees(
                owners.get(stream, me), get.aggregate.self_owned, stream[1]
            )
        }
        return shown if target is None or target in shown else frozenset()

    async def _would_write(
        self, outcome: Outcome, shown: Set[Stream], warnings: dict[str, Any]
    ) -> CommandResult:
        """The answer of a dry run: the events, or the refusal of a key that is taken."""
        for part in outcome:
            if isinstance(part, Insert) and part.loser:
                key = {column: getattr(part.row, column) for column in part.table.key}
                if await self._store.rows(part.table, key):
                    raise part.loser
            if isinstance(part, Rows):
                key = part.table.key[0]
                ids = [getattr(row, key) for row in part.rows]
                found = await self._store.rows(part.table, {key: ids})
                stored = {getattr(row, key): getattr(row, part.under) for row in found}
                _without_stored([part], stored)
        written = [part for part in outcome if isinstance(part, Event)]
        events = [
            {
                "event_type": type(event).__name__,
                "payload": event if self._codec.stream(event) in shown else None,
            }
            for event in written
        ]
        return CommandResult(200, encode({"events": events} | warnings))


def side_writes_of(outcome: Outcome) -> list[SideWrite | Rows]:
    """What an outcome writes beside its events."""
    return [part for part in outcome if not isinstance(part, Event | Advice | Reply)]


def _without_stored(outcome: Outcome, stored: Mapping[object, object]) -> Outcome:
    """An outcome whose rows in bulk are only those not stored yet, with how many they are."""
    parts = list(outcome)
    for number, part in enumerate(outcome):
        if isinstance(part, Rows):
            if not stored:
                parts.append(Appended(len(part.rows), 0))
                continue
            keyed = [(getattr(row, part.table.key[0]), row) for row in part.rows]
            if any(stored.get(k, under := getattr(row, part.under)) != under for k, row in keyed):
                raise part.taken
            fresh = [row for key, row in keyed if key not in stored]
            parts[number] = replace(part, rows=fresh)
            parts.append(Appended(len(fresh), len(keyed) - len(fresh)))
    return parts


def _require_version(if_match: str, version: int) -> None:
    if if_match.strip() not in {"*", f'"{version}"', str(version)}:
        raise PreconditionFailedError(f"It is at version {version}.")
