"""The path that every command takes, from any surface."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import structlog

from beamkeep import kernel
from beamkeep.kernel import (
    Event,
    Identified,
    Operation,
    Outcome,
    Record,
    Refusal,
    Rows,
    replace,
)

from .admission import Admission, Admitted, Caller, CallTarget, Request
from .codec import Codec, encode
from .deciding import (
    IDEMPOTENCY_KEY,
    Assigns,
    CommandResult,
    DecidedCommand,
    EarlierAttempts,
    OutdatedError,
    OutsideNeededError,
    Pending,
    nobody,
    target_of,
)
from .dry_runs import DryRuns
from .fingerprint import fingerprint, fingerprint_as_sent
from .outcomes import one_of, side_writes_of, without_stored
from .ownership import Ownership
from .proposing import NOTHING_PROPOSABLE, Proposals, Proposing
from .remedies import Remedies
from .session import Session, sight_of
from .store import (
    AlreadyAnsweredError,
    AnswerToStore,
    Append,
    EventStore,
    KeyTakenError,
    LoadedStream,
    MovedError,
    NewEvent,
    OutcomeUnknownError,
    RowsStoredError,
    StoredAnswer,
    StoreUnavailableError,
    Stream,
)

log: structlog.stdlib.BoundLogger = structlog.get_logger()

ATTEMPTS = 4


class ConcurrencyError(Refusal, status=409):
    """Other calls kept changing the object; nothing was written. Read the object, then retry."""


class PreconditionFailedError(Refusal, status=412):
    """The object has changed since the version in If-Match. Read the object again."""


class IdempotencyConflictError(Refusal, status=422):
    """This idempotency key was used for a different request. Use a new key."""


class Basis(Record):
    """What a caller inside the service judged by, and rows that go with its commands."""

    versions: Mapping[Stream, int]
    """The versions of all streams it folded, those that the commands change included."""
    side_writes: Sequence[kernel.SideWrite | Rows] = ()


NO_BASIS = Basis({})

type Counts = Callable[[kernel.Call, Session], Awaitable[Sequence[kernel.SideWrite]]]
"""Returns the rows by which a command counts in a budget. Raises when the budget is used up."""
type OutsideStep = Callable[[Any], Awaitable[Any]]
"""Carries out a request of one type; safe to repeat."""


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
        gets: Mapping[str, kernel.Question],
        outside: Mapping[type[Record], OutsideStep],
        remedies: Remedies,
        proposals: Proposals = NOTHING_PROPOSABLE,
        counts: Counts | None = None,
        assigns: Assigns = nobody,
    ) -> None:
        self._admission, self._store, self._codec = admission, store, codec
        self._sessions, self._clock, self._new_id = sessions, clock, new_id
        self._outside, self._remedies, self._counts = outside, remedies, counts
        self._assigns = assigns
        self._ownership = Ownership(admission, store, codec, gets=gets)
        self._dry_runs = DryRuns(store, codec)
        self._proposing = Proposing(
            admission,
            store,
            proposals,
            ownership=self._ownership,
            dry_runs=self._dry_runs,
            sessions=sessions,
            decide=self._decide,
            assigns=assigns,
        )
        self.preview = self._proposing.preview

    async def execute(self, operation: Operation, request: Request) -> CommandResult:
        """Return the answer to one command. Decide again when something that was read changed."""
        return (await self.execute_together([(operation, request)]))[0]

    async def execute_together(
        self, calls: Sequence[tuple[Operation, Request]], basis: Basis = NO_BASIS
    ) -> Sequence[CommandResult]:
        """Decide several commands of one caller in turn, and write all of them by one append.

        Raise MovedError when a stream of the basis has changed: the caller must judge again.
        """
        # Each command sees the events of those before it, but not the rows that those write.
        commands, (_, first) = [Pending(*call, target_of(*call)) for call in calls], calls[0]
        attempt, looked_again = 1, False
        found = EarlierAttempts({}, {}, recalls=len(calls) == 1 and basis is NO_BASIS)
        while attempt <= ATTEMPTS:
            try:
                async with self._in_turn([await self._queue(each) for each in commands]):
                    return await self._attempt(commands, found, basis)
            except OutdatedError:
                found = replace(found, recalls=False)
                continue
            except OutsideNeededError as needed:
                # No turn and no connection is held while the step runs.
                step = self._outside[type(needed.request)]
                found.results[needed.request] = await step(needed.request)
                found = replace(found, now=needed.now)
                continue
            except (MovedError, AlreadyAnsweredError):
                if basis.versions:
                    raise
            except RowsStoredError as error:
                found.stored.update(error.under)
            except KeyTakenError as taken:
                if taken.insert.loser:
                    raise taken.insert.loser from None
            except kernel.Cannot as refusal:
                # The same request, sent twice, may be the cause: then its answer is stored now.
                if first.idempotency_key is None or looked_again:
                    await self._record(refusal, first)
                    raise
                looked_again = True
            found = replace(found, now=None, recalls=False)
            await asyncio.sleep(random.uniform(0, 0.004) * attempt)  # noqa: S311
            attempt += 1
        raise ConcurrencyError

    async def _queue(self, pending: Pending) -> Stream | None:
        """Return the stream whose turn a command waits for: only who may change it waits."""
        request, stream = pending.request, pending.stream
        if stream is None or request.admitted or not self._store.is_contended(stream):
            return stream
        admitted = await self._admission.admit(pending.operation.name, request.caller)
        sight = sight_of(admitted.standing.principal_id, admitted.scope)
        is_seen = sight is None or not await self._ownership.others({stream}, sight)
        return stream if is_seen else None

    def _in_turn(self, streams: Sequence[Stream | None]) -> AbstractAsyncContextManager[None]:
        if len(streams) == 1:
            return self._store.wait_turn(streams[0])
        return self._in_turns(sorted({stream for stream in streams if stream}))

    @asynccontextmanager
    async def _in_turns(self, streams: Sequence[Stream]) -> AsyncGenerator[None]:
        async with AsyncExitStack() as turns:
            for stream in streams:
                await turns.enter_async_context(self._store.wait_turn(stream))
            yield

    async def _attempt(
        self, commands: Sequence[Pending], found: EarlierAttempts, basis: Basis
    ) -> list[CommandResult]:
        # 1-6. Each command in turn: who, where, may it, again?, load, decide.
        session = self._sessions()
        session.versions.update(basis.versions)
        try:
            decisions = await self._decide_in_turn(commands, session, found)
        except Exception:
            # What is recalled may be older than what the rule has read since.
            if session.recalled:
                raise OutdatedError from None
            raise
        if isinstance(decisions, CommandResult):
            return [decisions]

        # 7. Append.
        first, request, written = decisions[0], commands[0].request, session.new_versions
        every = [each for decision in decisions for each in (decision.carried, decision) if each]
        events = [event for decision in every for event in decision.events]
        outcome = [part for decision in every for part in decision.outcome]
        if session.recalled and len(events) != 1:
            raise OutdatedError
        answer, answers = None, [decision.result(written) for decision in decisions]
        if key := request.idempotency_key:
            again = first.result(written, repeated=True) if answers[0].shows_once else answers[0]
            answer = AnswerToStore(
                key=key,
                fingerprint=first.digest,
                status=again.status,
                result=again.body,
                version=again.version,
            )
        append = Append(
            events=events,
            read={s: v for s, v in session.versions.items() if s not in written},
            side_writes=[*side_writes_of(outcome), *basis.side_writes],
            answer=answer,
            command_name=first.operation.name,
            principal_id=first.call.principal_id,
            surface_id=first.call.surface_id,
            correlation_id=every[0].caller.correlation_id,
            causation_id=every[0].caller.causation_id,
            occurred_at=first.call.now,
            snapshots=session.snapshots(events),
            fence=one_of(outcome, kernel.Fenced),
            opened=first.admitted.opened if found.recalls else None,
        )
        try:
            token = await self._store.append(append)
        except MovedError:
            # Any other error may come after the write.
            if session.recalled:
                raise OutdatedError from None
            raise

        # 8. Answer.
        return [
            await self._completed(
                decision.operation, replace(each, token=token), decision.admitted, decision.carried
            )
            for decision, each in zip(decisions, answers, strict=True)
        ]

    async def _decide_in_turn(
        self, commands: Sequence[Pending], session: Session, found: EarlierAttempts
    ) -> list[DecidedCommand] | CommandResult:
        """Return what is decided, or the answer that the first command got before."""
        decisions = list[DecidedCommand]()
        for command in commands:
            if decisions:
                session.decide(decisions[-1].events)
            decided = await self._decide(command, session, found)
            if isinstance(decided, CommandResult):
                return decided
            decisions.append(decided)
        return decisions

    async def _decide(
        self, pending: Pending, session: Session, found: EarlierAttempts
    ) -> DecidedCommand | CommandResult:
        # 1-3. Who, where, may it. The same statement reads what steps 4 and 5 need.
        operation, stream, key = pending.operation, pending.stream, pending.request.idempotency_key
        admitted = await self._admitted(pending, session, found)
        pending, command = pending.parsed()
        request = pending.request
        session.read_for(admitted.standing.principal_id, admitted.scope)
        session.caller_reads = partial(self._admission.reach, request.caller)
        proposes = self._proposing.is_proposal(operation, request, admitted)

        # 4. Again?
        is_absent = _is_absent(pending, admitted)
        digest = fingerprint(operation.name, command) if key or proposes else b""
        if (stored := admitted.opened.stored_answer) and not request.dry_run:
            again = _replayed(pending, stored, digest)
            if not is_absent:
                return await self._completed(operation, again, admitted)

        # 5. Load.
        given = await self._loaded(pending, command, admitted, session, is_absent=is_absent)
        version = self._required_version(pending, session)

        # 6. Decide.
        new_id = request.new_id or self._new_id()
        call = self._call(request.caller, admitted, new_id, found.now or self._clock())
        counts = call.agent_kind and self._counts
        counted = await counts(call, self._sessions()) if counts else ()
        takes_steps = found.takes_steps and not (request.dry_run or proposes)
        try:
            decided, carried = await self._ruled(pending, given, call, session, found, takes_steps)
        except Refusal as refusal:
            await self._ownership.withhold(refusal, request.caller, session)
            raise
        await self._ownership.require_own(decided, stream, session)
        outcome, target = without_stored(decided, found.stored), stream and stream[1]
        planned = [*(carried.outcome if carried else ()), *outcome]
        if proposes:
            outcome = await self._proposing.propose(pending, digest, session, call, outcome)
            operation, target, version = self._proposing.registering, new_id, 0
        if request.dry_run:
            shown = await self._ownership.shown(request.caller, admitted, stream, planned)
            return await self._dry_runs.would_write(planned, shown, would_propose=proposes)
        events = self._numbered(request.command_name or pending.operation.name, outcome, session)
        # An aggregate may share the id of another one.
        of = pending.operation.aggregate
        begun = next((each.stream[1] for each in events if each.stream[0] == of.name), new_id)
        return DecidedCommand(
            operation=operation,
            caller=request.caller,
            admitted=admitted,
            call=call,
            target=target or begun,
            version=version,
            outcome=[*outcome, *(counted if outcome else ())],
            events=events,
            digest=digest,
            carried=carried,
        )

    async def _admitted(
        self, pending: Pending, session: Session, found: EarlierAttempts
    ) -> Admitted:
        """Return who calls from where, and may, with what the store holds of the target."""
        operation, request = pending.operation, pending.request
        if request.admitted:
            return request.admitted
        key = request.idempotency_key
        sound = key if key and IDEMPOTENCY_KEY.fullmatch(key) else None
        fold = self._codec.folds[operation.aggregate.name]
        contended = self._store.is_contended(pending.stream)
        recalls = found.recalls and request.is_plain and not contended
        target = CallTarget(pending.stream, fold, idempotency_key=sound, recalls=recalls)
        admitted = await self._admission.admit(
            operation.name, request.caller, target, approves=request.approves
        )
        session.recalled = admitted.opened.is_recalled
        return admitted

    async def _loaded(
        self,
        pending: Pending,
        command: kernel.Command,
        admitted: Admitted,
        session: Session,
        is_absent: bool,
    ) -> list[Any]:
        """Return what the rule is given: the state of its target, the command and what it reads."""
        operation, request, stream = pending.operation, pending.request, pending.stream
        of, target, opened = operation.aggregate, stream and stream[1], admitted.opened
        given: list[Any] = [command]
        if not operation.genesis:
            if request.admitted and target:
                given.insert(0, await session.one(of, target))
            else:
                loaded = LoadedStream() if is_absent else opened.loaded
                given.insert(0, await session.adopt(of, target, loaded))
        if operation.given:
            try:
                given.append(await operation.given(*given, session))
            except Refusal as refusal:
                await self._ownership.withhold(refusal, request.caller, session)
                raise
        return given

    def _required_version(self, pending: Pending, session: Session) -> int:
        """Return the version of the target. Raise if the caller judged by another one."""
        request, stream = pending.request, pending.stream
        version, wanted = session.versions.get(stream, 0) if stream else 0, request.if_match
        if wanted is not None and wanted.strip() not in {"*", f'"{version}"', str(version)}:
            raise PreconditionFailedError(f"The current version is {version}.")
        if request.basis and request.basis != self._proposing.basis(session):
            raise PreconditionFailedError("The basis has changed. Read the proposal again.")
        return version

    async def _ruled(
        self,
        pending: Pending,
        given: Sequence[Any],
        call: kernel.Call,
        session: Session,
        found: EarlierAttempts,
        takes_steps: bool,
    ) -> tuple[Outcome, DecidedCommand | None]:
        """Return what the rule decides, and the command that it carries out, if it approves one."""
        operation, stream, carried = pending.operation, pending.stream, None
        try:
            decided = operation.rule(*given, call)
        except kernel.Cannot as refusal:
            if stream:
                self._remedies.explain(refusal, operation.aggregate, stream[1], state=given[0])
            raise
        if isinstance(decided, kernel.ApprovedCommand):
            carried = await self._proposing.carry_out(decided, pending, session, found)
            decided = decided.then(*carried.recorded(session.new_versions))
        if isinstance(decided, kernel.Outside):
            if decided.request in found.results:
                decided = decided.then(found.results[decided.request])
            elif takes_steps:
                raise OutsideNeededError(decided.request, call.now)
            else:
                decided = list[Event]()
        return await self._assigns(decided, call, session), carried

    def _call(self, caller: Caller, admitted: Admitted, new_id: UUID, now: datetime) -> kernel.Call:
        """Return what a rule knows about the call."""
        who, place = admitted.standing, admitted.place
        return kernel.Call(
            principal_id=who.principal_id,
            principal_kind=who.kind,
            agent_kind=who.agent_kind,
            now=now,
            new_id=new_id,
            surface_id=place.surface_id,
            correlation_id=caller.correlation_id,
            surface_kind=place.kind,
            delegated=caller.delegated,
        )

    async def _record(self, refusal: kernel.Cannot, request: Request) -> None:
        """Log a refusal that is an alarm, and write its row; log a failure to do so."""
        if refusal.is_alarm:
            log.error("alarm", code=type(refusal).__name__, **refusal.facts)
        if refusal.row is None or request.dry_run:
            return
        try:
            await self._store.record_refusal(refusal.row)
        except Exception:
            log.exception("refusal not recorded", code=type(refusal).__name__)

    async def _completed(
        self,
        operation: Operation,
        answered: CommandResult,
        admitted: Admitted,
        carried: DecidedCommand | None = None,
    ) -> CommandResult:
        """Return the answer with what is read again each time it is given."""
        if carried and carried.operation.answered_with:
            answer = await self._completed(carried.operation, carried.result({}), carried.admitted)
            whole: dict[str, Any] = msgspec.json.decode(answered.body)
            return replace(answered, body=encode(whole | {"answer": msgspec.Raw(answer.body)}))
        if operation.answered_with is None or not answered.body:
            return answered
        body: dict[str, Any] = msgspec.json.decode(answered.body)
        id = answered.id or UUID(body[operation.aggregate.id_field])
        try:
            reading = self._sessions().read_for(admitted.standing.principal_id, admitted.scope)
            added = (await operation.answered_with([id], reading))[id]
        except StoreUnavailableError:
            # That refusal would say that nothing was written.
            raise OutcomeUnknownError from None
        return replace(answered, body=encode(body | msgspec.to_builtins(added)))

    def _numbered(self, command_name: str, outcome: Outcome, session: Session) -> list[NewEvent]:
        """Return the events as they will be stored, and note the version of each stream then."""
        events, read, versions = list[NewEvent](), session.versions, session.new_versions
        for part in outcome:
            event = part.event if isinstance(part, Identified) else part
            if isinstance(event, Event):
                stream = self._codec.stream(event)
                versions[stream] = versions.get(stream, read.get(stream, 0)) + 1
                event_id = part.event_id if isinstance(part, Identified) else self._new_id()
                events.append(self._codec.encode(event, versions[stream], event_id, command_name))
        return events


def _is_absent(pending: Pending, admitted: Admitted) -> bool:
    """Return whether the target is as absent to the caller, who may not change it."""
    owner_id, of, stream = admitted.opened.owner_id, pending.operation.aggregate, pending.stream
    # What is not stored has no owner.
    if pending.request.admitted or owner_id is None:
        return False
    return not admitted.sees(owner_id, of.self_owned, stream and stream[1])


def _replayed(command: Pending, stored: StoredAnswer, digest: bytes) -> CommandResult:
    """Return the stored answer. Raise IdempotencyConflictError if another command got it."""
    if stored.fingerprint != digest:
        # An answer that an earlier release stored has the digest of the arguments as sent.
        name, sent = command.operation.name, command.request.arguments
        if isinstance(sent, Refusal) or stored.fingerprint != fingerprint_as_sent(name, sent):
            raise IdempotencyConflictError
    id = command.stream and command.stream[1]
    again = CommandResult(stored.status, stored.result, id, replayed=True)
    return replace(again, version=stored.version, token=stored.position)
