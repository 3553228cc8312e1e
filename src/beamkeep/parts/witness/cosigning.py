"""The routes of the witness: its verifier keys, and co-signatures for the logs of others."""

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from beamkeep.kernel import Route
from beamkeep.runtime.codec import encode
from beamkeep.surfaces.http.messages import JSON, HttpRequest, HttpResponse
from beamkeep.surfaces.http.routes import PublicRoute

from .postgres_cosigning import PostgresCosigning
from .trees.notes import (
    InvalidNoteError,
    Note,
    NoteSigner,
    VerifierKey,
    read_note,
)
from .trees.tree import InvalidProofError, require_consistency

KEYS, ADD = "/.well-known/beamkeep-checkpoint-keys", "/witness/add-checkpoint"
TEXT = {b"content-type": b"text/plain; charset=utf-8"}
TREE_SIZE = {b"content-type": b"text/x.tlog.size"}
MOST_BYTES, MOST_HASHES = 64 * 1024, 63


class SeenLogs(Protocol):
    """What was co-signed last of each log."""

    async def seen(self, origin: str) -> tuple[int, bytes]:
        """Return size and root of another log as it was co-signed last."""
        ...

    async def see(self, origin: str, old: int, size: int, root: bytes) -> bool:
        """Remember another log, unless it was remembered at another size than the old one."""
        ...


class AddCheckpoint(NamedTuple):
    """What C2SP tlog-witness asks a witness to co-sign."""

    old: int
    proof: Sequence[bytes]
    note: Note


def key_list(store: PostgresCosigning) -> PublicRoute:
    """Return the route at which anyone reads the verifier keys of this deployment."""

    async def answer(_: HttpRequest) -> HttpResponse:
        keys = [
            {
                "key": each.key,
                "from": each.from_at,
                "until": each.until_at,
                "revoked_at": each.revoked_at,
            }
            for each in await store.keys()
        ]
        return HttpResponse(200, JSON, encode({"keys": keys}))

    return PublicRoute("checkpoint_keys", Route("GET", KEYS), answer)


class Cosigner:
    """Co-signs checkpoints of logs that have grown from what it has seen of them."""

    def __init__(
        self,
        store: SeenLogs,
        signer: NoteSigner,
        origins: Mapping[str, Sequence[VerifierKey]],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._store, self._signer, self._origins, self._clock = store, signer, origins, clock

    def route(self) -> PublicRoute:
        """Return the route; the note itself says who sends it."""
        return PublicRoute("add_checkpoint", Route("POST", ADD), self._answer)

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        parts = request.stream(MOST_BYTES, restart_deadline=False)
        body = b"".join([part async for part in parts])
        try:
            return await self.add(read_request(body.decode()))
        except (InvalidNoteError, ValueError):
            return HttpResponse(400, TEXT, b"This is not a request to add a checkpoint.\n")

    async def add(self, asked: AddCheckpoint) -> HttpResponse:
        """Return a co-signature, or why there is none."""
        checkpoint = asked.note.checkpoint
        origin, size, root = checkpoint
        if origin not in self._origins:
            return HttpResponse(404, TEXT, b"This origin is not co-signed here.\n")
        if not asked.note.signed_by(self._origins[origin]):
            return HttpResponse(403, TEXT, b"No known key has signed the checkpoint.\n")
        if asked.old > size:
            return HttpResponse(400, TEXT, b"The old size is larger than the checkpoint.\n")
        seen_size, seen_root = await self._store.seen(origin)
        if asked.old != seen_size or (asked.old == size and root != seen_root):
            return HttpResponse(409, TREE_SIZE, b"%d\n" % seen_size)
        try:
            require_consistency((seen_size, seen_root), (size, root), asked.proof)
        except InvalidProofError:
            return HttpResponse(422, TEXT, b"The proof does not lead to the checkpoint.\n")
        # Remembered first: no two logs of one size are ever co-signed.
        if not await self._store.see(origin, asked.old, size, root):
            seen_size, _ = await self._store.seen(origin)
            return HttpResponse(409, TREE_SIZE, b"%d\n" % seen_size)
        line = checkpoint.cosigned(self._signer, int(self._clock()))
        return HttpResponse(200, TEXT, line.encode())


def read_request(text: str) -> AddCheckpoint:
    """Return what is asked for. Raise ValueError or InvalidNoteError when it cannot be read."""
    head, empty, note = text.partition("\n\n")
    first, *hashes = head.split("\n")
    word, _, size = first.partition(" ")
    if not empty or word != "old" or not size.isdigit() or len(hashes) > MOST_HASHES:
        raise ValueError("The request is not in the form of C2SP tlog-witness.")
    proof = [b64decode(each, validate=True) for each in hashes]
    return AddCheckpoint(int(size), proof, read_note(note))
