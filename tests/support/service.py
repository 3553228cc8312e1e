"""A service in memory, with an administrator, for tests of everything above the store."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from beamkeep.adapters.memory_store import MemoryStore
from beamkeep.app import compose, prepare
from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.trust.bootstrap import Administrator
from beamkeep.kernel import Operation, Question, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.codec import Codec

ISSUER = "https://idp.test"
ADMIN = Administrator(ISSUER, "ada", "Ada")


async def memory_service() -> tuple[Service, MemoryStore]:
    """A service on the in-memory store, prepared as a fresh deployment is."""
    store = MemoryStore(Codec(CATALOGUE.aggregates.values()))
    await prepare(store, store, ADMIN, open_for_development=False)
    return compose(store, store, cursor_key=b"k" * 32), store


def by(subject: str, transport: SurfaceKind | None = SurfaceKind.HTTP, **more: Any) -> Caller:
    """A caller whose token names this subject."""
    return Caller(uuid4(), identity=(ISSUER, subject), transport=transport, **more)


async def call(
    service: Service, name: str, arguments: Mapping[str, Any], subject: str = "ada", **more: Any
) -> Any:
    """Call one operation or question as a surface would."""
    row = service.catalogue.named[name]
    request = Request(by(subject), arguments, **more)
    match row:
        case Operation():
            return await service.dispatcher.execute(row, request)
        case Question():
            return await service.asker.ask(row, request)
