"""Two deployments: the south co-signs the log of the north, and nothing that contradicts it."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest

from beamkeep.parts.witness.keys import make_key
from beamkeep.parts.witness.trees.notes import Checkpoint, Form, NoteSigner, read_key, read_note
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import running_server
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.postgres

ORIGIN = "127.0.0.1/north-ring/events-1"
NOTED = "SELECT c.size, c.note || s.line FROM bk.witness_cosignature s JOIN bk.witness_checkpoint c"


def test_one_service_co_signs_the_log_of_another(cluster: Cluster, tmp_path: Path):
    north = make_key("north.example.org/witness", tmp_path / "north")
    stranger = make_key("north.example.org/witness", tmp_path / "stranger")
    origins = {ORIGIN: [north.key().text], "127.0.0.1/north-ring/rows-1": [north.key().text]}
    with running_server(cluster, "witnessed", witness_origins=json.dumps(origins)) as south:
        add = f"{south.url}/witness/add-checkpoint"
        with running_server(
            cluster,
            "witnessed",
            self_facility_code="north-ring",
            witness_key_file=str(tmp_path / "north"),
            witness_send_url=add,
        ) as server:

            def cosigned() -> list[tuple[object, ...]]:
                return server.database.ask(
                    f"{NOTED} USING (tree, number, size) WHERE tree = 'events' ORDER BY size"
                )

            rows = asyncio.run(until(cosigned, "a co-signature"))
        size, text = rows[-1]
        assert isinstance(size, int)
        listed = httpx2.get(f"{south.url}/.well-known/beamkeep-checkpoint-keys").json()["keys"]
        keys = [read_key(each["key"]) for each in listed]
        (key,) = [key for key in keys if key.form is Form.COSIGNATURE]
        note = read_note(str(text))
        assert note.checkpoint.origin == ORIGIN
        assert note.signed_by([north.key(), key]) == [north.key(), key]

        def asked(old: int, size: int, signer: NoteSigner = north, origin: str = ORIGIN) -> int:
            other = Checkpoint(origin, size, bytes(32)).signed([signer])
            answer = httpx2.post(add, content=f"old {old}\n\n{other}".encode())
            if answer.status_code == 409:
                assert answer.headers["content-type"] == "text/x.tlog.size"
                assert answer.text == f"{size_seen}\n"
            return answer.status_code

        size_seen = size
        assert asked(size, size + 5, origin="127.0.0.1/elsewhere/events-1") == 404
        assert asked(size, size + 5, signer=stranger) == 403
        assert asked(size - 1, size + 5) == 409
        assert asked(size, size) == 409
        assert asked(size, size + 5) == 422
        assert asked(size + 6, size + 5) == 400
        assert httpx2.post(add, content=b"nonsense").status_code == 400
