"""The path that every command takes, from any surface."""

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import structlog

from beamkeep import kernel
from beamkeep.kernel import (
    Event,
    Identified,
    ObjectScope,
    Operation,
    Outcome,
    Record,
    Refusal,
    Rows,
    replace,
)

from .admission import Admission, Admitted, Caller, Request
from .codec import Codec, encode
from .fingerprint import fingerprint, fingerprint_as_sent
from .parsing import MalformedRequestError, parse, parse_id
from .remedies import Remedies
from .session import Session
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
    Position,
    RowsStoredError,
    StoredAnswer,
    StoreUnavailableError,
    Stream,
)
from .withholding import withhold

log: structlog.stdlib.BoundLogger = structlog.get_logger()

ATTEMPTS = 4
MOST_NOTE = 500
WRITES_NO_ROW = (Event, Identified, kernel.Fenced, kernel.Advice, kernel.Reply)
IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class ConcurrencyError(Refusal, status=409):
    """Other calls kept changing the object; nothing was written. Read the object, then retry."""


class PreconditionFailedError(Refusal, status=412):
    """The object has changed since the version in If-Match. Read the object again."""


class IdempotencyConflictError(Refusal, status=422):
    """This idempotency key was used for a different request. Use a new key."""


class CommandResult(Record):
    """The answer to a command; its body is JSON or empty."""

    status: int
    body: bytes
    id: UUID | None = None
    version: int | None = None
    token: Position | None = None
    replayed: bool = False


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


class _OutsideNeeded(Exception):
    """A rule needs a result from outside the service before it can decide."""

    def __init__(self, request: Record, now: datetime) -> None:
        self.request, self.now = request, now


class _Pending(Record):
    """A command that is being carried out, and the stream that it changes, if it names one."""

    operation: Operation
    request: Request
    stream: Stream | None


class _Found(Record):
    """What earlier attempts at the same commands found out."""

    stored: dict[object, object]
    """Rows that are stored already: their value, by key."""
    results: dict[Record, object]
    """Results of steps outside the service, by request."""
    takes_steps: bool = True
    """Whether steps outside the service are taken."""
    now: datetime | None = None
    """The time of the decision that asked for the last step, which the next decision has too."""


