"""A deployment co-signs the logs of others, as C2SP tlog-witness describes."""

from base64 import b64encode
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beamkeep.parts.witness.cosigning import AddCheckpoint, Cosigner, read_request
from beamkeep.parts.witness.trees.notes import Checkpoint, Form, NoteSigner, read_note
from beamkeep.parts.witness.trees.tree import EMPTY_ROOT, consistency, root_of

pytestmark = pytest.mark.anyio

ORIGIN = "north.example.org/north-ring/events-1"
NORTH = NoteSigner("north.example.org/witness", Ed25519PrivateKey.from_private_bytes(b"n" * 32))
SOUTH = NoteSigner("south.example.org/witness", Ed25519PrivateKey.from_private_bytes(b"s" * 32))
LEAVES = [sha256(bytes([n])).digest() for n in range(40)]


class SeenInMemory:
    def __init__(self) -> None:
        self.known: dict[str, tuple[int, bytes]] = {}

    async def seen(self, origin: str) -> tuple[int, bytes]:
        return self.known.get(origin, (0, EMPTY_ROOT))

    async def see(self, origin: str, old: int, size: int, root: bytes) -> bool:
        if (await self.seen(origin))[0] != old:
            return False
        self.known[origin] = size, root
        return True


@pytest.fixture
def cosigner() -> Cosigner:
    return Cosigner(SeenInMemory(), SOUTH, {ORIGIN: [NORTH.key()]}, clock=lambda: 1_900_000_000.5)


def asked(old: int, size: int, signer: NoteSigner = NORTH, origin: str = ORIGIN) -> AddCheckpoint:
    """Ask as the log does, in the text that it sends."""
    note = Checkpoint(origin, size, root_of(LEAVES[:size])).signed([signer])
    path = [b64encode(root_of(LEAVES[start:end])).decode() for start, end in consistency(old, size)]
    return read_request("\n".join([f"old {old}", *path, "", note]))


async def test_a_log_that_has_grown_is_co_signed(cosigner: Cosigner):
    for old, size in ((0, 3), (3, 21), (21, 40), (40, 40)):
        answer = await cosigner.add(asked(old, size))
        assert answer.status == 200
        note = Checkpoint(ORIGIN, size, root_of(LEAVES[:size])).signed([NORTH])
        cosigned = read_note(note + answer.body.decode())
        assert cosigned.signed_by([SOUTH.key(Form.COSIGNATURE)])
        assert cosigned.signatures[-1][1][4:12] == (1_900_000_000).to_bytes(8)


async def test_what_is_not_co_signed(cosigner: Cosigner):
    assert (await cosigner.add(asked(0, 3, origin="elsewhere/events-1"))).status == 404
    assert (await cosigner.add(asked(0, 3, signer=SOUTH))).status == 403
    assert (await cosigner.add(asked(0, 10))).status == 200
    refused = await cosigner.add(asked(3, 21))
    assert (refused.status, refused.body) == (409, b"10\n")
    assert refused.headers == {b"content-type": b"text/x.tlog.size"}
    good = asked(10, 21)
    assert (await cosigner.add(good._replace(proof=good.proof[::-1]))).status == 422
    assert (await cosigner.add(good._replace(old=22))).status == 400
    other = Checkpoint(ORIGIN, 10, EMPTY_ROOT).signed([NORTH])
    assert (await cosigner.add(AddCheckpoint(10, [], read_note(other)))).status == 409
    assert (await cosigner.add(good)).status == 200


@pytest.mark.parametrize(
    "text", ["", "old 3", "old x\n\nnote", "new 3\n\nnote", "old 3\n!\n\nnote"]
)
def test_a_request_in_another_form_is_not_read(text: str):
    with pytest.raises(Exception, match=r"form of C2SP|base64|no signed checkpoint|^$"):
        read_request(text)
