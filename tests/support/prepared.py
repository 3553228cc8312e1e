"""One deployment in memory for many tests. Its store is put back before each use."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any, NamedTuple

from beamkeep.adapters.memory.store import MemoryBackup, MemoryStore
from beamkeep.runtime import Service
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import AdminClient, call, memory_service
from beamkeep.testing.web import http_client, rest_application
from tests.support.examples import EXAMPLES
from tests.support.rest_client import RestClient

MADE_AGAIN = frozenset({"start_run"})
"""The examples that expire: a run starts only shortly after its enclosure was observed."""


class MadeExample(NamedTuple):
    """The arguments of an example, and the store as the example left it."""

    arguments: Mapping[str, Any]
    backup: MemoryBackup


class Prepared:
    """A deployment that is put back to the state in which it was handed over.

    Only the store is put back. A test of metrics, limits, streams or cached pages needs a
    deployment of its own: `rest_client()`.
    """

    def __init__(self, service: Service, store: MemoryStore) -> None:
        self.service, self.store, self.do = service, store, AdminClient(service, store)
        self._fresh = store.backup()
        self._made: dict[str, MadeExample] = {}

    @cached_property
    def rest(self) -> RestClient:
        """The service over HTTP."""
        http = http_client(rest_application(self.service))
        return RestClient(http, self.service.catalogue, self.store)

    def restore(self) -> None:
        """Put the store back to the state in which it was handed over."""
        self.store.restore(self._fresh)

    async def example(self, name: str) -> dict[str, Any]:
        """Put the store back to where the example of this name was made; return its arguments."""
        if name not in self._made or name in MADE_AGAIN:
            self.restore()
            arguments = await EXAMPLES[name](self.do)
            self._made[name] = MadeExample(arguments, self.store.backup())
        made = self._made[name]
        self.store.restore(made.backup)
        return deepcopy(dict(made.arguments))


async def prepared_deployment() -> Prepared:
    """Return a deployment with Ada, who may do everything, and Bob, who may do nothing."""
    service, store = await memory_service()
    bob = {"name": "Bob", "identities": [{"issuer": ISSUER, "subject": "bob"}]}
    await call(service, "register_actor", bob)
    return Prepared(service, store)
