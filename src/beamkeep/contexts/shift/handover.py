"""Handover: what happened in one shift, line by line, and what runs out in the next."""

from collections.abc import Collection, Mapping
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
from beamkeep.contexts.run.run import ENDS, Run, RunHeld, RunResumed, RunStarted, runs
from beamkeep.contexts.safety.clearance import (
    Clearance,
    ClearanceStatus,
    ListClearances,
    clearances,
)
from beamkeep.contexts.supply.supply import STATUS as SUPPLY_MOVES
from beamkeep.contexts.supply.supply import Supply, supplies
from beamkeep.kernel import Aggregate, Event, Invalid, Query, Reader, Record, answers
from beamkeep.kernel.values import Timestamp

LONGEST, SOON, MOST_EVENTS = timedelta(days=7), timedelta(hours=24), 10_000


class InvalidShiftPeriodError(Invalid):
    """A shift begins before it ends, has no more than seven days and no more than 10,000 events."""


class Line(Record):
    """One thing that happened, or will; nobody is named."""

    at: datetime
    what: str
    """The event, as the history of the object calls it."""
    kind: str
    id: UUID
    name: str
    why: str | None
    link: str


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


class GetShiftHandover(Query):
    """Show what happened in a shift, and what runs out soon after it."""

    since: Annotated[Timestamp, Field(alias="from")]
    until: Annotated[Timestamp, Field(alias="to")]
    facility_code: FacilityCode | None = None
    """Only what concerns this facility and its areas."""


HOLDS = RunHeld, RunResumed
EQUIPMENT = (
    AssetFaulted,
    AssetDegraded,
    AssetRestored,
    AssetMaintenanceEntered,
    AssetMaintenanceExited,
)
CAUTIONS = CautionRegistered, CautionSuperseded, CautionRetired


type Thing = Run | Asset | Caution | Supply | Clearance


async def handover(query: GetShiftHandover, read: Reader) -> ShiftHandover:
    since, until, code = query.since, query.until, query.facility_code
    codes = await _codes(code, read) if code else None
    if not since < until or until - since > LONGEST:
        raise InvalidShiftPeriodError
    about_runs = {RunStarted, *ENDS, *HOLDS}
    kinds = (*about_runs, *EQUIPMENT, *CAUTIONS, *SUPPLY_MOVES.moves)
    events = await read.happened(kinds, since, until, MOST_EVENTS + 1)
    if len(events) > MOST_EVENTS:
        raise InvalidShiftPeriodError("More happened; ask for a part of it.")

    async def told[S: Thing, G: Event, E: Event](
        of: Aggregate[S, G, E], home: str, kinds: Collection[type[Event]]
    ) -> tuple[Line, ...]:
        own = [event for event in events if type(event) in kinds]
        things = await read.many(of, (_id(event, of.id_field) for event in own))
        concerned = await _concerned(things, codes, read)
        return tuple(
            _line(event, of.name, home, thing)
            for event in own
            if (thing := concerned.get(_id(event, of.id_field)))
        )

    return ShiftHandover(
        since,
        until,
        code,
        await told(runs, "runs", about_runs - {*HOLDS}),
        await told(runs, "runs", HOLDS),
        await told(assets, "assets", EQUIPMENT),
        await told(cautions, "cautions", CAUTIONS),
        await told(supplies, "supplies", SUPPLY_MOVES.moves.keys()),
        await _expiring(until, codes, read),
    )


async def _expiring(
    until: datetime, codes: frozenset[str] | None, read: Reader
) -> tuple[Line, ...]:
    """The clearances that run out soon after a shift, soonest first."""
    sought = ListClearances(
        status=frozenset({ClearanceStatus.ACTIVE}), valid_until_before=until + SOON
    )
    found = await read.many(clearances, await read.matching(sought, to_show=True))
    lines = [
        Line(end, "expires", "Clearance", id, each.title, None, f"/clearances/{id}")
        for id, each in (await _concerned(found, codes, read)).items()
        if each.status is ClearanceStatus.ACTIVE and (end := each.valid_until) and end > until
    ]
    return tuple(sorted(lines, key=lambda line: (line.at, line.id)))


async def _codes(code: str, read: Reader) -> frozenset[str]:
    """The codes of a facility and of the areas in it."""
    facility = await facility_by_code(code, read)
    areas = await read.many(facilities, await read.matching(ListFacilities(parent_id=facility.id)))
    return frozenset({code, *(area.code for area in areas.values())})


async def _concerned[S: Thing](
    things: Mapping[UUID, S], codes: frozenset[str] | None, read: Reader
) -> Mapping[UUID, S]:
    """Those of the things that stand, serve or hold in one of these facilities, or in any."""
    if codes is None:
        return things
    named = sorted({id for thing in things.values() for id in _asset_ids(thing)})
    scopes = await facility_scopes(named, read)
    return {
        id: thing
        for id, thing in things.items()
        if not codes.isdisjoint(
            {thing.facility_code}
            if isinstance(thing, Supply | Clearance)
            else {scopes[each].facility_scope for each in _asset_ids(thing)}
        )
    }


def _asset_ids(thing: Thing) -> tuple[UUID, ...]:
    match thing:
        case Run():
            return thing.asset_ids
        case Asset():
            return (thing.id,)
        case Caution():
            return (thing.target.id,) if thing.target.kind is TargetKind.ASSET else ()
        case Supply() | Clearance():
            return ()


def _line(event: Event, kind: str, home: str, thing: Thing) -> Line:
    match thing:
        case Caution():
            name = f"{thing.severity}: {thing.category}"
        case Clearance():
            name = thing.title
        case Run() | Asset() | Supply():
            name = thing.name
    why: str | None = (
        event.retire_reason if isinstance(event, CautionRetired) else getattr(event, "reason", None)
    )
    what = type(event).__name__
    return Line(event.occurred_at, what, kind, thing.id, name, why, f"/{home}/{thing.id}")


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
