"""The witness: follows the log in two trees, signs checkpoints of them, and sends these away."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta

from .keys import SignedTree, SigningKey, TreeFile
from .postgres import MOST_TRANSACTIONS, PostgresWitness
from .receivers import CheckpointReceiver, NotSentError
from .trees.leaves import (
    FullTile,
    Leaf,
    LeafPage,
    Tree,
    TreeState,
    read_anchor,
)
from .trees.notes import Checkpoint, Form
from .trees.tree import (
    TILE,
    Frontier,
    InvalidProofError,
    TileKey,
    consistency,
    leaf_hash,
    require_consistency,
    split,
)

SIGN_EVERY, SEND_AGAIN = timedelta(minutes=1), timedelta(hours=1)
POLL_SECONDS = 1.0
SENT_AT_ONCE = 100


REMEDY = "If the database was restored, run `beamkeep anchor`. Otherwise run `beamkeep verify`."


class WitnessRefusedError(Exception):
    """The log is not the one that the witness has signed before, and is not signed."""

    def __init__(self, tree: Tree, detail: str, remedy: str = REMEDY) -> None:
        super().__init__(f"The witness does not sign the tree of {tree}: {detail} {remedy}")


class Witness:
    """Grows both trees, and signs and sends their checkpoints.

    Its store must have one connection, which a crash of the database ends. Ids of transactions
    that had ended may be given again after a crash, so that what was read before is not written.
    """

    def __init__(
        self,
        store: PostgresWitness,
        keys: Sequence[SigningKey],
        origin: str,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._store, self._keys, self._origin, self._clock = store, keys, origin, clock
        self._sent_at: dict[str, datetime] = {}

    async def run(self, receivers: Sequence[CheckpointReceiver], sent: TreeFile) -> None:
        """Follow the log until cancelled. Raise when the log must not be signed."""
        signers = [key.signer for key in self._keys]
        await self._store.publish(each.key(form).text for each in signers for form in Form)
        while True:
            if not await self.turn(receivers, sent):
                await asyncio.sleep(POLL_SECONDS)

    async def turn(self, receivers: Sequence[CheckpointReceiver], sent: TreeFile) -> bool:
        """Do one step of each tree, send what is new, and return whether a tree is behind."""
        refused: list[Exception] = []
        is_behind = False
        for tree in Tree:
            try:
                is_behind = await self.step(tree) or is_behind
                for each in receivers:
                    await self.send(tree, each, sent)
            except (WitnessRefusedError, NotSentError) as error:
                # The other tree continues.
                refused.append(error)
        if refused:
            # A log that must not be signed is worse than a receiver that does not answer.
            raise min(refused, key=lambda error: isinstance(error, NotSentError))
        return is_behind

    async def step(self, tree: Tree) -> bool:
        """Add the next leaves to a tree, sign it if it is time, and return whether it is behind.

        What is written from now on is left for later: a log that is written to all the time would
        otherwise be read without a pause.
        """
        # Read before the log: all that was signed by now is in the log that is read.
        lasts = [key.memory.last(tree) for key in self._keys]
        before = await self._store.state(tree)
        tx, leaves, is_last = LeafPage(before.tx, (), is_last=True)
        async with aclosing(self._store.pages(tree, tx)) as pages:
            async for tx, leaves, is_last in pages:  # noqa: B007
                if leaves:
                    break
        after = Frontier(before.frontier.size, before.frontier.hashes)
        full = [
            FullTile(key, hashes, *_last_place(key, leaves, before.frontier.size))
            for key, hashes in after.add(leaf.hash for leaf in leaves)
        ]
        is_due = self._is_due(before, after)
        note = await self._note(before, after, full, lasts=lasts) if is_due else None
        if leaves or note or tx - before.tx > MOST_TRANSACTIONS:
            await self._store.grow(before, after, tx, full=full, note=note)
        if is_last:
            _require_reached(before, after.size, lasts)
        return not is_last

    def _is_due(self, before: TreeState, after: Frontier) -> bool:
        is_young = before.signed_at and self._clock() - before.signed_at < SIGN_EVERY
        return after.size > before.signed_size and not is_young

    async def _note(
        self,
        before: TreeState,
        after: Frontier,
        full: Sequence[FullTile],
        *,
        lasts: Sequence[SignedTree | None],
    ) -> str | None:
        """Return a signed checkpoint; none while the tree is smaller than one signed before."""
        now = SignedTree(before.number, after.size, after.root)
        for last in lasts:
            if last and (last.number, last.size) > (now.number, now.size):
                return None
        await self._require_follows(before, after, full, lasts=lasts)
        # A database that was restored after the tree was read: the leaves do not follow that tree.
        still = await self._store.state(before.tree)
        if (still.number, still.frontier.hashes) != (before.number, before.frontier.hashes):
            return None
        # On disk before there is a signature: whatever becomes of the database, no other root of
        # this size is signed.
        for key, last in zip(self._keys, lasts, strict=True):
            if not key.memory.advance(before.tree, last, now):
                return None
        checkpoint = Checkpoint(self.tree_origin(before.tree, now.number), now.size, now.root)
        return checkpoint.signed(key.signer for key in self._keys)

    def tree_origin(self, tree: Tree, number: int) -> str:
        """Return the origin of a tree, which is in no other tree of the world."""
        return f"{self._origin}/{tree}-{number}"

    async def refusal(self, tree: Tree) -> str | None:
        """Return why the tree as it is stored is not signed; none if it is."""
        lasts = [key.memory.last(tree) for key in self._keys]
        state = await self._store.state(tree)
        size = state.frontier.size
        try:
            await self._require_follows(state, state.frontier, (), lasts=lasts)
            if any(last and (last.number, last.size) > (state.number, size) for last in lasts):
                async for page in self._store.pages(tree, state.tx):
                    size += len(page.leaves)
                _require_reached(state, size, lasts)
        except WitnessRefusedError as refused:
            return str(refused)
        return None

    async def _require_follows(
        self,
        before: TreeState,
        after: Frontier,
        full: Sequence[FullTile],
        *,
        lasts: Sequence[SignedTree | None],
    ) -> None:
        """Raise unless a tree follows from all that was signed, as far as it goes."""
        known = [last for last in lasts if last]
        for last in known:
            if last.number == before.number and last.size <= after.size:
                await self._require_grown(before, (last.size, last.root), after, full=full)
        newest = max(known, default=None)
        if newest and newest.number < before.number:
            await self._require_anchored(before, newest, after, full=full)

    async def _require_anchored(
        self, before: TreeState, last: SignedTree, after: Frontier, *, full: Sequence[FullTile]
    ) -> None:
        """Raise unless a new tree begins with an anchor that names what was signed last."""
        leaf = await self._store.anchored(before.tree, before.number)
        anchor = read_anchor(leaf) if leaf else None
        signed = Checkpoint(self.tree_origin(before.tree, last.number), last.size, last.root)
        if leaf is None or anchor is None or anchor.last != signed:
            raise WitnessRefusedError(
                before.tree,
                f"number {before.number} has begun, and its anchor does not name the last"
                f" checkpoint that this host has signed, {signed.origin} at size {last.size}.",
            )
        if after.size:
            await self._require_grown(before, (1, leaf_hash(leaf.encode())), after, full=full)

    async def _require_grown(
        self,
        before: TreeState,
        was: tuple[int, bytes],
        after: Frontier,
        *,
        full: Sequence[FullTile],
    ) -> None:
        """Raise unless a tree has grown from a smaller one, which has this size and root."""
        new = {**after.tiles, **{tile.key: split(tile.hashes) for tile in full}}
        size, root = was
        ranges = consistency(size, after.size)
        try:
            path = await self._store.proof(before.tree, before.number, ranges, new)
            require_consistency(was, (after.size, after.root), path)
        except (KeyError, IndexError, InvalidProofError):
            raise WitnessRefusedError(
                before.tree,
                f"its first {size} leaves do not have the root that was signed,"
                f" {b64encode(root).decode()}.",
            ) from None

    async def send(self, tree: Tree, to: CheckpointReceiver, sent: TreeFile) -> None:
        """Send the checkpoints that a receiver lacks; after an hour, the last one again."""
        name = f"{to.name} {tree}"
        seen = sent.last(name)
        number, size = seen[:2] if seen else (0, -1)
        is_silent = self._clock() - self._sent_at.setdefault(name, self._clock()) >= SEND_AGAIN
        waiting = await self._store.checkpoints(tree, (number, size - is_silent), SENT_AT_ONCE)
        for each in waiting:
            old = seen.size if seen and seen.number == each.number else 0
            await self._store.cosigned(each, await to.send(each, old))
            place = SignedTree(each.number, each.size, each.root)
            sent.advance(name, seen, place)
            seen, self._sent_at[name] = place, self._clock()


def _require_reached(before: TreeState, size: int, lasts: Sequence[SignedTree | None]) -> None:
    """Raise when the log ends, at this size, before a tree that was signed."""
    for last in lasts:
        if last and (before.number, size) < (last.number, last.size):
            raise WitnessRefusedError(
                before.tree,
                f"number {before.number} ends at size {size}, and number"
                f" {last.number} was signed at size {last.size}.",
            )


def _last_place(key: TileKey, leaves: Sequence[Leaf], first: int) -> tuple[int, ...]:
    """Return where the last leaf of a tile of leaves is."""
    return leaves[(key.number + 1) * TILE - 1 - first][:2] if key.level == 0 else ()
