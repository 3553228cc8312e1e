# Written from `asynchronous`; `make reference` writes it again.
"""The events of the service as they happen."""

import json
from time import sleep
from collections.abc import Iterator, Mapping
from typing import Any

from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.http import ServiceError

PATH = "/events"
PAUSE_SECONDS = 2.0
ENDS = {
    "token": (401, "The access token is no longer valid. Get a new one."),
    "permission": (403, "You are no longer permitted to follow events. Ask an administrator."),
}


def followed(
    client: HttpClient, params: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield events as they happen, and continue after a lost connection.

    Raise ServiceError when the service refuses them, or cannot be reached at the beginning.
    """
    last_id = ""
    while True:
        try:
            for sent in client.events(PATH, params, last_id):
                last_id = sent.id or last_id
                if sent.kind == "event":
                    yield json.loads(sent.data)
                elif sent.kind == "end" and (reason := json.loads(sent.data)["reason"]) in ENDS:
                    status, text = ENDS[reason]
                    raise ServiceError(text, status=status)
        except ServiceError as error:
            if not error.is_transient and not (last_id and error.status is None):
                raise
        sleep(PAUSE_SECONDS)
