"""A service with subscriptions, the worker that delivers, and receivers on this machine."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.directory import MemoryDirectory
from beamkeep.adapters.memory.log import MemoryEventLog
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.feed.subscription import DELIVERIES, DELIVERING, EventDelivery
from beamkeep.contexts.seams.receivers import ReceiverHosts
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.reading import log_reader
from beamkeep.kernel import replace
from beamkeep.parts.subscriptions.deliveries import Deliverer, DeliveryTimes
from beamkeep.parts.subscriptions.webhooks import HttpWebhooks
from beamkeep.runtime import Service
from beamkeep.telemetry import Telemetry
from beamkeep.testing.appends import CODEC
from beamkeep.testing.installation import FACTS, READERS
from beamkeep.testing.service import ADMIN, call
from beamkeep.testing.waiting import until
from beamkeep.workers.leases import LeaseHolder, LeaseTimes
from tests.support.receiving import Got, LocalReceiver

KEY = b"k" * 32
OFTEN = DeliveryTimes(look=0.02, wait=0.01)
BEGUN = datetime(2030, 1, 1, tzinfo=UTC)


class DeliveryBench:
    """A service, its clock, a receiver, and workers that are started and stopped."""

    def __init__(self, store: MemoryStore, service: Service, receiver: LocalReceiver) -> None:
        self.store, self.service, self.receiver = store, service, receiver
        self.later = timedelta()
        self.telemetry = Telemetry()

    def now(self) -> datetime:
        return BEGUN + self.later

    async def zones(self, *names: str) -> None:
        for name in names:
            await call(self.service, "define_zone", {"name": name})

    async def subscribe(self, path: str, **changes: Any) -> tuple[UUID, str]:
        """Register a subscription to the zones; return its id and its secret."""
        wanted = {"name": path, "url": f"http://127.0.0.1:{self.receiver.port}{path}"}
        subject = changes.pop("subject", None)
        arguments = wanted | {"types": ["ZoneDefined"]} | changes
        made = await call(self.service, "register_subscription", arguments, subject=subject)
        return made.id, json.loads(made.body)["secret"]

    async def do(self, name: str, id: UUID, **arguments: Any) -> Any:
        made = await call(self.service, name, {"subscription_id": str(id), **arguments})
        return json.loads(made.body or b"null")

    async def status(self, id: UUID) -> tuple[str, str | None]:
        shown = await self.do("get_subscription", id)
        return shown["status"], shown["status_reason"]

    async def deliveries(self, id: UUID) -> list[EventDelivery]:
        rows = await self.store.rows(DELIVERIES, {"subscription_id": id})
        return sorted(rows, key=lambda row: (row.first_at, row.event_id))

    async def got(self, path: str, count: int) -> list[Got]:
        """Return what came at a path, once it is so much."""
        await until(lambda: len(self.receiver.at(path)) >= count, f"{count} at {path}")
        return self.receiver.at(path)

    async def failed(self, id: UUID, attempt: int) -> EventDelivery:
        """Return the delivery under way, once this attempt has failed."""

        async def found() -> EventDelivery | None:
            rows = [row for row in await self.deliveries(id) if row.due_at]
            return rows[0] if [row.attempt for row in rows] == [attempt] else None

        return await until(found, f"attempt {attempt} failed")

    async def settled(self, id: UUID, count: int) -> list[EventDelivery]:
        async def found() -> list[EventDelivery] | None:
            rows = [row for row in await self.deliveries(id) if row.status != "Sending"]
            return rows if len(rows) >= count else None

        return await until(found, f"{count} settled")

    async def deliverer(self) -> Deliverer:
        hosts = ReceiverHosts(*[(f"127.0.0.1:{self.receiver.port}",)] * 2)
        directory = MemoryDirectory(self.store, CATALOGUE.views, CODEC)
        self.log = MemoryEventLog(self.store, directory)
        reader = log_reader(
            self.log,
            CATALOGUE,
            CODEC,
            cursor_key=KEY,
            base_url="https://lab.test",
            directory=directory,
        )
        follower = LogFollower(self.log, reader.events)
        await follower.begin()
        assert READERS.secrets
        return Deliverer(
            service=self.service,
            store=self.store,
            reader=reader,
            follower=follower,
            webhooks=HttpWebhooks(hosts, self.now, timeout=5.0),
            keeper=READERS.secrets,
            telemetry=self.telemetry,
            clock=self.now,
            times=OFTEN,
        )

    @asynccontextmanager
    async def worker(self, drains: bool = True) -> AsyncGenerator[None]:
        """Run a worker; without `drains` it is cut off in the middle of what it does."""
        deliverer = await self.deliverer()
        holder = LeaseHolder(
            queue=MemoryWorkQueue(self.store),
            owner=uuid4(),
            walk=deliverer.walk,
            times=LeaseTimes(slots=200),
            telemetry=self.telemetry,
            kind=DELIVERING,
        )

        async def work() -> None:
            while True:
                await deliverer.follower.read()
                await holder.turn()
                await asyncio.sleep(0.005)

        working = asyncio.create_task(work())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.wait([working])
            if not drains:
                names = {str(id) for (id,) in self.store.tables["work"]}
                cut_off = [each for each in asyncio.all_tasks() if each.get_name() in names]
                for task in cut_off:
                    task.cancel()
            await holder.close()
            # As if the time of the leases had passed.
            for key, row in self.store.tables["work"].items():
                self.store.tables["work"][key] = replace(row, due_at=self.store.clock())


@asynccontextmanager
async def delivery_bench() -> AsyncGenerator[DeliveryBench]:
    """Provide a bench whose receiver listens."""
    receiver = LocalReceiver()
    await receiver.serve()
    host = f"127.0.0.1:{receiver.port}"
    here = replace(FACTS, login_key=KEY, receivers=ReceiverHosts((host,), (host,)))
    store = MemoryStore(CODEC)
    await prepare(store, store, ADMIN, open_for_development=False, facts=here)
    bench: DeliveryBench

    def now() -> datetime:
        return bench.now()

    service = compose(
        store,
        store,
        KEY,
        facts=here,
        readers=READERS,
        event_log=MemoryEventLog(store),
        clock=now,
        new_id=uuid7,
    )
    bench = DeliveryBench(store, service, receiver)
    try:
        yield bench
    finally:
        await receiver.close()
