"""What proves the record: verification against checkpoints, anchors after a restore, checks."""

import json
import os
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.cosigning import PostgresCosigning
from beamkeep.adapters.postgres.ledger import ledger
from beamkeep.adapters.postgres.witness import READING
from beamkeep.adapters.postgres.witness_proving import PostgresProving
from beamkeep.adapters.signing import SignedTree, SigningKey
from beamkeep.auditing import SEAM, differences
from beamkeep.seeding import now
from beamkeep.settings import Settings
from beamkeep.witness.leaves import StoredCheckpoint, Tree
from beamkeep.witness.notes import Note, VerifierKey, read_key, read_notes
from beamkeep.witness.tree import Frontier
from beamkeep.witness.verifying import KeptTree, signed_notes, verify
from beamkeep.witnessing import WitnessRefusedError

LATE = timedelta(minutes=5)
# The database computes this many pages of leaves at the same time.
CORES = os.cpu_count() or 1
WEAK = (
    "The checkpoints are those in the database itself, which its owner can change."
    " Give --checkpoints and --keys from outside."
)


@asynccontextmanager
async def _witness_store(url: str, most: int = 2) -> AsyncGenerator[PostgresProving]:
    connections = Connections(url, most, **READING)
    try:
        yield PostgresProving(connections)
    finally:
        await connections.close()


async def verify_record(
    url: str, checkpoints: str | None, keys: str | None, progress: Callable[[int], None]
) -> AsyncGenerator[tuple[bool, str]]:
    """Yield what was found: whether it is a fault, and a sentence."""
    async with _witness_store(url, 2 * CORES) as store:
        listed = await PostgresCosigning(store.connections).keys()
        known = keys or "\n".join(each.key for each in listed if each.revoked_at is None)
        if checkpoints is None or keys is None:
            yield False, WEAK
        stored = {tree: await store.checkpoints(tree) for tree in Tree}
        kept = [each.note for tree in Tree for each in stored[tree]]
        texts = read_notes(checkpoints) if checkpoints else kept
        notes, faults = signed_notes(texts, verifier_keys(known))
        for fault in faults:
            yield True, fault
        for tree in Tree:
            async for found in _verify_tree(store, tree, notes, stored[tree], progress):
                yield found
        for told in await store.redactions():
            yield False, told
    async with ledger(url) as rows:
        async for difference in differences(rows, SEAM):
            yield True, difference


async def _verify_tree(
    store: PostgresProving,
    tree: Tree,
    notes: Mapping[str, Sequence[Note]],
    stored: Sequence[StoredCheckpoint],
    progress: Callable[[int], None],
) -> AsyncGenerator[tuple[bool, str]]:
    state = await store.state(tree)
    number = state.number
    newest = max((_number(origin, tree) for origin in notes), default=0)
    if newest > number:
        yield True, f"{tree}: The database has no tree {newest}, of which there is a checkpoint."
    for origin in notes:
        if 0 < _number(origin, tree) < number:
            # Its end is no longer in the log: that is why another tree has begun.
            yield False, f"{origin} was replaced by {tree}-{number}, and is not computed again."
    kept = [(each.size, each.root, each.note) for each in stored if each.number == number]
    found = await verify(
        KeptTree(state.frontier, state.tx, kept),
        [each for origin in notes if _number(origin, tree) == number for each in notes[origin]],
        store.every_leaf(tree, number, CORES),
        partial(store.tiles, tree, number),
        progress,
    )
    for fault in found.faults:
        yield True, f"{tree}: {fault}"
    compared = f"{found.leaves} leaves, {found.compared} sizes compared"
    yield False, f"{tree}-{number}: {compared}."


def verifier_keys(text: str) -> list[VerifierKey]:
    """Return keys, one per line or as the service lists them; without those that leaked."""
    if text.lstrip().startswith("{"):
        listed = json.loads(text)["keys"]
        return [read_key(each["key"]) for each in listed if not each.get("revoked_at")]
    return [read_key(line.split()[0]) for line in text.splitlines() if line.strip()]


async def anchor_trees(settings: Settings, reason: str, *, is_diverged: bool) -> list[str]:
    """Write down a restore for both trees, and return what was found."""
    if not reason.strip() or "\n" in reason:
        raise ValueError("--reason must be one line of text.")
    url = settings.witness_database_url or settings.migration_database_url or settings.database_url
    anchoring = Anchoring(
        settings.witness_keys(), settings.witness_origin, reason=reason, is_diverged=is_diverged
    )
    async with _witness_store(url.get_secret_value(), CORES) as store:
        return [await anchoring.anchor(store, tree) for tree in Tree]


class Anchoring(NamedTuple):
    """What an operator says after a restore, and the keys whose memory is compared."""

    keys: Sequence[SigningKey]
    origin: str
    reason: str
    is_diverged: bool

    async def anchor(self, store: PostgresProving, tree: Tree) -> str:
        """Write down that the database was restored, and return what was found, in words.

        Raise WitnessRefusedError when the log differs from what was signed, unless `is_diverged`.
        """
        before = await store.state(tree)
        last = max((last for key in self.keys if (last := key.memory.last(tree))), default=None)
        root = None
        if last and last.number == before.number:
            root = await _root_at(store, tree, last)
        if last is None or last.number < before.number or root == last.root:
            await store.anchor(before, self.reason, None, before.number)
            if last is None or root is None:
                return f"This host has signed nothing of the tree of {tree}. It goes on."
            told = f"The tree of {tree} is the one that was signed, up to size {last.size}."
            return f"{told} It goes on."
        signed = b64encode(last.root).decode()
        lines = [f"{self.origin}/{tree}-{last.number}", str(last.size), signed]
        if root is not None:
            lines.append(b64encode(root).decode())
            if not self.is_diverged:
                told = f"at size {last.size} its root is {lines[-1]}, and {signed} was signed."
                raise WitnessRefusedError(tree, f"{told} To accept this, use --diverged.")
        at = str(int(now().timestamp() * 1_000_000))
        number = max(before.number, last.number) + 1
        leaf = "\n".join(["beamkeep/anchor/v1", self.reason, at, *lines])
        await store.anchor(before, self.reason, leaf, number)
        return f"The tree of {tree} begins again as number {number}."


async def _root_at(store: PostgresProving, tree: Tree, last: SignedTree) -> bytes | None:
    """Return the root of the log at the size that was signed; none if the log is shorter."""
    frontier = Frontier()
    async for page in store.every_leaf(tree, last.number, CORES):
        frontier.add(leaf.hash for leaf in page[: last.size - frontier.size])
        if frontier.size == last.size:
            return frontier.root
    return None


async def witness_faults(settings: Settings) -> AsyncGenerator[str]:
    """Yield what is wrong with the witness, and events that were changed by hand."""
    async with _witness_store(settings.database_url.get_secret_value()) as store:
        for name in await store.rewritten():
            yield (
                f"{name} was not written by the transaction that it names: it was changed by hand,"
                " or the database was restored from a dump without `beamkeep anchor`."
            )
        if settings.witness_key_file is None:
            return
        since = await store.waiting_since()
        if since and now() - since > LATE:
            yield f"No checkpoint covers the events since {since}. Check that `beamkeep work` runs."
    if not (settings.witness_send_file or settings.witness_send_url):
        yield (
            "Checkpoints are kept in the database only, where its owner can change them. Set"
            " WITNESS_SEND_FILE or WITNESS_SEND_URL."
        )


def _number(origin: str, tree: Tree) -> int:
    name, _, number = origin.rpartition("/")[2].rpartition("-")
    return int(number) if name == tree and number.isdigit() else 0
