"""Places outside the database to which checkpoints are sent."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import httpx2

from beamkeep.workers.supervision import PutOffError

from .trees.leaves import StoredCheckpoint

TIMEOUT = 10.0
TEXT = {"content-type": "text/plain; charset=utf-8"}


class NotSentError(PutOffError):
    """A receiver did not take a checkpoint."""


class CheckpointReceiver(Protocol):
    """A place for checkpoints that the owner of the database cannot rewrite."""

    name: str

    async def send(self, checkpoint: StoredCheckpoint, old: int) -> Sequence[str]:
        """Send a checkpoint after one of an old size, and return lines of co-signatures.

        Raise NotSentError if the receiver does not take the checkpoint.
        """
        ...


class FileReceiver:
    """A file that is opened for appending only."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = f"file {path}", path

    async def send(self, checkpoint: StoredCheckpoint, old: int) -> Sequence[str]:
        """Append a checkpoint, and return when it is on disk."""
        try:
            with self._path.open("ab") as file:
                file.write(checkpoint.note.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise NotSentError(f"The checkpoint was not written to {self._path}: {error}") from None
        return ()


class HttpReceiver:
    """An address to which checkpoints are posted."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self.name, self._url, self._http = f"url {url}", url, http

    async def send(self, checkpoint: StoredCheckpoint, old: int) -> Sequence[str]:
        """Post a checkpoint."""
        self.require_taken(await self.post(checkpoint.note))
        return ()

    async def post(self, body: str) -> httpx2.Response:
        """Return what the receiver answers, if it does."""
        try:
            return await self._http.post(
                self._url, content=body.encode(), headers=TEXT, timeout=TIMEOUT
            )
        except httpx2.TransportError as error:
            raise NotSentError(f"{self._url} does not answer: {type(error).__name__}.") from None

    def require_taken(self, answer: httpx2.Response) -> None:
        """Raise NotSentError if the receiver has refused."""
        if not answer.is_success:
            raise NotSentError(f"{self._url} answered {answer.status_code}: {answer.text[:200]}")
