"""Calls of the catalogue's operations and questions to a running service."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Never

import click

from .catalogue import Entry, catalogue, request_of
from .http import ServiceError, read_token
from .logins import address_of
from .synchronous.http import HttpClient
from .terminal import printable

if TYPE_CHECKING:
    import httpx2

REFUSED, UNREACHABLE = 1, 2
PARTS_PAGE = 100


def connect(context: click.Context) -> HttpClient:
    """Return a client made from the options of the command line, closed when the command ends."""
    root = context.find_root()
    given, transport = root.params, root.obj
    try:
        url, token = address_of(given["url"], read_token(given["token_file"]), given["profile"])
        client = HttpClient(url, token, surface_id=given["surface_id"], transport=transport)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from None
    context.call_on_close(client.close)
    return client


def call(
    client: HttpClient,
    entry: Entry,
    arguments: Mapping[str, Any],
    *,
    subject: str = "",
    dry_run: bool = False,
    **options: Any,
) -> "httpx2.Response":
    """Return the answer to an operation or question; print a failure of `subject` and exit.

    `options` are those of `HttpClient.request`.
    """
    method, path, content = request_of(entry, arguments, dry_run)
    try:
        return client.request(method, path, **content, **options)
    except ServiceError as error:
        refused(error, subject)


def refused(error: ServiceError, subject: str = "") -> Never:
    """Print why a call failed and which commands would clear it, and exit."""
    lines = [f"{subject}: {error}" if subject else str(error)]
    names: list[str] = error.problem.get("cleared_by") or []
    ways = [catalogue()[name].words for name in names if name in catalogue()]
    lines += [f"  It can be cleared with: beamkeep {way}" for way in ways]
    stop("\n".join(map(printable, lines)), UNREACHABLE if error.status is None else REFUSED)


def stop(text: str, code: int) -> Never:
    """Print a text to standard error and exit with this code."""
    click.echo(text, err=True)
    raise click.exceptions.Exit(code)


def parts_of(client: HttpClient, dataset_id: str) -> list[str]:
    """Return the paths of the files of a dataset of parts."""
    rows = client.rows(f"/datasets/{dataset_id}/parts", {"limit": PARTS_PAGE})
    return [row["path"] for row in rows]
