"""The data of the day: what the runs leave, where its copies are, and what becomes of it."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import h5py
import numpy as np

from demo.acting import ADMINISTRATOR, DEFAULTS, OPERATOR, STEWARD, Day

HDF5 = {"media_type": "application/x-hdf5"}
VOLUMES = 7
"""Datasets that the reconstruction of one run leaves."""
CHECKER = "sha256sum 9.1"
HOUR = 3600


def write_scan(file: Path, projections: int, at: datetime) -> Path:
    """Write a small tomography scan, with the time at which it began."""
    file.parent.mkdir(parents=True, exist_ok=True)
    keys = [1, 2] + [0] * projections
    with h5py.File(file, "w") as scan:
        entry = scan.create_group("entry")
        entry.attrs["NX_class"] = "NXentry"
        entry["definition"], entry["title"] = "NXtomo", f"Fossil 7, {file.stem}"
        entry["start_time"] = at.isoformat()
        draw = np.random.default_rng(projections)
        frames = draw.integers(0, 4000, (len(keys), 32, 48), dtype=np.uint16)
        entry["instrument/detector/data"] = frames
        entry["instrument/detector/image_key"] = keys
        entry["instrument/detector/count_time"] = DEFAULTS["exposure"]
        entry["instrument/detector/count_time"].attrs["units"] = "s"
        angles = [0.0, 0.0, *np.linspace(0, 180, projections)]
        entry["sample/rotation_angle"] = angles
        entry["sample/rotation_angle"].attrs["units"] = "degree"
    # Written an hour ago: a file that was just modified counts as still being written.
    then = at.timestamp() - HOUR
    os.utime(file, (then, then))
    return file


def described(content: bytes) -> dict[str, Any]:
    """What registers these bytes as a dataset of one file."""
    checksum = {"algorithm": "sha256", "value": sha256(content).hexdigest()}
    return {"checksum": checksum, "byte_size": len(content)}


async def storages(day: Day) -> None:
    """The disk next to the detector, and the archive of the facility."""
    for name in ("nvme1", "archive"):
        storage = {"kind": "storage", "name": name, "facility_code": day.ids["site"]}
        day.ids[name] = await day.made("register_supply", storage)
        up = {"supply_id": day.ids[name], "reason": "Mounted"}
        await day.do("mark_supply_available", up, as_=ADMINISTRATOR)


async def copied(day: Day, name: str, place: str, found: bytes | None = None) -> str:
    """Register a copy of a dataset, and record what a check found there, by default the bytes."""
    dataset = await day.do("get_dataset", {"dataset_id": day.ids[name]}, as_=STEWARD)
    of = {key: dataset[key] for key in ("dataset_id", "checksum", "byte_size")}
    where = {
        "supply_id": day.ids[place],
        "uri": f"file:///{place}/{of['dataset_id']}.h5",
        "access_protocol": "NFS",
    }
    made = await day.do("register_distribution", {**of, **where}, as_=STEWARD)
    await checked(day, made["distribution_id"], found)
    return made["distribution_id"]


async def checked(day: Day, distribution_id: str, found: bytes | None = None) -> None:
    """Record a check of a copy: of other bytes if they are given, else of the right ones."""
    about = {"distribution_id": distribution_id}
    copy = await day.do("get_distribution", about, as_=STEWARD)
    sums = described(found) if found is not None else copy
    host = str(urlsplit(str(copy["uri"])).path).split("/")[1]
    file = {"host": host, "device": "259:1", "inode": str(UUID(distribution_id).int % 2**48)}
    report = {
        **about,
        "kind": "ChecksumVerified",
        "checked_at": datetime.now(UTC).isoformat(),
        "checker": CHECKER,
        "found": {**sums["checksum"], "byte_size": sums["byte_size"], "file": file},
    }
    await day.do("record_attestation", report, as_=STEWARD)


async def baselines(day: Day) -> None:
    """A dark field and a flat field, each a run without a sample that leaves a dataset."""
    await storages(day)
    for name in ("Dark field", "Flat field"):
        pins = {"pinned_calibration_ids": [day.ids["revision"]]}
        run = await day.do("start_run", {"name": name, "plan_id": day.ids["plan"], **pins})
        await day.do("complete_run", {"run_id": run["run_id"]})
        new = {"name": name, "encoding": HDF5, **described(name.encode())}
        new["producing_run_id"] = run["run_id"]
        made = await day.do("register_dataset", new, as_=STEWARD)
        day.ids[name] = made["dataset_id"]


async def ingested(day: Day) -> None:
    """The file of run 1 is read on the disk where it was written, once."""
    file = write_scan(day.data / "nvme1" / "run 1.h5", 12, datetime.now(UTC))
    scan = {
        "locator": file.as_uri(),
        "producing_asset_id": day.ids["detector.second"],
        "producing_run_id": day.ids["run 1"],
        "supply_id": day.ids["nvme1"],
    }
    made = await day.do("ingest_scan", scan, as_=STEWARD)
    day.ids["raw"], day.ids["copy on nvme1"] = made["dataset_id"], made["distribution_id"]
    problem = await day.refused("ScanAlreadyIngestedError", "ingest_scan", scan, as_=STEWARD)
    assert problem["dataset_id"] == day.ids["raw"]
    (acquisition_id,) = made["acquisition_ids"]
    about = {"acquisition_id": acquisition_id}
    acquisition = await day.do("get_acquisition", about, as_=STEWARD)
    assert acquisition["evidence"]["projection_count"] == 12
    assert acquisition["settings"]["exposure_time"] == DEFAULTS["exposure"]
    day.touched["Acquisition", acquisition_id] = None


async def custody(day: Day) -> None:
    """The copy that came to the archive is wrong: the disk keeps the last good one until it is."""
    await checked(day, day.ids["copy on nvme1"])
    archived = await copied(day, "raw", "archive", found=b"half of it")
    day.ids["copy in the archive"] = archived
    stale = await day.listed("list_distributions", as_=STEWARD, status="Stale")
    assert [copy["distribution_id"] for copy in stale] == [archived]
    let_go = {"distribution_id": day.ids["copy on nvme1"], "reason": "The disk is full"}
    refusal = "DistributionIsLastVerifiedError"
    await day.refused(refusal, "discard_distribution", let_go, as_=STEWARD)
    await checked(day, archived)
    asked = {"supply_id": day.ids["nvme1"]}
    report = await day.do("get_custody_report", asked, as_=STEWARD)
    assert [line["verdict"] for line in report["items"]] == ["Deletable"]
    await day.do("discard_distribution", let_go, as_=STEWARD)


async def derived(day: Day, run_id: str, names: Sequence[str], revision: str) -> None:
    """Register what a reconstruction made of the scan and its baselines, and promote it."""
    sources = [day.ids[name] for name in ("raw", "Dark field", "Flat field")]
    for name in names:
        new: Mapping[str, Any] = {
            "name": name,
            "encoding": HDF5,
            **described(name.encode()),
            "producing_run_id": run_id,
            "derived_from": sources,
            "used_calibration_ids": [day.ids[revision]],
        }
        made = await day.do("register_dataset", new, as_=STEWARD)
        day.ids[name] = made["dataset_id"]
        await day.do("promote_dataset", {**made, "reason": "Looked at"}, as_=STEWARD)


async def promoted(day: Day) -> None:
    """Volumes are derived and promoted, their sources first; unpinned constants are refused."""
    unpinned = {
        "name": "Volume",
        "encoding": HDF5,
        **described(b"volume"),
        "producing_run_id": day.ids["run of the reconstruction"],
        "used_calibration_ids": [day.ids["practice"]],
    }
    refusal = "DatasetCalibrationsNotPinnedError"
    await day.refused(refusal, "register_dataset", unpinned, as_=STEWARD)
    for name in ("raw", "Dark field", "Flat field"):
        about = {"dataset_id": day.ids[name], "reason": "Complete and sharp"}
        await day.do("promote_dataset", about, as_=STEWARD)
    names = [f"Volume {number}" for number in range(1, VOLUMES + 1)]
    await derived(day, day.ids["run of the reconstruction"], names, "revision")


async def bad_constant(day: Day) -> None:
    """The rotation center was wrong: what used it is found and retracted, and made again."""
    wrong = {"revision_id": day.ids["revision"], "limit": 100}
    uses = (await day.do("list_calibration_uses", wrong, as_=STEWARD))["items"]
    made_with_it = [use["id"] for use in uses if use["kind"] == "Dataset"]
    assert len(made_with_it) == VOLUMES
    for dataset_id in made_with_it:
        about = {"dataset_id": dataset_id, "reason": "Rotation center off by 4 columns"}
        await day.do("demote_dataset", about, as_=STEWARD)
    revision = {
        "calibration_id": day.ids["rotation_center"],
        "value": {"center": 1028.0, "uncertainty": 0.05},
        "status": "Verified",
        "source": {"kind": "Computed", "dataset_id": day.ids["raw"]},
        "supersedes_revision_id": day.ids["revision"],
    }
    made = await day.do("append_calibration_revision", revision)
    day.ids["better revision"] = made["revision_id"]
    start = {
        "name": "Reconstruction of run 1, again",
        "plan_id": day.ids["plan of the reconstruction"],
        "pinned_calibration_ids": [made["revision_id"]],
    }
    run = await day.do("start_run", start)
    await day.do("complete_run", {"run_id": run["run_id"]})
    await derived(day, run["run_id"], ["Volume, corrected"], "better revision")
    asked = {"kind": "CalibrationRevision", "id": day.ids["revision"], "direction": "downstream"}
    graph = await day.do("get_provenance", asked, as_=STEWARD)
    used = [edge for edge in graph["edges"] if edge["relation"] == "used_calibration"]
    with_it = {edge["from"] for edge in used if edge["to"] == day.ids["revision"]}
    assert with_it == {*made_with_it}


async def published(day: Day) -> None:
    """An edition of the good datasets is sealed, published and gets a DOI."""
    names = ("raw", "Dark field", "Flat field", "Volume, corrected")
    for name in names[1:]:
        await copied(day, name, "archive")
    edition = {
        "title": "Fossil 7: tomography and volume",
        "kind": "ROCrate",
        "dataset_ids": [day.ids[name] for name in names],
        "creator_ids": [day.ids[OPERATOR]],
        "publisher_facility_code": day.ids["site"],
        "license": "CC-BY-4.0",
    }
    made = await day.do("register_edition", edition, as_=STEWARD)
    day.ids["edition"] = made["edition_id"]
    for name in ("seal_edition", "publish_edition"):
        await day.do(name, made, as_=STEWARD)
    day.touched["Dataset", day.ids["raw"]] = None
    held = {"dataset_id": day.ids["raw"], "reason": "Old"}
    await day.refused("DatasetInEditionError", "discard_dataset", held, as_=STEWARD)
    doi = {"external_id": "10.5072/fossil-7", "external_id_namespace": "doi"}
    await day.do("assign_edition_external_id", {**made, **doi}, as_=STEWARD)
    manifest = await day.do("get_edition_manifest", made, as_=STEWARD)
    assert len(manifest["@graph"]) > len(names)
