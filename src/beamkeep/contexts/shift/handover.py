"""Handover: what happened in one shift, what is still open, and what expires in the next."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field

from beamkeep.contexts.caution import caution
from beamkeep.contexts.caution.caution import Caution, cautions
from beamkeep.contexts.data import dataset, distribution
from beamkeep.contexts.data.dataset import Dataset, datasets
from beamkeep.contexts.data.distribution import Distribution, distributions
from beamkeep.contexts.decision.decision import Decision, DecisionRegistered, decisions
from beamkeep.contexts.enclosure.enclosure import Enclosure, EnclosurePermitObserved, enclosures
from beamkeep.contexts.equipment import asset
from beamkeep.contexts.equipment.asset import Asset, assets
from beamkeep.contexts.federation import facility
from beamkeep.contexts.federation.facility import FacilityNotFoundError, facilities
from beamkeep.contexts.operation import procedure
from beamkeep.contexts.operation.procedure import Procedure, procedures
from beamkeep.contexts.proposal import proposal
from beamkeep.contexts.proposal.proposal import Proposal, ProposalStatus, proposals
from beamkeep.contexts.recipe.plan import Plan, plans
from beamkeep.contexts.run.logbook import RUN_LOGBOOK
from beamkeep.contexts.run.refused import REFUSED_STARTS
from beamkeep.contexts.run.run import ENDS, Run, RunAdjusted, RunHeld, RunResumed, RunStarted, runs
from beamkeep.contexts.safety import clearance
from beamkeep.contexts.safety.clearance import Clearance, ClearanceStatus, clearances
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import facility_scopes
from beamkeep.contexts.supply import supply
from beamkeep.contexts.supply.supply import Supply, supplies
from beamkeep.contexts.trust import visit
from beamkeep.contexts.trust.visit import Visit, visits
from beamkeep.kernel import Aggregate, Event, Fresh, Invalid, Record, answers, replace
from beamkeep.kernel.values import Timestamp

from . import open_items

LONGEST, SOON, MOST_EVENTS = timedelta(days=7), timedelta(hours=24), 10_000
CLOCKS_APART = timedelta(minutes=1)
LONGEST_TEXT = 500
OLDEST_PROPOSAL = timedelta(days=31)


class InvalidShiftPeriodError(Invalid):
    """A shift must end after it begins, within 7 days and with at most 10,000 events."""


class HandoverLine(Record):
    """One event, open item or end of validity; no line names a person as its author."""

    at: datetime
    what: str
    """The type of the event, as in the history of the object."""
    kind: str
    id: UUID
    name: str
    why: str | None
    link: str
    state: str | None = None
    """The new state, if `what` does not name it."""


class ShiftHandover(Record, rename={"since": "from", "until": "to"}):
    since: datetime
    until: datetime
    facility_code: str | None
    runs: tuple[HandoverLine, ...]
    """Runs that were started or ended."""
    holds: tuple[HandoverLine, ...]
    """Runs that were held or resumed, with the reason."""
    equipment: tuple[HandoverLine, ...]
    """Assets whose condition changed, or that entered or left maintenance."""
    cautions: tuple[HandoverLine, ...]
    """Cautions that were registered, superseded or retired."""
    supplies: tuple[HandoverLine, ...]
    """Supplies whose status changed."""
    expiring: tuple[HandoverLine, ...]
    """Clearances whose validity ends within 24 hours after the shift."""
    procedures: tuple[HandoverLine, ...]
    """Procedures that were started, held, resumed or ended, with the reason."""
    adjustments: tuple[HandoverLine, ...]
    """Runs whose parameters were changed."""
    refused: tuple[HandoverLine, ...]
    """Starts of runs that a check refused, with the plan and the error."""
    permits: tuple[HandoverLine, ...]
    """Enclosures whose permit changed, with the new status."""
    clearances: tuple[HandoverLine, ...]
    """Clearances whose status changed or whose validity ended."""
    visits: tuple[HandoverLine, ...]
    """Visits whose status changed, and changes of surface control."""
    notes: tuple[HandoverLine, ...]
    """Entries in the logbooks of runs."""
    data: tuple[HandoverLine, ...]
    """Datasets that were promoted, demoted or discarded, and copies that failed a check."""
    decisions: tuple[HandoverLine, ...]
    """Decisions that were made, and proposals that were made or closed."""
    open: tuple[HandoverLine, ...] | None
    """What was open at the end of the shift; null if too much has changed since."""


class GetShiftHandover(Fresh):
    """Show what happened in a shift, what it left open, and what expires soon after it."""

    since: Annotated[Timestamp, Field(alias="from")]
    until: Annotated[Timestamp, Field(alias="to")]
    facility_code: facility.FacilityCode | None = None
    """Only this facility and its Areas (default: all facilities)."""


RUNS = RunStarted, *ENDS
HOLDS = RunHeld, RunResumed
ADJUSTMENTS = (RunAdjusted,)
PROCEDURES = tuple(procedure.STATUS.moves)
EQUIPMENT = (*asset.CONDITION.moves, asset.AssetMaintenanceEntered, asset.AssetMaintenanceExited)
CAUTIONS = caution.CautionRegistered, caution.CautionSuperseded, caution.CautionRetired
SUPPLIES = tuple(supply.STATUS.moves)
PERMITS = (EnclosurePermitObserved,)
CLEARANCES = clearance.STATUS_CHANGES
VISITS = *visit.STATUS.moves, *visit.CONTROLLING.moves
DATASETS = dataset.DatasetPromoted, dataset.DatasetDemoted, dataset.DatasetDiscarded
COPIES = distribution.DistributionMarkedStale, distribution.DistributionMarkedUnreachable
DECISIONS = (DecisionRegistered,)
PROPOSALS = proposal.ProposalRegistered, *proposal.STATUS.moves
REPORTED = (
    *(*RUNS, *HOLDS, *ADJUSTMENTS, *PROCEDURES, *EQUIPMENT, *CAUTIONS),
    *(*SUPPLIES, *PERMITS, *CLEARANCES, *VISITS),
    *(*DATASETS, *COPIES, *DECISIONS, *PROPOSALS),
)

type HandoverObject = (
    Run
    | Procedure
    | Asset
    | Caution
    | Supply
    | Clearance
    | Enclosure
    | Visit
    | Plan
    | Dataset
    | Distribution
    | Decision
    | Proposal
)
PATHS: Mapping[type[HandoverObject], str] = {
    Run: "/runs",
    Procedure: "/procedures",
    Asset: "/assets",
    Caution: "/cautions",
    Supply: "/supplies",
    Clearance: "/clearances",
    Enclosure: "/enclosures",
    Visit: "/visits",
    Plan: "/plans",
    Dataset: "/datasets",
    Distribution: "/distributions",
    Decision: "/decisions",
    Proposal: "/proposals",
}


class ShiftLog(Record):
    """The events of one shift, and reads of what was open or expiring at its end."""

    since: datetime
    until: datetime
    codes: frozenset[str] | None
    """The facilities that are reported; None for all."""
    events: Sequence[Event]
    read: Reader

    async def lines[S: HandoverObject, G: Event, E: Event](
        self, of: Aggregate[S, G, E], types: Collection[type[Event]]
    ) -> tuple[HandoverLine, ...]:
        """Return the lines of the events of these types."""
        own = [event for event in self.events if type(event) in types]
        found = await self.concerned(of, (_id(event, of) for event in own))
        lines = ((event, found.get(_id(event, of))) for event in own)
        return tuple(_event_line(event, each) for event, each in lines if each)

    async def left_open[S: HandoverObject, G: Event, E: Event](
        self, of: Aggregate[S, G, E], items: open_items.OpenItems, later: Sequence[Event]
    ) -> list[HandoverLine]:
        """Return the lines of what was open at the end, each with the event that opened it."""
        # A list may lag behind, and what was closed since the shift is no longer in it.
        ids = {id for each in items.lists for id in await self.read.matching(each, to_show=True)}
        ids |= {_id(each, of) for each in (*self.events, *later) if type(each) in items.leads_to}
        last = await self.read.latest(of, sorted(ids), [*items.leads_to], self.until)
        opened = {id: event for id, event in last.items() if items.state_after(event)}
        return [
            _event_line(opened[id], found, items.state_after(opened[id]))
            for id, found in (await self.concerned(of, opened)).items()
        ]

    async def open_proposals(self, later: Sequence[Event]) -> list[HandoverLine]:
        """Return the lines of the proposals that could be approved at the end."""
        # A proposal that has expired since the shift is no longer in the list of open ones.
        unclosed = proposal.ListProposals(
            status=frozenset({ProposalStatus.OPEN}),
            created_after=self.until - OLDEST_PROPOSAL,
            created_before=self.until,
        )
        items = open_items.OPEN_PROPOSALS
        items = replace(items, lists=[*items.lists, unclosed])
        lines = await self.left_open(proposals, items, later)
        found = await self.read.many(proposals, (line.id for line in lines))
        return [line for line in lines if found[line.id].expires_at > self.until]

    async def ending_clearances(self) -> tuple[list[HandoverLine], list[HandoverLine]]:
        """Return the clearances whose validity ended in the shift, and those that end soon."""
        # A clearance that has ended since was still in force then.
        statuses = {ClearanceStatus.ACTIVE, ClearanceStatus.EXPIRED, ClearanceStatus.SUPERSEDED}
        last_end = self.until + SOON
        query = clearance.ListClearances(
            status=frozenset(statuses), valid_until_from=self.since, valid_until_before=last_end
        )
        listed = await self.read.matching(query, to_show=True)
        last = await self.read.latest(clearances, listed, CLEARANCES, self.until)
        active = [id for id, event in last.items() if type(event) is clearance.ClearanceActivated]
        found = (await self.concerned(clearances, active)).values()
        ends = [(each, each.valid_until) for each in found if each.valid_until]
        lapsed = [_line(*each, "lapsed") for each in ends if self.since <= each[1] < self.until]
        expiring = [_line(*each, "expires") for each in ends if self.until <= each[1] <= last_end]
        return lapsed, expiring

    async def concerned[S: HandoverObject, G: Event, E: Event](
        self, of: Aggregate[S, G, E], ids: Iterable[UUID]
    ) -> Mapping[UUID, S]:
        """Return those of the objects that belong to a reported facility."""
        found = await self.read.many(of, ids)
        if self.codes is None:
            return found
        used = sorted({id for each in found.values() for id in _asset_ids(each)})
        scopes = await facility_scopes(used, self.read)
        standing = {id: scope.facility_scope for id, scope in scopes.items()}
        own = self.read.facts.facility_code
        codes = {id: _facility_codes(each, standing, own) for id, each in found.items()}
        return {id: each for id, each in found.items() if not self.codes.isdisjoint(codes[id])}


async def handover(query: GetShiftHandover, read: Reader) -> ShiftHandover:
    since, until, code = query.since, query.until, query.facility_code
    codes = await _codes(code, read) if code else None
    if not since < until or until - since > LONGEST:
        raise InvalidShiftPeriodError(f"The shift begins at {since} and ends at {until}.")
    most = MOST_EVENTS + 1
    events = await read.happened(REPORTED, since, until, most)
    entries = await read.written(RUN_LOGBOOK, runs, "recorded_at", since, until, most)
    refused = await read.written(REFUSED_STARTS, plans, "refused_at", since, until, most)
    if len(events) + len(entries) + len(refused) > MOST_EVENTS:
        raise InvalidShiftPeriodError("The shift has more events; ask for a shorter shift.")
    log = ShiftLog(since, until, codes=codes, events=events, read=read)
    lapsed, expiring = await log.ending_clearances()
    noted = await log.concerned(runs, (each.run_id for each in entries))
    planned = await log.concerned(plans, (each.plan_id for each in refused))
    return ShiftHandover(
        since,
        until,
        facility_code=code,
        runs=await log.lines(runs, RUNS),
        holds=await log.lines(runs, HOLDS),
        equipment=await log.lines(assets, EQUIPMENT),
        cautions=await log.lines(cautions, CAUTIONS),
        supplies=await log.lines(supplies, SUPPLIES),
        expiring=_by_time(expiring),
        procedures=await log.lines(procedures, PROCEDURES),
        adjustments=await log.lines(runs, ADJUSTMENTS),
        refused=tuple(
            _line(plan, each.refused_at, "refused", each.error_code)
            for each in refused
            if (plan := planned.get(each.plan_id))
        ),
        permits=await log.lines(enclosures, PERMITS),
        clearances=_by_time([*await log.lines(clearances, CLEARANCES), *lapsed]),
        visits=await log.lines(visits, VISITS),
        notes=tuple(
            _line(run, each.recorded_at, each.kind, each.text[:LONGEST_TEXT], suffix="/logbook")
            for each in entries
            if (run := noted.get(each.run_id))
        ),
        data=_by_time(
            [*await log.lines(datasets, DATASETS), *await log.lines(distributions, COPIES)]
        ),
        decisions=_by_time(
            [*await log.lines(decisions, DECISIONS), *await log.lines(proposals, PROPOSALS)]
        ),
        open=await _open(log),
    )


async def _open(log: ShiftLog) -> tuple[HandoverLine, ...] | None:
    """Return what was open at the end, or None if too much has changed since to be read."""
    types = [*{event_type for items in open_items.OPEN_ITEMS for event_type in items.leads_to}]
    now = max(log.until, log.read.now + CLOCKS_APART)
    later = await log.read.happened(types, log.until, now, MOST_EVENTS + 1)
    if len(later) > MOST_EVENTS:
        return None
    lines = await log.left_open(runs, open_items.OPEN_RUNS, later)
    lines += await log.left_open(procedures, open_items.OPEN_PROCEDURES, later)
    lines += await log.left_open(assets, open_items.FAILING_ASSETS, later)
    lines += await log.left_open(assets, open_items.ASSETS_IN_MAINTENANCE, later)
    lines += await log.left_open(enclosures, open_items.CLOSED_ENCLOSURES, later)
    lines += await log.left_open(supplies, open_items.LACKING_SUPPLIES, later)
    lines += await log.left_open(visits, open_items.OPEN_VISITS, later)
    lines += await log.open_proposals(later)
    return _by_time(lines)


async def _codes(code: str, read: Reader) -> frozenset[str]:
    """Return the codes of a facility and of its Areas."""
    found = await facility.facility_by_code(code, read)
    area_ids = await read.matching(facility.ListFacilities(parent_id=found.id))
    areas = await read.many(facilities, area_ids)
    return frozenset({code, *(area.code for area in areas.values())})


def _facility_codes(
    of: HandoverObject, standing: Mapping[UUID, str | None], own: str
) -> Collection[str | None]:
    match of:
        case Supply() | Clearance() | Enclosure():
            return {of.facility_code}
        case Visit() | Dataset() | Distribution() | Decision() | Proposal():
            # These stand nowhere: they belong to the deployment's own Site.
            return {own}
        case Procedure() if not of.target_asset_ids:
            return {own}
        case Run() | Procedure() | Plan() | Asset() | Caution():
            return {standing[id] for id in _asset_ids(of)}


def _asset_ids(of: HandoverObject) -> Iterable[UUID]:
    match of:
        case Run() | Plan():
            return of.asset_ids
        case Procedure():
            return of.target_asset_ids
        case Asset():
            return (of.id,)
        case Caution():
            return (of.target.id,) if of.target.kind is caution.TargetKind.ASSET else ()
        case Supply() | Clearance() | Enclosure() | Visit():
            return ()
        case Dataset() | Distribution() | Decision() | Proposal():
            return ()


def _event_line(event: Event, of: HandoverObject, state: str | None = None) -> HandoverLine:
    retired = isinstance(event, caution.CautionRetired)
    why: str | None = event.retire_reason if retired else getattr(event, "reason", None)
    if isinstance(event, DecisionRegistered) and event.reasoning:
        why = event.reasoning[:LONGEST_TEXT]
    if isinstance(event, EnclosurePermitObserved):
        state = event.to_permit_status
    return _line(of, event.occurred_at, type(event).__name__, why, state)


def _line(
    of: HandoverObject,
    at: datetime,
    what: str,
    why: str | None = None,
    state: str | None = None,
    suffix: str = "",
) -> HandoverLine:
    return HandoverLine(
        at,
        what,
        kind=type(of).__name__,
        id=of.id,
        name=_name(of),
        why=why,
        link=f"{PATHS[type(of)]}/{of.id}{suffix}",
        state=state,
    )


def _name(of: HandoverObject) -> str:
    match of:
        case Caution():
            return f"{of.severity}: {of.category}"
        case Clearance():
            return of.title
        case Visit():
            references = (f"{scheme} {value}" for scheme, value in of.external_refs.items())
            return ", ".join([f"{of.type} visit", *references])
        case Decision():
            return f"{of.context}: {of.choice}"
        case Proposal():
            return of.command_name
        case Distribution():
            return of.uri
        case Run() | Procedure() | Asset() | Supply() | Enclosure() | Plan() | Dataset():
            return of.name


def _by_time(lines: Iterable[HandoverLine]) -> tuple[HandoverLine, ...]:
    return tuple(sorted(lines, key=lambda line: (line.at, line.id)))


def _id[S, G: Event, E: Event](event: Event, of: Aggregate[S, G, E]) -> UUID:
    return getattr(event, of.id_field)


ROUTE, REFUSED = "GET /shifts/handover", (InvalidShiftPeriodError, FacilityNotFoundError)
# fmt: off
QUESTIONS = (
    answers(ROUTE, GetShiftHandover, handover, ShiftHandover, *REFUSED, of=runs, about=None,
        title="Show the handover of a shift", composed_of=(
            "Asset", "Caution", "Clearance", "Dataset", "Decision", "Distribution", "Enclosure",
            "Plan", "Procedure", "Proposal", "Supply", "Visit")),
)
# fmt: on
