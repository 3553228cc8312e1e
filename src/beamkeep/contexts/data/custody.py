"""Custody: which copies of a dataset must stay, and which may be deleted."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from beamkeep.contexts.federation.facility import facilities, facility_by_code
from beamkeep.contexts.seams.custody_rules import ChecksumStrength, CustodyRules, DatasetIntent
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.supply.supply import Supply, SupplyStatus, supplies
from beamkeep.kernel import Call, Cannot, Lock, Record, SideWrite, replace
from beamkeep.kernel.values import Reason, Trimmed

from . import dataset, distribution
from .dataset import (
    Dataset,
    DatasetArchived,
    DatasetCannotArchiveError,
    DatasetCommand,
    DatasetNeedsSecondPersonError,
    DatasetStatus,
    datasets,
    require_second_person,
)
from .distribution import (
    COPIES,
    FILES,
    AccessProtocol,
    Copy,
    Distribution,
    DistributionCannotDiscardError,
    DistributionCommand,
    DistributionDiscarded,
    DistributionStatus,
    InvalidDistributionReasonError,
    copy_of,
    distributions,
)
from .sharing import sharing

DOWN = frozenset({SupplyStatus.UNAVAILABLE, SupplyStatus.DECOMMISSIONED})


class StorageSite(Record):
    """Of the storage of a copy, what decides whether the copy counts."""

    supply_id: UUID
    name: str
    is_down: bool
    is_outside: bool


type StorageSites = Mapping[UUID, StorageSite]


class CustodyView(Record):
    """Everything on which custody is decided at one moment."""

    rules: CustodyRules
    sites: StorageSites
    now: datetime

    def counts(self, copy: Copy, intent: DatasetIntent, *, lately: bool = False) -> bool:
        """Return whether a copy counts for a dataset of this intent, by a check made lately."""
        if copy.status is not DistributionStatus.VERIFIED or copy.unreachable_since is not None:
            return False
        if copy.supply_id is not None and self.sites[copy.supply_id].is_down:
            return False
        rule = self.rules.for_intent(intent)
        days = rule.verified_within_days
        within = timedelta(days=days) if days else None
        if lately and rule.relied_within_hours:
            within = timedelta(hours=rule.relied_within_hours)
        oldest = self.now - within if within else None
        return any(
            check.verified_by in rule.verified_by
            and rule.strength in {check.strength, ChecksumStrength.INTEGRITY}
            and (oldest is None or check.checked_at >= oldest)
            for check in copy.good_checks
        )

    def short(
        self, copies: Iterable[Copy], intent: DatasetIntent, *, lately: bool = False
    ) -> dict[str, int]:
        """Return what these copies lack of the rule of an intent, by the key of the rule."""
        rule = self.rules.for_intent(intent)
        counting = [it for it in copies if self.counts(it, intent, lately=lately)]
        storages = storages_of(counting, rule.file_systems_differ)
        missing = {
            "verified_copies": rule.verified_copies - len(files_of(counting)),
            "distinct_supplies": rule.distinct_supplies - storages,
        }
        # A report judges a million copies, and few rules demand these.
        if rule.outside:
            outside = [
                it for it in counting if it.supply_id and self.sites[it.supply_id].is_outside
            ]
            missing["outside"] = rule.outside - len(files_of(outside))
        if rule.online:
            online = [it for it in counting if it.access_protocol is not AccessProtocol.OFFLINE]
            missing["online"] = rule.online - len(files_of(online))
        return {key: number for key, number in missing.items() if number > 0}

    def may_discard(
        self, copy: Copy, copies: Iterable[Copy], intent: DatasetIntent, status: DatasetStatus
    ) -> bool:
        """Return whether a copy may be deleted, of these copies of its dataset."""
        if status is DatasetStatus.DISCARDED:
            return True
        rest = rest_of(copy, copies)
        if not self.short(rest, intent):
            return True
        # A copy that does not count takes nothing away, as long as one that counts is left.
        is_idle = not self.counts(copy, intent)
        return is_idle and any(self.counts(each, intent) for each in rest)

    def to_check(
        self, copy: Copy, copies: Iterable[Copy], intent: DatasetIntent, status: DatasetStatus
    ) -> frozenset[UUID]:
        """Return the copies to check before a copy is deleted that may be deleted."""
        if status is DatasetStatus.DISCARDED:
            return frozenset()
        relied = [it for it in rest_of(copy, copies) if self.counts(it, intent)]
        late = [it for it in relied if not self.counts(it, intent, lately=True)]
        lately = [it for it in relied if it not in late]
        is_idle = not self.counts(copy, intent)
        is_enough = lately and (is_idle or not self.short(lately, intent, lately=True))
        missing = frozenset[UUID]()
        if not is_enough:
            missing = frozenset(it.distribution_id for it in late)
        # The file of a copy that nobody has read may be that of another copy.
        is_unknown = is_file(copy) and copy.file_key is None
        return missing | {copy.distribution_id} if is_unknown else missing


def is_file(copy: Copy) -> bool:
    """Return whether a copy is at a path of a host, where one file may have several."""
    return copy.access_protocol in FILES


def rest_of(copy: Copy, copies: Iterable[Copy]) -> list[Copy]:
    """Return the other copies that nobody has permitted to delete and that are other files."""
    key = copy.file_key
    return [
        it
        for it in copies
        if it.is_present and it.distribution_id != copy.distribution_id
        if key is None or it.file_key != key
    ]


def files_of(copies: Iterable[Copy]) -> set[object]:
    """Return the different files of copies; those that no check has named count as one."""
    return {it.file_key if is_file(it) else it.distribution_id for it in copies}


def storages_of(copies: Iterable[Copy], file_systems_differ: bool) -> int:
    """Return on how many storages copies are; with the flag, on one for each file system."""
    groups: list[set[object]] = []
    for copy in copies:
        keys: set[object] = {("storage", copy.supply_id)}
        if file_systems_differ and is_file(copy):
            keys.add(("file system", (copy.file_key or "").rpartition(" ")[0]))
        joined = [group for group in groups if group & keys]
        groups = [group for group in groups if not group & keys]
        groups.append(keys.union(*joined))
    return len(groups)


class DatasetHasNoVerifiedDistributionError(Cannot):
    """No copy of the dataset counts; verify a copy first."""


class DatasetCustodyNotMetError(Cannot):
    """The copies of the dataset do not meet the custody rule of its intent."""


class DistributionIsLastVerifiedError(Cannot):
    """No copy that counts would be left; verify another copy, or discard the dataset first."""


class DistributionNeededByCustodyError(Cannot):
    """Without this copy the dataset would not meet the custody rule of its intent."""


class DistributionChecksOutdatedError(Cannot):
    """Copies that would be left, or the file of this copy, must be checked first."""


class DistributionSharedError(Cannot):
    """Another copy that is kept has bytes of this copy."""


class ArchiveDataset(DatasetCommand): ...


class DiscardDistribution(DistributionCommand):
    reason: Annotated[Reason, Trimmed(InvalidDistributionReasonError)]


class CustodyOfDataset(Record):
    dataset: Dataset
    copies: Sequence[Copy]
    view: CustodyView
    shared_with: Copy | None = None
    """A copy that is kept and that has bytes of the copy in question."""
    needs_two: bool = False
    """Whether who released a production dataset from its dates cannot discard its copies."""

    @property
    def is_covered(self) -> bool:
        """Whether a copy of the dataset counts."""
        return any(self.view.counts(copy, self.dataset.intent) for copy in self.copies)

    def short(self, copies: Collection[Copy]) -> dict[str, int]:
        """Return what these copies lack of the dataset's rule."""
        return self.view.short(copies, self.dataset.intent)


