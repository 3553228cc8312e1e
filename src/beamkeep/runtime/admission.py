"""Admission: who calls, at which entry point, and whether a policy permits the call."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Set
from contextvars import ContextVar
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from structlog.contextvars import bind_contextvars

from beamkeep import kernel
from beamkeep.kernel import (
    AuthzResult,
    Catalogue,
    Deny,
    ObjectScope,
    Propose,
    Record,
    Refusal,
    Standing,
    authorize,
)

from .entry_points import EntryPoint, EntryPoints, InvalidSurfaceIdError
from .parsing import Arguments
from .store import CallContext, CallLookup, EventStore, Stream
from .tokens import UnregisteredLoginError

log: structlog.stdlib.BoundLogger = structlog.get_logger()

# The variables behind `bind_contextvars`: to find them by name for each call takes longer than to
# set one. The ellipsis stands for no value.
_BOUND = bind_contextvars(correlation_id=..., principal_id=...)
CORRELATION_ID: ContextVar[Any] = _BOUND["correlation_id"].var
PRINCIPAL_ID: ContextVar[Any] = _BOUND["principal_id"].var

MOST_LOGINS = 10_000
"""How many logins are remembered as registered."""


class UnauthorizedError(Refusal, status=403):
    """You are not permitted to make this call on this surface."""


class Caller(Record):
    """Who calls, as far as the surface knows."""

    correlation_id: UUID
    identity: tuple[str, str] | None = None
    """Issuer and subject of a verified token."""
    token_ends_at: datetime | None = None
    principal_id: UUID | None = None
    """The principal of a call without a token."""
    transport: kernel.SurfaceKind | None = None
    """None for calls from inside the service."""
    selected_surface: str | None = None
    causation_id: UUID | None = None
    """The event that caused a call from inside the service."""
    delegated: bool = False
    """Whether somebody else acts for the principal with its token."""
    records_denials: bool = True
    """False for agents inside the service, whose decisions are the record."""


class Request(Record):
    """One call as it was received, not yet checked."""

    caller: Caller
    arguments: Arguments
    """All, or those of the path while the others are not parsed."""
    idempotency_key: str | None = None
    if_match: str | None = None
    dry_run: bool = False
    command: kernel.Command | None = None
    """The command of a call from inside the service, in place of arguments."""
    new_id: UUID | None = None
    """The id of a new aggregate (default: a fresh one)."""
    admitted: "Admitted | None" = None
    """The admission of the call on whose behalf a worker continues."""
    command_name: str | None = None
    """The command that its events name (default: that of the operation)."""
    proposal_note: str | None = None
    """The message to the approver; with a note, the command is always proposed."""
    approves: bool = False
    """Whether it carries out what somebody proposed; permission to propose does not suffice."""
    basis: str | None = None
    """The basis that the decision must have."""
    parses: Callable[[], Arguments] | None = None
    """Returns all arguments; it is called when the call is permitted, because parsing costs."""

    @property
    def is_plain(self) -> bool:
        """Whether it is to be carried out now, for the caller who sent it."""
        return not (self.dry_run or self.approves or self.admitted or self.proposal_note)


class CallTarget(NamedTuple):
    """What the statement that opens a call also looks up, or may take from memory."""

    stream: Stream | None = None
    fold: UUID | None = None
    idempotency_key: str | None = None
    recalls: bool = False
    creates: bool = False
    """Whether an object is created that may belong to a team."""


NO_TARGET = CallTarget()


class Admitted(Record):
    """A call that is permitted."""

    place: EntryPoint
    standing: Standing
    scope: ObjectScope
    opened: CallContext
    proposes: bool = False
    """Whether the caller may only propose the call."""

    def sees(self, owner_id: UUID | None, self_owned: bool = False, id: UUID | None = None) -> bool:
        """Return whether the caller may see the object of the call, which has this owner."""
        me = self.standing.principal_id
        if self.scope is ObjectScope.ALL or me == owner_id or (self_owned and me == id):
            return True
        return self.scope is ObjectScope.TEAM and self.opened.is_member


class Admission:
    """Refuses calls that are not permitted, and records each denial."""

    def __init__(
        self,
        store: EventStore,
        places: EntryPoints,
        clock: Callable[[], datetime],
        new_id: Callable[[], UUID],
        contact: str | None = None,
        proposable: Set[str] = frozenset(),
        explains: Callable[[Standing | None, Deny], str] | None = None,
    ) -> None:
        self._store, self._places, self._clock, self._new_id = store, places, clock, new_id
        self._proposable, self._explains = proposable, explains
        self._contact = contact or "Ask an administrator for a grant."
        self._registered = OrderedDict[tuple[str, str], None]()

    async def admit(
        self,
        name: str,
        caller: Caller,
        target: CallTarget = NO_TARGET,
        approves: bool = False,
    ) -> Admitted:
        """Return the call context, read by one statement. Raise a refusal when it is denied.

        With `approves`, deny a caller who may only propose the call.
        """
        proposable = name in self._proposable and not approves
        place, opened = await self._open(name, caller, target, proposable)
        standing = opened.standing
        verdict = _verdict(name, caller.transport, place, opened, proposable=proposable)
        if isinstance(verdict, Deny):
            if caller.records_denials:
                await self._record(name, caller, place, standing, verdict)
            surface = caller.selected_surface or caller.transport or "inside the service"
            why = self._explains(standing, verdict) if self._explains else ""
            raise UnauthorizedError(f"{why}Call: {name}. Surface: {surface}. {self._contact}")
        assert standing is not None, "an unknown principal is denied"  # noqa: S101
        proposes = isinstance(verdict, Propose)
        return Admitted(place, standing, verdict.object_scope, opened=opened, proposes=proposes)

    async def require_registered(self, caller: Caller) -> None:
        """Raise UnregisteredLoginError for a login of no actor; a login is looked up once."""
        if caller.identity and caller.identity not in self._registered:
            await self._open(None, caller)

    async def reach(self, caller: Caller, names: Iterable[str]) -> Mapping[str, ObjectScope]:
        """Return the scope of each of these calls that the caller may make."""
        verdicts = await self.verdicts(caller, names)
        return {n: v.object_scope for n, v in verdicts.items() if isinstance(v, kernel.Allow)}

    async def proposes(self, caller: Caller) -> frozenset[str]:
        """Return the names of everything that the caller may propose here, but not call."""
        found = await self.verdicts(caller, self._proposable)
        return frozenset(name for name, verdict in found.items() if isinstance(verdict, Propose))

    async def verdict_on(
        self, name: str, principal_id: UUID, surface_id: UUID | None
    ) -> AuthzResult:
        """Return whether a principal may make or propose a call on a surface."""
        place, proposable = await self._places.at(surface_id), name in self._proposable
        assert place is not None, "surfaces are never removed"  # noqa: S101
        opened = await self._store.open(
            CallLookup(
                identity=None,
                principal_id=principal_id,
                conduit_id=place.conduit_id,
                surface_id=place.surface_id,
                command_name=name,
                proposable=proposable,
            )
        )
        return _verdict(name, place.kind, place, opened, proposable=proposable)

    async def verdicts(self, caller: Caller, names: Iterable[str]) -> Mapping[str, AuthzResult]:
        """Return the verdict on each of these calls; no denial is recorded."""
        place, opened = await self._open(None, caller)
        here, may = (caller.transport, place, opened), self._proposable
        return {name: _verdict(name, *here, proposable=name in may) for name in names}

    async def permitted(self, caller: Caller, catalogue: Catalogue) -> frozenset[str]:
        """Return the names of everything that the caller may call here."""
        return frozenset(await self.reach(caller, catalogue.named))

    async def _open(
        self,
        name: str | None,
        caller: Caller,
        target: CallTarget = NO_TARGET,
        proposable: bool = False,
    ) -> tuple[EntryPoint, CallContext]:
        place = await self._places.find(caller.transport, caller.selected_surface)
        opened = await self._store.open(
            CallLookup(
                caller.identity,
                caller.principal_id,
                conduit_id=place and place.conduit_id,
                surface_id=place and place.surface_id,
                command_name=name,
                proposable=proposable,
                idempotency_key=target.idempotency_key,
                stream=target.stream,
                fold=target.fold,
                recalls=target.recalls,
                creates=target.creates,
            )
        )
        if opened.standing is None and caller.identity is not None:
            raise UnregisteredLoginError
        if caller.identity and caller.identity not in self._registered:
            self._registered[caller.identity] = None
            if len(self._registered) > MOST_LOGINS:
                self._registered.popitem(last=False)
        # A call made within another one leaves the log context of the outer call as it is.
        if opened.standing and CORRELATION_ID.get() == caller.correlation_id:
            PRINCIPAL_ID.set(opened.standing.principal_id)
        if place is None:
            raise InvalidSurfaceIdError
        return place, opened

    async def _record(
        self, name: str, caller: Caller, place: EntryPoint, standing: Standing | None, verdict: Deny
    ) -> None:
        principal_id = standing.principal_id if standing else caller.principal_id
        assert principal_id is not None, "a token that maps to no actor was refused before"  # noqa: S101
        if verdict.reason_code is not kernel.DenialReason.NO_MATCHING_POLICY:
            log.warning("barred actor", command_name=name, reason_code=verdict.reason_code)
        denial = kernel.Denial(
            denial_id=self._new_id(),
            conduit_id=place.conduit_id,
            surface_id=place.surface_id,
            principal_id=principal_id,
            command_name=name,
            reason_code=verdict.reason_code,
            correlation_id=caller.correlation_id,
            occurred_at=self._clock(),
        )
        try:
            await self._store.deny(denial)
        except Exception:
            # The verdict stands whether or not it could be recorded.
            log.exception("denial not recorded", command_name=name, reason_code=denial.reason_code)


def _verdict(
    name: str,
    over: kernel.SurfaceKind | None,
    place: EntryPoint,
    opened: CallContext,
    proposable: bool,
) -> AuthzResult:
    here, seen = (place.conduit_id, place.surface_id), (opened.standing, opened.grants)
    return authorize(*seen, name, *here, over=over, proposable=proposable)
