"""Calls of the catalogue's operations and questions to a running service."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never
from urllib.parse import quote

import click

from beamkeep.kernel import Operation, Question

from .http import HttpClient, ServiceError, read_token
from .terminal import printable

if TYPE_CHECKING:
    import httpx2

REFUSED, UNREACHABLE = 1, 2
ATTEMPTS = 20
"""How often a call that is safe to repeat is made before its failure is final."""

type CatalogueRow = Operation | Question


def connect(
    transport: "httpx2.BaseTransport | None",
    url: str,
    token_file: Path | None,
    surface_id: str | None,
) -> HttpClient:
    """Return a client made from the options of the command line, closed when the command ends."""
    try:
        token = read_token(token_file)
        client = HttpClient(url, token, surface_id=surface_id, transport=transport)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from None
    click.get_current_context().call_on_close(client.close)
    return client


def call(
    client: HttpClient,
    row: CatalogueRow,
    arguments: Mapping[str, Any],
    *,
    subject: str = "",
    dry_run: bool = False,
    **options: Any,
) -> "httpx2.Response":
    """Return the answer to an operation or question; print a failure of `subject` and exit.

    `options` are those of `HttpClient.request`.
    """
    in_path = {name: quote(str(arguments[name]), safe="") for name in row.route.fields}
    others = {name: value for name, value in arguments.items() if name not in in_path}
    if isinstance(row, Question):
        options["params"] = others
    else:
        options |= {"json": others, "params": {"dry_run": "true"} if dry_run else None}
    try:
        return client.request(row.route.method, row.route.path.format(**in_path), **options)
    except ServiceError as error:
        text = f"{subject}: {error}" if subject else str(error)
        stop(text, UNREACHABLE if error.status is None else REFUSED)


def stop(text: str, code: int) -> Never:
    """Print a text to standard error and exit with this code."""
    click.echo(printable(text), err=True)
    raise click.exceptions.Exit(code)