class _Decision(NamedTuple):
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
    carried: "_Decision | None" = None
    """The command that an approval carries out."""

    def result(self, versions: Mapping[Stream, int], repeated: bool = False) -> CommandResult:
        """Return the answer, first or repeated, given the versions after the append."""
        of, reply = self.operation.aggregate, _one(self.outcome, kernel.Reply)
        advice = [part for part in self.outcome if isinstance(part, kernel.Advice)]
        told = msgspec.structs.asdict(reply) if reply else {}
        told |= dict.fromkeys(reply.shown_once) if reply and repeated else {}
        body: dict[str, Any] = {of.id_field: self.target} if self.operation.genesis else {}
        body |= told | ({"warnings": advice} if advice else {})
        later = isinstance(reply, kernel.Accepted)
        made = self.operation.genesis or isinstance(reply, kernel.Created)
        status = 202 if later else 201 if made else 200 if body else 204
        # If the command created another aggregate of this type, report that one's version.
        version = versions.get((of.name, told.get(of.id_field, self.target)), self.version)
        return CommandResult(status, encode(body) if body else b"", self.target, version=version)

    def told(
        self, versions: Mapping[Stream, int]
    ) -> tuple[Sequence[kernel.WrittenStream], int, dict[str, Any] | None]:
        """Return what an approval records: the streams written, the status and the body."""
        answer = self.result(versions)
        streams = [kernel.WrittenStream(*stream, version) for stream, version in versions.items()]
        return streams, answer.status, msgspec.json.decode(answer.body) if answer.body else None


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
        proposable: Mapping[str, Operation] = {},
        registers_proposal: Operation | None = None,
        approves_proposal: Operation | None = None,
        counts: Counts | None = None,
    ) -> None:
        self._admission, self._store, self._codec, self._gets = admission, store, codec, gets
        self._sessions, self._clock, self._new_id = sessions, clock, new_id
        self._outside, self._proposable, self._registers = outside, proposable, registers_proposal
        self._remedies, self._approves, self._counts = remedies, approves_proposal, counts

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
        commands, (_, first) = [_Pending(*call, _target(*call)) for call in calls], calls[0]
        found, attempt, looked_again = _Found({}, {}), 1, False
        while attempt <= ATTEMPTS:
            try:
                async with self._in_turn([await self._queue(each) for each in commands]):
                    return await self._attempt(commands, found, basis)
            except _OutsideNeeded as needed:
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
            found = replace(found, now=None)
            await asyncio.sleep(random.uniform(0, 0.004) * attempt)  # noqa: S311
            attempt += 1
        raise ConcurrencyError

    async def _queue(self, pending: _Pending) -> Stream | None:
        """Return the stream whose turn a command waits for: only who may change it waits."""
        request, stream, of = pending.request, pending.stream, pending.operation.aggregate
        if stream is None or request.admitted or not self._store.is_contended(stream):
            return stream
        admitted = await self._admission.admit(pending.operation.name, request.caller)
        if admitted.scope is ObjectScope.ALL:
            return stream
        owner_id = (await self._store.owners([stream])).get(stream)
        return stream if admitted.sees(owner_id, of.self_owned, stream[1]) else None

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
        self, commands: Sequence[_Pending], found: _Found, basis: Basis
    ) -> list[CommandResult]:
        # 1-6. Each command in turn: who, where, may it, again?, load, decide.
        session, decisions = self._sessions(), list[_Decision]()
        session.versions.update(basis.versions)
        for command in commands:
            if decisions:
                session.decide(decisions[-1].events)
            decided = await self._decide(command, session, found)
            if isinstance(decided, CommandResult):
                return [decided]
            decisions.append(decided)

        # 7. Append.
        first, request, written = decisions[0], commands[0].request, session.new_versions
        every = [each for decision in decisions for each in (decision.carried, decision) if each]
        events = [event for decision in every for event in decision.events]
        outcome = [part for decision in every for part in decision.outcome]
        answer, answers = None, [decision.result(written) for decision in decisions]
        if key := request.idempotency_key:
            again = first.result(written, repeated=True)
            answer = AnswerToStore.of(again, key=key, fingerprint=first.digest, result=again.body)
        token = await self._store.append(
            Append(
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
                fence=_one(outcome, kernel.Fenced),
            )
        )

        # 8. Answer.
        return [
            await self._completed(
                decision.operation, replace(told, token=token), decision.admitted, decision.carried
            )
            for decision, told in zip(decisions, answers, strict=True)
        ]

    async def preview(self, caller: Caller, proposal_id: UUID) -> kernel.Preview:
        """Return what an approval of a proposal by this caller would do now; record nothing."""
        session, basis, approve = self._sessions(), None, self._approves
        assert approve, "a service with proposals has the operation"  # noqa: S101
        stream = approve.aggregate.name, proposal_id
        arguments = {approve.aggregate.id_field: str(proposal_id)}
        request = Request(replace(caller, records_denials=False), arguments)
        try:
            found = _Found({}, {}, takes_steps=False)
            try:
                approval = await self._decide(_Pending(approve, request, stream), session, found)
            finally:
                basis = self._basis(session) if session.principal_id else None
            assert isinstance(approval, _Decision), "it has no key"  # noqa: S101
            decided = approval.carried or approval
            operation = decided.operation
            target = None if operation.genesis else (operation.aggregate.name, decided.target)
            shown = await self._shown(caller, decided.admitted, target, decided.outcome)
            planned = msgspec.json.decode((await self._would_write(decided.outcome, shown)).body)
            session.decide(decided.events)
            beside = None
            if operation.answered_with and decided.events:
                joined = await operation.answered_with([decided.target], session)
                beside = msgspec.to_builtins(joined[decided.target])
            return kernel.Preview(basis, events=planned["events"], beside=beside)
        except Refusal as refusal:
            told = {"code": type(refusal).__name__, "detail": str(refusal)}
            return kernel.Preview(basis, refusal={"status": refusal.status, **told})

    async def _decide(
        self, pending: _Pending, session: Session, found: _Found
    ) -> _Decision | CommandResult:
        # 1-3. Who, where, may it. The same statement reads what steps 4 and 5 need.
        operation, request, stream = pending.operation, pending.request, pending.stream
        of, target, key = operation.aggregate, stream and stream[1], request.idempotency_key
        sound = key if key and IDEMPOTENCY_KEY.fullmatch(key) else None
        fold = self._codec.folds[of.name]
        admitted = request.admitted or await self._admission.admit(
            operation.name, request.caller, stream, sound, fold, request.approves
        )
        opened = admitted.opened
        if request.parses:
            request = replace(request, arguments=request.parses(), parses=None)
            pending = replace(pending, request=request)
        if isinstance(request.arguments, Refusal):
            raise request.arguments
        command = request.command or parse(operation.command, request.arguments)
        if key != sound:
            raise MalformedRequestError(
                "An idempotency key must have 1 to 255 visible ASCII characters."
            )
        session.read_for(admitted.standing.principal_id, admitted.scope)
        session.caller_reads = partial(self._admission.reach, request.caller)
        # To who may not change it, the target is absent. What is not stored has no owner.
        is_absent = not (
            request.admitted
            or opened.owner_id is None
            or admitted.sees(opened.owner_id, of.self_owned, target)
        )
        proposes = self._is_proposal(operation, request, admitted)

        # 4. Again?
        digest = fingerprint(operation.name, command) if key or proposes else b""
        if (kept := opened.stored_answer) and not request.dry_run:
            again = _replayed(pending, kept, digest)
            if not is_absent:
                return await self._completed(operation, again, admitted)

        # 5. Load.
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
                await self._withhold(refusal, request.caller, session)
                raise
        version = session.versions.get(stream, 0) if stream else 0
        wanted = request.if_match
        if wanted is not None and wanted.strip() not in {"*", f'"{version}"', str(version)}:
            raise PreconditionFailedError(f"The current version is {version}.")
        if request.basis not in (None, self._basis(session) if request.basis else None):
            raise PreconditionFailedError("The basis has changed. Read the proposal again.")

        # 6. Decide.
        new_id = request.new_id or self._new_id()
        call = self._call(request.caller, admitted, new_id, found.now or self._clock())
        counts = call.agent_kind and self._counts
        counted = await counts(call, self._sessions()) if counts else ()
        try:
            try:
                decided, carried = operation.rule(*given, call), None
            except kernel.Cannot as refusal:
                if stream:
                    self._remedies.explain(refusal, of, stream[1], state=given[0])
                raise
            if isinstance(decided, kernel.ApprovedCommand):
                carried = await self._carry_out(decided, pending, session, found)
                decided = decided.then(*carried.told(session.new_versions))
            if isinstance(decided, kernel.Outside):
                if decided.request in found.results:
                    decided = decided.then(found.results[decided.request])
                elif request.dry_run or proposes or not found.takes_steps:
                    decided = list[Event]()
                else:
                    raise _OutsideNeeded(decided.request, call.now)
        except Refusal as refusal:
            await self._withhold(refusal, request.caller, session)
            raise
        await self._require_own(decided, stream, session)
        outcome = _without_stored(decided, found.stored)
        planned = [*(carried.outcome if carried else ()), *outcome]
        if proposes:
            outcome = await self._propose(pending, digest, session, call, outcome)
            operation, target, version = self._registering, new_id, 0
        if request.dry_run:
            shown = await self._shown(request.caller, admitted, stream, planned)
            return await self._would_write(planned, shown, would_propose=proposes)
        events = self._numbered(request.command_name or pending.operation.name, outcome, session)
        # An aggregate may share the id of another one.
        begun = next((each.stream[1] for each in events if each.stream[0] == of.name), new_id)
        return _Decision(
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

    def _call(self, caller: Caller, admitted: Admitted, new_id: UUID, now: datetime) -> kernel.Call:
        """Return what a rule is told about the call."""
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

    def _is_proposal(self, operation: Operation, request: Request, admitted: Admitted) -> bool:
        """Return whether the command is proposed. Raise when its note cannot be used."""
        if (note := request.proposal_note) is None:
            return admitted.proposes
        if operation.name not in self._proposable:
            raise MalformedRequestError(f"{operation.name} cannot be proposed.")
        if not 1 <= len(note) <= MOST_NOTE:
            raise MalformedRequestError(f"A proposal note has 1 to {MOST_NOTE} characters.")
        return True

    async def _propose(
        self,
        pending: _Pending,
        digest: bytes,
        session: Session,
        call: kernel.Call,
        outcome: Outcome,
    ) -> Outcome:
        """Return the proposal that is written in place of the outcome of a command."""
        await self._require_free(outcome)
        request, register, stream = pending.request, self._registering, pending.stream
        wanted = (request.if_match or "").strip('" ')
        registered = register.command.model_validate(
            {
                "command_name": pending.operation.name,
                "arguments": request.arguments,
                "digest": digest.hex(),
                "target": stream and kernel.WrittenStream(*stream, session.versions[stream]),
                "required_version": int(wanted) if wanted.isdigit() else None,
                "basis": self._basis(session),
                "would_write": [type(event).__name__ for event in _events(outcome)],
                "note": request.proposal_note,
            }
        )
        given = [await register.given(registered, session)] if register.given else []
        decided = register.rule(registered, *given, call)
        assert not isinstance(decided, kernel.Outside | kernel.ApprovedCommand)  # noqa: S101
        return [*decided, *(part for part in outcome if isinstance(part, kernel.Advice))]

    async def _carry_out(
        self, approved: kernel.ApprovedCommand, approval: _Pending, session: Session, found: _Found
    ) -> _Decision:
        """Decide a proposed command as the approver. Raise if it could not be proposed now."""
        name, asked, approver = approved.command_name, approved.proposed_by, approval.request.caller
        operation, stream = self._proposable.get(name), approval.stream
        assert stream is not None, "it names a proposal"  # noqa: S101
        if operation is None:
            raise approved.lapsed(f"This release has no {name} that can be proposed.")
        (first,) = await self._store.history(stream, 0, 1)
        verdict = await self._admission.verdict_on(name, asked, first.surface_id)
        caller = replace(approver, correlation_id=first.correlation_id, causation_id=first.event_id)
        request = Request(caller, approved.arguments, approves=True, basis=approved.basis)
        if approved.required_version is not None:
            request = replace(request, if_match=str(approved.required_version))
        if approval.request.dry_run:
            found = replace(found, takes_steps=False)
        pending = _Pending(operation, request, _target(operation, request))
        if isinstance(verdict, kernel.Deny) or (
            verdict.object_scope is ObjectScope.OWN
            and pending.stream
            and await self._others({pending.stream}, asked)
        ):
            raise approved.lapsed(f"The proposer may not propose {name} any more.")
        decided = await self._decide(pending, session, found)
        assert isinstance(decided, _Decision), "it has no key"  # noqa: S101
        return decided

    @property
    def _registering(self) -> Operation:
        assert self._registers, "a service with proposals has the operation"  # noqa: S101
        return self._registers

    def _basis(self, session: Session) -> str:
        """Return the digest of the versions of everything read, but for proposals themselves."""
        own = self._registering.aggregate.name
        read = sorted((*stream, version) for stream, version in session.versions.items())
        return sha256(encode([each for each in read if each[0] != own])).hexdigest()

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
        carried: _Decision | None = None,
    ) -> CommandResult:
        """Return the answer with what is read anew each time it is given."""
        if carried and carried.operation.answered_with:
            told = await self._completed(carried.operation, carried.result({}), carried.admitted)
            whole: dict[str, Any] = msgspec.json.decode(answered.body)
            return replace(answered, body=encode(whole | {"answer": msgspec.Raw(told.body)}))
        if operation.answered_with is None or not answered.body:
            return answered
        body: dict[str, Any] = msgspec.json.decode(answered.body)
        id = answered.id or UUID(body[operation.aggregate.id_field])
        try:
            reading = self._sessions().read_for(admitted.standing.principal_id, admitted.scope)
            beside = (await operation.answered_with([id], reading))[id]
        except StoreUnavailableError:
            # That refusal would say that nothing was written.
            raise OutcomeUnknownError from None
        return replace(answered, body=encode(body | msgspec.to_builtins(beside)))

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

    async def _withhold(self, refusal: Refusal, caller: Caller, session: Session) -> None:
        """Take from a refusal what it quotes of an object that the caller may not read."""
        if session.only is None:
            return
        others = await self._others(session.versions.keys(), session.only)
        if others:
            gets = {s: get.name for s in others if (get := self._gets.get(s[0]))}
            reach = await self._admission.reach(caller, {*gets.values()})
            hidden = {s for s in others if reach.get(gets.get(s, "")) is not ObjectScope.ALL}
            withhold(refusal, readable=session.versions.keys() - hidden, hidden=hidden)

    async def _others(self, streams: Set[Stream], me: UUID) -> Set[Stream]:
        """Return those of these streams that somebody else owns."""
        if not streams:
            return frozenset()
        owners, aggregates = await self._store.owners(sorted(streams)), self._codec.aggregates
        return {
            stream
            for stream, owner_id in owners.items()
            if owner_id != me and not (aggregates[stream[0]].self_owned and stream[1] == me)
        }

    async def _require_own(self, outcome: Outcome, target: Stream | None, session: Session) -> None:
        """Raise as for an absent object when a command changes one beyond the caller's scope."""
        if session.only is None:
            return
        written = {self._codec.stream(event) for event in _events(outcome)}
        changed = (written & session.versions.keys()) - {target}
        for name, id in sorted(await self._others(changed, session.only)):
            await session.adopt(self._codec.aggregates[name], id, LoadedStream())

    async def _shown(
        self, caller: Caller, admitted: Admitted, target: Stream | None, outcome: Outcome
    ) -> Set[Stream]:
        """Return the streams that the caller may read, or none if not the target itself."""
        written = {self._codec.stream(event) for event in _events(outcome)}
        streams = [stream for stream in {*written, target} if stream and stream[0] in self._gets]
        gets = {stream: self._gets[stream[0]] for stream in streams}
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

    async def _require_free(self, outcome: Outcome) -> None:
        """Raise the refusal of a key that is taken."""
        for part in outcome:
            if isinstance(part, kernel.Insert) and part.loser:
                key = {column: getattr(part.row, column) for column in part.table.key}
                if await self._store.rows(part.table, key):
                    raise part.loser
            if isinstance(part, Rows):
                key = part.table.key[0]
                ids = [getattr(row, key) for row in part.rows]
                found = await self._store.rows(part.table, {key: ids})
                stored = {getattr(row, key): getattr(row, part.under) for row in found}
                _without_stored([part], stored)

    async def _would_write(
        self, outcome: Outcome, shown: Set[Stream], would_propose: bool = False
    ) -> CommandResult:
        """Return the answer of a dry run. Raise the refusal of a key that is taken."""
        await self._require_free(outcome)
        events = [
            {
                "event_type": type(event).__name__,
                "payload": event if self._codec.stream(event) in shown else None,
            }
            for event in _events(outcome)
        ]
        advice = [part for part in outcome if isinstance(part, kernel.Advice)]
        warnings = {"warnings": advice} if advice else {}
        proposed = {"would_propose": True} if would_propose else {}
        return CommandResult(200, encode(proposed | {"events": events} | warnings))


