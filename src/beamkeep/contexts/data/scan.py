"""Ingesting a scan: its dataset, its copy and its acquisitions, from one file that is read."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.equipment.asset import AssetNotFoundError
from beamkeep.contexts.run.run import RunNotFoundError
from beamkeep.contexts.seams.belonging import GivenTeam
from beamkeep.contexts.seams.data_places import PermittedPlaces
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.subject.subject import SubjectNotFoundError
from beamkeep.contexts.supply.supply import Supply, SupplyNotFoundError, supplies
from beamkeep.contexts.trust.belonging import OF_TEAM
from beamkeep.kernel import (
    Blank,
    Call,
    Cannot,
    Created,
    Event,
    Insert,
    Invalid,
    Outcome,
    Outside,
    Record,
    SideWrite,
    claim,
    replace,
)
from beamkeep.kernel.values import FIRST, LAST, Name, Timestamp, Trimmed
from beamkeep.schemas import Json, JsonObject

from . import acquisition, dataset, distribution
from .acquisition import (
    AcquisitionContext,
    CapturedBy,
    RecordAcquisition,
    capturing_asset,
    record_acquisition,
)
from .dataset import (
    Dataset,
    DatasetOrigin,
    DatasetRegistered,
    RegisterDataset,
    datasets,
    named_origin,
    register_dataset,
)
from .distribution import (
    AccessProtocol,
    DistributionAlreadyExistsError,
    DistributionUri,
    NewCopy,
    RegisterDistribution,
    register_distribution,
)
from .scan_file import (
    PROFILES,
    InvalidScanChecksumError,
    InvalidScanFileError,
    InvalidScanLocatorError,
    ReadScanFile,
    ScanEntry,
    ScanFileNotFoundError,
    ScanFileUnstableError,
    ScanReading,
)
from .shapes import MOST_PARTS, Checksum, DatasetPart, Day, Encoding, require_checksum

SCANS = "scan"
"""The scope of the claims on bytes: the same bytes are ingested once."""
MEDIA_TYPE = "application/x-hdf5"
LONGEST_NAME = 200


class InvalidScanTimestampError(Invalid):
    """The start of a scan must be known from the file or from captured_at, and not from both."""


class InvalidScanNameError(Blank): ...


class ScanAlreadyIngestedError(Cannot):
    """A scan with the same bytes is ingested already."""


class IngestScan(GivenTeam):
    locator: DistributionUri
    """The file URI of an HDF5 file beneath a data root of the service."""
    producing_asset_id: UUID
    """The asset that captured the scan, such as a camera."""
    producing_run_id: UUID | None = None
    subject_id: UUID | None = None
    """The sample (default: the subject of the run)."""
    supply_id: UUID | None = None
    """The storage that the file is on."""
    name: Annotated[Name, Trimmed(InvalidScanNameError)] | None = None
    """Default: the title in the file, or the name of the file."""
    captured_at: Timestamp | None = None
    """When the scan began, if the file does not say so."""
    entry: Annotated[str, MinLen(1), MaxLen(200)] | None = None
    """The path of one entry (default: all entries, each an acquisition)."""
    checksum: Checksum | None = None
    """As the writer computed it (default: the service computes it)."""
    parts: Annotated[tuple[DatasetPart, ...], MaxLen(MOST_PARTS)] = ()
    """With a checksum of several files: all files of the scan."""
    used_calibration_ids: Annotated[frozenset[UUID], MaxLen(dataset.MOST_ORIGINS)] = frozenset()
    """The calibration revisions used, which the run has pinned."""
    retain_until: Day | None = None
    """The dataset cannot be discarded before this day."""
    available_from: Day | None = None
    """The day on which an embargo ends."""


class ScanIngested(Created):
    distribution_id: UUID
    acquisition_ids: tuple[UUID, ...]


type Ingesting = Outside[ScanReading] | Sequence[ScanIngested]
"""A file is read outside the service first; the answer is decided from what was read."""


class ScanContext(Record):
    """What a scan names, and the time zone of files that state none."""

    origin: DatasetOrigin
    supply: Supply | None
    captured_by: CapturedBy
    timezone: str | None
    places: PermittedPlaces


async def scan_context(command: IngestScan, read: Reader) -> ScanContext:
    run_id, subject_id = command.producing_run_id, command.subject_id
    here = read.facts
    return ScanContext(
        origin=await named_origin(run_id, subject_id, (), read),
        supply=await read.one(supplies, command.supply_id) if command.supply_id else None,
        captured_by=await capturing_asset(command.producing_asset_id, read),
        timezone=here.scan_timezone,
        places=here.data_places.open_to(read.only),
    )


def ingest_scan(command: IngestScan, given: ScanContext, call: Call) -> Ingesting:
    """Read a finished HDF5 file, and register its dataset, its copy and its acquisitions."""
    if command.checksum:
        require_checksum(command.checksum, InvalidScanChecksumError)
    elif command.parts:
        raise InvalidScanChecksumError("Parts need the checksum of all files.")
    dataset.require_origin(given.origin, command.subject_id, command.used_calibration_ids, ())
    distribution.require_storage(given.supply)
    acquisition.require_capturing(given.captured_by)
    if command.captured_at:
        acquisition.require_captured_at(command.captured_at, call)
    return Outside(
        ReadScanFile.of(command, within=given.places.own, principal_id=call.principal_id),
        lambda reading: _written(command, given, reading, call),
    )


def _written(command: IngestScan, given: ScanContext, reading: ScanReading, call: Call) -> Outcome:
    """Return everything that a scan writes, by the rules of each of its parts."""
    if reading.ingested_as:
        detail = f"It is dataset {reading.ingested_as}."
        raise ScanAlreadyIngestedError(detail, dataset_id=reading.ingested_as)
    times = _capture_times(command, given, reading)
    outcome: list[Event | SideWrite] = [
        replace(part, was_ingested=True) if isinstance(part, DatasetRegistered) else part
        for part in register_dataset(
            RegisterDataset(
                name=command.name or _name(reading),
                checksum=reading.checksum,
                byte_size=reading.byte_size,
                encoding=Encoding(MEDIA_TYPE, (PROFILES[reading.layout],)),
                parts=reading.parts,
                producing_run_id=command.producing_run_id,
                subject_id=command.subject_id,
                used_calibration_ids=command.used_calibration_ids,
                retain_until=command.retain_until,
                available_from=command.available_from,
                team_id=command.team_id,
                visit_id=command.visit_id,
            ),
            given.origin,
            call,
        )
    ]
    (made,) = (dataset.begin(part) for part in outcome if isinstance(part, DatasetRegistered))
    copied = replace(call, new_id=_derived_id(call.new_id, "distribution"))
    copy = RegisterDistribution(
        dataset_id=made.id,
        supply_id=command.supply_id,
        uri=reading.uri,
        checksum=reading.checksum,
        byte_size=reading.byte_size,
        access_protocol=AccessProtocol.POSIX,
    )
    if reading.place_taken_by:
        detail = f"It is copy {reading.place_taken_by}."
        raise DistributionAlreadyExistsError(detail, distribution_id=reading.place_taken_by)
    place = NewCopy(made, given.supply, copies=0, holder=None)
    outcome += claims_of(made)
    outcome += register_distribution(copy, place, copied)
    captured = AcquisitionContext(made, given.captured_by, corrected=None, corrected_by_id=None)
    ids = list[UUID]()
    for entry in reading.entries:
        recorded = RecordAcquisition(
            dataset_id=made.id,
            producing_asset_id=command.producing_asset_id,
            producing_run_id=command.producing_run_id,
            captured_at=times[entry.entry],
            settings={**entry.settings},
            evidence=_evidence(command, given, reading, entry),
        )
        ids.append(_derived_id(call.new_id, f"acquisition {len(ids)}"))
        outcome += record_acquisition(recorded, captured, replace(call, new_id=ids[-1]))
    return [*outcome, ScanIngested(copied.new_id, tuple(ids))]


def claims_of(dataset: Dataset) -> tuple[Insert, ...]:
    """Return the claim on the bytes of a scan, which is never freed."""
    if not dataset.was_ingested:
        return ()
    value, loser = dataset.checksum.value, ScanAlreadyIngestedError
    return (claim(SCANS, value, holder=dataset.id, loser=loser),)


def _capture_times(
    command: IngestScan, given: ScanContext, reading: ScanReading
) -> Mapping[str, datetime]:
    """Return when each scan began. Raise when that is unknown, or stated twice."""
    refusal, known = InvalidScanTimestampError, dict[str, datetime]()
    for entry in reading.entries:
        if start := parse_time(entry.start, given.timezone):
            known[entry.entry] = start
    if known and command.captured_at:
        name, start = next(iter(known.items()))
        raise refusal(f"Entry '{name}' began at {start.isoformat()}. Leave captured_at out.")
    for entry in reading.entries:
        if entry.entry not in known and command.captured_at:
            known[entry.entry] = command.captured_at
        elif entry.entry not in known:
            stated = f"states '{entry.start}'" if entry.start else "states no start"
            detail = f"Entry '{entry.entry}' {stated}; a time of day with an offset is needed."
            raise refusal(f"{detail} Enter captured_at, or set SCAN_TIMEZONE in the service.")
    return known


def parse_time(text: str | None, timezone: str | None) -> datetime | None:
    """Return a time as a file states it, in a zone if it has no offset; None if not usable."""
    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    if len(text or "") <= len("2030-01-31") or not FIRST.year < time.year < LAST.year:
        return None
    if time.tzinfo or timezone is None:
        return time if time.tzinfo else None
    first, second = (time.replace(tzinfo=ZoneInfo(timezone), fold=fold) for fold in (0, 1))
    # A local time that occurs twice, or not at all, is not one time.
    return first if first.utcoffset() == second.utcoffset() else None


def _evidence(
    command: IngestScan, given: ScanContext, reading: ScanReading, entry: ScanEntry
) -> JsonObject:
    """Return what the file tells of one scan, and how that is known."""
    evidence: dict[str, Json] = {
        **entry.evidence,
        "layout": reading.layout,
        "entry": entry.entry,
        "master": reading.master,
        "part_count": len(reading.parts) or 1,
        "reader": reading.reader,
        "captured_at_source": "operator" if command.captured_at else "file",
        "checksum_source": "caller" if command.checksum else "service",
    }
    if entry.start:
        evidence["start_time_raw"] = entry.start
    if ended := parse_time(entry.end, given.timezone):
        evidence["ended_at"] = ended.isoformat()
    elif entry.end:
        unreadable = evidence.get("unreadable_fields")
        known = unreadable if isinstance(unreadable, list) else []
        evidence["unreadable_fields"] = [*known, "ended_at"]
    return evidence


def _name(reading: ScanReading) -> str:
    """Return the title of the first scan that has one, else the name of the file."""
    titles = [entry.title or "" for entry in reading.entries[:1]]
    stem = reading.master.rpartition("/")[2]
    stem = stem.rpartition(".")[0] or stem
    shown = ("".join(each for each in text if each.isprintable()) for text in (*titles, stem))
    return next(text.strip() for text in (*shown, "Scan") if text.strip())[:LONGEST_NAME].strip()


def _derived_id(id: UUID, name: str) -> UUID:
    """Return an id for what is created with an object, in the same place of the order by time."""
    random = (1 << 62) - 1
    return UUID(int=id.int & ~random | uuid5(id, name).int & random)


# fmt: off
OPERATIONS = (
    datasets.creates("POST /scans/ingest", IngestScan, ingest_scan, InvalidScanLocatorError,
        RunNotFoundError, SubjectNotFoundError, SupplyNotFoundError, AssetNotFoundError,
        ScanFileNotFoundError, dataset.DatasetSubjectMismatchError,
        dataset.DatasetCalibrationsNotPinnedError,
        distribution.DistributionSupplyNotStorageError,
        distribution.DistributionSupplyDecommissionedError,
        acquisition.AcquisitionRequiresCapturingError,
        acquisition.InvalidAcquisitionCapturedAtError, ScanFileUnstableError,
        InvalidScanFileError, InvalidScanTimestampError, InvalidScanChecksumError,
        dataset.InvalidDatasetPartsError, DistributionAlreadyExistsError,
        ScanAlreadyIngestedError, *OF_TEAM, given=scan_context, title="Ingest a scan file"),
)
# fmt: on
