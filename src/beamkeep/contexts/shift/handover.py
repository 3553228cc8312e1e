"""Handover: what happened in one shift, what it leaves open, and what runs out in the next."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field

from beamkeep.contexts.caution.caution import (
    Caution,
    CautionRegistered,
    CautionRetired,
    CautionSuperseded,
    TargetKind,
    cautions,
)
from beamkeep.contexts.enclosure.enclosure import (
    Enclosure,
    EnclosurePermitObserved,
    enclosures,
)
from beamkeep.contexts.equipment.asset import (
    Asset,
    AssetDegraded,
    AssetFaulted,
    AssetMaintenanceEntered,
    AssetMaintenanceExited,
    AssetRestored,
    assets,
)
from beamkeep.contexts.equipment.place import facility_scopes
from beamkeep.contexts.federation.facility import (
    FacilityCode,
    FacilityNotFoundError,
    ListFacilities,
    facilities,
    facility_by_code,
)
from beamkeep.contexts.recipe.plan import Plan, plans
from beamkeep.contexts.run.logbook import RUN_LOGBOOK
from beamkeep.contexts.run.refused import REFUSED_STARTS
from beamkeep.contexts.run.run import (
    ENDS,
    Run,
    RunAdjusted,
    RunHeld,
    RunResumed,
    RunStarted,
    runs,
)
from beamkeep.contexts.safety.clearance import STATUS as CLEARANCE_MOVES
from beamkeep.contexts.safety.clearance import (
    Clearance,
    ClearanceActivated,
    ClearanceReviewStepAppended,
    ClearanceStatus,
    ListClearances,
    clearances,
)
from beamkeep.contexts.supply.supply import STATUS as SUPPLY_MOVES
from beamkeep.contexts.supply.supply import (
    Supply,
    supplies,
)
from beamkeep.contexts.trust.visit import CONTROLLING as CONTROL_CHANGES
from beamkeep.contexts.trust.visit import STATUS as VISIT_MOVES
from beamkeep.contexts.trust.visit import (
    Visit,
    visits,
)
from beamkeep.kernel import Aggregate, Event, Invalid, Listing, Query, Reader, Record, answers
from beamkeep.kernel.values import Timestamp

from .lasting import (
    IN_MAINTENANCE,
    LASTING,
    NOT_AVAILABLE,
    NOT_WORKING,
    OPEN_RUN,
    OPEN_VISIT,
    WITHOUT_PERMIT,
    Lasting,
)

LONGEST, SOON, MOST_EVENTS = timedelta(days=7), timedelta(hours=24), 10_000
CLOCKS_APART = timedelta(minutes=1)
LONGEST_TEXT = 500


class InvalidShiftPeriodError(Invalid):
    """A shift begins before it ends, has no more than seven days and no more than 10,000 events."""


class Line(Record):
    """One thing that happened, is open or runs out; nobody is named."""

    at: datetime
    what: str
    """The event, as the history of the object calls it."""
    kind: str
    id: UUID
    name: str
    why: str | None
    link: str
    state: str | None = None
    """The state it led to, where `what` does not say so."""


class ShiftHandover(Record, rename={"since": "from", "until": "to"}):
    since: datetime
    until: datetime
    facility_code: str | None
    runs: tuple[Line, ...]
    """What was started and what ended."""
    holds: tuple[Line, ...]
    """What was held and went on, and why."""
    equipment: tuple[Line, ...]
    """Faults and maintenance."""
    cautions: tuple[Line, ...]
    """What was written down, replaced or taken back."""
    supplies: tuple[Line, ...]
    """What was lost and came back."""
    expiring: tuple[Line, ...]
    """Clearances that run out within a day of the end of the shift."""
    adjustments: tuple[Line, ...]
    """Runs whose parameters were changed."""
    refused: tuple[Line, ...]
    """Starts that a check refused: which plan, and the error."""
    permits: tuple[Line, ...]
    """Enclosures whose permit changed, and to what."""
    clearances: tuple[Line, ...]
    """Clearances that moved, and those that ran out."""
    visits: tuple[Line, ...]
    """Visits that moved, and changes of control."""
    notes: tuple[Line, ...]
    """What was written into the logbooks of runs."""
    open: tuple[Line, ...] | None
    """What was still open at the end, each since when; null if too much has moved since."""


class GetShiftHandover(Query):
    """Show what happened in a shift, what it left open, and what runs out soon after it."""

    since: Annotated[Timestamp, Field(alias="from")]
    until: Annotated[Timestamp, Field(alias="to")]
    facility_code: FacilityCode | None = None
    """Only what concerns this facility and its areas."""


RUNS = RunStarted, *ENDS
HOLDS = RunHeld, RunResumed
ADJUSTMENTS = (RunAdjusted,)
EQUIPMENT = (
    AssetFaulted,
    AssetDegraded,
    AssetRestored,
    AssetMaintenanceEntered,
    AssetMaintenanceExited,
)
CAUTIONS = CautionRegistered, CautionSuperseded, CautionRetired
SUPPLIES = tuple(SUPPLY_MOVES.moves)
PERMITS = (EnclosurePermitObserved,)
CLEARANCES = tuple({*CLEARANCE_MOVES.moves} - {ClearanceReviewStepAppended})
VISITS = *VISIT_MOVES.moves, *CONTROL_CHANGES.moves
TOLD = (
    *(*RUNS, *HOLDS, *ADJUSTMENTS, *EQUIPMENT, *CAUTIONS),
    *(*SUPPLIES, *PERMITS, *CLEARANCES, *VISITS),
)

type Thing = Run | Asset | Caution | Supply | Clearance | Enclosure | Visit | Plan


class Shift(Record):
    """One shift, as a handover reads it."""

    since: datetime
    until: datetime
    codes: frozenset[str] | None
    events: Sequence[Event]
    read: Reader

    async def told[S: Thing, G: Event, E: Event](
        self, of: Aggregate[S, G, E], home: str, kinds: Collection[type[Event]]
    ) -> tuple[Line, ...]:
        """What happened in it to things of one kind."""
        own = [event for event in self.events if type(event) in kinds]
        things = await self.concerned(of, (_id(event, of.id_field) for event in own))
        return tuple(
            _line(event, of.name, home, thing, _state(event))
            for event in own
            if (thing := things.get(_id(event, of.id_field)))
        )

    async def left_open[S: Thing, G: Event, E: Event](
        self, of: Aggregate[S, G, E], home: str, lasting: Lasting, later: Sequence[Event]
    ) -> list[Line]:
        """What of one kind was open at its end, by the event that opened it."""
        # A list may be a little behind, and what ended since is no longer in it.
        ids = {id for each in lasting.open_now for id in await self._listed(each)}
        moved = (event for event in (*self.events, *later) if type(event) in lasting.moves)
        ids |= {_id(event, of.id_field) for event in moved}
        last = await self.read.latest(of, sorted(ids), lasting.moves, self.until)
        opened = {id: event for id, event in last.items() if lasting.state_after(event)}
        things = await self.concerned(of, opened)
        return [
            _line(opened[id], of.name, home, thing, lasting.state_after(opened[id]))
            for id, thing in things.items()
        ]

    async def clearances(self) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
        """The clearances that ran out in it, and those that run out soon after, soonest first."""
        # Those that have ended since were in force then.
        statuses = {ClearanceStatus.ACTIVE, ClearanceStatus.EXPIRED, ClearanceStatus.SUPERSEDED}
        listed = await self._listed(
            ListClearances(
                status=frozenset(statuses),
                valid_until_from=self.since,
                valid_until_before=self.until + SOON,
            )
        )
        last = await self.read.latest(clearances, listed, CLEARANCES, self.until)
        active = [id for id, event in last.items() if isinstance(event, ClearanceActivated)]
        lapsed: list[Line] = []
        expiring: list[Line] = []
        for id, each in (await self.concerned(clearances, active)).items():
            end = each.valid_until
            if end is not None and self.since <= end <= self.until + SOON:
                is_over = end < self.until
                told = (end, "lapsed" if is_over else "expires", "Clearance", id, each.title)
                (lapsed if is_over else expiring).append(Line(*told, None, f"/clearances/{id}"))
        return _by_time(lapsed), _by_time(expiring)

    async def concerned[S: Thing, G: Event, E: Event](
        self, of: Aggregate[S, G, E], ids: Iterable[UUID]
    ) -> Mapping[UUID, S]:
        """Those that stand, serve or hold in one of the facilities asked for, or in any."""
        things = await self.read.many(of, ids)
        if self.codes is None:
            return things
        named = sorted({id for thing in things.values() for id in _asset_ids(thing)})
        scopes = {
            id: scope.facility_scope
            for id, scope in (await facility_scopes(named, self.read)).items()
        }
        own = self.read.installation.facility_code
        return {
            id: thing
            for id, thing in things.items()
            if not self.codes.isdisjoint(_codes_of(thing, scopes, own))
        }

    async def _listed(self, query: Listing) -> tuple[UUID, ...]:
        return await self.read.matching(query, to_show=True)


async def handover(query: GetShiftHandover, read: Reader) -> ShiftHandover:
    since, until, code = query.since, query.until, query.facility_code
    codes = await _codes(code, read) if code else None
    if not since < until or until - since > LONGEST:
        raise InvalidShiftPeriodError
    most = MOST_EVENTS + 1
    events = await read.happened(TOLD, since, until, most)
    entries = await read.written(RUN_LOGBOOK, runs, "recorded_at", since, until, most)
    refused = await read.written(REFUSED_STARTS, plans, "refused_at", since, until, most)
    if len(events) + len(entries) + len(refused) > MOST_EVENTS:
        raise InvalidShiftPeriodError("More happened; ask for a part of it.")
    shift = Shift(since, until, codes, events, read)
    lapsed, expiring = await shift.clearances()
    noted = await shift.concerned(runs, (entry.run_id for entry in entries))
    planned = await shift.concerned(plans, (each.plan_id for each in refused))
    return ShiftHandover(
        since=since,
        until=until,
        facility_code=code,
        runs=await shift.told(runs, "runs", RUNS),
        holds=await shift.told(runs, "runs", HOLDS),
        equipment=await shift.told(assets, "assets", EQUIPMENT),
        cautions=await shift.told(cautions, "cautions", CAUTIONS),
        supplies=await shift.told(supplies, "supplies", SUPPLIES),
        expiring=expiring,
        adjustments=await shift.told(runs, "runs", ADJUSTMENTS),
        refused=tuple(
            Line(
                each.refused_at,
                "refused",
                plans.name,
                plan.id,
                plan.name,
                each.error_code,
                f"/plans/{plan.id}",
            )
            for each in refused
            if (plan := planned.get(each.plan_id))
        ),
        permits=await shift.told(enclosures, "enclosures", PERMITS),
        clearances=_by_time((*await shift.told(clearances, "clearances", CLEARANCES), *lapsed)),
        visits=await shift.told(visits, "visits", VISITS),
        notes=tuple(
            Line(
                entry.recorded_at,
                entry.kind,
                runs.name,
                run.id,
                run.name,
                entry.text[:LONGEST_TEXT],
                f"/runs/{run.id}/logbook",
            )
            for entry in entries
            if (run := noted.get(entry.run_id))
        ),
        open=await _open(shift),
    )


async def _open(shift: Shift) -> tuple[Line, ...] | None:
    """What was open at the end of a shift; none if more has moved since than is read."""
    moves = [move for lasting in LASTING for move in lasting.moves]
    now = max(shift.until, shift.read.now + CLOCKS_APART)
    later = await shift.read.happened(moves, shift.until, now, MOST_EVENTS + 1)
    if len(later) > MOST_EVENTS:
        return None
    found = [
        *await shift.left_open(runs, "runs", OPEN_RUN, later),
        *await shift.left_open(assets, "assets", NOT_WORKING, later),
        *await shift.left_open(assets, "assets", IN_MAINTENANCE, later),
        *await shift.left_open(enclosures, "enclosures", WITHOUT_PERMIT, later),
        *await shift.left_open(supplies, "supplies", NOT_AVAILABLE, later),
        *await shift.left_open(visits, "visits", OPEN_VISIT, later),
    ]
    return _by_time(found)


async def _codes(code: str, read: Reader) -> frozenset[str]:
    """The codes of a facility and of the areas in it."""
    facility = await facility_by_code(code, read)
    areas = await read.many(facilities, await read.matching(ListFacilities(parent_id=facility.id)))
    return frozenset({code, *(area.code for area in areas.values())})


def _codes_of(thing: Thing, scopes: Mapping[UUID, str | None], own: str) -> set[str | None]:
    """The facilities a thing concerns."""
    match thing:
        case Supply() | Clearance() | Enclosure():
            return {thing.facility_code}
        case Visit():
            # A surface stands nowhere: it is a way into the deployment, which is of one site.
            return {own}
        case _:
            return {scopes[each] for each in _asset_ids(thing)}


def _asset_ids(thing: Thing) -> Iterable[UUID]:
    match thing:
        case Run() | Plan():
            return thing.asset_ids
        case Asset():
            return (thing.id,)
        case Caution():
            return (thing.target.id,) if thing.target.kind is TargetKind.ASSET else ()
        case Supply() | Clearance() | Enclosure() | Visit():
            return ()


def _line(event: Event, kind: str, home: str, thing: Thing, state: str | None) -> Line:
    why: str | None = (
        event.retire_reason if isinstance(event, CautionRetired) else getattr(event, "reason", None)
    )
    what, link = type(event).__name__, f"/{home}/{thing.id}"
    return Line(event.occurred_at, what, kind, thing.id, _name(thing), why, link, state)


def _name(thing: Thing) -> str:
    match thing:
        case Caution():
            return f"{thing.severity}: {thing.category}"
        case Clearance():
            return thing.title
        case Visit():
            references = (f"{scheme} {value}" for scheme, value in thing.external_refs.items())
            return ", ".join([thing.type, *references])
        case Run() | Asset() | Supply() | Enclosure() | Plan():
            return thing.name


def _state(event: Event) -> str | None:
    return event.to_permit_status if isinstance(event, EnclosurePermitObserved) else None


def _by_time(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda line: (line.at, line.id)))


def _id(event: Event, id_field: str) -> UUID:
    return getattr(event, id_field)


QUESTIONS = (
    answers(
        "GET /shifts/handover",
        GetShiftHandover,
        handover,
        ShiftHandover,
        InvalidShiftPeriodError,
        FacilityNotFoundError,
        of=runs,
        about=None,
    ),
)
