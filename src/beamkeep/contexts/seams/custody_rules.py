"""Custody rules: how many verified copies the deployment demands, and how datasets are found."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Protocol
from uuid import UUID

from annotated_types import Ge, MinLen

from beamkeep.kernel import Record, Sight


class DatasetIntent(StrEnum):
    """How far a dataset is trusted, apart from its status."""

    TRIAL = "Trial"
    PRODUCTION = "Production"
    RETRACTED = "Retracted"


class VerifiedBy(StrEnum):
    """Who read the bytes: our checker, a client next to them, or the service that carried them."""

    SERVICE = "Service"
    CLIENT = "Client"
    TRANSFER = "Transfer"


class ChecksumStrength(StrEnum):
    """Cryptographic sums find a substitution; integrity sums find accidents only."""

    CRYPTOGRAPHIC = "Cryptographic"
    INTEGRITY = "Integrity"


class CustodyRule(Record, forbid_unknown_fields=True):
    """How many copies that count a dataset must have."""

    verified_copies: Annotated[int, Ge(1)] = 1
    distinct_supplies: Annotated[int, Ge(0)] = 1
    """On how many storages; all copies without a storage are on one."""
    outside: Annotated[int, Ge(0)] = 0
    """Copies outside the own Site."""
    online: Annotated[int, Ge(0)] = 0
    """Copies that a program can read at once."""
    verified_by: Annotated[frozenset[VerifiedBy], MinLen(1)] = frozenset(VerifiedBy)
    """Whose check makes a copy count."""
    strength: ChecksumStrength = ChecksumStrength.CRYPTOGRAPHIC
    """The least strength of a check that counts; Integrity admits both."""
    verified_within_days: Annotated[int, Ge(1)] | None = 365
    """How old the last good check may be; null for any age."""
    relied_within_hours: Annotated[int, Ge(1)] | None = 24
    """How old the last good check may be of a copy because of which another may be discarded."""
    file_systems_differ: bool = True
    """Whether storages on one file system count as one."""


class CustodyRules(Record, forbid_unknown_fields=True, rename="pascal"):
    """The custody rule of each intent."""

    trial: CustodyRule = CustodyRule()
    production: CustodyRule = CustodyRule()
    retracted: CustodyRule = CustodyRule()

    def for_intent(self, intent: DatasetIntent) -> CustodyRule:
        """Return the rule of an intent."""
        match intent:
            case DatasetIntent.TRIAL:
                return self.trial
            case DatasetIntent.PRODUCTION:
                return self.production
            case DatasetIntent.RETRACTED:
                return self.retracted


class CustodyVerdict(StrEnum):
    LOST = "Lost"
    """There is no copy."""
    BELOW = "Below"
    """Copies are missing."""
    MET = "Met"
    SPARE = "Spare"
    """The rule is met, and a copy may be deleted."""


class CustodyFilter(Record):
    """Which datasets are listed by how they are kept."""

    verdict: CustodyVerdict | None = None
    intent: DatasetIntent | None = None
    producing_run_id: UUID | None = None
    supply_id: UUID | None = None
    """A copy is on this storage."""
    sole_supply_id: UUID | None = None
    """All copies that count are on this storage."""


class CustodyTotal(Record):
    """A sum over copies of one storage and status, or over datasets of one verdict."""

    supply_id: UUID | None
    kind: str
    """`status:` or `verdict:` with its value, or `discardable`."""
    number: int
    bytes: int


class CopyPlace(Record, gc=False):
    """Where a report of copies continues."""

    dataset_id: UUID
    distribution_id: UUID
    uri: str | None = None


class CustodyReader(Protocol):
    """Finds datasets and copies by how they are kept."""

    async def datasets(
        self, wanted: CustodyFilter, after: UUID | None, limit: int, sight: Sight | None
    ) -> Sequence[UUID]:
        """Return datasets that are not discarded, oldest first; with `sight`, those in sight."""
        ...

    async def totals(self, supply_id: UUID | None, sight: Sight | None) -> Sequence[CustodyTotal]:
        """Return the sums over one storage, or over all."""
        ...

    async def copies(
        self,
        supply_id: UUID | None,
        prefix: str | None,
        after: CopyPlace | None,
        limit: int,
        sight: Sight | None,
    ) -> Sequence[CopyPlace]:
        """Return copies on a storage, by dataset, or with addresses below a prefix, by address."""
        ...
