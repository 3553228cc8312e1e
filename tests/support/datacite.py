"""DataCite on this machine: its published schema, and a registry that keeps to its rules."""

import asyncio
import base64
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from threading import Event, Thread
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft201909Validator
from jsonschema.protocols import Validator

from tests.support.receiving import Got, LocalReceiver, answer

ACCOUNT, PASSWORD, PREFIX = "LAB.DATA", "pass", "10.5072"
NEW_IN_4_6 = {
    "resourceTypeGeneral": ["Award", "Project"],
    "relatedIdentifierType": ["CSTR", "RRID"],
    "relationType": ["HasTranslation", "IsTranslationOf"],
    "dateType": ["Coverage"],
    "contributorType": ["Translator"],
}
"""The words that kernel 4.6 added; the published schema that the library carries is of 4.5."""


def datacite_schema() -> Validator:
    """Return the published JSON Schema of DataCite's metadata."""
    text = files("datacite").joinpath("schemas", "datacite-v4.5.json").read_text()
    schema: dict[str, Any] = json.loads(text)
    for name, words in NEW_IN_4_6.items():
        schema["definitions"][name]["enum"] += words
    return Draft201909Validator(schema)


def metadata_faults(metadata: Mapping[str, Any]) -> list[str]:
    """Return what the schema has against metadata."""
    found = datacite_schema().iter_errors(dict(metadata))
    return [f"{each.json_path}: {each.message[:200]}" for each in found]


@contextmanager
def running_registry() -> Generator["Registry"]:
    """A registry in a thread of its own, for services in other processes."""
    registry, started, loop = Registry(), Event(), asyncio.new_event_loop()

    def serve() -> None:
        loop.run_until_complete(registry.serve())
        started.set()
        loop.run_forever()

    thread = Thread(target=serve)
    thread.start()
    started.wait()
    try:
        yield registry
    finally:
        asyncio.run_coroutine_threadsafe(registry.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Registry:
    """Keeps DOIs as DataCite does: a put creates or changes one, an event moves its state."""

    def __init__(self) -> None:
        self.receiver = LocalReceiver()
        self.dois: dict[str, str] = {}
        """The state of each DOI."""
        self.metadata: dict[str, dict[str, Any]] = {}
        self.created = 0
        self.spoiled: list[bytes | None] = []
        """Answers that are given in turn in place of the right one; None breaks the connection."""
        self.loses = 0
        """How many answers are lost after the registry has done what was asked."""
        self.stalls = 0
        """How many requests are never answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.receiver.port}"

    async def serve(self) -> None:
        await self.receiver.serve()
        self.receiver.fallback = self._behave

    async def close(self) -> None:
        await self.receiver.close()

    async def _behave(self, got: Got) -> bytes:
        if self.spoiled:
            if (spoiled := self.spoiled.pop(0)) is None:
                raise ConnectionError
            return spoiled
        if self.stalls:
            self.stalls -= 1
            await asyncio.Event().wait()
        done = self._put(got)
        if self.loses:
            self.loses -= 1
            raise ConnectionError
        return done

    def _put(self, got: Got) -> bytes:
        login = base64.b64encode(f"{ACCOUNT}:{PASSWORD}".encode()).decode()
        if got.headers.get("authorization") != f"Basic {login}":
            return self._refuse(401, "Bad credentials.")
        if got.headers["content-type"] != "application/vnd.api+json":
            return self._refuse(415, "Wrong media type.")
        doi = unquote(got.path.removeprefix("/dois/"))
        if not doi.startswith(f"{PREFIX}/"):
            return self._refuse(403, "Not your prefix.")
        sent = got.json["data"]
        assert sent["type"] == "dois"
        attributes: dict[str, Any] = sent["attributes"]
        event = attributes.pop("event")
        is_new = doi not in self.dois
        if is_new or attributes:
            if faults := metadata_faults(attributes):
                return self._refuse(422, "; ".join(faults))
            self.metadata[doi] = attributes
        state = self.dois.get(doi, "draft")
        # An event that does not fit is passed over without an error, as in app/models/doi.rb.
        moves = {("publish", "draft"), ("publish", "registered"), ("hide", "findable")}
        if (event, state) in moves:
            state = "findable" if event == "publish" else "registered"
        self.dois[doi] = state
        self.created += is_new
        body = {"data": {"id": doi, "type": "dois", "attributes": {"doi": doi, "state": state}}}
        return answer(201 if is_new else 200, json.dumps(body))

    @staticmethod
    def _refuse(status: int, title: str) -> bytes:
        return answer(status, json.dumps({"errors": [{"status": str(status), "title": title}]}))
