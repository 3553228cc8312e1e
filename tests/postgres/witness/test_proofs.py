"""The proof of an event convinces somebody who has nothing but a public key."""

import json
import re
import subprocess
import sys
from base64 import b64decode, b64encode
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.postgres.witness.conftest import ORIGIN, WRITE_EVENT, Following
from tests.support.examples import EXAMPLES

from beamkeep.adapters.postgres.event_log import PostgresEventLog
from beamkeep.contexts.seams.witnessed import (
    EventDiffersError,
    EventNotFoundError,
    EventNotWitnessedError,
    GetEventProof,
    ListCheckpoints,
    WitnessedTree,
)
from beamkeep.feed.log import LogQuery
from beamkeep.parts.witness.memory import SIGNER, leaf_of
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.trees.notes import Form, NoteSigner, read_note
from beamkeep.parts.witness.trees.tree import leaf_hash, root_by_inclusion
from beamkeep.testing.service import AdminClient, memory_service

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "prove-an-event.md"


@pytest.fixture
def checker(tmp_path: Path) -> Path:
    """The auditor's program, as the page shows it."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(program.splitlines()) <= 60
    assert "beamkeep" not in {
        line.split()[1] for line in re.findall(r"(?m)^(?:from|import) .*", program)
    }
    (tmp_path / "check_proof.py").write_text(program)
    return tmp_path / "check_proof.py"


def run(checker: Path, proof: dict[str, Any], *keys: str) -> subprocess.CompletedProcess[str]:
    (given := checker.parent / "proof.json").write_text(json.dumps(proof))
    command = [sys.executable, "-I", str(checker), str(given), *keys]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def events(following: Following) -> list[tuple[Any, ...]]:
    return following.database.ask(
        "SELECT stream_type, stream_id, version FROM bk.events ORDER BY transaction_id, position"
    )


@pytest.mark.postgres
async def test_every_event_up_to_the_last_checkpoint_is_proved(following: Following):
    for number in (250, 1, 290):
        following.database.ask(WRITE_EVENT, number)
        await following.caught_up()
    following.database.ask(WRITE_EVENT, 1)
    # Followed, and not signed yet: the last checkpoint is young.
    following.clock.moved = timedelta()
    await following.turn()
    reader = following.reader
    *proved, newest = events(following)
    signed = await following.last(Tree.EVENTS)
    for index, key in [*[*enumerate(proved)][::37], (len(proved) - 1, proved[-1])]:
        found = await reader.proof(_query(key))
        assert (found.leaf_index, found.tree_size) == (index, signed.size)
        path = [b64decode(each) for each in found.proof]
        root = root_by_inclusion(leaf_hash(found.leaf.encode()), index, signed.size, path)
        assert root == signed.root
    with pytest.raises(EventNotWitnessedError):
        await reader.proof(_query(newest))
    with pytest.raises(EventNotFoundError):
        await reader.proof(_query((*newest[:2], 9)))


def _query(key: tuple[Any, ...]) -> GetEventProof:
    return GetEventProof(stream_type=key[0], stream_id=key[1], version=key[2])


@pytest.mark.postgres
async def test_an_event_that_was_altered_has_no_proof(following: Following):
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    following.database.ask("ALTER TABLE bk.events DISABLE TRIGGER ALL")
    following.database.ask(
        "UPDATE bk.events SET command_name = 'x' WHERE event_type = 'ZoneDefined'"
    )
    reader = following.reader
    with pytest.raises(EventDiffersError):
        await reader.proof(_query(events(following)[-1]))


@pytest.mark.postgres
async def test_the_leaf_in_the_database_is_that_of_the_twin_in_memory(following: Following):
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    log = await PostgresEventLog(following.reading).page(LogQuery(limit=500))
    for it in log.events[::9]:
        found = await following.reader.proof(_query((it.stream_type, it.stream_id, it.version)))
        assert found.leaf == leaf_of(it)


@pytest.mark.postgres
async def test_an_outsider_checks_a_proof_a_checkpoint_and_a_co_signature(
    following: Following, checker: Path
):
    following.database.ask(WRITE_EVENT, 600)
    await following.caught_up()
    signed, peer = await following.last(Tree.EVENTS), NoteSigner("south/witness", _key())
    line = read_note(signed.note).checkpoint.cosigned(peer, 1_900_000_000)
    await following.store.cosigned(signed, [line])
    reader = following.reader
    found = await reader.proof(_query(events(following)[411]))
    proof = {name: getattr(found, name) for name in found.__struct_fields__}
    proof["stream_id"] = str(found.stream_id)
    keys = following.verifier_key, peer.key(Form.COSIGNATURE).text
    checked = run(checker, proof, *keys)
    assert checked.returncode == 0, checked.stderr
    assert "signed by south/witness 1900000000\n" in checked.stdout
    assert (
        f"leaf 411 of {ORIGIN}/events-1, {signed.size} leaves:\nbeamkeep/event/v1\n"
        in checked.stdout
    )
    for spoiled in (
        {"leaf": proof["leaf"] + " "},
        {"leaf_index": 410},
        {"proof": proof["proof"][:-1]},
        {"checkpoint": proof["checkpoint"].replace(f"\n{signed.size}\n", f"\n{signed.size + 1}\n")},
    ):
        assert run(checker, proof | spoiled, *keys).returncode == 1, spoiled
    assert run(checker, proof, NoteSigner("south/witness", _key(b"q")).key().text).returncode == 1


def _key(letter: bytes = b"p") -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(letter * 32)


@pytest.mark.postgres
async def test_checkpoints_are_listed_newest_first_page_by_page(following: Following):
    for _ in range(3):
        following.database.ask(WRITE_EVENT, 1)
        await following.caught_up()
    reader = following.reader
    found = await reader.checkpoints(ListCheckpoints(limit=2))
    assert len(found) == 3
    listed = await reader.checkpoints(ListCheckpoints())
    sizes, times = [each.size for each in listed], [each.signed_at for each in listed]
    assert times == sorted(times, reverse=True)
    assert sizes[:3] == [each.size for each in found]
    rest = await reader.checkpoints(ListCheckpoints(cursor=found[1].checkpoint_id))
    assert [each.size for each in rest] == sizes[2:]
    # The seeded actors have profiles.
    (rows,) = await reader.checkpoints(ListCheckpoints(tree=WitnessedTree.ROWS))
    events = await reader.checkpoints(ListCheckpoints(tree=WitnessedTree.EVENTS))
    assert sorted([rows, *events], key=lambda each: each.signed_at, reverse=True) == listed
    later = found[0].signed_at
    assert [c.size for c in await reader.checkpoints(ListCheckpoints(since=later))] == sizes[:1]
    assert b64encode((await following.last(Tree.EVENTS)).root).decode() == found[0].root


async def test_the_twin_in_memory_proves_its_events_too(checker: Path):
    service, store = await memory_service()
    do = AdminClient(service, store)
    found = await do("get_event_proof", await EXAMPLES["get_event_proof"](do))
    checked = run(checker, found, SIGNER.key().text)
    assert checked.returncode == 0, checked.stderr
