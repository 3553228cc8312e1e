"""Proposals: a command is proposed, previewed, and carried out in the name of its approver."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from uuid import UUID

import msgspec

from beamkeep import kernel
from beamkeep.kernel import Operation, Outcome, Refusal, replace

from .admission import Admission, Admitted, Caller, Request
from .codec import encode
from .deciding import Assigns, Decide, DecidedCommand, EarlierAttempts, Pending, target_of
from .dry_runs import DryRuns
from .outcomes import events_of
from .ownership import Ownership
from .parsing import MalformedRequestError
from .session import Session, sight_of
from .store import EventStore

MOST_NOTE = 500


class Proposals(kernel.Record):
    """Which operations can be proposed, and those that register and approve a proposal."""

    proposable: Mapping[str, Operation] = {}
    registers: Operation | None = None
    approves: Operation | None = None


NOTHING_PROPOSABLE = Proposals()


class Proposing:
    """Proposes commands and decides those that were approved."""

    def __init__(
        self,
        admission: Admission,
        store: EventStore,
        proposals: Proposals,
        ownership: Ownership,
        dry_runs: DryRuns,
        sessions: Callable[[], Session],
        decide: Decide,
        assigns: Assigns,
    ) -> None:
        self._admission, self._store, self._sessions = admission, store, sessions
        self._proposable, self._registers = proposals.proposable, proposals.registers
        self._approves, self._decide = proposals.approves, decide
        self._ownership, self._dry_runs, self._assigns = ownership, dry_runs, assigns

    async def preview(self, caller: Caller, proposal_id: UUID) -> kernel.Preview:
        """Return what an approval of a proposal by this caller would do now; record nothing."""
        session, basis, approve = self._sessions(), None, self._approves
        assert approve, "a service with proposals has the operation"  # noqa: S101
        stream = approve.aggregate.name, proposal_id
        arguments = {approve.aggregate.id_field: str(proposal_id)}
        request = Request(replace(caller, records_denials=False), arguments)
        try:
            found = EarlierAttempts({}, {}, takes_steps=False)
            try:
                approval = await self._decide(Pending(approve, request, stream), session, found)
            finally:
                basis = self.basis(session) if session.principal_id else None
            assert isinstance(approval, DecidedCommand), "it has no key"  # noqa: S101
            decided = approval.carried or approval
            operation = decided.operation
            target = None if operation.genesis else (operation.aggregate.name, decided.target)
            shown = await self._ownership.shown(caller, decided.admitted, target, decided.outcome)
            dry_run = await self._dry_runs.would_write(decided.outcome, shown)
            planned = msgspec.json.decode(dry_run.body)
            session.decide(decided.events)
            added = None
            if operation.answered_with and decided.events:
                joined = await operation.answered_with([decided.target], session)
                added = msgspec.to_builtins(joined[decided.target])
            return kernel.Preview(basis, events=planned["events"], beside=added)
        except Refusal as refusal:
            refused = {"code": type(refusal).__name__, "detail": str(refusal)}
            return kernel.Preview(basis, refusal={"status": refusal.status, **refused})

    def is_proposal(self, operation: Operation, request: Request, admitted: Admitted) -> bool:
        """Return whether the command is proposed. Raise when its note cannot be used."""
        if (note := request.proposal_note) is None:
            return admitted.proposes
        if operation.name not in self._proposable:
            raise MalformedRequestError(f"{operation.name} cannot be proposed.")
        if not 1 <= len(note) <= MOST_NOTE:
            raise MalformedRequestError(f"A proposal note has 1 to {MOST_NOTE} characters.")
        return True

    async def propose(
        self,
        pending: Pending,
        digest: bytes,
        session: Session,
        call: kernel.Call,
        outcome: Outcome,
    ) -> Outcome:
        """Return the proposal that is written in place of the outcome of a command."""
        await self._dry_runs.require_free(outcome)
        request, register, stream = pending.request, self.registering, pending.stream
        wanted = (request.if_match or "").strip('" ')
        of_team = next((e for e in events_of(outcome) if getattr(e, "team_id", None)), None)
        registered = register.command.model_validate(
            {
                "command_name": pending.operation.name,
                "arguments": request.arguments,
                "digest": digest.hex(),
                "target": stream and kernel.WrittenStream(*stream, session.versions[stream]),
                "required_version": int(wanted) if wanted.isdigit() else None,
                "basis": self.basis(session),
                "would_write": [type(event).__name__ for event in events_of(outcome)],
                "note": request.proposal_note,
                "team_id": getattr(of_team, "team_id", None),
                "visit_id": getattr(of_team, "visit_id", None),
            }
        )
        given = [await register.given(registered, session)] if register.given else []
        decided = register.rule(registered, *given, call)
        assert not isinstance(decided, kernel.Outside | kernel.ApprovedCommand)  # noqa: S101
        advice = (part for part in outcome if isinstance(part, kernel.Advice))
        return [*await self._assigns(decided, call, session), *advice]

    async def carry_out(
        self,
        approved: kernel.ApprovedCommand,
        approval: Pending,
        session: Session,
        found: EarlierAttempts,
    ) -> DecidedCommand:
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
        pending = Pending(operation, request, target_of(operation, request))
        sight = None if isinstance(verdict, kernel.Deny) else sight_of(asked, verdict.object_scope)
        if isinstance(verdict, kernel.Deny) or (
            sight and pending.stream and await self._ownership.others({pending.stream}, sight)
        ):
            raise approved.lapsed(f"The proposer may not propose {name} any more.")
        decided = await self._decide(pending, session, found)
        assert isinstance(decided, DecidedCommand), "it has no key"  # noqa: S101
        return decided

    @property
    def registering(self) -> Operation:
        assert self._registers, "a service with proposals has the operation"  # noqa: S101
        return self._registers

    def basis(self, session: Session) -> str:
        """Return the digest of the versions of everything read, but for proposals themselves."""
        own = self.registering.aggregate.name
        read = sorted((*stream, version) for stream, version in session.versions.items())
        return sha256(encode([each for each in read if each[0] != own])).hexdigest()
