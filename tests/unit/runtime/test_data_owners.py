"""Directories of data that belong to principals: what the scope Own permits there."""

import os
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import h5py
import pytest
from tests.support.examples.data import a_camera, new_dataset
from tests.unit.scans import files

from beamkeep.contexts.data.distribution import InvalidDistributionUriError
from beamkeep.contexts.data.scan_file import InvalidScanLocatorError, ScanFileNotFoundError
from beamkeep.contexts.seams.data_places import DataPlaces
from beamkeep.kernel import replace
from beamkeep.runtime import Service
from beamkeep.testing.data_root import data_root
from beamkeep.testing.installation import FACTS
from beamkeep.testing.service import AdminClient, call, enrol, memory_service

pytestmark = pytest.mark.anyio

COMMANDS = ("ingest_scan", "register_distribution", "register_dataset", "get_dataset", "get_asset")
FRAMES = "entry/instrument/detector/data"


class Beamline(NamedTuple):
    """A service with two visitors, and a folder that belongs to each."""

    service: Service
    vera: Path
    otto: Path
    camera_id: str

    async def ingests(self, who: str, path: Path) -> Any:
        told = {"locator": path.as_uri(), "producing_asset_id": self.camera_id}
        return await call(self.service, "ingest_scan", told, subject=who)

    async def registers(self, who: str, address: str) -> Any:
        """Register a copy of a new dataset at an address."""
        dataset = new_dataset()
        made = await call(self.service, "register_dataset", dataset, subject=who)
        told = {
            "dataset_id": str(made.id),
            "uri": address,
            "checksum": dataset["checksum"],
            "byte_size": dataset["byte_size"],
            "access_protocol": "POSIX",
        }
        return await call(self.service, "register_distribution", told, subject=who)


@pytest.fixture
async def beamline() -> Beamline:
    night = data_root() / str(uuid4())
    owners: dict[str, frozenset[UUID]] = {}
    for who in ("vera", "otto"):
        (night / who).mkdir(parents=True)
        owners[str(night / who)] = frozenset()
    places = DataPlaces((str(data_root()),), owners)
    service, store = await memory_service(replace(FACTS, data_places=places))
    for who in ("vera", "otto"):
        owners[str(night / who)] = frozenset({await enrol(service, who, *COMMANDS, scope="Own")})
    camera_id = await a_camera(AdminClient(service, store))
    return Beamline(service, night / "vera", night / "otto", camera_id)


async def test_a_visitor_ingests_from_the_folder_of_the_visitor(beamline: Beamline):
    assert await beamline.ingests("vera", files.nxtomo(beamline.vera / "leaf.nx"))


async def test_a_visitor_cannot_ingest_what_belongs_to_another_or_to_nobody(beamline: Beamline):
    for folder in (beamline.otto, beamline.otto.parent):
        with pytest.raises(InvalidScanLocatorError, match="not in a directory that DATA_OWNERS"):
            await beamline.ingests("vera", files.nxtomo(folder / "fern.nx"))


async def test_the_answer_does_not_tell_whether_a_file_of_another_exists(beamline: Beamline):
    files.nxtomo(beamline.otto / "fern.nx")
    told = set[str]()
    for name in ("fern.nx", "none.nx"):
        with pytest.raises(InvalidScanLocatorError) as refused:
            await beamline.ingests("vera", beamline.otto / name)
        told.add(str(refused.value).replace(name, "…"))
    assert len(told) == 1


async def test_who_has_the_scope_all_ingests_from_every_folder(beamline: Beamline):
    folders = (beamline.vera, beamline.otto, beamline.otto.parent)
    writers = (files.nxtomo, files.two_entries, files.linked)
    for folder, write in zip(folders, writers, strict=True):
        assert await beamline.ingests("ada", write(folder / "scan.nx"))


async def test_no_link_claims_a_file_of_another(beamline: Beamline):
    theirs = files.nxtomo(beamline.otto / "fern.nx")
    (beamline.vera / "symbolic.nx").symlink_to(theirs)
    (beamline.vera / "relative.nx").symlink_to("../otto/fern.nx")
    (beamline.vera / "folder").symlink_to("../otto")
    os.link(theirs, beamline.vera / "hard.nx")
    for name in ("symbolic.nx", "relative.nx", "folder/fern.nx"):
        with pytest.raises(InvalidScanLocatorError, match="leads out"):
            await beamline.ingests("vera", beamline.vera / name)
    with pytest.raises(InvalidScanLocatorError, match="has more than one name"):
        await beamline.ingests("vera", beamline.vera / "hard.nx")


async def test_a_scan_cannot_claim_frames_of_another_as_its_own(beamline: Beamline):
    theirs = files.linked(beamline.otto / "fern.nx").with_name("fern-pco.h5")
    ways = ((str(theirs), ScanFileNotFoundError), ("../otto/fern-pco.h5", InvalidScanLocatorError))
    for name, refusal in ways:
        scan = files.linked(beamline.vera / "leaf.nx")
        (beamline.vera / "leaf-pco.h5").unlink()
        with h5py.File(scan, "a") as file:
            detector: Any = file["entry1/tomo_entry/instrument/detector"]
            del detector["data"]
            detector["data"] = h5py.ExternalLink(name, FRAMES)
        files.settle(scan)
        with pytest.raises(refusal):
            await beamline.ingests("vera", scan)


async def test_a_visitor_registers_copies_only_in_the_folder_of_the_visitor(beamline: Beamline):
    theirs = f"{beamline.otto}/fern.h5"
    for address in (
        f"file://{theirs}",
        f"file://localhost{theirs}",
        f"file://store.facility.example{theirs}",
        f"FILE:///./{theirs}".replace("otto", "%6ftto"),
        f"file://{beamline.otto.parent}/fern.h5",
    ):
        with pytest.raises(InvalidDistributionUriError, match="An administrator can add you"):
            await beamline.registers("vera", address)
        assert await beamline.registers("ada", f"{address}-{uuid4()}")
    assert await beamline.registers("vera", f"file://{beamline.vera}/leaf.h5")


async def test_what_the_deployment_does_not_read_belongs_to_nobody(beamline: Beamline):
    assert await beamline.registers("vera", f"file:///elsewhere/{uuid4()}.h5")
