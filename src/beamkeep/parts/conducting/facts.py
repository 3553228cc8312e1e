"""Facts of a conduct: everything that a worker reads before it continues."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.contexts.operation.activity import ACTIVITIES
from beamkeep.contexts.operation.conduct import CHANNELS, flags_of, rows_so_far
from beamkeep.contexts.operation.conducted import (
    Activity,
    ConductKind,
    Failure,
    Phase,
    Stage,
    StepKind,
)
from beamkeep.contexts.operation.history import Pass, RequestedConduct
from beamkeep.contexts.operation.loop import Convergence, Steering
from beamkeep.contexts.operation.procedure import (
    PROCEDURE_STEPS,
    Procedure,
    ProcedureConductRequested,
    ProcedureConductWalked,
    ProcedureHeld,
    ProcedureIterationEnded,
    ProcedureIterationStarted,
    ProcedureResumed,
    procedures,
)
from beamkeep.contexts.run.run import runs
from beamkeep.contexts.seams.routes import ControlRoute
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.surface import surfaces
from beamkeep.kernel import ObjectScope, Record, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Admitted, Caller
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.entry_points import EntryPoint
from beamkeep.runtime.store import READ_AT_ONCE, CallContext, Envelope, EventStore
from beamkeep.schemas import Json, JsonObject
from beamkeep.workers.durable import ClaimedWork

from .conduct.known import Known


class ConductFacts(Record):
    """What the streams and the rows tell of a conduct, and on whose behalf it is carried out."""

    known: Known
    procedure: Procedure
    requested: Envelope
    """The envelope of the request: its principal, surface, command name and correlation id."""
    caller: Caller
    admitted: Admitted
    pass_began_at: datetime | None
    """When the open pass began, moved on by the time that the procedure was held since."""
    version: int
    claimed: frozenset[str] | None
    """The addresses that the conduct has for itself; None if it needs none."""


class _Story(Record):
    """The passes and the request of a conduct, from the stream of its procedure."""

    asked: ProcedureConductRequested
    requested: Envelope
    passes: tuple[Pass, ...]
    pass_began_at: datetime | None
    walk_failure: Failure | None


class ConductReader:
    """Reads the facts of conducts."""

    def __init__(
        self,
        service: Service,
        store: EventStore,
        codec: Codec,
        routes: Sequence[ControlRoute],
        takeover_window: timedelta,
    ) -> None:
        self._service, self._store, self._codec = service, store, codec
        self._routes, self._window = tuple(routes), takeover_window
        self.run_fold = codec.folds[runs.name]

    async def facts(self, work: ClaimedWork) -> ConductFacts | None:
        """Return what is known of a conduct; None if it has ended."""
        session = self._service.sessions()
        procedure = await session.one(procedures, work.subject_id)
        active = procedure.active_conduct
        if active is None or active.conduct_id != work.work_id:
            return None
        story = await self._story(work)
        (pinned,) = await self._store.rows(PROCEDURE_STEPS, {"procedure_id": procedure.id})
        asked, passes = story.asked, story.passes
        loop = msgspec.convert(asked.loop, Convergence | Steering) if asked.loop else None
        if isinstance(loop, Steering):
            captures = await self._captures(procedure)
            passes = tuple(
                replace(each, captures=captures.get(each.iteration_index, {})) for each in passes
            )
        known = Known(
            conduct=RequestedConduct(
                conduct_id=work.work_id,
                root_kind=asked.root_kind,
                from_step_index=asked.from_step_index or 0,
                redo_step_indexes=frozenset(asked.redo_step_indexes),
                skip_step_indexes=frozenset(asked.skip_step_indexes),
                abandon=asked.abandon,
                loop=loop,
            ),
            steps=pinned.steps,
            closing_steps=pinned.closing_steps,
            inline=procedure.recipe_id is None,
            routes=self._routes,
            flags=flags_of(procedure),
            walk_outcome=active.walk_outcome,
            walk_failure=story.walk_failure,
            passes=passes,
            activities=await rows_so_far(
                procedure,
                session,
                in_passes=loop is not None or asked.conduct_kind is ConductKind.MAKE_SAFE,
            ),
            silence=work.silence,
            takeover_window=self._window,
        )
        caller, admitted = await self._requester(story.requested)
        return ConductFacts(
            known=known,
            procedure=procedure,
            requested=story.requested,
            caller=caller,
            admitted=admitted,
            pass_began_at=story.pass_began_at,
            version=session.version(procedures, procedure.id),
            claimed=await self._claimed(asked),
        )

    async def _story(self, work: ClaimedWork) -> _Story:
        owners, passes, found = dict[Any, Any](), list[Pass](), list[tuple[Any, Envelope]]()
        began_at: datetime | None = None
        held_at: datetime | None = None
        failure: Failure | None = None
        for envelope in await self._history(work):
            (event,) = self._codec.decode(procedures.name, [envelope.recorded])
            match event:
                case ProcedureConductRequested():
                    owners[envelope.event_id] = event.conduct_id
                    if event.conduct_id == work.work_id:
                        found.append((event, envelope))
                case ProcedureConductWalked() if event.conduct_id == work.work_id:
                    failure = event.failure
                case ProcedureHeld():
                    held_at = event.occurred_at
                case ProcedureResumed() if began_at and held_at:
                    began_at += event.occurred_at - held_at
                case ProcedureIterationStarted(iteration_index=index, coordinate=coordinate):
                    began_at = event.occurred_at
                    begun_by = owners.get(envelope.causation_id)
                    passes.append(Pass(index, begun_by, coordinate))
                case ProcedureIterationEnded() if began_at:
                    advice = event.advice or {}
                    passes[-1] = replace(
                        passes[-1],
                        ended=True,
                        converged=event.converged,
                        value=event.value,
                        advised_stop=event.advised_stop,
                        next_coordinate=advice.get("next_coordinate"),
                        took=(event.occurred_at - began_at).total_seconds(),
                    )
                case _:
                    pass
        asked, requested = found[0]
        return _Story(
            asked, requested, passes=tuple(passes), pass_began_at=began_at, walk_failure=failure
        )

    async def _history(self, work: ClaimedWork) -> list[Envelope]:
        found, stream = list[Envelope](), (procedures.name, work.subject_id)
        while page := await self._store.history(stream, len(found), READ_AT_ONCE):
            found += page
            if len(page) < READ_AT_ONCE:
                break
        return found

    async def _captures(self, procedure: Procedure) -> dict[int | None, JsonObject]:
        """Return what every pass captured, for an advisor."""
        where = {
            "procedure_id": procedure.id,
            "phase": Phase.STEPS,
            "stage": Stage.SUCCEEDED,
        }
        found = defaultdict[int | None, JsonObject](dict)
        rows = await self._store.rows(ACTIVITIES, where)
        for row in sorted(rows, key=lambda row: row.sequence):
            found[row.iteration_index] |= _captured(row)
        return found

    async def _claimed(self, asked: ProcedureConductRequested) -> frozenset[str] | None:
        if asked.conduct_kind is ConductKind.MAKE_SAFE:
            return None
        rows = await self._store.rows(CHANNELS, {"conduct_id": asked.conduct_id})
        return frozenset(row.address for row in rows)

    async def _requester(self, requested: Envelope) -> tuple[Caller, Admitted]:
        """Return the caller for every question of permission, and for appends that need none."""
        place, caller = EntryPoint(seeded.INTERNAL, None), Caller(requested.correlation_id)
        if id := requested.surface_id:
            surface = await self._service.sessions().one(surfaces, id)
            place = EntryPoint(surface.conduit_id, id)
            caller = replace(caller, transport=surface.kind, selected_surface=str(id))
        who = requested.principal_id
        (standing,) = await self._store.rows(STANDINGS, {"principal_id": who})
        context = CallContext(standing, ())
        admitted = Admitted(place, standing, ObjectScope.ALL, opened=context)
        return replace(caller, principal_id=who, causation_id=requested.event_id), admitted


def _captured(row: Activity) -> JsonObject:
    match row.detail:
        case {"capture_name": str(name), "value": value} if row.step_kind is StepKind.CAPTURE:
            return {name: value}
        case {"measurements": list(measured)}:
            values: dict[str, Json] = {}
            for each in measured:
                match each:
                    case {"name": str(name), "value": value}:
                        values[name] = value
                    case _:
                        pass
            return values
        case _:
            return {}
