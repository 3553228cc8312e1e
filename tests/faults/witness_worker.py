"""Witnesses in processes of their own, which sign after every step and note every signature."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from beamkeep.adapters.postgres.connections import OneConnection
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.parts.witness import postgres as statements
from beamkeep.parts.witness import signing as witnessing
from beamkeep.parts.witness.keys import SigningKey, signing_key
from beamkeep.parts.witness.postgres import READING, PostgresWitness
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.trees.notes import Checkpoint, NoteSigner
from beamkeep.runtime.clock import now
from beamkeep.testing.witness import ORIGIN, SignedInMemory

SOUND, FORGETFUL, HASTY = "sound", "forgetful", "hasty"
REFUSED, BROKEN = "refused\n", "broken\n"
# Long enough that a witness without the condition is overtaken by the other one.
MOST_SECONDS = {SOUND: 0.02, FORGETFUL: 0.02, HASTY: 0.3}


class Journal(Checkpoint):
    """A checkpoint whose signatures are noted as soon as they exist."""

    file: Path

    def signed(self, signers: Iterable[NoteSigner]) -> str:
        """Return the note, after it was noted."""
        text = super().signed(signers)
        note(text)
        return text


class SlowWitness(PostgresWitness):
    """A store that lets time pass between what was read and what is written."""

    most_seconds: float

    async def grow(self, *args: Any, **named: Any) -> bool:
        """Write what a tree became, or nothing if another witness was faster."""
        await asyncio.sleep(random.uniform(0, self.most_seconds))  # noqa: S311
        return await super().grow(*args, **named)


def note(text: str) -> None:
    """Add a text to the journal at once."""
    handle = os.open(Journal.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, text.encode())
    os.close(handle)


async def work(url: str, key_file: Path, variant: str) -> None:
    """Follow and sign until killed, or until the log must not be signed."""
    witnessing.Checkpoint = Journal
    witnessing.SIGN_EVERY = timedelta(0)
    key = signing_key(key_file)
    if variant == FORGETFUL:
        key = SigningKey(key.signer, SignedInMemory())
    if variant == HASTY:
        named, condition = statements.MOVE.named, "WHERE (t.number, t.size, t.frontier) = "
        assert condition in named
        statements.MOVE = Statement(
            named.replace(condition, "WHERE (1, 2, NULL) IS DISTINCT FROM ")
        )
    store = SlowWitness(OneConnection(url, **READING))
    store.most_seconds = MOST_SECONDS[variant]
    witness = witnessing.Witness(store, [key], ORIGIN, clock=now)
    while True:
        try:
            is_behind = await witness.step(Tree.EVENTS)
        except witnessing.WitnessRefusedError:
            note(REFUSED)
            return
        except Exception:
            note(BROKEN)
            raise
        await asyncio.sleep(0 if is_behind else 0.01)


def main(url: str, key_file: str, journal: str, variant: str) -> None:
    """Fork a worker for each line that is read, and answer its process id."""
    Journal.file = Path(journal)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        if not (child := os.fork()):
            asyncio.run(work(url, Path(key_file), variant))
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
