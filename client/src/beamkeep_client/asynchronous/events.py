"""The events of the service as they happen."""

import json
from asyncio import sleep
from collections.abc import AsyncIterator, Mapping
from typing import Any

from beamkeep_client.asynchronous.http import AsyncHttpClient
from beamkeep_client.http import ServiceError

PATH = "/events"
PAUSE_SECONDS = 2.0
ENDS = {
    "token": (401, "The access token is no longer valid. Get a new one."),
    "permission": (403, "You are no longer permitted to follow events. Ask an administrator."),
}


async def followed(
    client: AsyncHttpClient, params: Mapping[str, Any]
) -> AsyncIterator[Mapping[str, Any]]:
    """Yield events as they happen, and continue after a lost connection.

    Raise ServiceError when the service refuses them, or cannot be reached at the beginning.
    """
    last_id = ""
    while True:
        try:
            async for sent in client.events(PATH, params, last_id):
                last_id = sent.id or last_id
                if sent.kind == "event":
                    yield json.loads(sent.data)
                elif sent.kind == "end" and (reason := json.loads(sent.data)["reason"]) in ENDS:
                    status, text = ENDS[reason]
                    raise ServiceError(text, status=status)
        except ServiceError as error:
            if not error.is_transient and not (last_id and error.status is None):
                raise
        await sleep(PAUSE_SECONDS)
