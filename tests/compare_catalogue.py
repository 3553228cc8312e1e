"""Compare docs/reference/operations.md with what a running service says of itself on every surface.

Reads BEAMKEEP_URL and BEAMKEEP_TOKEN; the token must be one that may call everything.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from beamkeep.contexts.catalogue import CATALOGUE

TABLE = Path(__file__).parents[1] / "docs/reference/operations.md"
ROW = re.compile(r"\| `(\w+)` \| `(\w+) (/\S+)` \| (\w+) \| (\d+) \|")


HTTP_ONLY = {"approve_proposal"}
"""No tool of an agent: only a person approves."""


class Row(NamedTuple):
    """What the table says of one operation."""

    name: str
    method: str
    path: str
    status: str


def expected(text: str) -> list[Row]:
    """The rows of the table."""
    return [Row(name, method, path, status) for name, method, path, _, status in ROW.findall(text)]


def described(document: Mapping[str, Any]) -> list[Row]:
    """The operations of an OpenAPI document, each with its status of success."""
    return [
        Row(operation["operationId"], method.upper(), path, _success(method, operation))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def _success(method: str, operation: Mapping[str, Any]) -> str:
    """The status of success; a command's 200 is that of its dry run where it has another."""
    found = [
        status
        for status, answer in operation["responses"].items()
        if status.startswith("2") and answer["description"] != "Proposed."
    ]
    if method == "post" and len(found) > 1:
        found.remove("200")
    return " ".join(found)


async def tools(url: str, token: str) -> list[str]:
    """The names of the tools MCP lists, asked for every toolset."""
    headers = {"Authorization": f"Bearer {token}"}
    toolsets = ",".join(aggregate.noun for aggregate in CATALOGUE.aggregates.values())
    address = f"{url}/mcp?toolsets={toolsets}"
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


def verbs() -> list[str]:
    """The operations for which the command line has a verb."""
    command = [sys.executable, "-m", "beamkeep", "catalogue", "--json"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [row["name"] for row in json.loads(shown)]


def differences(what: str, wanted: Iterable[object], found: Iterable[object]) -> Iterator[str]:
    """What one side has and the other has not, in words."""
    here, there = list(wanted), list(found)
    for surplus in sorted({str(row) for row in here if row not in there}):
        yield f"{what} lacks {surplus}"
    for surplus in sorted({str(row) for row in there if row not in here}):
        yield f"the table lacks {surplus}, which {what} has"
    for row in {str(row) for row in there if there.count(row) > 1}:
        yield f"{what} has {row} more than once"


def compare(url: str, token: str, table: str) -> list[str]:
    """Every difference between the table and the service."""
    rows = expected(table)
    names = [row.name for row in rows]
    headers = {"Authorization": f"Bearer {token}"}
    # The first document of a process takes seconds, and many on a busy machine.
    answer = httpx2.get(f"{url}/openapi.json", headers=headers, timeout=120)
    document = answer.raise_for_status().json()
    return [
        *differences("OpenAPI", rows, described(document)),
        *differences("MCP", set(names) - HTTP_ONLY, asyncio.run(tools(url, token))),
        *differences("the command line", names, verbs()),
    ]


def main() -> int:
    """Print the differences; fail if there are any."""
    table = TABLE.read_text()
    found = compare(os.environ["BEAMKEEP_URL"], os.environ["BEAMKEEP_TOKEN"], table)
    print("\n".join(found) or f"{len(expected(table))} operations and questions on every surface")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
