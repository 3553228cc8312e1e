"""Minting: has the DOIs of datasets and editions registered and hidden, as durable work."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from itertools import count
from typing import Protocol
from uuid import UUID

import structlog

from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.contexts.data.citation import JsonDocument, datacite
from beamkeep.contexts.data.citing import dataset_citation, edition_citation
from beamkeep.contexts.data.dataset import datasets
from beamkeep.contexts.data.dataset_identifier import SettleDatasetExternalId
from beamkeep.contexts.data.edition import SettleEditionExternalId, editions
from beamkeep.contexts.data.external_id import ExternalIdState
from beamkeep.kernel import Fenced, Record, replace
from beamkeep.runtime import Service
from beamkeep.runtime.store import EventStore
from beamkeep.workers.durable import WorkQueue, fenced_rows
from beamkeep.workers.leases import Holding, retry_delay

log: structlog.stdlib.BoundLogger = structlog.get_logger()

DELAYS = (5.0, 30.0, 120.0, 600.0, 1800.0)
"""Seconds before the next attempt, after the first failure, the second, and so on."""


class RegistryUnreachableError(Exception):
    """The registry did not answer, or asks to be called again later."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.retry_after = retry_after


class RegistryRefusedError(Exception):
    """The registry will not do what it was asked, however often it is asked."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class PersistentIdentifierMinter(Protocol):
    """A registry of DOIs. Both calls are safe to repeat, and raise one of the errors above."""

    async def mint(self, doi: str, metadata: JsonDocument) -> None:
        """Make a DOI findable, with this metadata."""
        ...

    async def hide(self, doi: str) -> None:
        """Take a DOI out of the search; it still resolves."""
        ...


class MintingTask(Record):
    """What is asked of the registry: to register with metadata, or without it to hide."""

    doi: str
    metadata: JsonDocument | None = None
    is_edition: bool = False


class Minter:
    """Carries out the work of identifiers, one object at a time."""

    def __init__(
        self,
        service: Service,
        store: EventStore,
        queue: WorkQueue,
        registry: PersistentIdentifierMinter,
        clock: Callable[[], datetime],
        delays: tuple[float, ...] = DELAYS,
    ) -> None:
        self._service, self._store, self._queue = service, store, queue
        self._registry, self._clock, self._delays = registry, clock, delays

    async def walk(self, held: Holding) -> None:
        """Ask the registry until it has answered, and record the answer."""
        # A claim that writes nothing counts as one in vain.
        await self._write(held.work.fence)
        for attempt in count():
            held.require_held()
            task = await self.task(held.work.subject_id)
            if task is None:
                await self._write(replace(held.work.fence, ends=True))
                return
            try:
                await self._ask(task)
            except RegistryUnreachableError as error:
                log.warning("registry of identifiers not reached", doi=task.doi, why=str(error))
                await held.wait(retry_delay(self._delays, attempt, error.retry_after))
            except RegistryRefusedError as error:
                log.error("identifier refused", doi=task.doi, why=str(error), status=error.status)
                await self._settle(held, task, error)
                # It stays in the list of dead letters until somebody asks again or assigns one.
                await self._queue.fail(held.work.fence, str(error)[:500], None)
                return
            else:
                await self._settle(held, task, None)
                return

    async def task(self, id: UUID) -> MintingTask | None:
        """Return what the registry must be asked for a dataset or an edition, if anything."""
        read, streams = self._service.sessions(), [(of.name, id) for of in (datasets, editions)]
        ((name, _),) = await self._store.owners(streams)
        if name == datasets.name:
            dataset = await read.one(datasets, id)
            if dataset.pending_external_id:
                cited = datacite(await dataset_citation(dataset, read))
                return MintingTask(dataset.pending_external_id, cited)
            doi, state = dataset.external_id, dataset.external_id_state
        else:
            edition = await read.one(editions, id)
            if edition.pending_external_id:
                cited = datacite(await edition_citation(edition, read))
                return MintingTask(edition.pending_external_id, cited, is_edition=True)
            doi, state = edition.external_id, edition.external_id_state
        return MintingTask(doi) if doi and state is ExternalIdState.HIDDEN else None

    async def _ask(self, task: MintingTask) -> None:
        if task.metadata is None:
            await self._registry.hide(task.doi)
        else:
            await self._registry.mint(task.doi, task.metadata)

    async def _settle(
        self, held: Holding, task: MintingTask, refused: RegistryRefusedError | None
    ) -> None:
        """Record the answer of the registry; of a hidden identifier nothing more is recorded."""
        if task.metadata is None:
            if refused is None:
                await self._write(replace(held.work.fence, ends=True))
            return
        work, status = held.work, refused.status if refused else None
        settle = (
            partial(SettleEditionExternalId, edition_id=work.subject_id)
            if task.is_edition
            else partial(SettleDatasetExternalId, dataset_id=work.subject_id)
        )
        command = settle(claim=work.claim, owner=work.owner, status=status)
        await self._service.sender.send(command, as_=SYSTEM)

    async def _write(self, fence: Fenced) -> None:
        await self._store.append(fenced_rows(fence, at=self._clock()))
