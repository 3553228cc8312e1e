"""Finding an operation by words."""

import json
from collections.abc import Sequence

import click

from .catalogue import Entry, catalogue
from .shared.words import OperationIndex, OperationTexts
from .terminal import shortened

MOST = 10


def found(words: Sequence[str]) -> list[Entry]:
    """Return the operations that fit words best, the best first."""
    entries = catalogue()
    texts = {
        name: OperationTexts(f"{name} {entry.noun}", entry.doc, " ".join(entry.fields))
        for name, entry in entries.items()
    }
    names = OperationIndex(texts).find(" ".join(words), texts.keys(), MOST)
    return [entries[name] for name in names]


def find_command() -> click.Command:
    """Return the command that finds operations."""

    def run(words: tuple[str, ...]) -> None:
        entries = found(words)
        wide = max((len(entry.words) for entry in entries), default=0)
        for entry in entries:
            line = f"beamkeep {entry.words:<{wide}}  {entry.doc.splitlines()[0]}"
            click.echo(shortened(line))
        if not entries:
            click.echo("No operation fits these words.", err=True)
            raise click.exceptions.Exit(1)

    words = click.Argument(["words"], nargs=-1, required=True)
    return click.Command("find", callback=run, params=[words], help="Find a verb by words.")


def catalogue_command() -> click.Command:
    """Return the command that lists every operation."""

    def run(as_json: bool) -> None:
        entries = catalogue().values()
        rows = [
            {"name": e.name, "words": e.words, "method": e.method, "path": e.path, "kind": e.kind}
            for e in entries
        ]
        if as_json:
            click.echo(json.dumps(rows))
            return
        wide = {name: max(len(row[name]) for row in rows) for name in rows[0]}
        for row in rows:
            click.echo("  ".join(row[name].ljust(wide[name]) for name in row).rstrip())

    text = "List all operations and questions."
    as_json = click.Option(
        ["--json", "as_json"], is_flag=True, help="Print JSON (default: a table)."
    )
    return click.Command("catalogue", callback=run, params=[as_json], help=text)
