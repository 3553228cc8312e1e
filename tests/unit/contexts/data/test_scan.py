"""Ingesting a scan: what its file must tell, and what is written of it."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from tests.unit.scans import files

from beamkeep.adapters.files.data_roots import DataRoots
from beamkeep.contexts.data import scan
from beamkeep.contexts.data.acquisition import (
    AcquisitionRecorded,
    AcquisitionRequiresCapturingError,
    InvalidAcquisitionCapturedAtError,
)
from beamkeep.contexts.data.dataset import (
    DatasetCalibrationsNotPinnedError,
    DatasetRegistered,
    DatasetSubjectMismatchError,
    InvalidDatasetPartsError,
    PartRow,
)
from beamkeep.contexts.data.distribution import (
    PLACES,
    DistributionAlreadyExistsError,
    DistributionRegistered,
    DistributionSupplyDecommissionedError,
    DistributionSupplyNotStorageError,
)
from beamkeep.contexts.data.scan import (
    OPERATIONS,
    SCANS,
    IngestScan,
    InvalidScanTimestampError,
    ScanAlreadyIngestedError,
    ScanIngested,
    parse_time,
)
from beamkeep.contexts.data.scan_file import (
    InvalidScanChecksumError,
    InvalidScanFileError,
    InvalidScanLocatorError,
    ReadScanFile,
    ScanEntry,
    ScanFileNotFoundError,
    ScanFileUnstableError,
    ScanReading,
)
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, DatasetPart, tree_digest
from beamkeep.contexts.equipment.asset import AssetNotFoundError, AssetRegistered, AssetTier
from beamkeep.contexts.equipment.family import Affordance, FamilyDefined
from beamkeep.contexts.run.run import RunNotFoundError, RunStarted
from beamkeep.contexts.subject.subject import SubjectNotFoundError, SubjectRegistered
from beamkeep.contexts.supply.supply import (
    SupplyDeregistered,
    SupplyNotFoundError,
    SupplyRegistered,
    SupplyStatus,
)
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import CLAIMS, Claim, Event, Insert, claim_key, replace
from beamkeep.parts.scans.reading import ScanReader
from beamkeep.testing.data_root import data_root
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, NEW, NOW
from beamkeep.testing.scenario import Scenario

CAMERA, SHUTTER, CAMERAS, RUN, LEAF, FERN = (UUID(int=10 + number) for number in range(6))
NVME, WATER, OLD_DISK = (UUID(int=20 + number) for number in range(3))
SUM = "ab" * 32
ONE_FILE = Checksum(ChecksumAlgorithm.SHA256, SUM)


def asset(id: UUID, name: str, *family_ids: UUID) -> AssetRegistered:
    return AssetRegistered(NOW, id, name, AssetTier.UNIT, None, "lab", family_ids, None, None, ())


def supply(id: UUID, kind: str) -> SupplyRegistered:
    return SupplyRegistered(NOW, id, kind, f"{kind} {id.int}", "lab", containing_asset_id=None)


PAST: tuple[Event, ...] = (
    FamilyDefined(NOW, CAMERAS, (Affordance.CAPTURING,), {}, name="Cameras"),
    asset(CAMERA, "Camera", CAMERAS),
    asset(SHUTTER, "Shutter"),
    SubjectRegistered(NOW, LEAF, "Leaf"),
    SubjectRegistered(NOW, FERN, "Fern"),
    supply(NVME, "storage"),
    supply(WATER, "water"),
    supply(OLD_DISK, "storage"),
    SupplyDeregistered(
        NOW,
        OLD_DISK,
        from_status=SupplyStatus.UNKNOWN,
        trigger=TriggerSource.OPERATOR,
        monitor_ref=None,
        reason="Worn out",
    ),
    RunStarted(
        NOW,
        RUN,
        name="Scan",
        plan_id=ABSENT,
        plan_version_tag=None,
        method_id=ABSENT,
        asset_ids=(),
        subject_id=LEAF,
        raid=None,
        override_parameters={},
        effective_parameters={},
        pinned_calibration_ids=(),
        acknowledged_cautions=(),
        decided_by_decision_id=None,
    ),
)


def an_entry(name: str = "entry", **more: Any) -> ScanEntry:
    told: dict[str, Any] = {
        "title": "Leaf, wet",
        "start": "2026-03-01T08:00:00+01:00",
        "end": None,
        "settings": {"energy": 19.0},
        "evidence": {"frame_count": 5},
    }
    return ScanEntry(entry=name, **told | more)


def a_reading(*entries: ScanEntry, **more: Any) -> ScanReading:
    told: dict[str, Any] = {
        "layout": "NXtomo",
        "entries": entries or (an_entry(),),
        "uri": "file:///data/leaf.nx",
        "master": "leaf.nx",
        "checksum": ONE_FILE,
        "byte_size": 100,
        "parts": (),
        "reader": "beamkeep.parts.scans 1",
    }
    return ScanReading(**told | more)


def ingest(**more: Any) -> IngestScan:
    told: dict[str, Any] = {"locator": "file:///data/leaf.nx", "producing_asset_id": CAMERA}
    return IngestScan(**told | more)


def when(command: IngestScan, reading: ScanReading | None = None, **installed: Any) -> Scenario:
    """Ingest a file that tells this."""
    here = replace(FACTS, **installed)
    found = reading or a_reading()
    return Scenario(OPERATIONS, PAST, here).when(command, outside=lambda _: found)


def read(request: ReadScanFile, **more: Any) -> ScanReading:
    """Read a file as the service does."""

    async def reading() -> ScanReading:
        hashed = more.pop("most_hashed", 1 << 30)
        return await ScanReader(DataRoots([data_root()]), 5, hashed, **more).read(request)

    return asyncio.run(reading())


def when_read(command: IngestScan, reading: Callable[[ReadScanFile], ScanReading] = read) -> Any:
    """Ingest a file that is there."""
    return Scenario(OPERATIONS, PAST).when(command, outside=reading)


def only[P](of: type[P], outcome: list[Any]) -> P:
    (found,) = (part for part in outcome if isinstance(part, of))
    return found


def test_a_scan_becomes_a_dataset_a_copy_and_an_acquisition():
    path = files.nxtomo(data_root() / f"{uuid4()}.nx")
    command = ingest(
        locator=path.as_uri(), producing_run_id=RUN, supply_id=NVME, retain_until="2040-01-31"
    )
    outcome = when_read(command).decided()
    registered = only(DatasetRegistered, outcome)
    copy = only(DistributionRegistered, outcome)
    recorded = only(AcquisitionRecorded, outcome)
    assert registered.dataset_id == NEW
    assert (registered.name, registered.subject_id) == ("Leaf, wet", LEAF)
    assert (registered.producing_run_id, registered.was_ingested) == (RUN, True)
    assert registered.encoding.media_type == "application/x-hdf5"
    assert registered.encoding.conforms_to == (scan.PROFILES["NXtomo"],)
    assert (copy.dataset_id, copy.uri, copy.supply_id) == (NEW, path.as_uri(), NVME)
    assert copy.checksum == registered.checksum
    assert (recorded.dataset_id, recorded.producing_asset_id) == (NEW, CAMERA)
    assert recorded.captured_at == datetime(2026, 3, 1, 8, tzinfo=UTC)
    assert recorded.settings["energy"] == 19.0
    assert recorded.evidence["ended_at"] == "2026-03-01T08:10:00+00:00"
    told = {"layout": "NXtomo", "entry": "entry0000", "master": path.name, "part_count": 1}
    assert told.items() <= recorded.evidence.items()
    sources = recorded.evidence["captured_at_source"], recorded.evidence["checksum_source"]
    assert sources == ("file", "service")
    assert only(ScanIngested, outcome) == ScanIngested(
        copy.distribution_id, (recorded.acquisition_id,)
    )


def test_every_entry_is_an_acquisition_with_an_id_of_its_own():
    outcome = when(ingest(), a_reading(an_entry("one"), an_entry("two", title=None))).decided()
    recorded = [part for part in outcome if isinstance(part, AcquisitionRecorded)]
    assert [each.evidence["entry"] for each in recorded] == ["one", "two"]
    ids = {NEW, only(DistributionRegistered, outcome).distribution_id}
    assert len(ids | {each.acquisition_id for each in recorded}) == 4


def test_the_ids_of_one_scan_have_the_time_of_its_dataset():
    id = UUID("01a1e554-e44b-70d2-9e63-b8ca45a72635")
    outcome = when(ingest()).decided()
    assert str(scan._derived_id(id, "x")).startswith("01a1e554-e44b-70d2-")  # pyright: ignore[reportPrivateUsage]
    assert only(DistributionRegistered, outcome).distribution_id != NEW


def test_the_files_of_a_scan_are_its_parts():
    parts = (DatasetPart("leaf.nx", 60, SUM), DatasetPart("leaf/frames.h5", 40, SUM))
    tree = Checksum(ChecksumAlgorithm.SHA256_TREE, tree_digest(parts))
    reading = a_reading(checksum=tree, parts=parts, uri="file:///data/")
    outcome = when(ingest(), reading).decided()
    rows = [part.row for part in outcome if isinstance(part, Insert)]
    assert [row.path for row in rows if isinstance(row, PartRow)] == ["leaf.nx", "leaf/frames.h5"]
    assert only(AcquisitionRecorded, outcome).evidence["part_count"] == 2
    assert only(DatasetRegistered, outcome).file_count == 2


def test_a_part_whose_path_is_not_portable_is_refused():
    parts = (DatasetPart("leaf.nx", 60, SUM), DatasetPart("cafe\u0301.h5", 40, SUM))
    tree = Checksum(ChecksumAlgorithm.SHA256_TREE, tree_digest(parts))
    reading = a_reading(checksum=tree, parts=parts, uri="file:///data/")
    when(ingest(), reading).refused(InvalidDatasetPartsError, "NFC")


def test_the_name_is_that_of_the_caller_else_the_title_else_that_of_the_file():
    def name(command: IngestScan, **more: Any) -> str:
        outcome = when(command, a_reading(an_entry(**more))).decided()
        return only(DatasetRegistered, outcome).name

    assert name(ingest(name=" Fern ")) == "Fern"
    assert name(ingest()) == "Leaf, wet"
    assert name(ingest(), title="x" * 1_000) == "x" * 200
    assert name(ingest(), title=" \x07\n") == "leaf"
    assert name(ingest(), title=None) == "leaf"


def test_a_time_of_the_caller_is_taken_when_the_file_has_none():
    command = ingest(captured_at="2026-03-01T09:00:00Z")
    recorded = only(AcquisitionRecorded, when(command, a_reading(an_entry(start=None))).decided())
    assert recorded.captured_at == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert recorded.evidence["captured_at_source"] == "operator"


def test_two_sources_of_the_start_are_refused():
    command = ingest(captured_at="2026-03-01T09:00:00Z")
    when(command).refused(InvalidScanTimestampError, "Leave captured_at out")


def test_a_start_without_an_offset_needs_the_zone_of_the_deployment():
    reading = a_reading(an_entry(start="2026-03-01T08:00:00"))
    when(ingest(), reading).refused(InvalidScanTimestampError, "'2026-03-01T08:00:00'")
    outcome = when(ingest(), reading, scan_timezone="Europe/Zurich").decided()
    recorded = only(AcquisitionRecorded, outcome)
    assert recorded.captured_at == datetime(2026, 3, 1, 7, tzinfo=UTC)
    assert recorded.evidence["start_time_raw"] == "2026-03-01T08:00:00"


def test_times_are_read_as_files_state_them():
    zone = "Europe/Zurich"
    offset = timedelta(hours=-5)
    assert parse_time("2026-03-01T08:00:00-0500", None).utcoffset() == offset  # type: ignore[union-attr]
    assert parse_time("2026-03-01T08:00:00.250-05:00", None) is not None
    assert parse_time("2026-10-25T02:30:00", zone) is None, "which occurs twice"
    assert parse_time("2026-03-29T02:30:00", zone) is None, "which does not occur"
    assert parse_time("2026-03-01", zone) is None, "which is a day"
    assert parse_time("0001-01-01T00:00:00Z", None) is None
    assert parse_time("yesterday", zone) is None
    assert parse_time(None, zone) is None


def test_an_end_that_cannot_be_read_is_named():
    evidence = {"frame_count": 5, "unreadable_fields": ["energy"]}
    reading = a_reading(an_entry(end="soon", evidence=evidence))
    recorded = only(AcquisitionRecorded, when(ingest(), reading).decided())
    assert recorded.evidence["unreadable_fields"] == ["energy", "ended_at"]


def test_a_time_of_capture_is_not_in_the_future():
    late = ingest(captured_at=NOW + timedelta(minutes=2))
    when(late).refused(InvalidAcquisitionCapturedAtError)


def test_what_a_scan_names_must_exist():
    when(ingest(producing_run_id=ABSENT)).refused(RunNotFoundError)
    when(ingest(subject_id=ABSENT)).refused(SubjectNotFoundError)
    when(ingest(supply_id=ABSENT)).refused(SupplyNotFoundError)
    when(ingest(producing_asset_id=ABSENT)).refused(AssetNotFoundError)


def test_a_scan_obeys_the_rules_of_datasets_copies_and_acquisitions():
    mismatch = ingest(producing_run_id=RUN, subject_id=FERN)
    when(mismatch).refused(DatasetSubjectMismatchError)
    when(ingest(used_calibration_ids=[ABSENT])).refused(DatasetCalibrationsNotPinnedError)
    when(ingest(supply_id=WATER)).refused(DistributionSupplyNotStorageError)
    when(ingest(supply_id=OLD_DISK)).refused(DistributionSupplyDecommissionedError)
    when(ingest(producing_asset_id=SHUTTER)).refused(AcquisitionRequiresCapturingError)


def test_a_file_is_not_read_before_the_other_checks_have_passed():
    def reading(_: ReadScanFile) -> ScanReading:
        raise AssertionError("the file was read")

    when_read(ingest(supply_id=WATER), reading).refused(DistributionSupplyNotStorageError)


def test_the_same_bytes_are_ingested_once():
    refusal = when(ingest(), a_reading(ingested_as=LEAF)).refused(ScanAlreadyIngestedError)
    assert refusal.facts == {"dataset_id": LEAF}
    outcome = when(ingest()).decided()
    claims = [part for part in outcome if isinstance(part, Insert) and part.table is CLAIMS]
    taken = Claim(SCANS, claim_key(SUM), NEW)
    assert taken in [part.row for part in claims]
    Scenario(OPERATIONS, (*PAST, CLAIMS.insert(taken))).when(
        ingest(), outside=lambda _: a_reading()
    ).refused(ScanAlreadyIngestedError)


def test_a_place_holds_one_copy():
    reading = a_reading(place_taken_by=LEAF)
    refusal = when(ingest(), reading).refused(DistributionAlreadyExistsError)
    assert refusal.facts == {"distribution_id": LEAF}
    place = Claim(PLACES, claim_key("file:///data/leaf.nx", None), LEAF)
    Scenario(OPERATIONS, (*PAST, CLAIMS.insert(place))).when(
        ingest(), outside=lambda _: a_reading()
    ).refused(DistributionAlreadyExistsError)


def test_a_file_must_be_there_and_beneath_a_data_root():
    absent = (data_root() / "absent.nx").as_uri()
    when_read(ingest(locator=absent)).refused(ScanFileNotFoundError, "absent.nx")
    for locator in ("file:///etc/passwd", "https://lab.test/leaf.nx", "file://host/leaf.nx"):
        when_read(ingest(locator=locator)).refused(InvalidScanLocatorError)


def test_a_file_must_be_a_scan_and_complete():
    path = data_root() / f"{uuid4()}.nx"
    path.write_bytes(b"not HDF5")
    when_read(ingest(locator=path.as_uri())).refused(ScanFileUnstableError)
    files.settle(path)
    when_read(ingest(locator=path.as_uri())).refused(InvalidScanFileError, "not HDF5")


def test_a_checksum_describes_the_files():
    path = files.two_entries(data_root() / f"{uuid4()}.nx")
    wrong = {"algorithm": "sha256-tree", "value": SUM}
    command = ingest(locator=path.as_uri(), checksum=wrong)
    when_read(command).refused(InvalidScanChecksumError, "one file")
    malformed = {"algorithm": "sha256", "value": "AB"}
    when(ingest(checksum=malformed)).refused(InvalidScanChecksumError)
    parts = [{"path": "leaf.nx", "byte_size": 1, "sha256": SUM}]
    when(ingest(parts=parts)).refused(InvalidScanChecksumError)
