"""The witness follows the log, and signs what it has followed."""

from hashlib import sha256

import psycopg
import pytest
from tests.postgres.witness.conftest import (
    ORIGIN,
    WRITE_ENTRY,
    WRITE_EVENT,
    WRITE_OBSERVATION,
    Following,
    without_rows,
)
from tests.support.examples import EXAMPLES

from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.parts.witness.keys import signing_key
from beamkeep.parts.witness.postgres import PAGE, TABLES
from beamkeep.parts.witness.signing import SIGN_EVERY, WitnessRefusedError
from beamkeep.parts.witness.trees.leaves import Leaf, Tree, TreeState
from beamkeep.parts.witness.trees.notes import read_note
from beamkeep.parts.witness.trees.tree import root_of
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

EVENT_FIELDS = """
SELECT transaction_id::text, position, stream_type, stream_id, version, event_id, event_type,
       schema_version, principal_id, surface_id, correlation_id, causation_id, command_name,
       (extract(epoch FROM occurred_at) * 1000000)::bigint,
       (extract(epoch FROM recorded_at) * 1000000)::bigint, payload::text
  FROM bk.events e ORDER BY e.transaction_id, e.position
"""


def hashed(leaf: str) -> bytes:
    return sha256(b"\0" + leaf.encode()).digest()


async def test_the_tree_of_events_is_the_one_that_python_makes_of_them(following: Following):
    following.database.ask(WRITE_EVENT, 300)
    following.database.ask(WRITE_EVENT, 300)
    await following.caught_up()
    fields = following.database.ask(EVENT_FIELDS)
    leaves = ["\n".join("-" if f is None else str(f) for f in row) for row in fields]
    signed = await following.last(Tree.EVENTS)
    assert signed.size == len(leaves) > 600
    assert signed.root == root_of([hashed(f"beamkeep/event/v1\n{leaf}") for leaf in leaves])
    assert read_note(signed.note).checkpoint.origin == f"{ORIGIN}/events-1"


async def test_a_transaction_that_is_open_while_the_witness_reads_is_in_the_tree_when_it_has_ended(
    following: Following,
):
    await following.caught_up()
    following.database.ask(WRITE_EVENT, 1)
    with psycopg.connect(following.database.url("postgres")) as writing:
        writing.execute(WRITE_EVENT.encode(), [1])
        following.database.ask(WRITE_EVENT, 1)
        while await following.turn():
            pass
    await following.caught_up()
    ((events,),) = following.database.ask("SELECT count(*) FROM bk.events")
    assert (await following.last(Tree.EVENTS)).size == events


async def test_a_witness_that_has_read_everything_pauses_though_it_read_something(
    following: Following,
):
    await following.caught_up()
    before = (await following.store.state(Tree.EVENTS)).frontier.size
    # A page ends with the transaction that fills it.
    for count in (PAGE, 1):
        following.database.ask(WRITE_EVENT, count)
    await following.settled()
    is_behind = [await following.witness.step(Tree.EVENTS) for _ in range(2)]
    assert is_behind == [True, False]
    assert (await following.store.state(Tree.EVENTS)).frontier.size == before + PAGE + 1


async def test_rows_of_one_transaction_and_table_are_one_leaf(following: Following):
    await following.caught_up()
    before = (await following.store.state(Tree.ROWS)).frontier.size
    following.database.ask(WRITE_OBSERVATION, 500)
    following.database.ask(WRITE_ENTRY, 3)
    await following.caught_up()
    assert (await following.last(Tree.ROWS)).size == before + 2


async def test_the_leaf_of_rows_has_the_hash_of_each_row_in_the_order_of_its_key(
    following: Following,
):
    without_rows(following)
    following.database.ask(WRITE_ENTRY, 2)
    await following.caught_up()
    rows = following.database.ask(
        """SELECT transaction_id, format('{"kind": "%s", "text": "%s", "run_id": "%s",'
                  ' "entry_id": "%s", "author_id": "%s", "recorded_at": "%s"}', kind, text, run_id,
                  entry_id, author_id, (extract(epoch FROM recorded_at) * 1000000)::bigint)
             FROM bk.run_logbook_entry ORDER BY entry_id"""
    )
    hashes = [sha256(str(text).encode()).hexdigest() for _, text in rows]
    leaf = f"beamkeep/rows/v1\nrun_logbook_entry\n{rows[0][0]}\n2\n" + "\n".join(hashes)
    assert (await following.last(Tree.ROWS)).root == root_of([hashed(leaf)])


async def test_a_page_has_few_leaves_and_whole_transactions(following: Following):
    for number in (4_000, 4_000, 7_000, 3):
        following.database.ask(WRITE_EVENT, number)
    pages = [page async for _, page, _ in following.store.pages(Tree.EVENTS, 0) if page]
    beside = [page async for _, page, _ in following.store.pages(Tree.EVENTS, 0, ahead=3) if page]
    assert [len(page) for page in pages[-2:]] == [7_000, 3]
    assert max(len(page) for page in pages[:-2]) < 9_000
    assert [leaf for page in beside for leaf in page] == [leaf for page in pages for leaf in page]
    assert len({leaf.tx for page in pages for leaf in page}) == sum(
        len({leaf.tx for leaf in page}) for page in pages
    )


