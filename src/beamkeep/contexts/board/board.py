"""Board: how one beamline stands now, and what keeps the next run from starting."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.caution.caution import (
    CautionCategory,
    CautionSeverity,
    ListCautions,
    Target,
    cautions,
)
from beamkeep.contexts.caution.coverage import cautions_covering
from beamkeep.contexts.enclosure import enclosure
from beamkeep.contexts.enclosure.enclosure import (
    EnclosureLifecycle,
    ListEnclosures,
    PermitStatus,
    enclosures,
)
from beamkeep.contexts.enclosure.gate import permits
from beamkeep.contexts.equipment.asset import (
    Asset,
    AssetCondition,
    AssetLifecycle,
    AssetTier,
    ListAssets,
    assets,
)
from beamkeep.contexts.operation import procedure
from beamkeep.contexts.operation.activity import ACTIVITIES
from beamkeep.contexts.operation.conduct import CONDUCTS
from beamkeep.contexts.operation.procedure import (
    PROCEDURE_STEPS,
    ListProcedures,
    Procedure,
    ProcedureStatus,
    procedures,
)
from beamkeep.contexts.operation.reports import (
    ConductStatus,
    conduct_status,
    lease_expired,
    work_states,
)
from beamkeep.contexts.recipe.plan import PlanNotFoundError, plans
from beamkeep.contexts.run import run
from beamkeep.contexts.run.observation import OBSERVATIONS, UnitAnnotation
from beamkeep.contexts.run.run import ListRuns, Run, RunStatus, runs
from beamkeep.contexts.safety.clearance import IN_FORCE, ListClearances, clearances
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.log import NOW, ListEvents
from beamkeep.contexts.shift.handover import CLOCKS_APART
from beamkeep.contexts.starting.readiness import (
    OF_READINESS,
    GetPlanReadiness,
    PlanReadiness,
    readiness,
)
from beamkeep.contexts.subject.subject import SubjectNotFoundError
from beamkeep.contexts.supply import supply
from beamkeep.contexts.supply.gate import SupplyScope, scope_of, supplies_in
from beamkeep.contexts.supply.supply import ListSupplies, SupplyStatus, supplies
from beamkeep.contexts.trust.surface import ListSurfaces, control, surfaces
from beamkeep.contexts.trust.visit import ListVisits, Visit, VisitStatus, VisitType, visits
from beamkeep.kernel import (
    Aggregate,
    Cannot,
    Event,
    Fresh,
    ObjectScope,
    Record,
    answers,
    replace,
)

from .sight import BoardSight, sight

MOST, MOST_ASSETS, MOST_FOUND, MOST_PLANS = 50, 2_000, 1_000, 3


class AssetHasNoBoardError(Cannot):
    """Only a beamline has a board: an asset of tier Unit without a parent."""


class BoardSupply(Record):
    id: UUID
    name: str
    kind: str
    status: SupplyStatus
    """The status that counts: Unknown if the last report that it is Available is stale."""
    since: datetime | None
    reason: str | None
    last_reported_at: datetime | None
    stale: bool | None


class BoardEnclosure(Record):
    id: UUID
    name: str
    permit_status: PermitStatus
    """The permit that counts: Unknown if the last report is stale."""
    lifecycle: EnclosureLifecycle
    since: datetime | None
    reason: str | None
    last_reported_at: datetime | None
    stale: bool


class BoardClearance(Record):
    id: UUID
    title: str
    kind: str
    valid_until: datetime | None


class BoardCaution(Record):
    id: UUID
    severity: CautionSeverity
    category: CautionCategory
    target: Target
    text: str
    workaround: str
    expires_at: datetime | None


class VisitInControl(Record):
    id: UUID
    type: VisitType
    status: VisitStatus
    external_refs: Mapping[str, str]


class BoardSurface(Record):
    id: UUID
    name: str
    controlling_visit_id: UUID | None
    controlled_since: datetime | None
    visit: VisitInControl | None
    """The visit in control, if the caller may list visits."""


class LastObservation(Record):
    channel_name: str
    value: float
    unit: UnitAnnotation | None
    sampled_at: datetime
    simulated: bool


class BoardProgress(Record):
    channel_name: str
    value: float | None
    """The last reading of the channel; null without a reading."""
    of: float  # pyright: ignore[reportIncompatibleMethodOverride]  # the word of the answer
    """The value of the channel when the run is complete."""


class BoardRun(Record):
    id: UUID
    name: str
    status: RunStatus
    since: datetime
    reason: str | None
    started_at: datetime
    plan_id: UUID
    subject_id: UUID | None
    campaign_id: UUID | None
    last_observation: LastObservation | None
    progress: BoardProgress | None
    """How far the run has come; null if the run names no channel that counts its progress."""


class BoardProcedure(Record):
    id: UUID
    name: str
    status: ProcedureStatus
    since: datetime | None
    reason: str | None
    parent_run_id: UUID | None
    conduct_id: UUID | None
    """The active conduct, or the last one."""
    conduct_status: ConductStatus | None
    step_index: int | None
    """The last step that was begun."""
    step_count: int | None
    undecided_step_indexes: tuple[int, ...]
    """The steps that a continuing command must redo or skip."""
    lease_expired: bool
    """Whether no worker is at work on a conduct that began."""


class BoardAsset(Record):
    id: UUID
    name: str
    condition: AssetCondition
    condition_since: datetime | None
    condition_reason: str | None
    lifecycle: AssetLifecycle
    lifecycle_since: datetime | None
    lifecycle_reason: str | None


class Board(Record):
    """How one beamline stands. A part that the caller may not list is null."""

    asset_id: UUID
    name: str
    facility_code: str | None
    now: datetime
    """The time of the service when it composed the board."""
    cursor: str | None
    """The place in the log from which `list_events` tells every later change."""
    ready: bool | None
    """Whether every plan shown could be started; null without a plan."""
    plans: tuple[PlanReadiness, ...] | None
    """The readiness of the plan asked for, or else of the plans of the runs, at most three."""
    supplies: tuple[BoardSupply, ...] | None
    enclosures: tuple[BoardEnclosure, ...] | None
    clearances: tuple[BoardClearance, ...] | None
    """The clearances in force, those that end first at the front."""
    cautions: tuple[BoardCaution, ...] | None
    """The cautions in effect, the most severe at the front."""
    surfaces: tuple[BoardSurface, ...] | None
    runs: tuple[BoardRun, ...] | None
    """The runs that are Running or Held."""
    procedures: tuple[BoardProcedure, ...] | None
    """The procedures that are Running or Held, or have an active conduct."""
    assets: tuple[BoardAsset, ...] | None
    """The assets that are not Nominal, or in Maintenance."""
    more: tuple[str, ...]
    """The parts that are not complete."""


class GetBoard(Fresh):
    """Show how one beamline stands: what runs, what is abnormal, and whether a run can start."""

    asset_id: UUID
    plan_id: UUID | None = None
    """The plan whose readiness is shown (default: the plans of the runs)."""
    subject_id: UUID | None = None
    """The subject of the run that would start."""


class BoardReader(Record):
    """What the parts of a board are found by."""

    read: Reader
    sight: BoardSight
    unit: Asset
    assets: Mapping[UUID, Asset]
    """The beamline and everything below it."""
    subject_ids: frozenset[UUID] = frozenset()

    async def supplies(self) -> Sequence[BoardSupply] | None:
        """Return the supplies that serve the beamline."""
        facility = await scope_of({self.unit.id: self.unit}, self.read)
        scope = SupplyScope(facility.facility_codes, frozenset(self.assets))
        listed = [
            id
            for code in sorted(scope.facility_codes)
            for id in await self.read.matching(
                ListSupplies(facility_code=code, status=supply.IN_USE), most=MOST_FOUND
            )
        ]
        if (seen := await self.sight.seen(supplies, ListSupplies, listed)) is None:
            return None
        serving = await supplies_in(scope, seen, self.read)
        ids = [each.supply.id for each in serving]
        times = await self._since(supplies, ids, supply.STATUS.moves)
        heard = await supply.reported(ids, self.read) if ids else {}
        return [
            BoardSupply.of(
                each.supply,
                status=each.status,
                since=times.get(each.supply.id),
                reason=each.supply.last_status_reason,
                last_reported_at=heard[each.supply.id].last_reported_at,
                stale=heard[each.supply.id].stale,
            )
            for each in sorted(serving, key=lambda each: each.supply.name)
        ]

    async def enclosures(self) -> Sequence[BoardEnclosure] | None:
        """Return the enclosures in which the assets of the beamline stand."""
        located = {each.located_in_enclosure_id for each in self.assets.values()}
        ids = sorted(id for id in located if id)
        if (seen := await self.sight.seen(enclosures, ListEnclosures, ids)) is None:
            return None
        found = (await permits(seen, self.read)).values()
        times = await self._since(enclosures, seen, [enclosure.EnclosurePermitObserved])
        return [
            BoardEnclosure.of(
                each.enclosure,
                permit_status=PermitStatus.UNKNOWN if each.stale else each.enclosure.permit_status,
                since=times.get(each.enclosure.id),
                reason=each.enclosure.last_observed_reason,
                last_reported_at=each.last_reported_at,
                stale=each.stale,
            )
            for each in sorted(found, key=lambda each: each.enclosure.name)
        ]

    async def clearances(self) -> Sequence[BoardClearance] | None:
        """Return the clearances in force for the assets and the subjects."""
        bound = frozenset(self.assets) | self.subject_ids
        query = ListClearances(binding_id=bound, in_force=True)
        listed = await self.read.matching(query, most=MOST_FOUND)
        if (seen := await self.sight.seen(clearances, ListClearances, listed)) is None:
            return None
        found = (await self.read.many(clearances, seen)).values()
        lines = [
            BoardClearance.of(each) for each in found if IN_FORCE.holds_of(each, self.read.now)
        ]
        return sorted(lines, key=lambda each: (each.valid_until is None, each.valid_until))

    async def cautions(self) -> Sequence[BoardCaution] | None:
        """Return the cautions in effect on the assets, the most severe first."""
        found = {each.id: each for each in await cautions_covering(self.assets, self.read)}
        if (seen := await self.sight.seen(cautions, ListCautions, found)) is None:
            return None
        return [BoardCaution.of(found[id]) for id in seen]

    async def surfaces(self) -> Sequence[BoardSurface] | None:
        """Return the surfaces of the beamline, and who controls them."""
        listed = await self.read.matching(ListSurfaces(unit_asset_id=self.unit.id), most=MOST + 1)
        if (seen := await self.sight.seen(surfaces, ListSurfaces, listed)) is None:
            return None
        held = await control(seen, self.read) if seen else {}
        visit_ids = {each.controlling_visit_id for each in held.values()}
        visible = await self.sight.seen(visits, ListVisits, sorted(id for id in visit_ids if id))
        known = await self.read.many(visits, visible or ())
        found = await self.read.many(surfaces, seen)
        return [
            BoardSurface(
                id,
                found[id].name,
                controlling_visit_id=held[id].controlling_visit_id,
                controlled_since=held[id].controlled_since,
                visit=_in_control(held[id].controlling_visit_id, known),
            )
            for id in seen
        ]

    async def runs(self) -> Sequence[BoardRun] | None:
        """Return the open runs on the assets."""
        query = ListRuns(status=run.OPEN, asset_id=frozenset(self.assets))
        listed = await self.read.matching(query, most=MOST_FOUND, newest=True)
        if (seen := await self.sight.seen(runs, ListRuns, listed)) is None:
            return None
        # A list lags behind its streams: fold what it finds before it counts.
        found = {
            id: each
            for id, each in (await self.read.many(runs, seen[: MOST + 1])).items()
            if each.status in run.OPEN
        }
        moved = [run.RunStarted, run.RunHeld, run.RunResumed]
        times = await self._since(runs, found, moved)
        rows = await self.read.last(OBSERVATIONS, "sampled_at", run_id=found)
        observed = {row.run_id: row for row in rows}
        counted = [(id, each.progress) for id, each in found.items()]
        channels = {id: progress.channel_name for id, progress in counted if progress}
        reached: Mapping[UUID, float] = {}
        if channels:
            reached = await present(self.read.readers.observations).last_values(channels)
        return [
            BoardRun.of(
                each,
                since=times.get(id, each.created_at),
                reason=each.last_status_reason if each.status is RunStatus.HELD else None,
                started_at=each.created_at,
                last_observation=LastObservation.of(observed[id]) if id in observed else None,
                progress=_progress(each, reached),
            )
            for id, each in found.items()
        ]

    async def procedures(self) -> Sequence[BoardProcedure] | None:
        """Return the procedures on the assets that are under way."""
        targets = frozenset(self.assets)
        listed = {
            id
            for query in (
                ListProcedures(status=procedure.OPEN, target_asset_id=targets),
                ListProcedures(conducting=True, target_asset_id=targets),
            )
            for id in await self.read.matching(query, most=MOST_FOUND)
        }
        if (seen := await self.sight.seen(procedures, ListProcedures, sorted(listed))) is None:
            return None
        # A list lags behind its streams: fold what it finds before it counts.
        found = {
            id: each
            for id, each in (await self.read.many(procedures, seen[-MOST - 1 :])).items()
            if each.status in procedure.OPEN or each.active_conduct
        }
        times = await self._since(procedures, found, procedure.STATUS.moves)
        ids = {id: _conduct_id(each) for id, each in found.items()}
        rows = await self.read.rows(CONDUCTS, conduct_id={id for id in ids.values() if id})
        conducts = {row.conduct_id: row for row in rows}
        works = await work_states(rows, self.read)
        pinned = await self.read.rows(PROCEDURE_STEPS, procedure_id={*found})
        counts = {row.procedure_id: len(row.steps) for row in pinned}
        begun = await self.read.last(ACTIVITIES, "sequence", procedure_id=found)
        last = {row.procedure_id: row for row in begun}
        lines: list[BoardProcedure] = []
        for id, each in found.items():
            conduct_id = ids[id]
            row, work = conducts.get(conduct_id or id), works.get(conduct_id or id)
            status = conduct_status(each, row, work) if row else None
            lines.append(
                BoardProcedure.of(
                    each,
                    since=times.get(id),
                    reason=each.last_status_reason if each.status is ProcedureStatus.HELD else None,
                    conduct_id=conduct_id,
                    conduct_status=status,
                    step_index=last[id].step_index if id in last and row else None,
                    step_count=counts.get(id),
                    undecided_step_indexes=each.last_conduct.undecided_step_indexes
                    if each.last_conduct and not each.active_conduct
                    else (),
                    lease_expired=status is not None and lease_expired(status, work),
                )
            )
        return lines

    async def abnormal_assets(self) -> Sequence[BoardAsset] | None:
        """Return the assets that are not Nominal or in Maintenance."""
        found = [id for id, each in self.assets.items() if is_abnormal(each)]
        seen = await self.sight.seen(assets, ListAssets, found)
        return None if seen is None else [BoardAsset.of(self.assets[id]) for id in seen]

    async def readiness(
        self, query: GetBoard, live: Iterable[BoardRun]
    ) -> Sequence[PlanReadiness] | None:
        """Return the readiness of the plan asked for, or of the plans of the runs."""
        scope = self.sight.scopes.get(GetPlanReadiness)
        # Readiness names objects as far as this call may see, which must not be further.
        if scope is None or (scope is not ObjectScope.ALL and not self.read.sight):
            return None
        if query.plan_id:
            await self.read.one(plans, query.plan_id, to_show=True)
            plan_ids = [query.plan_id]
        else:
            used = [each.plan_id for each in live] or await self._last_plans()
            plan_ids = list(dict.fromkeys(used))[:MOST_PLANS]
        visible = await self.read.visible(plans, plan_ids)
        asked = [GetPlanReadiness(plan_id=id, subject_id=query.subject_id) for id in plan_ids]
        return [await readiness(each, self.read) for each in asked if each.plan_id in visible]

    async def _last_plans(self) -> Sequence[UUID]:
        """Return the plan of the newest run on the assets, also of a run that is not shown."""
        query = ListRuns(asset_id=frozenset(self.assets))
        newest = await self.read.matching(query, most=1, newest=True)
        return [each.plan_id for each in (await self.read.many(runs, newest)).values()]

    async def _since[S, G: Event, E: Event](
        self, of: Aggregate[S, G, E], ids: Collection[UUID], types: Iterable[type[Event]]
    ) -> Mapping[UUID, datetime]:
        """Return when each object had its last event of these types."""
        if not ids:
            return {}
        before = self.read.now + CLOCKS_APART
        found = await self.read.latest(of, ids, [*types], before)
        return {id: event.occurred_at for id, event in found.items()}


async def board(query: GetBoard, read: Reader) -> Board:
    # Read first, so that no change falls between the board and the events after it.
    events = read.readers.events
    end = await events.page(ListEvents(after=NOW, limit=1), None) if events else None
    below = await read.matching(ListAssets(below=query.asset_id), most=MOST_ASSETS)
    tree = await read.many(assets, [query.asset_id, *below])
    unit = tree[query.asset_id]
    if unit.tier is not AssetTier.UNIT or unit.parent_id:
        raise AssetHasNoBoardError(f"Asset '{unit.name}' is of tier {unit.tier}.")
    here = BoardReader(read, await sight(read), unit=unit, assets=tree)
    live = await here.runs()
    measured = {query.subject_id, *(each.subject_id for each in live or ())}
    here = replace(here, subject_ids=frozenset(id for id in measured if id))
    shown = await here.readiness(query, live or ())
    supplied, permitted = await here.supplies(), await here.enclosures()
    cleared, warned = await here.clearances(), await here.cautions()
    used, under_way = await here.surfaces(), await here.procedures()
    abnormal = await here.abnormal_assets()
    parts: Mapping[str, Sequence[Record] | None] = {
        "supplies": supplied,
        "enclosures": permitted,
        "clearances": cleared,
        "cautions": warned,
        "surfaces": used,
        "runs": live,
        "procedures": under_way,
        "assets": abnormal,
    }
    every = len(below) == MOST_ASSETS
    return Board(
        asset_id=unit.id,
        name=unit.name,
        facility_code=unit.facility_code,
        now=read.now,
        cursor=end.next_cursor if end else None,
        ready=all(each.ready for each in shown) if shown else None,
        plans=_first(shown),
        supplies=_first(supplied),
        enclosures=_first(permitted),
        clearances=_first(cleared),
        cautions=_first(warned),
        surfaces=_first(used),
        runs=_first(live),
        procedures=_first(under_way),
        assets=_first(abnormal),
        more=tuple(n for n, part in parts.items() if part and (every or len(part) > MOST)),
    )


def is_abnormal(asset: Asset) -> bool:
    """Return whether an asset is not Nominal, or in Maintenance."""
    in_service = asset.lifecycle is not AssetLifecycle.DECOMMISSIONED
    failing = asset.condition is not AssetCondition.NOMINAL
    return in_service and (failing or asset.lifecycle is AssetLifecycle.MAINTENANCE)


def _first[T](part: Sequence[T] | None) -> tuple[T, ...] | None:
    return None if part is None else tuple(part[:MOST])


def _in_control(id: UUID | None, known: Mapping[UUID, Visit]) -> VisitInControl | None:
    return VisitInControl.of(known[id]) if id and id in known else None


def _progress(of: Run, reached: Mapping[UUID, float]) -> BoardProgress | None:
    if (counted := of.progress) is None:
        return None
    return BoardProgress(counted.channel_name, reached.get(of.id), of=counted.of)


def _conduct_id(of: Procedure) -> UUID | None:
    conduct = of.active_conduct or of.last_conduct
    return conduct.conduct_id if conduct else None


# fmt: off
QUESTIONS = (
    answers("GET /assets/{asset_id}/board", GetBoard, board, Board, AssetHasNoBoardError,
        PlanNotFoundError, SubjectNotFoundError, of=assets, about="asset_id",
        title="Show the board of a beamline", composed_of=(
            *OF_READINESS, "Decision", "Plan", "Proposal", "Surface", "Visit")),
)
# fmt: on
