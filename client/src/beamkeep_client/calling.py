"""Calls of the catalogue's operations and questions to a running service."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Never
from urllib.parse import quote

import click

from .catalogue import Entry, catalogue
from .http import DEFAULT_URL, HttpClient, ServiceError, read_token
from .login import kept, token_of
from .terminal import printable

if TYPE_CHECKING:
    import httpx2

REFUSED, UNREACHABLE = 1, 2
PARTS_PAGE = 100
ATTEMPTS = 20
"""How often a call that is safe to repeat is made before its failure is final."""


def connect(context: click.Context) -> HttpClient:
    """Return a client made from the options of the command line, closed when the command ends."""
    root = context.find_root()
    given, transport = root.params, root.obj
    try:
        url, token = where(given["url"], read_token(given["token_file"]), given["profile"])
        client = HttpClient(url, token, surface_id=given["surface_id"], transport=transport)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from None
    context.call_on_close(client.close)
    return client


def where(
    url: str | None, token: str | None, profile: str
) -> tuple[str, str | Callable[[], str] | None]:
    """Return address and token; without a token, those of the login of a profile."""
    login = None if token else kept(profile)
    if login and url in (None, login.url):
        return login.url, lambda: token_of(profile)
    return url or DEFAULT_URL, token


def request_of(
    entry: Entry, arguments: Mapping[str, Any], dry_run: bool = False
) -> tuple[str, str, dict[str, Any]]:
    """Return method, path and content of a call."""
    in_path = {name: quote(str(arguments[name]), safe="") for name in entry.in_path}
    others = {name: value for name, value in arguments.items() if name not in in_path}
    path = entry.path.format(**in_path)
    if entry.is_question:
        return entry.method, path, {"params": others}
    return entry.method, path, {"json": others, "params": {"dry_run": "true"} if dry_run else None}


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


def rows(client: HttpClient, path: str, params: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of every page of a list."""
    asked, cursor = partial(client.request, "GET", path, attempts=ATTEMPTS), None
    while True:
        page = asked(params={**params, **({"cursor": cursor} if cursor else {})}).json()
        yield from page["items"]
        if (cursor := page.get("next_cursor")) is None:
            return


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
    path = f"/datasets/{dataset_id}/parts"
    return [row["path"] for row in rows(client, path, {"limit": PARTS_PAGE})]
