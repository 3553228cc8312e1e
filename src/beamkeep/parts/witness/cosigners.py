"""Other witnesses, which are asked to co-sign checkpoints as C2SP tlog-witness describes."""

from base64 import b64encode
from collections.abc import Sequence

import httpx2

from .postgres import PostgresWitness
from .receivers import HttpReceiver, NotSentError
from .trees.leaves import StoredCheckpoint
from .trees.notes import SIGNED
from .trees.tree import consistency

PATH = "/add-checkpoint"
"""How the address of a witness ends."""
CONFLICT = 409


class CosigningReceiver(HttpReceiver):
    """A witness that has seen smaller trees, and co-signs those that have grown from them."""

    def __init__(self, url: str, http: httpx2.AsyncClient, store: PostgresWitness) -> None:
        super().__init__(url, http)
        self._store = store

    async def send(self, checkpoint: StoredCheckpoint, old: int) -> Sequence[str]:
        """Post a checkpoint with its proof, and return lines of co-signatures."""
        answer = await self._ask(checkpoint, old)
        if answer.status_code == CONFLICT and answer.text.strip().isdigit():
            # The witness has seen another size, and says which.
            answer = await self._ask(checkpoint, int(answer.text))
        self.require_taken(answer)
        return [f"{line}\n" for line in answer.text.splitlines() if line.startswith(SIGNED)]

    async def _ask(self, checkpoint: StoredCheckpoint, old: int) -> httpx2.Response:
        tree, number, size = checkpoint[:3]
        if old > size:
            raise NotSentError(f"The witness has seen size {old} of {tree}-{number}, not {size}.")
        try:
            path = await self._store.proof(tree, number, consistency(old, size))
        except (KeyError, IndexError):
            raise NotSentError(f"The tiles of {tree}-{number} are not complete.") from None
        lines = [f"old {old}", *(b64encode(each).decode() for each in path), ""]
        return await self.post("\n".join([*lines, checkpoint.note]))
