"""A Phoebus Olog on this machine: a server that keeps to its rules, and a log of its own.

The rules are those of phoebus-olog 6.0, each named by its source in `src/main/java/org/phoebus`.
`python -m tests.support.olog PORT FILE` runs one in a process that can be killed.
"""

import asyncio
import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.receiving import Got, LocalReceiver, answer

LOGBOOK, USER, PASSWORD = "Operations", "beamkeep", "pass"
ANSWER_SECONDS = 0.05
"""Between storing an entry and answering, long enough that a kill meets a lost answer."""


class Olog:
    """Keeps entries in a file, as a database would, and answers as Olog does."""

    def __init__(self, file: Path, pause: float = 0.0) -> None:
        self.receiver, self._file, self._pause = LocalReceiver(), file, pause
        self.logbooks, self.tags = [LOGBOOK], list[str]()
        self.spoiled: list[bytes | None] = []
        """Answers that are given in turn in place of the right one; None breaks the connection."""
        self.loses = 0
        """How many answers to new entries are lost after the entry was stored."""
        self.stalls = 0
        """How many requests are never answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.receiver.port}/Olog"

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The entries, in the order of their numbers."""
        return [*read_entries(self._file)]

    async def serve(self, port: int = 0) -> None:
        self.receiver.fallback = self._behave
        await self.receiver.serve(port)

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
        parts = urlsplit(got.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match got.method, parts.path:
            case "GET", "/Olog/logbooks":
                return body_of([{"name": name, "state": "Active"} for name in self.logbooks])
            case "GET", "/Olog/logs/search":
                found = [each for each in self.entries if matches(each, query["properties"])]
                # LogSearchUtil: 100 at most, the newest first.
                return body_of({"hitCount": len(found), "logs": found[::-1][:100]})
            case "PUT", "/Olog/logs":
                return await self._create(got, query)
            case _:
                return answer(404)

    async def _create(self, got: Got, query: dict[str, str]) -> bytes:
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        # WebSecurityConfig: reads are open, writes are not.
        if got.headers.get("authorization") != f"Basic {login}":
            return answer(401)
        log: dict[str, Any] = got.json
        # LogResource.createLog: the checks, in this order.
        if not log.get("logbooks"):
            return answer(400, "A log entry must specify at least one logbook")
        if not log["title"].strip():
            return answer(400, "A log entry must specify a title")
        entries = self.entries
        if "inReplyTo" in query and query["inReplyTo"] not in {str(e["id"]) for e in entries}:
            return answer(400, "Cannot reply to log entry as it does not exist")
        if not {each["name"] for each in log["logbooks"]} <= {*self.logbooks}:
            return answer(400, "One or more invalid logbook name(s)")
        if not {each["name"] for each in log.get("tags", [])} <= {*self.tags}:
            return answer(400, "One or more invalid tag name(s)")
        # InstanceDeserializer: milliseconds, as a whole number.
        if not all(isinstance(each["instant"], int) for each in log.get("events", [])):
            return answer(400)
        # CommonmarkCleaner: what was sent is the source.
        made = {
            "id": len(entries) + 1,
            "owner": USER,
            "level": "Info",
            **log,
            "source": log["description"],
            "inReplyTo": query.get("inReplyTo"),
            "markup": query.get("markup"),
        }
        with self._file.open("a") as file:
            file.write(json.dumps(made) + "\n")
            file.flush()
            os.fsync(file.fileno())
        await asyncio.sleep(self._pause)
        if self.loses:
            self.loses -= 1
            raise ConnectionError
        return body_of(made)


def read_entries(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of an Olog, as its own file has them."""
    for line in file.read_text().splitlines() if file.exists() else ():
        yield json.loads(line)


def id_of(entry: dict[str, Any]) -> str:
    """Return the id by which Beamkeep finds an entry."""
    (found,) = [each for each in entry["properties"] if each["name"] == "beamkeep"]
    return {each["name"]: each["value"] for each in found["attributes"]}["id"]


def body_of(body: object) -> bytes:
    return answer(200, json.dumps(body), content_type="application/json")


def matches(entry: dict[str, Any], wanted: str) -> bool:
    """Whether a property is as wanted, by LogSearchUtil: names and values are compared apart."""
    for pattern in re.split(r"[|,;]", wanted):
        name, attribute, value = ([*pattern.split("."), "*", "*"])[:3]
        for each in entry.get("properties", []):
            pairs = each["attributes"]
            if (
                fnmatchcase(each["name"], name)
                and any(fnmatchcase(pair["name"], attribute) for pair in pairs)
                and any(fnmatchcase(pair["value"], value) for pair in pairs)
            ):
                return True
    return False


async def main() -> None:
    olog = Olog(Path(sys.argv[2]), ANSWER_SECONDS)
    await olog.serve(int(sys.argv[1]))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
