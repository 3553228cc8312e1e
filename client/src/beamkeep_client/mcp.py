"""MCP over standard input and output: each message is forwarded to the service at /mcp."""

import json
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any, cast
from urllib.parse import quote

import click

from .calling import connect
from .http import ServiceError
from .synchronous.http import HttpClient

AT_ONCE = 8
"""The most calls at the same time, as many as the service answers one principal."""
PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
VERSION = "io.modelcontextprotocol/protocolVersion"
"""Where a message names the version of the protocol, from version 2026-07-28 on."""
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")

type Message = Mapping[str, Any]


class Forwarder:
    """Sends messages of an MCP client to the service, and hands back what it answers."""

    def __init__(self, client: HttpClient, path: str, write: Callable[[str], None]) -> None:
        self._client, self._path, self._write = client, path, write
        self._writing, self._version = Lock(), ""

    def run(self, lines: Iterable[str]) -> None:
        """Forward every line until there are no more."""
        # The help of the command line does without it.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        with ThreadPoolExecutor(AT_ONCE) as calls:
            for line in lines:
                if not line.strip():
                    continue
                try:
                    message: object = json.loads(line)
                except ValueError:
                    self._answer(_error(None, PARSE_ERROR, "The line is not JSON."))
                    continue
                if isinstance(message, dict) and message.get("method") == "initialize":  # pyright: ignore[reportUnknownMemberType]
                    # What follows is sent in the version that it agrees on.
                    self._forward(cast("Message", message))
                elif isinstance(message, dict):
                    calls.submit(self._forward, cast("Message", message))
                else:
                    detail = "Send one JSON-RPC message in each line."
                    self._answer(_error(None, INVALID_REQUEST, detail))

    def _forward(self, message: Message) -> None:
        answer = self._exchanged(message)
        if message.get("method") == "initialize":
            result: Message = answer.get("result") or {}
            self._version = result.get("protocolVersion", "")
        # A message without an id expects no answer.
        if "id" in message:
            self._answer(answer)

    def _exchanged(self, message: Message) -> Message:
        id = message.get("id")
        try:
            answer = self._client.exchange(self._path, message, headers_of(message, self._version))
        except ServiceError as error:
            return _error(id, INTERNAL_ERROR, str(error), error.problem)
        if "jsonrpc" in answer.body:
            return answer.body
        detail = (
            f"{answer.body.get('code') or 'HTTP'}: {answer.body.get('detail') or answer.status}"
        )
        code = INTERNAL_ERROR if answer.status >= 500 else INVALID_REQUEST
        return _error(id, code, detail, answer.body)

    def _answer(self, message: Message) -> None:
        with self._writing:
            self._write(json.dumps(message))


def headers_of(message: Message, version: str) -> dict[str, str]:
    """Return the headers that repeat what a message says, in the version that it is sent in."""
    params = message.get("params")
    given: Message = cast("Message", params) if isinstance(params, dict) else {}
    meta: Message = given.get("_meta") or {}
    own = meta.get(VERSION)
    headers = {"Accept": "application/json, text/event-stream"}
    if not own:
        return headers | ({"MCP-Protocol-Version": version} if version else {})
    method = str(message.get("method", ""))
    headers |= {"MCP-Protocol-Version": str(own), "Mcp-Method": method}
    name = given.get(NAMED.get(method, ""))
    return headers | ({"Mcp-Name": _header(str(name))} if name is not None else {})


def _header(value: str) -> str:
    """Return a value as a header can carry it."""
    if PLAIN.fullmatch(value) and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{b64encode(value.encode()).decode()}?="


def _error(id: object, code: int, text: str, data: Message | None = None) -> Message:
    error = {"code": code, "message": text} | ({"data": dict(data)} if data else {})
    return {"jsonrpc": "2.0", "id": id, "error": error}


def mcp_command() -> click.Command:
    """Return the command that serves the tools of the service to a program on this machine."""

    def run(toolsets: str | None) -> None:
        client = connect(click.get_current_context())
        path = f"/mcp?toolsets={quote(toolsets)}" if toolsets else "/mcp"
        Forwarder(client, path, click.echo).run(sys.stdin)

    text = "Serve the tools of the service to an agent, on standard input and output (MCP)."
    toolsets = click.Option(
        ["--toolsets"], help="Toolsets to list, with commas between them (default: the usual ones)."
    )
    return click.Command("mcp", callback=run, params=[toolsets], help=text)
