"""A principal that calls a service on one of its surfaces."""

import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from uuid import UUID

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.kernel import Event, SideWrite, replace

from .appends import on_record
from .calling import Calling, SurfaceAnswer
from .server import DATABASES

FACILITY = """
SELECT stream_id FROM bk.events
 WHERE event_type = 'FacilityRegistered' AND payload ->> 'code' = '{code}'
"""


class As:
    """One principal on one surface; remembers how far the log has come by what it wrote.

    `others` are the tokens of those who call in its place, by the name of the operation.
    """

    def __init__(
        self, calling: Calling, token: str, others: Mapping[str, str] | None = None
    ) -> None:
        self.calling, self.token, self.position_token = calling, token, "0-0"
        self.others = others or {}

    def caller_of(self, name: str) -> "As":
        """Return who makes this call."""
        return As(self.calling, self.others.get(name, self.token))

    async def send(self, name: str, arguments: Mapping[str, Any], **options: Any) -> SurfaceAnswer:
        """Make one call, whatever comes of it."""
        token = self.others.get(name, self.token)
        answer = await self.calling.send(token, name, arguments, **options)
        self.position_token = answer.position_token or self.position_token
        return answer

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        """Make one call that must succeed, and give back its body."""
        answer = await self.send(name, arguments, **options)
        assert answer.ok, (self.calling, name, answer)
        return answer.body

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Make one call as the machine account, and give back its body."""
        return await As(self.calling, next(iter(self.others.values())))(name, arguments)

    async def put(self, part: Event | SideWrite, *, owned: bool = False) -> None:
        """Put the first event of a stream, or a row, on record."""
        record = on_record(part)
        if owned:
            self_id = UUID((await self("get_self", {}))["actor_id"])
            record = replace(record, principal_id=self_id)
        database = DATABASES[str(self.calling.http.base_url).rstrip("/")]
        connections = database.connections()
        try:
            await PostgresEventStore(connections, database.url()).append(record)
        finally:
            await connections.close()

    async def facility(self, code: str) -> str:
        """Return the id of a facility, which the caller may not see."""
        database = DATABASES[str(self.calling.http.base_url).rstrip("/")]
        ((id,),) = database.ask(FACILITY.format(code=code))
        return str(id)

    async def once_fresh(self, name: str, arguments: Mapping[str, Any]) -> SurfaceAnswer:
        """Ask until the list has caught up, as a client does on a machine that is slow."""
        late = time.monotonic() + 60
        while True:
            answer = await self.send(name, arguments)
            if answer.status != 503 or time.monotonic() > late:
                assert answer.ok, (self.calling, name, answer)
                return answer

    async def listed(self, name: str, min_token: str, /, **filters: Any) -> list[dict[str, Any]]:
        """Return every row of a list that has come as far as the token, page by page."""
        return [row async for row in self.rows(name, min_token, order="oldest", **filters)]

    async def rows(
        self, name: str, min_token: str, /, **filters: Any
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield the rows of such a list one by one, by default the newest first."""
        asked: dict[str, Any] = {"limit": 100, "min_token": min_token, **filters}
        while True:
            page = (await self.once_fresh(name, asked)).body
            for row in page["items"]:
                yield row
            if page["next_cursor"] is None:
                return
            asked["cursor"] = page["next_cursor"]
