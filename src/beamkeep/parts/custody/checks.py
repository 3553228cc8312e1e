"""Checks: reads copies of datasets where the service can, and records what they contain."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from importlib.metadata import version
from typing import Protocol
from uuid import UUID

import structlog

from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.contexts.data.attestation import (
    AttestationKind,
    CheckFailure,
    FoundSum,
    RecordAttestation,
    ScanLayout,
)
from beamkeep.contexts.data.check import (
    CHECKS,
    READ_FILES,
    CopyToRead,
    DistributionCheck,
    EndDistributionCheck,
    FindLayout,
    ReadFile,
)
from beamkeep.contexts.data.dataset import PARTS
from beamkeep.contexts.data.distribution import (
    PRESENT,
    CheckKind,
    Distribution,
    FileIdentity,
    distributions,
)
from beamkeep.contexts.data.shapes import ChecksumAlgorithm
from beamkeep.kernel import Cannot, Command, replace
from beamkeep.runtime import Service
from beamkeep.runtime.store import EventStore
from beamkeep.workers.durable import fenced_rows
from beamkeep.workers.leases import Holding
from beamkeep_client.shared.checksums import CheckedFile, FileMark, FoundBytes

log: structlog.stdlib.BoundLogger = structlog.get_logger()

WRITE_EVERY = 2.0
"""Seconds between two writes of the progress."""
FILES_AT_ONCE = 1_000
"""Finished files that one statement writes."""


class ReadProgress:
    """How far a reading is: reported by a reader, written by a worker."""

    def __init__(self) -> None:
        self.bytes_read = 0
        self.files = list[CheckedFile]()
        """Files that were finished and are not written yet."""


class CopyReader(Protocol):
    """Reads copies from storage."""

    async def read(
        self, copy: CopyToRead, known: Iterable[CheckedFile], progress: ReadProgress
    ) -> FoundBytes | CheckFailure:
        """Return what a copy contains, or why it cannot be read.

        Files in `known` that did not change are not read again.
        """
        ...


type LayoutReader = Callable[[FindLayout], Awaitable[ScanLayout | CheckFailure | None]]
"""Finds the layout of a copy: None if it has no known one, or why it cannot be read."""


class Checker:
    """Carries out the checks that somebody asked for."""

    def __init__(
        self,
        service: Service,
        store: EventStore,
        reader: CopyReader,
        layouts: LayoutReader | None,
        clock: Callable[[], datetime],
        write_every: float = WRITE_EVERY,
    ) -> None:
        self._service, self._store, self._reader, self._layouts = service, store, reader, layouts
        self._clock, self._every = clock, write_every
        self._name = f"beamkeep {version('beamkeep')}"

    async def walk(self, held: Holding) -> None:
        """Read one copy, record the attestation and end the work, all while the claim holds."""
        work = held.work
        copy = await self._service.sessions().one(distributions, work.subject_id)
        rows = await self._store.rows(CHECKS, {"distribution_id": copy.id})
        check = next((row for row in rows if row.check_id == work.work_id), None)
        if check is None:
            return
        end = EndDistributionCheck(
            distribution_id=copy.id,
            kind=check.kind,
            check_id=work.work_id,
            claim=work.claim,
            owner=work.owner,
        )
        if copy.status not in PRESENT:
            await self._send(end)
            return
        found = await self._attestation(held, copy, check)
        try:
            await self._send(found, end)
        except Cannot as refusal:
            # The copy changed while it was read, and what was found is of no use any more.
            log.warning("check not recorded", check_id=str(end.check_id), because=str(refusal))
            await self._send(end)

    async def _attestation(
        self, held: Holding, copy: Distribution, check: DistributionCheck
    ) -> RecordAttestation:
        parts = None
        if copy.of_parts:
            rows = await self._store.rows(PARTS, {"dataset_id": copy.dataset_id})
            parts = tuple(row.path for row in rows)
        to_read = CopyToRead(copy.uri, copy.checksum.algorithm, copy.byte_size, parts=parts)
        if check.kind is CheckKind.FORMAT_VALIDATED:
            begun, layout = self._clock(), await self._layout(to_read)
            outcome = layout if isinstance(layout, CheckFailure) else FoundSum(layout=layout)
        else:
            stored = await self._store.rows(READ_FILES, {"check_id": check.check_id})
            # What a file of one piece had is lost; a directory continues after its finished files.
            begun = (check.started_at if stored else None) or self._clock()
            check = replace(check, started_at=begun)
            outcome = await self._sum(held, to_read, check, [_checked(row) for row in stored])
        is_failure = isinstance(outcome, CheckFailure)
        return RecordAttestation(
            distribution_id=copy.id,
            kind=AttestationKind(check.kind),
            checked_at=begun,
            checker=self._name,
            found=None if is_failure else outcome,
            failure=outcome if is_failure else None,
        )

    async def _layout(self, copy: CopyToRead) -> ScanLayout | CheckFailure | None:
        if self._layouts is None:
            raise NotImplementedError("This deployment has no reader of layouts.")
        return await self._layouts(FindLayout(copy))

    async def _sum(
        self,
        held: Holding,
        copy: CopyToRead,
        check: DistributionCheck,
        known: list[CheckedFile],
    ) -> FoundSum | CheckFailure:
        """Read the bytes in the background, and write the progress until they are read."""
        progress, before = ReadProgress(), sum(file.mark.byte_size for file in known)
        begun_at = time.monotonic()
        reading = asyncio.create_task(self._reader.read(copy, known, progress))
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=self._every)
                held.require_held()
                if not reading.done() and (progress.bytes_read or progress.files):
                    passed = time.monotonic() - begun_at
                    row = _advanced(check, before, progress.bytes_read, passed)
                    await self._write(held, replace(row, updated_at=self._clock()), progress)
            found = reading.result()
        finally:
            reading.cancel()
            await asyncio.wait({reading})
        if isinstance(found, CheckFailure):
            return found
        return FoundSum(
            algorithm=ChecksumAlgorithm(found.algorithm),
            value=found.value,
            byte_size=found.byte_size,
            file_count=found.file_count or None,
            file=found.file and FileIdentity(*found.file),
        )

    async def _write(self, held: Holding, check: DistributionCheck, progress: ReadProgress) -> None:
        files, progress.files = progress.files, []
        rows = [READ_FILES.upsert(_read_file(check.check_id, file)) for file in files]
        for start in range(0, max(len(rows), 1), FILES_AT_ONCE):
            append = fenced_rows(
                held.work.fence,
                CHECKS.replace(check),
                *rows[start : start + FILES_AT_ONCE],
                at=self._clock(),
                correlation_id=check.check_id,
            )
            await self._store.append(append)

    async def _send(self, *commands: Command) -> None:
        await self._service.sender.send_together(commands, as_=SYSTEM)


def _advanced(
    check: DistributionCheck, before: int, read: int, seconds: float
) -> DistributionCheck:
    """Return a check with its progress; a file that is read again counts once more."""
    bytes_read = min(before + read, check.byte_size)
    return replace(
        check,
        bytes_read=bytes_read,
        percent=100 * bytes_read // check.byte_size if check.byte_size else 100,
        bytes_per_second=round(read / seconds) if seconds > 0 else 0,
    )


def _read_file(check_id: UUID, file: CheckedFile) -> ReadFile:
    mark = " ".join(str(part) for part in file.mark)
    return ReadFile(check_id, file.path, sha256=file.sha256, mark=mark)


def _checked(row: ReadFile) -> CheckedFile:
    return CheckedFile(row.path, row.sha256, FileMark(*map(int, row.mark.split())))
