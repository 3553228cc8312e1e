"""Examples of datasets, their copies, how they were captured, and checks of them."""

import os
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import h5py
import numpy as np

from beamkeep.testing.data_root import data_root
from beamkeep.testing.examples import CallExample, Do, Make, changed, given, made
from tests.support.examples.assets import an_asset, an_asset_under
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.run import a_completed_run
from tests.support.examples.subject import a_subject

HDF5 = {
    "media_type": "application/x-hdf5",
    "conforms_to": ["https://manual.nexusformat.org/classes/applications/NXtomo.html"],
}
SIZE = 1_048_576
CHECKED = "2026-01-31T07:30:00Z"


def some_checksum() -> dict[str, str]:
    """The checksum of bytes that no other dataset has."""
    return {"algorithm": "sha256", "value": sha256(uuid4().bytes).hexdigest()}


def new_dataset(**more: Any) -> dict[str, Any]:
    return {
        "name": "Fossil 7, overview",
        "checksum": some_checksum(),
        "byte_size": SIZE,
        "encoding": HDF5,
        **more,
    }


def a_dataset_with(**more: Any) -> Make:
    async def make(do: Do) -> str:
        answer = await do("register_dataset", new_dataset(**more))
        return answer["dataset_id"]

    return make


a_dataset = a_dataset_with()


async def register_dataset(do: Do) -> dict[str, Any]:
    return new_dataset(
        digests={"md5": "0" * 32},
        producing_run_id=await a_completed_run(do),
        subject_id=await a_subject(do),
        derived_from=[await a_dataset(do)],
        retain_until="2040-01-31",
        available_from="2029-01-31",
    )


async def a_derived_dataset(do: Do) -> str:
    answer = await do("register_dataset", await register_dataset(do))
    return answer["dataset_id"]


async def a_dataset_of_parts(do: Do) -> str:
    digest = sha256(uuid4().bytes).hexdigest()
    whole = sha256(f"{digest}  scan.h5\n".encode()).hexdigest()
    answer = await do(
        "register_dataset",
        new_dataset(
            checksum={"algorithm": "sha256-tree", "value": whole},
            parts=[{"path": "scan.h5", "byte_size": SIZE, "sha256": digest}],
        ),
    )
    return answer["dataset_id"]


def a_dataset_after(name: str) -> Make:
    """A dataset to which this command was given."""

    async def make(do: Do) -> str:
        dataset_id = await a_dataset(do)
        await do(name, {"dataset_id": dataset_id, "reason": "Checked"})
        return dataset_id

    return make


a_production_dataset = a_dataset_after("promote_dataset")


async def a_storage(do: Do) -> str:
    storage = {"kind": "storage", "name": f"nvme {uuid4()}", "facility_code": OWN_SITE}
    answer = await do("register_supply", storage)
    return answer["supply_id"]


async def register_distribution(do: Do) -> dict[str, Any]:
    dataset_id = await a_dataset(do)
    dataset = await do("get_dataset", {"dataset_id": dataset_id})
    return {
        "dataset_id": dataset_id,
        "supply_id": await a_storage(do),
        "uri": f"file:///data/{dataset_id}.h5",
        "checksum": dataset["checksum"],
        "byte_size": SIZE,
        "access_protocol": "POSIX",
    }


a_copy = made("register_distribution", register_distribution, "distribution_id")


async def check_of(do: Do, distribution_id: str) -> dict[str, Any]:
    """A check of a copy that finds the right bytes."""
    copy = await do("get_distribution", {"distribution_id": distribution_id})
    dataset = await do("get_dataset", {"dataset_id": copy["dataset_id"]})
    # Every copy is a file of its own.
    inode = str(UUID(distribution_id).int % 2**48)
    return {
        "distribution_id": distribution_id,
        "kind": "ChecksumVerified",
        "checked_at": copy["created_at"],
        "checker": "sha256sum 9.1",
        "found": {
            **copy["checksum"],
            "byte_size": copy["byte_size"],
            "file": {"host": "nvme1", "device": "259:1", "inode": inode, "links": 1},
            "digests": dataset["digests"],
        },
    }


async def record_attestation(do: Do) -> dict[str, Any]:
    return await check_of(do, await a_copy(do))


an_attestation = made("record_attestation", record_attestation, "attestation_id")
a_verified_copy = changed("record_attestation", record_attestation, "distribution_id")


async def two_verified_copies(do: Do) -> tuple[str, str]:
    first = await register_distribution(do)
    second = {**first, "uri": first["uri"] + ".copy", "supply_id": await a_storage(do)}
    ids = [(await do("register_distribution", each))["distribution_id"] for each in (first, second)]
    for id in ids:
        await do("record_attestation", await check_of(do, id))
    return ids[0], ids[1]


async def discard_distribution(do: Do) -> dict[str, Any]:
    first, _ = await two_verified_copies(do)
    return {"distribution_id": first, "reason": "The archive has it"}


a_discarded_copy = changed("discard_distribution", discard_distribution, "distribution_id")


