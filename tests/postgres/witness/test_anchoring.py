"""After a restore, the operator says what happened, and the witness goes on."""

from base64 import b64encode
from pathlib import Path

import pytest
from tests.postgres.witness.conftest import (
    NAME,
    WRITE_ENTRY,
    WRITE_EVENT,
    Following,
    dumped,
    without_rows,
)
from tests.postgres.witness.test_following import forget_the_end

from beamkeep.contexts.seams.witnessed import GetEventProof
from beamkeep.parts.witness.keys import make_key
from beamkeep.parts.witness.proving import verify_record
from beamkeep.parts.witness.receivers import FileReceiver
from beamkeep.parts.witness.signing import SIGN_EVERY, WitnessRefusedError
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.trees.notes import read_note, read_notes
from beamkeep.parts.witness.trees.tree import leaf_hash
from beamkeep.testing.database import Database

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]


async def faults(
    following: Following, notes: str, database: Database | None = None, accepted: str = ""
) -> list[str]:
    url, known = (database or following.database).url("bk_reader"), accepted.split()
    told = verify_record(url, notes, following.verifier_key, lambda _: None, known)
    return [line async for is_fault, line in told if is_fault]


async def notes_of(following: Following) -> str:
    """All checkpoints, as they were sent away."""
    return "".join([each.note for tree in Tree for each in await following.store.checkpoints(tree)])


def begin_another_tree(following: Following, leaf: str) -> None:
    """What the owner does to have another record signed: raise the number, insert an anchor."""
    first = leaf_hash(leaf.encode())
    following.database.ask(
        """UPDATE bk.witness_tree SET number = number + 1, size = 1, tx = 0, frontier = %s
            WHERE tree = 'events'""",
        first,
    )
    following.database.ask(
        """INSERT INTO bk.witness_anchor (tree, number, floor, reason, leaf)
           SELECT 'events', number, 10^12, split_part(%s, E'\n', 2), %s FROM bk.witness_tree
            WHERE tree = 'events'""",
        leaf,
        leaf,
    )


def alter_an_event(following: Following) -> None:
    following.database.ask("ALTER TABLE bk.events DISABLE TRIGGER ALL")
    following.database.ask(
        """UPDATE bk.events SET payload = '{"name":"Forged"}' WHERE position = (
             SELECT min(position) FROM bk.events WHERE event_type = 'ZoneDefined')"""
    )


@pytest.mark.parametrize(
    "forged",
    [
        "anything",
        "beamkeep/anchor/v1\nRestored\n1\n{origin}\n{size}\nAAAA{rest}",
        "beamkeep/anchor/v1\nRestored\n1\n{origin}\n1\n{root}",
        "beamkeep/anchor/v1\nRestored\n1\nelsewhere/events-1\n{size}\n{root}",
    ],
)
async def test_another_tree_is_not_signed_unless_its_anchor_names_what_was_signed_last(
    following: Following, forged: str
):
    following.database.ask(WRITE_EVENT, 5)
    await following.caught_up()
    origin, size, root = read_note((await following.last(Tree.EVENTS)).note).checkpoint
    text = b64encode(root).decode()
    alter_an_event(following)
    begin_another_tree(following, forged.format(origin=origin, size=size, root=text, rest=text[4:]))
    with pytest.raises(WitnessRefusedError, match="its anchor does not name the last checkpoint"):
        await following.caught_up()
    assert {each.number for each in await following.store.checkpoints(Tree.EVENTS)} == {1}


async def test_an_anchor_that_is_not_the_first_leaf_of_its_tree_lets_nothing_be_signed(
    following: Following,
):
    following.database.ask(WRITE_EVENT, 5)
    await following.caught_up()
    last = read_note((await following.last(Tree.EVENTS)).note).checkpoint
    named = f"beamkeep/anchor/v1\nRestored\n1\n{last.text}".rstrip("\n")
    begin_another_tree(following, named)
    other = leaf_hash(b"another leaf")
    following.database.ask("UPDATE bk.witness_tree SET frontier = %s WHERE size = 1", other)
    with pytest.raises(WitnessRefusedError, match="its first 1 leaves do not have the root"):
        await following.caught_up()


