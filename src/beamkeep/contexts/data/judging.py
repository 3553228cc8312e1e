"""Judging custody from rows: the verdict on a dataset, and why a copy may be deleted or not."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from uuid import UUID

from beamkeep.contexts.seams.custody_rules import CustodyTotal, CustodyVerdict, DatasetIntent
from beamkeep.kernel import Record

from .custody import CustodyView, in_words, rest_of
from .dataset import DatasetStanding, DatasetStatus
from .distribution import Copy, DistributionStatus


class CopyVerdict(StrEnum):
    DISCARDED = "Discarded"
    """The deletion is permitted and not yet recorded."""
    DELETABLE = "Deletable"
    CHECK_FIRST = "CheckFirst"
    """The copy may be deleted once the copies of `check_first` are checked again."""
    NEEDED = "Needed"


class CustodyRow(Record):
    """How well a dataset is kept."""

    dataset_id: UUID
    owner_id: UUID
    intent: DatasetIntent
    byte_size: int
    producing_run_id: UUID | None
    verdict: CustodyVerdict | None
    """None of a discarded dataset."""
    sole_supply_id: UUID | None
    discardable_bytes: int
    counted: tuple[CustodyTotal, ...]
    """What the dataset adds to the totals."""


def verdict_of(copies: Sequence[Copy], intent: DatasetIntent, view: CustodyView) -> CustodyVerdict:
    """Return how well a dataset with these copies is kept."""
    present = [copy for copy in copies if copy.is_present]
    if not present:
        return CustodyVerdict.LOST
    if view.short(present, intent):
        return CustodyVerdict.BELOW
    spare = any(view.may_discard(it, present, intent, DatasetStatus.REGISTERED) for it in present)
    return CustodyVerdict.SPARE if spare else CustodyVerdict.MET


def deletable_together(
    candidates: Iterable[Copy], copies: Sequence[Copy], standing: DatasetStanding, view: CustodyView
) -> frozenset[UUID]:
    """Return those of the candidates that may all be deleted, one after the other."""
    present = {copy.distribution_id: copy for copy in copies if copy.is_present}
    in_order = [it for it in candidates if it.distribution_id in present]
    if len(in_order) > 1:
        # What does not count goes first, so that nothing that counts goes in its place.
        in_order.sort(key=lambda it: (view.counts(it, standing.intent), it.distribution_id))
    for copy in in_order:
        if view.may_discard(copy, present.values(), standing.intent, standing.status):
            del present[copy.distribution_id]
    return frozenset(it.distribution_id for it in in_order) - present.keys()


def custody_row(
    standing: DatasetStanding, owner_id: UUID, copies: Sequence[Copy], view: CustodyView
) -> CustodyRow:
    """Return how well a dataset is kept, with what it adds to the totals."""
    counting = [copy for copy in copies if view.counts(copy, standing.intent)]
    storages = {copy.supply_id for copy in counting}
    together = deletable_together(copies, copies, standing, view)
    discardable = sum(it.byte_size for it in copies if it.distribution_id in together)
    is_discarded = standing.status is DatasetStatus.DISCARDED
    verdict = None if is_discarded else verdict_of(copies, standing.intent, view)
    return CustodyRow.of(
        standing,
        owner_id=owner_id,
        verdict=verdict,
        sole_supply_id=storages.pop() if len(storages) == 1 else None,
        discardable_bytes=discardable,
        counted=_counted(standing, copies, verdict, discardable),
    )


def _counted(
    standing: DatasetStanding,
    copies: Sequence[Copy],
    verdict: CustodyVerdict | None,
    discardable: int,
) -> tuple[CustodyTotal, ...]:
    totals = [
        CustodyTotal(copy.supply_id, f"status:{copy.status}", 1, bytes=copy.byte_size)
        for copy in copies
    ]
    if verdict is not None:
        totals.append(CustodyTotal(None, f"verdict:{verdict}", 1, bytes=standing.byte_size))
    if discardable:
        totals.append(CustodyTotal(None, "discardable", 1, bytes=discardable))
    return tuple(summed(totals))


class CopyLine(Record, gc=False):
    """Whether one copy may be deleted, and why."""

    distribution_id: UUID
    dataset_id: UUID
    supply_id: UUID | None
    uri: str
    byte_size: int
    status: DistributionStatus
    verdict: CopyVerdict
    why: str
    check_first: tuple[UUID, ...] = ()


def copy_line(
    copy: Copy,
    copies: Sequence[Copy],
    standing: DatasetStanding,
    together: frozenset[UUID],
    view: CustodyView,
    shared_with: Copy | None = None,
) -> CopyLine:
    """Return whether a copy may be deleted with the others of `together`."""
    verdict, check_first = CopyVerdict.DELETABLE, frozenset[UUID]()
    if shared_with is not None:
        verdict = CopyVerdict.NEEDED
        why = f"Copy {shared_with.distribution_id}, which is kept, has bytes of it."
    elif not copy.is_present:
        verdict, why = CopyVerdict.DISCARDED, "Discarded: delete it and record the removal."
    elif standing.status is DatasetStatus.DISCARDED:
        why = "The dataset is discarded."
    elif copy.distribution_id in together:
        why = f"Without it the rule of {standing.intent} data is met."
        if not view.counts(copy, standing.intent):
            why = "It does not count, and another copy does."
        left = [it for it in copies if it.distribution_id not in together]
        check_first = view.to_check(copy, left, standing.intent, standing.status)
        if check_first:
            verdict = CopyVerdict.CHECK_FIRST
            why = f"Check {', '.join(f'copy {id}' for id in sorted(check_first))} first."
    else:
        verdict, why = CopyVerdict.NEEDED, _why_needed(copy, copies, standing.intent, view)
    # Not by `of`, which is slower: a report has a million lines.
    return CopyLine(
        distribution_id=copy.distribution_id,
        dataset_id=copy.dataset_id,
        supply_id=copy.supply_id,
        uri=copy.uri,
        byte_size=copy.byte_size,
        status=copy.status,
        verdict=verdict,
        why=why,
        check_first=tuple(sorted(check_first)),
    )


def _why_needed(
    copy: Copy, copies: Sequence[Copy], intent: DatasetIntent, view: CustodyView
) -> str:
    rest = rest_of(copy, copies)
    if not rest:
        return "It is the only copy."
    idle = [it for it in rest if not view.counts(it, intent)]
    if len(idle) < len(rest):
        return in_words(view.short(rest, intent)) + _waiting(idle, view)
    return "No other copy is verified." + _waiting(idle, view)


def _waiting(idle: Sequence[Copy], view: CustodyView) -> str:
    """Return what to look at: the other copies that do not count."""
    places = sorted({_in_place(copy, view) for copy in idle})
    return f" Not counted: {', '.join(places)}." if places else ""


def _in_place(copy: Copy, view: CustodyView) -> str:
    site = view.sites.get(copy.supply_id) if copy.supply_id else None
    state = "unreachable" if copy.unreachable_since else copy.status.lower()
    if site and site.is_down:
        state = "storage down"
    elif state == "verified":
        state = "check too old or too weak"
    return f"{site.name if site else copy.access_protocol} ({state})"


def summed(totals: Iterable[CustodyTotal], supply_id: UUID | None = None) -> Sequence[CustodyTotal]:
    """Return the sums of totals, over one storage or over all."""
    return [
        CustodyTotal(*key, number, bytes=bytes)
        for key, (number, bytes) in totals_of(totals).items()
        if supply_id in {None, key[0]}
    ]


def totals_of(
    totals: Iterable[CustodyTotal],
) -> Mapping[tuple[UUID | None, str], tuple[int, int]]:
    """Return the sums of totals, by storage and kind."""
    sums: dict[tuple[UUID | None, str], tuple[int, int]] = {}
    for total in totals:
        key = total.supply_id, total.kind
        number, bytes = sums.get(key, (0, 0))
        sums[key] = number + total.number, bytes + total.bytes
    return sums
