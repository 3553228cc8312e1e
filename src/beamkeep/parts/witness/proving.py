"""What proves the record: verification against checkpoints, anchors after a restore, checks."""

import os
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import msgspec

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.ledger import ledger
from beamkeep.runtime.clock import now
from beamkeep.workers.auditing import FOLDS, differences

from .keys import SignedTree, SigningKey
from .postgres import READING
from .postgres_cosigning import PostgresCosigning
from .postgres_proving import PostgresProving
from .settings import WitnessSettings
from .signing import Witness, WitnessRefusedError
from .trees.leaves import (
    Anchor,
    StoredCheckpoint,
    Tree,
    TreeState,
    read_anchor,
)
from .trees.notes import (
    Checkpoint,
    InvalidNoteError,
    Note,
    VerifierKey,
    read_key,
    read_notes,
)
from .trees.tree import Frontier, InvalidFrontierError
from .trees.verifying import (
    Agreement,
    StoredTree,
    agreement,
    signed_notes,
    verify,
)

LATE = timedelta(minutes=5)
# The database computes this many pages of leaves at the same time.
CORES = os.cpu_count() or 1
UNREADABLE = "The end of the tree that the witness keeps cannot be read: it was altered."
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


class Verified(NamedTuple):
    """What a record is compared with, and what is known to have happened to it."""

    notes: Mapping[str, Sequence[Note]]
    """Signed notes by origin."""
    accepted: Collection[str]
    """The names of anchors and redactions that are known."""
    progress: Callable[[int], None]

    def finding(self, name: str, text: str) -> tuple[bool, str]:
        """Return something that was done to the record: a fault unless it is known."""
        is_known = name in self.accepted
        known = "" if is_known else f" If you know of it, add --accept {name}."
        return not is_known, text + known


async def verify_record(
    url: str,
    checkpoints: str | None,
    keys: str | None,
    progress: Callable[[int], None],
    accepted: Collection[str] = (),
) -> AsyncGenerator[tuple[bool, str]]:
    """Yield what was found: whether it is a fault, and a sentence."""
    async with _witness_store(url, 2 * CORES) as store:
        listed = await PostgresCosigning(store.connections).keys()
        unrevoked = "\n".join(each.key for each in listed if each.revoked_at is None)
        if checkpoints is None or keys is None:
            yield False, WEAK
        stored = {tree: await store.checkpoints(tree) for tree in Tree}
        texts = [each.note for tree in Tree for each in stored[tree]]
        if checkpoints is not None:
            texts = read_notes(checkpoints) if checkpoints.strip() else []
            if not texts:
                yield True, "The file of checkpoints is empty: nothing is compared with it."
        known, unread = verifier_keys(unrevoked if keys is None else keys)
        if keys is not None and not known:
            yield True, "The file of keys is empty: no checkpoint proves anything."
        notes, faults = signed_notes(texts, known)
        for fault in (*unread, *faults):
            yield True, fault
        verified = Verified(notes, accepted, progress)
        for tree in Tree:
            async for found in _verify_tree(store, tree, verified, stored[tree]):
                yield found
        for name, at, reason in await store.redactions():
            yield verified.finding(name, f"{name} was redacted at {at}: {reason}.")
    async with ledger(url) as rows:
        async for difference in differences(rows):
            yield True, difference
        if others := await rows.other_snapshots(FOLDS):
            # They are used by processes of that version only, and dropped after some days.
            yield False, f"{others} snapshots were made by another version and are not compared."


async def _verify_tree(
    store: PostgresProving, tree: Tree, verified: Verified, stored: Sequence[StoredCheckpoint]
) -> AsyncGenerator[tuple[bool, str]]:
    try:
        state, notes = await store.state(tree), verified.notes
    except InvalidFrontierError:
        yield True, f"{tree}: {UNREADABLE}"
        return
    number = state.number
    mine = [each for origin in notes if _number(origin, tree) == number for each in notes[origin]]
    newest = max((_number(origin, tree) for origin in notes), default=0)
    if newest > number:
        yield True, f"{tree}: The database has no tree {newest}, of which there is a checkpoint."
    if notes and not newest and stored:
        yield True, f"{tree}: None of the checkpoints is of this tree, which was signed."
    async for found in _verify_anchors(store, tree, number, verified):
        yield found
    rows = [(each.size, each.root, each.note) for each in stored if each.number == number]
    found = await verify(
        StoredTree(state.frontier, state.tx, rows, tiles=await store.tile_count(tree, number)),
        mine,
        store.every_leaf(tree, number, CORES),
        partial(store.tiles, tree, number),
        verified.progress,
    )
    for fault in found.faults:
        yield True, f"{tree}: {fault}"
    compared = f"{found.leaves} leaves, {found.compared} sizes compared"
    yield False, f"{tree}-{number}: {compared}."