async def a_protected_dataset(do: Do) -> str:
    """A dataset with a verified copy."""
    copy = await do("get_distribution", {"distribution_id": await a_verified_copy(do)})
    return copy["dataset_id"]


async def a_storage_in_use(do: Do) -> str:
    """A storage that holds a copy which may be deleted."""
    first, _ = await two_verified_copies(do)
    copy = await do("get_distribution", {"distribution_id": first})
    return copy["supply_id"]


async def a_camera(do: Do) -> str:
    family = {"name": f"Camera {uuid4()}", "affordances": ["Capturing"]}
    family_id = (await do("define_family", family))["family_id"]
    asset_id = await an_asset_under(do, await an_asset(do), name=f"Camera {uuid4()}")
    await do("add_asset_family", {"asset_id": asset_id, "family_id": family_id})
    return asset_id


async def record_acquisition(do: Do) -> dict[str, Any]:
    return {
        "dataset_id": await a_dataset(do),
        "producing_asset_id": await a_camera(do),
        "captured_at": CHECKED,
        "settings": {"exposure_time": 0.1},
        "evidence": {"frame_count": 1500},
    }


an_acquisition = made("record_acquisition", record_acquisition, "acquisition_id")


async def request_distribution_check(do: Do) -> dict[str, Any]:
    return {"distribution_id": await a_copy(do), "kind": "ChecksumVerified"}


a_checked_copy = changed(
    "request_distribution_check", request_distribution_check, "distribution_id"
)


def a_scan_file() -> str:
    """A file with a scan that no other file has, as its URI."""
    path = data_root() / f"{uuid4()}.nx"
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry")
        entry.attrs["NX_class"] = "NXentry"
        entry["definition"], entry["title"] = "NXtomo", f"Fossil {path.stem}"
        entry["start_time"] = "2026-01-31T08:30:00+01:00"
        entry["instrument/detector/data"] = np.zeros((3, 4, 4), "u2")
        entry["instrument/detector/image_key"] = [0, 0, 0]
        entry["instrument/detector/count_time"] = 0.1
        entry["sample/rotation_angle"] = [0.0, 90.0, 180.0]
    os.utime(path, (0, 0))
    return path.as_uri()


async def ingest_scan(do: Do) -> dict[str, Any]:
    return {
        "locator": a_scan_file(),
        "producing_asset_id": await a_camera(do),
        "supply_id": await a_storage(do),
        "name": "Fossil 7, night scan",
        "retain_until": "2040-01-31",
    }


EXAMPLES: dict[str, CallExample] = {
    "ingest_scan": ingest_scan,
    "register_dataset": register_dataset,
    "archive_dataset": given(dataset_id=a_protected_dataset),
    "discard_dataset": given(dataset_id=a_dataset, reason="Out of focus"),
    "promote_dataset": given(dataset_id=a_dataset, reason="Looked at by two"),
    "demote_dataset": given(dataset_id=a_production_dataset, reason="Wrong center"),
    "update_dataset_retention": given(
        dataset_id=a_dataset, retain_until="2040-01-31", reason="By the data policy"
    ),
    "get_dataset": given(dataset_id=a_derived_dataset),
    "get_dataset_history": given(dataset_id=a_production_dataset),
    "list_dataset_parts": given(dataset_id=a_dataset_of_parts),
    "get_dataset_lineage": given(dataset_id=a_derived_dataset, direction="upstream"),
    "get_provenance": given(kind="Dataset", id=a_derived_dataset),
    "register_distribution": register_distribution,
    "request_distribution_check": request_distribution_check,
    "list_distribution_checks": given(distribution_id=a_checked_copy),
    "mark_distribution_stale": given(distribution_id=a_verified_copy, reason="Overwritten"),
    "discard_distribution": discard_distribution,
    "restore_distribution": given(distribution_id=a_discarded_copy, reason="The archive is full"),
    "mark_distribution_overwritten": given(distribution_id=a_copy, reason="A new scan"),
    "record_distribution_removal": given(distribution_id=a_discarded_copy, removed_at=CHECKED),
    "get_distribution": given(distribution_id=a_verified_copy),
    "get_distribution_history": given(distribution_id=a_verified_copy),
    "list_distributions": given(status=["Verified"], access_protocol="POSIX"),
    "list_custody": given(verdict="Spare", intent="Trial"),
    "get_custody_summary": given(),
    "get_custody_report": given(supply_id=a_storage_in_use, uri_prefix="file:///data/"),
    "record_acquisition": record_acquisition,
    "get_acquisition": given(acquisition_id=an_acquisition),
    "get_acquisition_history": given(acquisition_id=an_acquisition),
    "list_acquisitions": given(captured_from=CHECKED),
    "record_attestation": record_attestation,
    "get_attestation": given(attestation_id=an_attestation),
    "get_attestation_history": given(attestation_id=an_attestation),
    "list_attestations": given(kind="ChecksumVerified", outcome="Match"),
}