def side_writes_of(outcome: Outcome) -> list[kernel.SideWrite | Rows]:
    """Return the rows that an outcome writes with its events."""
    return [part for part in outcome if not isinstance(part, WRITES_NO_ROW)]


def _events(outcome: Outcome) -> list[Event]:
    parts = (part.event if isinstance(part, Identified) else part for part in outcome)
    return [part for part in parts if isinstance(part, Event)]


def _one[P](outcome: Outcome, kind: type[P]) -> P | None:
    return next((part for part in outcome if isinstance(part, kind)), None)


def _target(operation: Operation, request: Request) -> Stream | None:
    if operation.genesis:
        return None
    of, command = operation.aggregate, request.command
    id = getattr(command, of.id_field) if command else parse_id(request.arguments, of.id_field)
    return (of.name, id) if id else None


def _replayed(command: _Pending, kept: StoredAnswer, digest: bytes) -> CommandResult:
    """Return the stored answer. Raise IdempotencyConflictError if another command got it."""
    if kept.fingerprint != digest:
        # An answer that an earlier release kept has the digest of the arguments as sent.
        name, sent = command.operation.name, command.request.arguments
        if isinstance(sent, Refusal) or kept.fingerprint != fingerprint_as_sent(name, sent):
            raise IdempotencyConflictError
    id = command.stream and command.stream[1]
    again = CommandResult(kept.status, kept.result, id, replayed=True)
    return replace(again, version=kept.version, token=kept.position)


def _without_stored(outcome: Outcome, stored: Mapping[object, object]) -> Outcome:
    """Return an outcome without rows that are stored already, and with how many are new."""
    parts = list(outcome)
    for number, part in enumerate(outcome):
        if isinstance(part, Rows):
            if not stored:
                parts.append(kernel.Appended(len(part.rows), 0))
                continue
            keyed = [(getattr(row, part.table.key[0]), row) for row in part.rows]
            if any(stored.get(k, under := getattr(row, part.under)) != under for k, row in keyed):
                raise part.taken
            fresh = [row for key, row in keyed if key not in stored]
            parts[number] = replace(part, rows=fresh)
            parts.append(kernel.Appended(len(fresh), len(keyed) - len(fresh)))
    return parts
