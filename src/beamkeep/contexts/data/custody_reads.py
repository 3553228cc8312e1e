"""How datasets are kept, and which of their copies may be deleted."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from annotated_types import Ge, Le, MaxLen, MinLen

from beamkeep.contexts.seams.custody_rules import (
    CopyPlace,
    CustodyFilter,
    CustodyVerdict,
    DatasetIntent,
)
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.supply.supply import SupplyNotFoundError, supplies
from beamkeep.kernel import Invalid, Page, Query, Record, answers, listed

from .address import canonical_prefix
from .custody import CustodyView, view_of
from .dataset import STANDINGS, Dataset, DatasetStatus, datasets
from .distribution import COPIES, DELETED_WITHIN, Copy, DistributionStatus
from .judging import CopyLine, copy_line, deletable_together, verdict_of
from .shapes import is_over
from .sharing import sharing

MOST_LINES = 10_000


class InvalidCustodyReportError(Invalid):
    """Enter a storage, the beginning of an address, or a copy."""


class ListCustody(Page):
    """List datasets with their copies, and which of these may be deleted."""

    verdict: CustodyVerdict | None = None
    """As of the last event of the dataset."""
    intent: DatasetIntent | None = None
    producing_run_id: UUID | None = None
    dataset_id: UUID | None = None
    """One dataset."""
    supply_id: UUID | None = None
    """Datasets with a copy on this storage."""
    sole_supply_id: UUID | None = None
    """Datasets of which all copies that count are on this storage."""


class KeptCopy(Record):
    distribution_id: UUID
    supply_id: UUID | None
    supply_name: str | None
    uri: str
    status: DistributionStatus
    verified_at: datetime | None
    counts: bool


class DatasetCustody(Record):
    dataset_id: UUID
    name: str
    producing_run_id: UUID | None
    byte_size: int
    status: DatasetStatus
    intent: DatasetIntent
    retain_until: date | None
    copies: tuple[KeptCopy, ...]
    verified_count: int
    """How many copies count."""
    short: dict[str, int]
    """What is missing, by the key of the custody rule."""
    verdict: CustodyVerdict
    discardable_distribution_ids: tuple[UUID, ...]
    """The copies of which any one may be deleted."""
    discardable: bool
    """Whether the dataset itself may be discarded."""
    kept_by: Literal["Edition", "Retention"] | None


class GetCustodySummary(Query):
    """Count copies by storage and status, and datasets by how well they are kept."""

    supply_id: UUID | None = None


class CopyTotal(Record):
    supply_id: UUID | None
    status: DistributionStatus
    copies: int
    bytes: int


class VerdictTotal(Record):
    verdict: CustodyVerdict
    datasets: int
    bytes: int


class CustodySummary(Record):
    copies: tuple[CopyTotal, ...]
    """By storage and status; those Discarded are not yet removed."""
    datasets: tuple[VerdictTotal, ...]
    """As of the last event of each dataset; none of one storage."""
    discardable_bytes: int
    """Of copies that may all be deleted."""


class GetCustodyReport(Query):
    """Show for every copy on a storage, or below an address, whether it may be deleted."""

    supply_id: UUID | None = None
    uri_prefix: Annotated[str, MinLen(1), MaxLen(2048)] | None = None
    """Only copies whose address begins so, such as file:///data/2030-01."""
    distribution_id: UUID | None = None
    """Only this copy."""
    after: Annotated[str, MaxLen(2200)] | None = None
    """The `next_cursor` of the page before."""
    limit: Annotated[int, Ge(1), Le(MOST_LINES)] = 1_000


class CustodyReport(Record):
    judged_at: datetime
    valid_until: datetime
    """A plan made of this report is obeyed until then."""
    items: tuple[CopyLine, ...]
    next_cursor: str | None


async def list_custody(query: ListCustody, read: Reader) -> Sequence[DatasetCustody]:
    """Return a page of datasets, judged as things stand now."""
    after = UUID(query.cursor) if query.cursor else None
    wanted = CustodyFilter.of(query)
    if query.dataset_id is not None:
        ids: Sequence[UUID] = sorted(await read.visible(datasets, [query.dataset_id]))
    else:
        custody, most = present(read.readers.custody), query.limit + 1
        ids = await custody.datasets(wanted, after, most, read.sight)
    states = await read.many(datasets, ids)
    copies, view = await _copies(ids, read)
    return [_custody(states[id], copies[id], view) for id in ids]


def _custody(dataset: Dataset, copies: Sequence[Copy], view: CustodyView) -> DatasetCustody:
    intent, status = dataset.intent, dataset.status
    held = [copy for copy in copies if copy.is_present]
    kept_by = "Edition" if dataset.sealed_edition_ids else None
    if kept_by is None and not is_over(dataset.retain_until, view.now):
        kept_by = "Retention"
    return DatasetCustody.of(
        dataset,
        dataset_id=dataset.id,
        copies=tuple(_present_copy(copy, intent, view) for copy in held),
        verified_count=sum(view.counts(copy, intent) for copy in held),
        short=view.short(held, intent),
        verdict=verdict_of(held, intent, view),
        discardable_distribution_ids=tuple(
            copy.distribution_id for copy in held if view.may_discard(copy, held, intent, status)
        ),
        discardable=kept_by is None and status is not DatasetStatus.DISCARDED,
        kept_by=kept_by,
    )


def _present_copy(copy: Copy, intent: DatasetIntent, view: CustodyView) -> KeptCopy:
    return KeptCopy.of(
        copy,
        supply_name=view.sites[copy.supply_id].name if copy.supply_id else None,
        verified_at=max((check.checked_at for check in copy.good_checks), default=None),
        counts=view.counts(copy, intent),
    )


