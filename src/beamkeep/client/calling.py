"""Calling a running service: where it is, as whom, and what it answers."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, cast
from urllib.parse import quote

import click

from beamkeep.addresses import is_in_the_clear
from beamkeep.kernel import Operation, Question, Record

from .terminal import plain

if TYPE_CHECKING:
    import httpx2

REFUSED, UNREACHABLE = 1, 2
SECONDS = 60.0
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")

type Row = Operation | Question


class Link(Record):
    """How to reach the service, and as whom."""

    url: str
    headers: dict[str, str]
    transport: "httpx2.BaseTransport | None"


def link_to(
    transport: "httpx2.BaseTransport | None",
    url: str,
    token_file: Path | None,
    surface_id: str | None,
) -> Link:
    """The service at an address, called with the token a file or the environment holds."""
    if is_in_the_clear(url):
        raise click.UsageError(
            f"{plain(url)} is plain HTTP: the access token could be read on the way."
            " Give an https:// address; http:// is for this machine only, like"
            " http://127.0.0.1:8000."
        )
    headers = {"X-Surface-Id": surface_id} if surface_id else {}
    token = token_file.read_text() if token_file else os.environ.get("BEAMKEEP_TOKEN", "")
    if token := token.strip():
        if not TOKEN.fullmatch(token):
            raise click.UsageError("What is given as the access token is none.")
        headers["Authorization"] = f"Bearer {token}"
    return Link(url, headers, transport)


def send(
    row: Row, arguments: dict[str, Any], beside: Mapping[str, Any], link: Link
) -> "httpx2.Response":
    """Make one call; whoever cannot reach the service ends here."""
    import httpx2  # noqa: PLC0415  it is slow to load, and help does without

    headers = dict(link.headers)
    if key := beside.get("idempotency_key"):
        headers["Idempotency-Key"] = key
    if (version := beside.get("if_match")) is not None:
        headers["If-Match"] = f'"{version}"'
    in_path = {n: quote(str(arguments.pop(n)), safe="") for n in row.route.fields}
    path, sent = row.route.path.format(**in_path), cast("dict[str, Any]", {})
    if isinstance(row, Question):
        sent["params"] = arguments
    else:
        sent["json"] = arguments
        if beside.get("dry_run"):
            sent["params"] = {"dry_run": "true"}
    try:
        # A proxy that the environment names would read what is sent to this machine as plain HTTP.
        by_proxy = not link.url.lower().startswith("http:")
        with httpx2.Client(transport=link.transport, timeout=SECONDS, trust_env=by_proxy) as client:
            address = link.url.rstrip("/") + path
            return client.request(row.route.method, address, headers=headers, **sent)
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        end(f"The service at {link.url} does not answer: {error}", UNREACHABLE)


def refusal_of(response: "httpx2.Response") -> str:
    """A refusal as one line."""
    try:
        problem = response.json()
        return f"{problem['code']}: {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}: {response.reason_phrase}"


def end(text: str, code: int) -> Never:
    """Say why and leave with this code."""
    click.echo(plain(text), err=True)
    raise click.exceptions.Exit(code)
