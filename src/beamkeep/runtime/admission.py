"""Who calls, from where, and may they: what every command and every question passes first."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from uuid import UUID

import structlog
from structlog.contextvars import bind_contextvars, get_contextvars

from beamkeep.kernel import (
    EVERY_COMMAND,
    Allow,
    Catalogue,
    Command,
    Denial,
    Deny,
    ObjectScope,
    Record,
    Refusal,
    Standing,
    SurfaceKind,
    authorize,
)

from .entry_points import EntryPoint, EntryPoints, InvalidSurfaceIdError
from .parsing import Arguments
from .store import CallContext, CallLookup, EventStore, Stream
from .tokens import InvalidTokenError

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class UnauthorizedError(Refusal, status=403):
    """The principal may not do this here.

    Whoever looks after the policies of this surface can grant it.
    """


class Caller(Record):
    """Who calls, by what, as far as the surface knows it."""

    correlation_id: UUID
    identity: tuple[str, str] | None = None
    """Issuer and subject of a verified token."""
    principal_id: UUID | None = None
    """The principal, where no token is needed to know it."""
    transport: SurfaceKind | None = None
    """None for calls from inside the service."""
    selected_surface: str | None = None
    causation_id: UUID | None = None
    """The event that made the service call itself."""


class Request(Record):
    """One call as it came in: nothing in it has been believed yet."""

    caller: Caller
    arguments: Arguments
    idempotency_key: str | None = None
    if_match: str | None = None
    dry_run: bool = False
    command: Command | None = None
    """The command itself, in place of arguments, where the call comes from inside the service."""
    new_id: UUID | None = None
    """The id that a creation takes; a fresh one where none is given."""


class Admitted(Record):
    """A call that may go on."""

    place: EntryPoint
    standing: Standing
    scope: ObjectScope
    opened: CallContext

    def sees(self, owner_id: UUID | None, self_owned: bool = False, id: UUID | None = None) -> bool:
        """Whether the caller may see an object of this owner."""
        me = self.standing.principal_id
        return self.scope is ObjectScope.ALL or me == owner_id or (self_owned and me == id)


def _attribute(caller: Caller, standing: Standing) -> None:
    """Put the principal on every line of the call from here on, also where it is refused."""
    # Whoever opened the log's lines of a call ends them; nobody would for another.
    if get_contextvars().get("correlation_id") == caller.correlation_id:
        bind_contextvars(principal_id=standing.principal_id)


class Admission:
    """Turns away whoever may not call, and records it."""

    def __init__(
        self,
        store: EventStore,
        places: EntryPoints,
        clock: Callable[[], datetime],
        new_id: Callable[[], UUID],
    ) -> None:
        self._store, self._places, self._clock, self._new_id = store, places, clock, new_id

    async def admit(
        self,
        name: str,
        caller: Caller,
        stream: Stream | None = None,
        key: str | None = None,
        fold: UUID | None = None,
    ) -> Admitted:
        """Find out everything a call needs to go on, in one statement, or refuse it."""
        place, standing, opened = await self._open(name, caller, stream, key, fold)
        verdict = authorize(standing, opened.grants, name, place.conduit_id, place.surface_id)
        if isinstance(verdict, Deny):
            await self._record(name, caller, place, standing, verdict)
            raise UnauthorizedError
        assert standing is not None, "an unknown principal is denied"  # noqa: S101
        return Admitted(place, standing, verdict.object_scope, opened)

    async def reach(self, caller: Caller, names: Iterable[str]) -> Mapping[str, ObjectScope]:
        """How far each of these calls reaches, of those that this caller may make."""
        place, standing, opened = await self._open(None, caller)
        here = place.conduit_id, place.surface_id
        verdicts = {name: authorize(standing, opened.grants, name, *here) for name in names}
        return {n: v.object_scope for n, v in verdicts.items() if isinstance(v, Allow)}

    async def permitted(self, caller: Caller, catalogue: Catalogue) -> frozenset[str]:
        """The names of everything this caller may call here."""
        place, standing, opened = await self._open(None, caller)
        granted = {command for grant in opened.grants for command in grant.permitted_commands}
        candidates = catalogue.named.keys()
        if EVERY_COMMAND not in granted:
            candidates &= granted
        here = place.conduit_id, place.surface_id
        return frozenset(
            name
            for name in candidates
            if not isinstance(authorize(standing, opened.grants, name, *here), Deny)
        )

    async def _open(
        self,
        name: str | None,
        caller: Caller,
        stream: Stream | None = None,
        key: str | None = None,
        fold: UUID | None = None,
    ) -> tuple[EntryPoint, Standing | None, CallContext]:
        place = await self._places.find(caller.transport, caller.selected_surface)
        opened = await self._store.open(
            CallLookup(
                identity=caller.identity,
                principal_id=caller.principal_id,
                conduit_id=place and place.conduit_id,
                surface_id=place and place.surface_id,
                command_name=name,
                idempotency_key=key,
                stream=stream,
                fold=fold,
            )
        )
        if opened.standing is None and caller.identity is not None:
            raise InvalidTokenError
        if opened.standing is not None:
            _attribute(caller, opened.standing)
        if place is None:
            raise InvalidSurfaceIdError
        return place, opened.standing, opened

    async def _record(
        self, name: str, caller: Caller, place: EntryPoint, standing: Standing | None, verdict: Deny
    ) -> None:
        principal_id = standing.principal_id if standing else caller.principal_id
        assert principal_id is not None, "a token that maps to no actor was refused before"  # noqa: S101
        where, why, when = (place.conduit_id, place.surface_id), verdict.reason_code, self._clock()
        called = caller.correlation_id
        try:
            await self._store.deny(
                Denial(self._new_id(), *where, principal_id, name, why, called, when)
            )
        except Exception:
            # The verdict stands whether or not it could be written down.
            log.exception("denial not recorded", command_name=name, reason_code=why)
