"""Scans on a real service: hostile files do it no harm, and the same bytes are ingested once."""

import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import h5py
import httpx2
import pytest
from tests.unit.scans import files
from tests.unit.scans.test_hostile_files import CANARY, REFUSED, spoiled
from tests.unit.scans.test_layouts import scan

from beamkeep.testing.data_root import data_root
from beamkeep.testing.server import Server

pytestmark = pytest.mark.postgres

SLOW = {"bomb", "many_objects"}
"""Files that take seconds to write; the tests of the reader have them."""


@pytest.fixture(scope="module")
def http(server: Server) -> Any:
    headers = {"Authorization": f"Bearer {server.admin}"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=60) as client:
        yield client


def post(http: httpx2.Client, route: str, body: dict[str, Any]) -> Any:
    answer = http.post(route, json=body)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


@pytest.fixture(scope="module")
def camera_id(http: httpx2.Client) -> str:
    family = {"name": f"Camera {uuid4()}", "affordances": ["Capturing"]}
    family_id = post(http, "/families", family)["family_id"]
    unit = {"name": f"Unit {uuid4()}", "tier": "Unit", "facility_code": "synchrotron"}
    of = {"family_ids": [family_id]}
    above = post(http, "/assets", unit | of)["asset_id"]
    camera = {"name": f"Camera {uuid4()}", "tier": "Device", "parent_id": above}
    return post(http, "/assets", camera | of)["asset_id"]


def new_folder() -> Path:
    (made := data_root() / str(uuid4()) / "inside").mkdir(parents=True)
    return made


def ingest(http: httpx2.Client, path: Path, camera_id: str) -> httpx2.Response:
    body = {"locator": path.as_uri(), "producing_asset_id": camera_id}
    return http.post("/scans/ingest", json=body)


def test_hostile_files_are_refused_and_the_service_stays_up(
    server: Server, http: httpx2.Client, camera_id: str, tmp_path: Path
):
    canary = tmp_path / "canary.h5"
    with h5py.File(canary, "w") as file:
        file["numbers"], file["title"] = [0.0], CANARY
    for spoil, refusal, told in REFUSED:
        if spoil.__name__ in SLOW or spoil.__name__ == "climbing_frames":
            continue
        path = spoiled(new_folder(), spoil, canary, libver="latest")
        answer = ingest(http, path, camera_id)
        assert (answer.status_code, answer.json()["code"]) == (refusal.status, refusal.__name__)
        assert told in answer.text
        assert CANARY not in answer.text
    assert http.get("/ready").is_success
    assert server.process.poll() is None


def test_the_same_bytes_at_two_places_are_ingested_once_in_a_race(
    http: httpx2.Client, camera_id: str
):
    folder = new_folder()
    path = folder / "scan.nx"
    with h5py.File(path, "w") as file:
        scan(file).attrs["unique"] = str(uuid4())
    copies = [path, *(folder / f"copy{number}.nx" for number in range(3))]
    for each in copies[1:]:
        shutil.copy(path, each)
    files.settle(*copies)
    with ThreadPoolExecutor(len(copies)) as pool:
        answers = list(pool.map(partial(ingest, http, camera_id=camera_id), copies))
    codes = Counter(answer.json().get("code", "done") for answer in answers)
    assert codes == {"done": 1, "ScanAlreadyIngestedError": 3}
    (done,) = (answer.json() for answer in answers if answer.is_success)
    again = ingest(http, path, camera_id).json()
    assert again["dataset_id"] == done["dataset_id"], "which the refusal names"


def test_all_streams_of_a_scan_are_written_and_listed(http: httpx2.Client, camera_id: str):
    path = files.virtual(new_folder() / "scan.nx", count=3)
    with h5py.File(path, "a") as file:
        file.attrs["unique"] = str(uuid4())
    files.settle(path)
    answer = ingest(http, path, camera_id)
    assert answer.status_code == 201
    told = answer.json()
    dataset = http.get(f"/datasets/{told['dataset_id']}").json()
    assert (dataset["file_count"], dataset["of_parts"]) == (4, True)
    parts = http.get(f"/datasets/{told['dataset_id']}/parts").json()["items"]
    assert parts[0]["path"] == "scan.nx"
    copy = http.get(f"/distributions/{told['distribution_id']}").json()
    assert (copy["dataset_id"], copy["status"]) == (told["dataset_id"], "Registered")
    (acquisition_id,) = told["acquisition_ids"]
    recorded = http.get(f"/acquisitions/{acquisition_id}").json()
    assert recorded["evidence"]["part_count"] == 4
