"""The developer of a deployment that asks nobody to log in."""

import json
from collections.abc import Mapping
from typing import Any

from uuid_utils.compat import uuid7

from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.federation.facility import facility_by_code
from beamkeep.kernel import Event, Operation, SideWrite, SurfaceKind, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.store import EventStore
from beamkeep.testing.appends import on_record


class Developer:
    """Calls a service over HTTP, and puts on record what has no command."""

    def __init__(self, service: Service, store: EventStore) -> None:
        self._service, self._store = service, store

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        row = self._service.catalogue.named[name]
        caller = Caller(uuid7(), principal_id=DEVELOPER, transport=SurfaceKind.HTTP)
        request = Request(caller, arguments, **options)
        if isinstance(row, Operation):
            answer = await self._service.dispatcher.execute(row, request)
        else:
            answer = await self._service.queries.ask(row, request)
        return json.loads(answer.body or b"null")

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Refuse: nobody has a login here."""
        raise AssertionError(f"no machine account calls {name}")

    async def put(self, part: Event | SideWrite, *, owned: bool = False) -> None:
        """Put an event or a row on record, as the service itself."""
        await self._store.append(replace(on_record(part), surface_id=None))

    async def facility(self, code: str) -> str:
        """Return the id of a facility."""
        return str((await facility_by_code(code, self._service.sessions())).id)