async def test_rows_from_before_the_witness_are_one_leaf_of_their_table(following: Following):
    without_rows(following)
    following.database.ask(WRITE_ENTRY, 3)
    following.database.ask("UPDATE bk.run_logbook_entry SET transaction_id = 1")
    following.database.ask(WRITE_ENTRY, 1)
    await following.caught_up()
    assert (await following.last(Tree.ROWS)).size == 2


async def test_a_new_column_without_values_changes_no_leaf(following: Following):
    following.database.ask(WRITE_ENTRY, 1)
    await following.caught_up()
    first = await row_leaves(following)
    following.database.ask("ALTER TABLE bk.run_logbook_entry ADD COLUMN mood text")
    again = Following(following.database, following.key_file)
    assert await row_leaves(again) == first != []
    await again.close()


async def test_nothing_new_is_not_signed_again(following: Following):
    following.database.ask(WRITE_EVENT, 1)
    await following.caught_up()
    signed = await following.store.checkpoints(Tree.EVENTS)
    await following.caught_up()
    assert await following.store.checkpoints(Tree.EVENTS) == signed != []


async def test_a_log_that_was_taken_back_is_not_signed(following: Following):
    following.database.ask(WRITE_EVENT, 5)
    await following.caught_up()
    forget_the_end(following)
    with pytest.raises(WitnessRefusedError, match="ends at size"):
        await following.caught_up()


async def test_a_log_that_was_taken_back_and_went_another_way_is_never_signed(
    following: Following,
):
    following.database.ask(WRITE_EVENT, 5)
    await following.caught_up()
    signed = await following.last(Tree.EVENTS)
    forget_the_end(following)
    following.database.ask(WRITE_EVENT, 9)
    with pytest.raises(WitnessRefusedError, match="do not have the root that was signed"):
        await following.caught_up()
    assert [each.root for each in await following.store.checkpoints(Tree.EVENTS)] != [signed.root]


async def test_a_log_that_is_taken_back_between_two_reads_is_not_signed(
    following: Following, monkeypatch: pytest.MonkeyPatch
):
    following.database.ask(WRITE_EVENT, 5)
    await following.caught_up()
    memory, state = signing_key(following.key_file).memory, following.store.state
    signed = memory.last(Tree.EVENTS)

    async def state_before(tree: Tree) -> TreeState:
        found = await state(tree)
        monkeypatch.setattr(following.store, "state", state)
        forget_the_end(following)
        following.database.ask(WRITE_EVENT, 9)
        await following.settled()
        return found

    monkeypatch.setattr(following.store, "state", state_before)
    following.clock.moved += 2 * SIGN_EVERY
    await following.witness.step(Tree.EVENTS)
    assert memory.last(Tree.EVENTS) == signed


async def test_no_event_of_any_operation_is_written_under_a_savepoint(following: Following):
    # The cheap look of `beamkeep check` would take such an event for one that was changed by hand.
    async with postgres_service(following.database) as deployed:
        do = AdminClient(deployed.service, deployed.store)
        for name, example in EXAMPLES.items():
            if name.startswith(("define_", "register_", "append_")):
                await deployed.projector.catch_up((WHOLE_LOG,))
                await do(name, await example(do))
    assert await following.store.rewritten() == []
    following.database.ask(
        f"""DO $$ BEGIN
              BEGIN {WRITE_EVENT % 1}; EXCEPTION WHEN unique_violation THEN NULL; END;
            END $$"""
    )
    assert len(await following.store.rewritten()) == 1


async def test_the_tables_in_the_tree_are_those_whose_rows_are_only_inserted(following: Following):
    tables = await following.connections.read(TABLES)
    assert [table for table, _, _ in tables] == [
        "authorization_denials",
        "dataset_part",
        "decided_evidence",
        "decision_inference",
        "decision_logbook_entry",
        "evidence",
        "federation_envelope",
        "federation_exchanges",
        "federation_peer_pointer",
        "logbook_mirror",
        "procedure_activity",
        "procedure_steps",
        "profile_digest",
        "redactions",
        "refused_start",
        "run_logbook_entry",
        "run_observation",
    ]


async def row_leaves(following: Following) -> list[Leaf]:
    return [leaf async for _, page, _ in following.store.pages(Tree.ROWS, 0) for leaf in page]


def forget_the_end(following: Following) -> None:
    """Take the database back to before its last five events."""
    following.database.ask("ALTER TABLE bk.events DISABLE TRIGGER ALL")
    following.database.ask("DELETE FROM bk.witness_checkpoint")
    following.database.ask("DELETE FROM bk.witness_tree")
    following.database.ask(
        """DELETE FROM bk.events WHERE position IN
             (SELECT position FROM bk.events ORDER BY position DESC LIMIT 5)"""
    )