async def test_a_forged_anchor_is_a_finding_and_old_checkpoints_still_show_the_alteration(
    following: Following,
):
    for number in (3, 4):
        following.database.ask(WRITE_EVENT, number)
        await following.caught_up()
    before = await notes_of(following)
    last = read_note((await following.last(Tree.EVENTS)).note).checkpoint
    alter_an_event(following)
    lines = ["beamkeep/anchor/v2", "Restored to noon", "1", *last.text.split(), str(last.size - 1)]
    begin_another_tree(following, "\n".join(lines))
    # The witness cannot tell this from a restore. Whoever verifies can.
    await following.caught_up()
    assert (await following.last(Tree.EVENTS)).number == 2
    for notes in (before, await notes_of(following)):
        told = await faults(following, notes)
        assert "Restored to noon. If you know of it, add --accept events-2." in str(told)
        accepted = await faults(following, notes, accepted="events-2")
        assert len(accepted) == 1
        assert "which the restored log had, and the log has another root there" in accepted[0]


async def test_checkpoints_after_the_one_that_an_anchor_names_are_a_fault(following: Following):
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    last = read_note((await following.last(Tree.EVENTS)).note).checkpoint
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    notes = await notes_of(following)
    begin_another_tree(following, f"beamkeep/anchor/v1\nRestored\n1\n{last.text}".rstrip("\n"))
    told = await faults(following, notes, accepted="events-2")
    assert f"was signed after size {last.size}, which the anchor says was the last" in str(told)


async def test_a_tree_without_its_anchor_and_a_floor_that_was_raised_are_findings(
    following: Following,
):
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    notes = await notes_of(following)
    said = """INSERT INTO bk.witness_anchor (tree, number, floor, reason)
              VALUES ('events', 1, 99, 'Moved')"""
    following.database.ask(said)
    (told,) = await faults(following, notes)
    assert "up to transaction 99 was restored at" in told
    assert told.endswith("Moved. If you know of it, add --accept events-1-from-99.")
    assert await faults(following, notes, accepted="events-1-from-99") == []
    following.database.ask("UPDATE bk.witness_tree SET number = 2 WHERE tree = 'events'")
    told = await faults(following, notes, accepted="events-1-from-99")
    assert "events: Number 2 has no anchor that says why it began." in told


@pytest.mark.parametrize("given", ["", "\n", " \n\n"])
async def test_an_empty_file_of_checkpoints_or_of_keys_is_a_fault(following: Following, given: str):
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    (told,) = await faults(following, given)
    assert told == "The file of checkpoints is empty: nothing is compared with it."
    url, notes = following.database.url("bk_reader"), await notes_of(following)
    told = [line async for wrong, line in verify_record(url, notes, given, lambda _: None) if wrong]
    assert told[0] == "The file of keys is empty: no checkpoint proves anything."


async def test_a_host_that_another_one_relieved_continues_after_its_own_anchor(
    following: Following, tmp_path: Path
):
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    make_key(NAME, tmp_path / "other")
    other = Following(following.database, tmp_path / "other")
    following.database.ask(WRITE_EVENT, 5)
    other.clock.moved = 4 * SIGN_EVERY
    await other.caught_up()
    forget_the_end(following)
    assert await other.anchor("Restored") == "The tree of events begins again as number 2."
    await other.caught_up()
    await other.close()
    following.clock.moved = 20 * SIGN_EVERY
    following.database.ask(WRITE_EVENT, 1)
    with pytest.raises(WitnessRefusedError, match="its anchor does not name the last checkpoint"):
        await following.caught_up()
    assert await following.anchor("Back") == "The tree of events begins again as number 3."
    await following.caught_up()
    assert (await following.last(Tree.EVENTS)).number == 3


async def test_a_log_that_lost_nothing_continues(following: Following):
    following.database.ask(WRITE_EVENT, 3)
    await following.caught_up()
    before = await following.last(Tree.EVENTS)
    said = await following.anchor("Moved to another cluster")
    assert said == (
        f"The tree of events is the one that was signed, up to size {before.size}. It continues."
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
    assert leaf.split("\n")[:2] == ["beamkeep/anchor/v2", "Restored to noon"]
    assert leaf.endswith(f"{checkpoint.text}{before.size - 5}")
    rows = (await following.last(Tree.ROWS)).note
    (finding,) = await faults(following, before.note + after.note + rows)
    assert f"events-2 replaced {checkpoint.origin} at size {before.size} at " in finding
    assert f"when the log had {before.size - 5} leaves: Restored to noon." in finding
    assert await faults(following, before.note + after.note + rows, accepted="events-2") == []
    told = verify_record(
        following.database.url("bk_reader"),
        before.note + after.note,
        following.verifier_key,
        lambda _: None,
    )
    replaced = f"{checkpoint.origin} was replaced. The log agrees with it below size"
    assert any(line.startswith(replaced) for _, line in [found async for found in told])
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
    assert len(leaf.split("\n")) == 8
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
    assert "It continues." in await restored.anchor("Dump")
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
    without_rows(following)
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
