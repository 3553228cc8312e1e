"""Checkpoints are sent to an address, in order and again after a failure; a witness co-signs."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx2
import pytest
from tests.postgres.witness.conftest import WRITE_EVENT, Following, without_rows

from beamkeep.parts.witness.cosigners import CosigningReceiver
from beamkeep.parts.witness.receivers import HttpReceiver, NotSentError
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.trees.notes import read_note
from beamkeep.testing.server import free_port

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

LINE = "\N{EM DASH} south/witness AAAA\n"


class Loopback:
    """A receiver on this machine that answers as it is told, and keeps what it got."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str]] = []
        self.got: list[str] = []

    @contextmanager
    def listening(self, path: str) -> Generator[str]:
        loopback = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                status, answer = loopback.answers.pop(0) if loopback.answers else (200, "")
                if status == 200:
                    loopback.got.append(body)
                self.send_response(status)
                self.send_header("content-length", str(len(answer.encode())))
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, format: str, *args: object) -> None: ...

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_port}{path}"
            finally:
                server.shutdown()


async def signed_twice(following: Following) -> list[str]:
    """Two checkpoints of the events that nobody has received, and their notes."""
    without_rows(following)
    await following.caught_up()
    following.database.ask("DELETE FROM bk.witness_checkpoint")
    for _ in range(2):
        following.database.ask(WRITE_EVENT, 3)
        await following.caught_up()
    return [each.note for each in await following.store.checkpoints(Tree.EVENTS)]


async def test_what_a_receiver_did_not_take_is_sent_again_in_order(following: Following):
    notes, loopback = await signed_twice(following), Loopback()
    loopback.answers = [(503, "later"), (200, ""), (500, "")]
    with loopback.listening("/checkpoints") as url:
        async with httpx2.AsyncClient() as http:
            following.receivers = [HttpReceiver(url, http)]
            for said in ("503: later", "500"):
                with pytest.raises(NotSentError, match=said):
                    await following.turn()
            await following.turn()
            assert loopback.got == notes
            await following.turn()
            assert loopback.got == notes


async def test_a_receiver_that_does_not_answer_stops_neither_tree(following: Following):
    async with httpx2.AsyncClient() as http:
        url = f"http://127.0.0.1:{free_port()}/checkpoints"
        following.receivers = [HttpReceiver(url, http)]
        following.database.ask(WRITE_EVENT, 3)
        with pytest.raises(NotSentError, match="does not answer"):
            await following.caught_up()
    assert (await following.store.state(Tree.EVENTS)).signed_size > 0


async def test_a_witness_that_has_seen_another_size_is_asked_again_from_there(
    following: Following,
):
    notes, loopback = await signed_twice(following), Loopback()
    first = read_note(notes[0]).checkpoint.size
    loopback.answers = [(200, LINE), (409, f"{first - 1}\n"), (200, LINE)]
    with loopback.listening("/add-checkpoint") as url:
        async with httpx2.AsyncClient() as http:
            following.receivers = [CosigningReceiver(url, http, following.store)]
            await following.turn()
    assert [body.split("\n")[0] for body in loopback.got] == ["old 0", f"old {first - 1}"]
    assert [body.partition("\n\n")[2] for body in loopback.got] == notes
    kept = await following.store.checkpoints(Tree.EVENTS)
    assert [each.note for each in kept] == [note + LINE for note in notes]
