"""Answers printed for a person at a terminal."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def show(body: Mapping[str, Any], etag: str | None) -> None:
    """Print a list as a table, anything else field by field."""
    fields = {name: value for name, value in body.items() if name != "items"}
    if etag:
        fields["version"] = etag.strip('"')
    if "items" in body:
        _table(body["items"], has_header=True)
        fields = {name: value for name, value in fields.items() if value is not None}
    _table([{"name": name, "value": value} for name, value in fields.items()], has_header=False)


def printable(text: str) -> str:
    """Return the text with every terminal control character replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _table(rows: Sequence[Mapping[str, Any]], has_header: bool) -> None:
    # Slow to load, and needed only at a terminal.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*names, box=None, show_header=has_header)
    for row in rows:
        table.add_row(*(Text(_cell(row.get(name))) for name in names))
    Console().print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
