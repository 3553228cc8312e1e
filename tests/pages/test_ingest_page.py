"""The page about ingesting scans does what it says, on files as a beamline writes them."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import h5py
import pytest
from tests.pages.test_role_pages import follow, login, page
from tests.unit.scans import files

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.data_root import data_root
from beamkeep.testing.server import running_server
from beamkeep_client.synchronous.http import HttpClient


def other_scan(path: Path) -> None:
    """Write a scan that no other file of the page has."""
    files.two_entries(path)
    with h5py.File(path, "a") as file:
        entry: Any = file["entry1"]
        del entry["title"]
        entry["title"] = "Moss"
    files.settle(path)


def equip(http: HttpClient) -> None:
    """Register the camera and the disk of the page."""

    def post(route: str, body: dict[str, str | list[str]]) -> dict[str, str]:
        answer = http.request("POST", route, json=body)
        return answer.json() if answer.content else {}

    cameras = post("/families", {"name": "Camera", "affordances": ["Capturing"]})
    unit = {"name": "Beamline 3", "tier": "Unit", "facility_code": "synchrotron"}
    of = {"family_ids": [cameras["family_id"]]}
    above = post("/assets", unit | of)["asset_id"]
    camera = {"name": "Camera 1", "tier": "Device", "parent_id": above}
    post("/assets", camera | of)
    post("/supplies", {"kind": "storage", "name": "nvme1", "facility_code": "synchrotron"})


@pytest.mark.postgres
def test_the_page_on_scans_does_what_it_says(cluster: Cluster):
    folder = data_root() / str(uuid4())
    (night := folder / "night").mkdir(parents=True)
    (spare := folder / "spare").mkdir()
    files.nxtomo(night / "leaf.nx")
    files.two_entries(night / "fern.nx")
    other_scan(spare / "moss.nx")
    (broken := night / "broken.nx").write_bytes(b"not HDF5")
    files.settle(broken)
    with running_server(cluster) as server:
        http = HttpClient(server.url, server.admin)
        equip(http)
        http.close()
        follow(page("ingest-scans"), folder, login(server))
