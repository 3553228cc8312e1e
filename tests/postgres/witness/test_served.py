"""A running service signs checkpoints, sends them away, and lists its keys for everybody."""

import time

import httpx2
import pytest

from beamkeep.parts.witness.trees.notes import read_key, read_note, read_notes
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import running_server
from beamkeep.testing.witness import NAME

pytestmark = pytest.mark.postgres

DEADLINE = 120.0


def test_a_service_with_a_key_signs_and_lists_its_keys(cluster: Cluster):
    with (
        running_server(cluster, "witnessed") as server,
        httpx2.Client(base_url=server.url) as http,
    ):
        away = server.folder / "checkpoints"
        until = time.monotonic() + DEADLINE
        while not (away.exists() and away.read_text()) and time.monotonic() < until:
            http.get("/health")
        listed = http.get("/.well-known/beamkeep-checkpoint-keys").json()["keys"]
        keys = [read_key(each["key"]) for each in listed]
        assert {key.name for key in keys} == {NAME}
        note = read_note(read_notes(away.read_text())[0])
        assert note.signed_by(keys)
        assert note.checkpoint.origin == "127.0.0.1/synchrotron/events-1"
        assert http.post("/witness/add-checkpoint", content=b"old 0").status_code == 404