async def _verify_anchors(
    store: PostgresProving, tree: Tree, number: int, verified: Verified
) -> AsyncGenerator[tuple[bool, str]]:
    """Yield what was said after restores, and how far the log agrees with trees before them."""
    anchors: dict[int, Anchor] = {}
    for row in await store.anchors(tree):
        anchor = read_anchor(row.leaf) if row.leaf else None
        if row.leaf is None:
            name = f"{tree}-{row.number}-from-{row.floor}"
            text = f"An anchor of {tree}-{row.number} says that all up to transaction {row.floor}"
            yield verified.finding(name, f"{text} was restored at {row.at}: {row.reason}.")
        elif anchor is None or anchor.reason != row.reason:
            yield True, f"{tree}: The anchor of number {row.number} cannot be read or was altered."
        else:
            anchors[row.number] = anchor
            yield verified.finding(f"{tree}-{row.number}", _in_words(tree, row.number, anchor))
    if number > 1 and number not in anchors:
        yield True, f"{tree}: Number {number} has no anchor that says why it began."
    for origin, notes in verified.notes.items():
        if not 0 < (old := _number(origin, tree)) < number:
            continue
        pages = store.every_leaf(tree, old, CORES)
        agreed = await agreement(notes, pages, verified.progress)
        named = [each for each in anchors.values() if each.last.origin == origin]
        if not named:
            # A restore to a time before the anchor has taken the anchor away.
            text = f"{origin} was replaced, and the database has no anchor that names it."
            yield verified.finding(f"{tree}-{old}-replaced", text)
            continue
        for fault in _against(origin, notes, agreed, named):
            yield True, f"{tree}: {fault}"
        upto = agreed.before(min(agreed.leaves, notes[-1].checkpoint.size))
        yield False, f"{origin} was replaced. The log agrees with it below size {upto}."


def _in_words(tree: Tree, number: int, anchor: Anchor) -> str:
    size = f"at size {anchor.last.size}"
    was = "" if anchor.log_size is None else f", when the log had {anchor.log_size} leaves"
    differed = " The log differed from what was signed." if anchor.root else ""
    return (
        f"{tree}-{number} replaced {anchor.last.origin} {size} at {anchor.at}{was}:"
        f" {anchor.reason}.{differed}"
    )


def _against(
    origin: str, notes: Sequence[Note], agreed: Agreement, anchors: Sequence[Anchor]
) -> Iterator[str]:
    """Yield what no anchor explains of a tree that was replaced."""
    # Several anchors name one tree if what the first began was never signed.
    last = max(each.last for each in anchors)
    if any(note.checkpoint > last for note in notes):
        yield f"{origin} was signed after size {last.size}, which the anchor says was the last."
    if any(each.root for each in anchors):
        return
    restored = [each.log_size for each in anchors if each.log_size is not None]
    if wrong := [size for size in agreed.wrong if restored and size <= min(restored)]:
        yield (
            f"{origin} was signed at size {wrong[0]}, which the restored log had, and the log has"
            " another root there: something below was changed."
        )


class ListedKey(msgspec.Struct):
    """A verifier key as the service lists it."""

    key: str
    revoked_at: str | None = None


class ListedKeys(msgspec.Struct):
    """The list of verifier keys, as the service answers it."""

    keys: list[ListedKey]


