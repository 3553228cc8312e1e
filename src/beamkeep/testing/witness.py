"""A witness that follows the log whenever it is asked, for services without workers."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beamkeep.adapters.postgres.connections import Connections, OneConnection
from beamkeep.contexts.seams.witnessed import (
    EventProof,
    GetEventProof,
    ListCheckpoints,
    SignedCheckpoint,
)
from beamkeep.parts.witness.keys import SignedTree, SigningKey, TreeFile
from beamkeep.parts.witness.memory import ORIGIN, SIGNER
from beamkeep.parts.witness.postgres import READING, PostgresWitness
from beamkeep.parts.witness.postgres_reading import PostgresWitnessReader
from beamkeep.parts.witness.signing import SIGN_EVERY, Witness
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.trees.notes import NoteSigner
from beamkeep.runtime.clock import now

from .database import Database

NAME = SIGNER.name


class FollowingWitness:
    """Reads as the service does, after everything in the log was followed and signed."""

    def __init__(self, database: Database, connections: Connections) -> None:
        self._url = database.url("bk_witness")
        self._reader = PostgresWitnessReader(connections)
        self._key = SigningKey(NoteSigner(NAME, Ed25519PrivateKey.generate()), SignedInMemory())

    async def proof(self, query: GetEventProof) -> EventProof:
        """Return the proof of one event. Raise a refusal when there is none."""
        await self._follow()
        return await self._reader.proof(query)

    async def checkpoints(self, query: ListCheckpoints) -> Sequence[SignedCheckpoint]:
        """Return a page of checkpoints and one more."""
        await self._follow()
        return await self._reader.checkpoints(query)

    async def _follow(self) -> None:
        connections = OneConnection(self._url, **READING)
        try:
            await follow(PostgresWitness(connections), self._key)
        finally:
            await connections.close()


class SignedInMemory(TreeFile):
    """Trees that are remembered for as long as this process lives."""

    def __init__(self) -> None:
        self._last: dict[str, SignedTree] = {}

    def last(self, name: str) -> SignedTree | None:
        """Return the tree that was remembered last."""
        return self._last.get(name)

    def advance(self, name: str, seen: SignedTree | None, to: SignedTree) -> bool:
        """Remember a tree."""
        self._last[name] = to
        return True


async def follow(store: PostgresWitness, key: SigningKey) -> None:
    """Follow the log to its end, and sign it there at once."""
    witness = Witness(store, [key], ORIGIN, clock=lambda: now() + 2 * SIGN_EVERY)
    for tree in Tree:
        while await witness.step(tree):
            pass