async def custody_summary(query: GetCustodySummary, read: Reader) -> CustodySummary:
    """Return the sums over what the caller may see."""
    if query.supply_id is not None:
        await read.one(supplies, query.supply_id)
    copies: list[CopyTotal] = []
    verdicts: list[VerdictTotal] = []
    discardable = 0
    for total in await present(read.readers.custody).totals(query.supply_id, read.sight):
        match total.kind.split(":"):
            case ["status", status]:
                its = DistributionStatus(status)
                copies.append(CopyTotal(total.supply_id, its, total.number, bytes=total.bytes))
            case ["verdict", verdict]:
                of = CustodyVerdict(verdict)
                verdicts.append(VerdictTotal(of, total.number, total.bytes))
            case _:
                discardable += total.bytes
    return CustodySummary(
        tuple(sorted(copies, key=lambda it: (str(it.supply_id), it.status))),
        tuple(sorted(verdicts, key=lambda it: it.verdict)),
        discardable,
    )


async def custody_report(query: GetCustodyReport, read: Reader) -> CustodyReport:
    """Return a page of copies; those that may be deleted may all be deleted."""
    if query.supply_id is None and query.uri_prefix is None and query.distribution_id is None:
        raise InvalidCustodyReportError
    if query.supply_id is not None:
        await read.one(supplies, query.supply_id)
    after, by_uri = _place(query.after), query.uri_prefix is not None
    prefix = canonical_prefix(query.uri_prefix) if query.uri_prefix else None
    if query.distribution_id is not None:
        places = await _one_place(query.distribution_id, read)
    else:
        places = await present(read.readers.custody).copies(
            query.supply_id, prefix, after, query.limit + 1, read.sight
        )
    shown, more = places[: query.limit], len(places) > query.limit
    ids = frozenset(place.dataset_id for place in shown)
    copies, view = await _copies(ids, read)
    standings = {row.dataset_id: row for row in await read.rows(STANDINGS, dataset_id=ids)}
    asked = frozenset(place.distribution_id for place in shown)
    wanted = [it for id in ids for it in copies[id] if it.distribution_id in asked]
    shared = await sharing(wanted, lambda it: it.is_present, read)
    together: dict[UUID, frozenset[UUID]] = {}
    lines: list[CopyLine] = []
    for place in shown:
        id = place.dataset_id
        standing, of_dataset = standings[id], copies[id]
        if id not in together:
            candidates = [
                it
                for it in of_dataset
                if _is_asked(it, query, prefix) and it.distribution_id not in shared
            ]
            together[id] = deletable_together(candidates, of_dataset, standing, view)
        copy = next((it for it in of_dataset if it.distribution_id == place.distribution_id), None)
        if copy is not None:
            other = shared.get(copy.distribution_id)
            lines.append(copy_line(copy, of_dataset, standing, together[id], view, other))
    last = _cursor(shown[-1], by_uri) if more else None
    until = read.now + DELETED_WITHIN
    return CustodyReport(read.now, until, items=tuple(lines), next_cursor=last)


def _is_asked(copy: Copy, query: GetCustodyReport, prefix: str | None) -> bool:
    here = query.supply_id in {None, copy.supply_id}
    here = here and query.distribution_id in {None, copy.distribution_id}
    return here and (prefix is None or copy.uri.startswith(prefix))


async def _one_place(distribution_id: UUID, read: Reader) -> Sequence[CopyPlace]:
    rows = await read.rows(COPIES, distribution_id=distribution_id)
    seen = await read.visible(datasets, [row.dataset_id for row in rows])
    return [CopyPlace.of(row) for row in rows if row.dataset_id in seen]


def _cursor(place: CopyPlace, by_uri: bool) -> str:
    place_ids = f"{place.dataset_id}.{place.distribution_id}"
    return f"{place_ids}.{place.uri}" if by_uri else place_ids


def _place(cursor: str | None) -> CopyPlace | None:
    if cursor is None:
        return None
    try:
        dataset_id, distribution_id, *uri = cursor.split(".", 2)
        return CopyPlace(UUID(dataset_id), UUID(distribution_id), uri[0] if uri else None)
    except ValueError:
        raise InvalidCustodyReportError("`after` is not the cursor of a page.") from None


async def _copies(
    ids: Collection[UUID], read: Reader
) -> tuple[Mapping[UUID, list[Copy]], CustodyView]:
    """Return the copies of datasets, and what they are judged by."""
    rows = await read.rows(COPIES, dataset_id=frozenset(ids))
    copies: dict[UUID, list[Copy]] = {id: [] for id in ids}
    for copy in rows:
        copies[copy.dataset_id].append(copy)
    return copies, await view_of((copy.supply_id for copy in rows), read)


OF_CUSTODY = ("Acquisition", "Attestation", "Distribution", "Edition", "Run", "Supply")
# fmt: off
QUESTIONS = (
    listed("GET /datasets/custody", ListCustody, list_custody, DatasetCustody, of=datasets,
        about=None, title="List copies and custody of datasets", composed_of=OF_CUSTODY),
    answers("GET /datasets/custody/summary", GetCustodySummary, custody_summary, CustodySummary,
        SupplyNotFoundError, of=datasets, about=None, title="Show the custody summary",
        composed_of=OF_CUSTODY),
    answers("GET /datasets/custody/report", GetCustodyReport, custody_report, CustodyReport,
        SupplyNotFoundError, InvalidCustodyReportError, of=datasets, about=None,
        title="Show the custody report", composed_of=OF_CUSTODY),
)
# fmt: on
