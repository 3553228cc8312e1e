"""After a restore, the operator says what happened, and the witness goes on."""

from pathlib import Path

import pytest

from beamkeep.adapters.receivers import FileReceiver
from beamkeep.contexts.witnessed import GetEventProof
from beamkeep.proving import verify_record
from beamkeep.testing.database import Database
from beamkeep.witness.leaves import Tree
from beamkeep.witness.notes import read_note, read_notes
from beamkeep.witnessing import SIGN_EVERY, WitnessRefusedError
from tests.witness.conftest import WRITE_ENTRY, WRITE_EVENT, Following, dumped
from tests.witness.test_following import forget_the_end

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]


async def faults(following: Following, notes: str, database: Database | None = None) -> list[str]:
    url = (database or following.database).url("bk_reader")
    told = verify_record(url, notes, following.verifier_key, lambda _: None)
    return [line async for is_fault, line in told if is_fault]


async def test_a_log_that_lost_nothing_goes_on(following: Following):
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    before = await following.last(Tree.EVENTS)
    said = await following.anchor("Moved to another cluster")
    assert said == (
        f"The tree of events is the one that was signed, up to size {before.size}. It goes on."
    )
    following.database.ask(WRITE_EVENT, 1)
    await following.caught_up()
    after = await following.last(Tree.EVENTS)
    assert (after.number, after.size) == (1, before.size + 1)


async def test_a_log_that_is_shorter_begins_a_new_tree_that_names_the_last_note(
    following: Following,
):
    following.database.ask(WRITE_EVENT, 5)
    await following.caught_up()
    before = await following.last(Tree.EVENTS)
    forget_the_end(following)
    said = await following.anchor("Restored to noon")
    assert said == "The tree of events begins again as number 2."
    following.database.ask(WRITE_EVENT, 300)
    await following.caught_up()
    after = await following.last(Tree.EVENTS)
    assert (after.number, after.size) == (2, before.size - 5 + 300 + 1)
    leaf = await following.store.anchored(Tree.EVENTS, 2)
    checkpoint = read_note(before.note).checkpoint
    assert leaf is not None
    assert leaf.split("\n")[:2] == ["beamkeep/anchor/v1", "Restored to noon"]
    assert leaf.endswith(checkpoint.text.rstrip("\n"))
    assert await faults(following, before.note + after.note) == []
    told = verify_record(
        following.database.url("bk_reader"),
        before.note + after.note,
        following.verifier_key,
        lambda _: None,
    )
    replaced = f"{checkpoint.origin} was replaced by events-2, and is not computed again."
    assert (False, replaced) in [found async for found in told]
    for row in following.database.ask("SELECT stream_type, stream_id, version FROM bk.events"):
        kind, id, version = row
        query = GetEventProof.model_validate(
            {"stream_type": kind, "stream_id": id, "version": version}
        )
        assert (await following.reader.proof(query)).tree_size == after.size


async def test_a_log_that_differs_is_accepted_only_expressly(following: Following):
    following.database.ask(WRITE_EVENT, 5)
    await following.caught_up()
    forget_the_end(following)
    following.database.ask(WRITE_EVENT, 9)
    with pytest.raises(WitnessRefusedError, match="use --diverged"):
        await following.anchor("Restored to noon")
    said = await following.anchor("Found out why", is_diverged=True)
    assert said == "The tree of events begins again as number 2."
    leaf = await following.store.anchored(Tree.EVENTS, 2)
    assert leaf is not None
    assert len(leaf.split("\n")) == 7
    await following.caught_up()
    assert (await following.last(Tree.EVENTS)).number == 2


async def test_a_dump_into_another_database_has_the_same_leaves(following: Following):
    following.database.ask(WRITE_EVENT, 5)
    following.database.ask(WRITE_ENTRY, 5)
    await following.caught_up()
    notes = "".join([(await following.last(tree)).note for tree in Tree])
    copy = dumped(following.database)
    assert await faults(following, notes, copy) == []
    restored = Following(copy, following.key_file)
    assert await restored.store.rewritten() != []
    assert "It goes on." in await restored.anchor("Dump")
    assert await restored.store.rewritten() == []
    await restored.close()


async def test_a_change_by_hand_shows_at_once_and_a_vacuum_does_not(following: Following):
    following.database.ask(WRITE_EVENT, 9)
    following.database.ask("VACUUM (FULL, FREEZE) bk.events")
    assert await following.store.rewritten() == []
    following.database.ask("ALTER TABLE bk.events DISABLE TRIGGER ALL")
    ((id,),) = following.database.ask("SELECT stream_id FROM bk.events ORDER BY position LIMIT 1")
    following.database.ask("UPDATE bk.events SET payload = payload WHERE stream_id = %s", id)
    assert any(str(id) in name for name in await following.store.rewritten())


async def test_checkpoints_are_sent_in_order_and_again_after_a_failure(
    following: Following, tmp_path: Path
):
    away = tmp_path / "away" / "checkpoints"
    following.receivers = [FileReceiver(away)]
    for _ in range(2):
        following.database.ask(WRITE_EVENT, 1)
        with pytest.raises(Exception, match="was not written to"):
            await following.caught_up()
        following.clock.moved += 2 * SIGN_EVERY
        with pytest.raises(Exception, match="was not written to"):
            await following.turn()
    away.parent.mkdir()
    await following.turn()
    stored = [each.note for each in await following.store.checkpoints(Tree.EVENTS)]
    assert read_notes(away.read_text()) == stored
    assert len(stored) > 1
    await following.turn()
    assert read_notes(away.read_text()) == stored
