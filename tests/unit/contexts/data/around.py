"""Datasets, copies and what they come of, as tests of data find them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from beamkeep.contexts.data import dataset, distribution
from beamkeep.contexts.data.dataset import DatasetRegistered
from beamkeep.contexts.data.distribution import (
    AccessProtocol,
    DistributionRegistered,
    DistributionVerified,
    FileIdentity,
)
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, Encoding
from beamkeep.contexts.run.run import RunStarted
from beamkeep.contexts.seams.custody_rules import ChecksumStrength, VerifiedBy
from beamkeep.contexts.supply.supply import SupplyRegistered
from beamkeep.kernel import Event, SideWrite, replace
from beamkeep.testing.past import NOW

DATASET, COPY, NVME, RUN, SUBJECT = (UUID(int=number) for number in range(60, 65))
REVISION, OTHER_REVISION = UUID(int=71), UUID(int=72)
NXTOMO = "https://manual.nexusformat.org/classes/applications/NXtomo.html"
HDF5 = Encoding("application/x-hdf5", (NXTOMO,))
SUM = Checksum(ChecksumAlgorithm.SHA256, "ab" * 32)
TREE = Checksum(ChecksumAlgorithm.SHA256_TREE, "cd" * 32)
SIZE = 1_000

type Part = Event | SideWrite


def a_run(
    id: UUID = RUN, subject_id: UUID | None = SUBJECT, pinned: tuple[UUID, ...] = (REVISION,)
) -> RunStarted:
    names = ("Scan", UUID(int=80), None, UUID(int=81), (UUID(int=82),), subject_id, None)
    return RunStarted(NOW, id, *names, {}, {}, pinned, (), None)


dataset_registered = DatasetRegistered(
    NOW,
    DATASET,
    name="Fossil 7, overview",
    checksum=SUM,
    byte_size=SIZE,
    encoding=HDF5,
    digests={},
    file_count=1,
    of_parts=False,
    producing_run_id=None,
    subject_id=None,
    derived_from=(),
    used_calibration_ids=(),
    retain_until=None,
    available_from=None,
)
copy_registered = DistributionRegistered(
    NOW,
    COPY,
    dataset_id=DATASET,
    supply_id=NVME,
    uri="file:///data/scan.h5",
    checksum=SUM,
    byte_size=SIZE,
    encoding=HDF5,
    access_protocol=AccessProtocol.POSIX,
    of_parts=False,
)


def a_dataset(id: UUID = DATASET, **changes: Any) -> tuple[Part, ...]:
    """A dataset with the rows that are written with it."""
    event = replace(dataset_registered, dataset_id=id, **changes)
    return event, *dataset.rows_of(dataset.begin(event), ())


def a_copy(id: UUID = COPY, **changes: Any) -> tuple[Part, ...]:
    """A copy with the rows that are written with it."""
    event = replace(copy_registered, distribution_id=id, **changes)
    return event, *distribution.rows_of(distribution.begin(event))


def verified(
    id: UUID = COPY,
    at: datetime = NOW,
    by: VerifiedBy = VerifiedBy.CLIENT,
    strength: ChecksumStrength = ChecksumStrength.CRYPTOGRAPHIC,
    file: FileIdentity | None = None,
) -> DistributionVerified:
    """A good check; every copy is a file of its own, on a file system of its own."""
    return DistributionVerified(NOW, id, UUID(int=90), by, strength, at, file=file or file_of(id))


def file_of(id: UUID = COPY) -> FileIdentity:
    return FileIdentity("host", f"8:{id.int}", inode=str(id.int))


def a_storage(id: UUID = NVME, facility_code: str = "ring", kind: str = "storage") -> Event:
    return SupplyRegistered(NOW, id, kind, f"Storage {id.int}", facility_code, None)
