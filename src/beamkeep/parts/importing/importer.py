"""`beamkeep import`: the commands that import a file."""

from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import click

from beamkeep_client.calling import REFUSED, call, connect, stop
from beamkeep_client.catalogue import catalogue
from beamkeep_client.http import ATTEMPTS
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.terminal import printable

from .beamline import read
from .changes import ChangeSet, ListItem, PendingId, Step, changes_of, existing
from .happi import beamline_of
from .parsing import FaultyFileError, ParsedFile, parse, read_text


class Importer:
    """One import into one service."""

    def __init__(self, client: HttpClient) -> None:
        self._client, self._import_id = client, uuid4().hex

    def preview(self, found: ParsedFile) -> ChangeSet:
        """Return what the import would change; raise FaultyFileError if it is faulty."""
        beamline = read(found)
        return changes_of(beamline, found, existing(beamline, self._fetch_all))

    def apply(self, steps: list[Step]) -> None:
        """Dry-run the steps that do not depend on others, then apply all and print progress."""
        for step in steps:
            if not any(map(_is_pending, step.arguments.values())):
                self._call(step.operation, step.arguments, step.subject, dry_run=True)
        created: dict[PendingId, str] = {}
        token = None
        for number, step in enumerate(steps, 1):
            key = f"{self._import_id}-{number}"
            arguments = {name: _resolved(v, created) for name, v in step.arguments.items()}
            answer = self._call(step.operation, arguments, step.subject, idempotency_key=key)
            token = answer.headers.get("position-token", token)
            if step.creates:
                created[step.creates] = answer.json()[f"{step.creates.kind}_id"]
            progress = f"[{number}/{len(steps)}] {step.operation} {step.subject}"
            click.echo(printable(progress), err=True)
        if token:
            # An import that follows at once must find everything in the lists.
            for name in ("list_families", "list_models", "list_enclosures", "list_assets"):
                self._call(name, {"min_token": token, "limit": 1}, name)

    def _fetch_all(self, name: str, **filters: str) -> list[ListItem]:
        items: list[ListItem] = []
        cursor: str | None = ""
        while cursor is not None:
            more = {"cursor": cursor} if cursor else {}
            page = self._call(
                name, {**filters, "order": "oldest", "limit": 100, **more}, name
            ).json()
            items += page["items"]
            cursor = page["next_cursor"]
        return items

    def _call(self, name: str, arguments: dict[str, Any], subject: str, **options: Any) -> Any:
        options |= {"subject": subject, "attempts": ATTEMPTS}
        return call(self._client, catalogue()[name], arguments, **options)


def _is_pending(value: object) -> bool:
    """Return whether a value is, or contains, the id of something not yet created."""
    return isinstance(value, PendingId) or any(_is_pending(part) for part in _parts(value))


def _resolved(value: object, created: dict[PendingId, str]) -> object:
    """Return a value with each pending id replaced by the id created for it."""
    if isinstance(value, PendingId):
        return created[value]
    return [_resolved(part, created) for part in _parts(value)] or value


def _parts(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def run(file: Path, apply: bool, facility: str | None = None) -> None:
    """Import a file, or show what an import would change."""
    importer = Importer(connect(click.get_current_context()))
    try:
        found = parse(read_text(file))
        found = beamline_of(found, facility) if facility else found
        changes = importer.preview(found)
    except FaultyFileError as faulty:
        for fault in faulty.faults:
            text = f"{fault.key}: {fault.text}" if fault.key else fault.text
            click.echo(printable(f"{file}:{fault.line}: {text}"), err=True)
        stop(str(faulty), REFUSED)
    _show(changes)
    if apply and changes.steps:
        importer.apply(changes.steps)
    elif changes.steps:
        click.echo("Nothing was written. Repeat with --apply to apply the changes.", err=True)


def _show(changes: ChangeSet) -> None:
    for step in changes.steps:
        click.echo(printable(f"{step.operation} {step.subject}"))
    for text in changes.skipped:
        click.echo(printable(f"skipped: {text}"))
    if not changes.steps and not changes.skipped:
        click.echo(f"No changes: {changes.unchanged} objects match.")