async def custody_of(dataset_id: UUID, read: Reader) -> CustodyOfDataset:
    """Return a dataset with its copies and their storage, each folded from its stream."""
    (found,) = await custodies_of([dataset_id], read)
    return found


async def custodies_of(ids: Collection[UUID], read: Reader) -> Sequence[CustodyOfDataset]:
    """Return datasets with their copies and the storage of these, folded from their streams."""
    of = await read.many(datasets, sorted(ids))
    rows = await read.rows(COPIES, dataset_id=frozenset(of))
    # The row may be newer or older than the stream that the append compares.
    found = await read.many(distributions, sorted(row.distribution_id for row in rows))
    copies = [copy_of(each) for each in found.values()]
    view = await view_of((copy.supply_id for copy in copies), read)
    by_dataset: dict[UUID, list[Copy]] = {id: [] for id in of}
    for copy in copies:
        by_dataset[copy.dataset_id].append(copy)
    return [CustodyOfDataset(each, by_dataset[id], view) for id, each in of.items()]


async def view_of(supply_ids: Iterable[UUID | None], read: Reader) -> CustodyView:
    """Return the rules of the deployment and the storage that copies are on."""
    wanted = sorted({id for id in supply_ids if id is not None})
    found = await read.many(supplies, wanted)
    own = read.facts.facility_code
    outside = {
        code: not await _is_inside(code, own, read)
        for code in sorted({each.facility_code for each in found.values()})
    }
    sites = {id: _site(each, outside[each.facility_code]) for id, each in found.items()}
    return CustodyView(read.facts.custody_rules, sites, read.now)