def verifier_keys(text: str) -> tuple[list[VerifierKey], list[str]]:
    """Return keys, one per line or as listed, without those that leaked; and what is no key."""
    texts = [line.split()[0] for line in text.splitlines() if line.strip()]
    if text.lstrip().startswith("{"):
        try:
            listed = msgspec.json.decode(text, type=ListedKeys).keys
        except msgspec.DecodeError as error:
            return [], [f"The list of keys cannot be read: {error}."]
        texts = [each.key for each in listed if not each.revoked_at]
    keys, faults = list[VerifierKey](), list[str]()
    for each in texts:
        try:
            keys.append(read_key(each))
        except InvalidNoteError:
            faults.append(f"{each[:80]!r} is not a verifier key.")
    return keys, faults


async def anchor_trees(settings: WitnessSettings, reason: str, *, is_diverged: bool) -> list[str]:
    """Write down a restore for both trees, and return what was found."""
    if not reason.strip() or "\n" in reason:
        raise ValueError("--reason must be one line of text.")
    url = settings.witness_database_url or settings.migrating_url
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
        if last is None or await self._is_named(store, before, last):
            await store.anchor(before, self.reason, None, before.number)
            return f"This host has signed nothing of the tree of {tree}. It continues."
        # If the anchor of the tree that was signed is lost as well, no root can be compared.
        is_stored = last.number <= before.number
        size, root = await _root_at(store, tree, last) if is_stored else (None, None)
        if last.number == before.number and root == last.root:
            await store.anchor(before, self.reason, None, before.number)
            detail = f"The tree of {tree} is the one that was signed, up to size {last.size}."
            return f"{detail} It continues."
        if root is not None and root != last.root and not self.is_diverged:
            was, signed = (b64encode(each).decode() for each in (root, last.root))
            detail = f"at size {last.size} its root is {was}, and {signed} was signed."
            raise WitnessRefusedError(tree, detail, "To accept this, use --diverged.")
        number = max(before.number, last.number) + 1
        leaf = Anchor(
            self.reason,
            now(),
            last=Checkpoint(f"{self.origin}/{tree}-{last.number}", last.size, last.root),
            log_size=size,
            root=None if root == last.root else root,
        )
        await store.anchor(before, self.reason, leaf.text, number)
        return f"The tree of {tree} begins again as number {number}."

    async def _is_named(self, store: PostgresProving, before: TreeState, last: SignedTree) -> bool:
        """Return whether the present tree began with an anchor that names what was signed."""
        leaf = await store.anchored(before.tree, before.number)
        anchor = read_anchor(leaf) if leaf else None
        signed = f"{self.origin}/{before.tree}-{last.number}", last.size, last.root
        return anchor is not None and anchor.last == signed


async def _root_at(
    store: PostgresProving, tree: Tree, last: SignedTree
) -> tuple[int, bytes | None]:
    """Return the size of the log, and its root at the size that was signed if it is that long."""
    frontier, size, root = Frontier(), 0, None
    async for page in store.every_leaf(tree, last.number, CORES):
        size += len(page)
        frontier.add(leaf.hash for leaf in page[: last.size - frontier.size])
        if frontier.size == last.size:
            root = frontier.root
    return size, root


async def witness_faults(settings: WitnessSettings) -> AsyncGenerator[str]:
    """Yield what is wrong with the witness, and events that were changed by hand."""
    async with _witness_store(settings.database_url.get_secret_value()) as store:
        for name in await store.rewritten():
            yield (
                f"{name} was not written by the transaction that it names: it was changed by hand,"
                " or the database was restored from a dump without `beamkeep anchor`."
            )
        if settings.witness_key_file is None:
            return
        witness = Witness(store, settings.witness_keys(), settings.witness_origin, clock=now)
        for tree in Tree:
            try:
                refusal, since = await witness.refusal(tree), await store.waiting_since(tree)
            except InvalidFrontierError:
                refusal, since = f"{tree}: {UNREADABLE}", None
            if refusal:
                yield refusal
                continue
            if since and now() - since > LATE:
                remedy = "See that `beamkeep work` runs."
                yield f"No checkpoint covers the tree of {tree} since {since}. {remedy}"
    if not (settings.witness_send_file or settings.witness_send_url):
        yield (
            "Checkpoints are kept in the database only, where its owner can change them. Set"
            " WITNESS_SEND_FILE or WITNESS_SEND_URL."
        )


def _number(origin: str, tree: Tree) -> int:
    name, _, number = origin.rpartition("/")[2].rpartition("-")
    return int(number) if name == tree and number.isdigit() else 0
