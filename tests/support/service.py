"""A service in memory, with an administrator, for tests of everything above the store."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from beamkeep.adapters.memory_store import MemoryStore
from beamkeep.app import compose, prepare
from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.installation import Installation
from beamkeep.contexts.trust.bootstrap import Administrator
from beamkeep.kernel import Event, Operation, Question, SurfaceKind, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import EventStore, ReadModel
from tests.support.appends import append, at
from tests.support.examples import CALLERS, let_callers_in
from tests.support.examples.federation import OWN_SITE

ISSUER = "https://idp.test"
ADMIN = Administrator(ISSUER, "ada", "Ada")
INSTALLATION = Installation(
    OWN_SITE, "https://lab.test/assets/{asset_id}", issuers=frozenset({ISSUER}), login_key=b"k" * 32
)


class Doing:
    """Makes calls of a service in this process, as Ada wherever she may."""

    def __init__(self, service: Service, store: EventStore) -> None:
        self._service, self._store = service, store

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        answer = await call(self._service, name, arguments, **options)
        return json.loads(answer.body or b"null")

    async def put(self, event: Event) -> None:
        """Put the first event of a stream on record."""
        await self._store.append(append(at(1, event)))


async def memory_service() -> tuple[Service, MemoryStore]:
    """A service on the in-memory store, prepared as a fresh deployment is."""
    store = MemoryStore(Codec(CATALOGUE.aggregates.values()))
    return await prepared_service(store, store, b"k" * 32), store


async def prepared_service(store: EventStore, lists: ReadModel, cursor_key: bytes) -> Service:
    """A service prepared as a fresh deployment is, with everybody the examples need."""
    here = replace(INSTALLATION, login_key=cursor_key)
    sown = await prepare(store, lists, ADMIN, open_for_development=False, installation=here)
    service = compose(store, lists, cursor_key, installation=here)
    if sown:
        await let_callers_in(Doing(service, store), ISSUER)
    return service


def by(subject: str, transport: SurfaceKind | None = SurfaceKind.HTTP, **more: Any) -> Caller:
    """A caller whose token names this subject."""
    return Caller(uuid4(), identity=(ISSUER, subject), transport=transport, **more)


async def call(
    service: Service,
    name: str,
    arguments: Mapping[str, Any],
    subject: str | None = None,
    **more: Any,
) -> Any:
    """Call one operation or question as a surface would, as Ada wherever she may."""
    row = service.catalogue.named[name]
    request = Request(by(subject or CALLERS.get(name, "ada")), arguments, **more)
    match row:
        case Operation():
            return await service.dispatcher.execute(row, request)
        case Question():
            return await service.queries.ask(row, request)