def _site(supply: Supply, is_outside: bool) -> StorageSite:
    is_down = supply.status in DOWN
    return StorageSite(supply.id, supply.name, is_down, is_outside=is_outside)


async def _is_inside(code: str, own: str, read: Reader) -> bool:
    if code == own:
        return True
    parent_id = (await facility_by_code(code, read)).parent_id
    return parent_id is not None and (await read.one(facilities, parent_id)).code == own


async def dataset_custody(
    dataset: Dataset, command: ArchiveDataset, read: Reader
) -> CustodyOfDataset:
    return await custody_of(dataset.id, read)


async def copy_custody(
    distribution: Distribution, command: DiscardDistribution, read: Reader
) -> CustodyOfDataset:
    found = await custody_of(distribution.dataset_id, read)
    shared = await sharing([copy_of(distribution)], lambda it: it.is_present, read)
    needs_two = read.facts.discard_needs_two
    return replace(found, shared_with=shared.get(distribution.id), needs_two=needs_two)


def archive_dataset(
    dataset_: Dataset, command: ArchiveDataset, given: CustodyOfDataset, call: Call
) -> list[DatasetArchived | SideWrite]:
    """Archive a dataset whose copies meet the custody rule."""
    archived = dataset.STATUS.allow(dataset_.status, DatasetArchived(call.now, dataset_.id))
    if not given.is_covered:
        raise DatasetHasNoVerifiedDistributionError
    if short := given.short(given.copies):
        raise DatasetCustodyNotMetError(in_words(short), short=short)
    return [*dataset.moved(dataset_, archived), dataset_lock(dataset_.id)]


def discard_distribution(
    distribution_: Distribution, command: DiscardDistribution, given: CustodyOfDataset, call: Call
) -> list[DistributionDiscarded | SideWrite]:
    """Permit the deletion of a copy that the custody rule does not need."""
    discarded = DistributionDiscarded(
        call.now, distribution_.id, command.reason, frees_place=not distribution_.has_place
    )
    distribution.STATUS.require(distribution_.status, DistributionDiscarded)
    copy, intent, status = copy_of(distribution_), given.dataset.intent, given.dataset.status
    require_second_person(given.dataset, given.needs_two, call)
    if not given.view.may_discard(copy, given.copies, intent, status):
        rest = rest_of(copy, given.copies)
        if not any(given.view.counts(each, intent) for each in rest):
            raise DistributionIsLastVerifiedError
        short = given.short(rest)
        raise DistributionNeededByCustodyError(in_words(short), short=short)
    if (other := given.shared_with) is not None:
        detail = f"It is copy {other.distribution_id} of dataset {other.dataset_id}."
        raise DistributionSharedError(detail, distribution_id=other.distribution_id)
    if late := sorted(given.view.to_check(copy, given.copies, intent, status)):
        detail = f"Check {', '.join(f'copy {id}' for id in late)}."
        raise DistributionChecksOutdatedError(detail, distribution_ids=late)
    return [
        *distribution.moved(distribution_, discarded),
        dataset_lock(distribution_.dataset_id),
    ]


def dataset_lock(dataset_id: UUID) -> Lock:
    """Return the lock under which decisions on the copies of a dataset are written."""
    return Lock(f"dataset:{dataset_id}")


WORDS = {
    "verified_copies": "verified copies",
    "distinct_supplies": "storages",
    "outside": "copies outside the facility",
    "online": "copies online",
}


def in_words(short: Mapping[str, int]) -> str:
    """Return what is missing of a custody rule as a sentence."""
    return f"Missing: {', '.join(f'{WORDS[key]} ({number})' for key, number in short.items())}."


# fmt: off
OPERATIONS = (
    datasets.changes("POST /datasets/{dataset_id}/archive", ArchiveDataset, archive_dataset,
        DatasetCannotArchiveError, DatasetHasNoVerifiedDistributionError,
        DatasetCustodyNotMetError, given=dataset_custody),
    distributions.changes("POST /distributions/{distribution_id}/discard", DiscardDistribution,
        discard_distribution, DistributionCannotDiscardError, DatasetNeedsSecondPersonError,
        DistributionIsLastVerifiedError,
        DistributionNeededByCustodyError, DistributionSharedError,
        DistributionChecksOutdatedError, given=copy_custody, destructive=True),
)
# fmt: on
