"""Answers as a person at a terminal reads them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def show(body: Mapping[str, Any], etag: str | None) -> None:
    """Print a list as a table, anything else field by field."""
    fields = {name: value for name, value in body.items() if name != "items"}
    if etag:
        fields["version"] = etag.strip('"')
    if "items" in body:
        _table(body["items"], titled=True)
        fields = {name: value for name, value in fields.items() if value is not None}
    _table([{"name": name, "value": value} for name, value in fields.items()], titled=False)


def plain(text: str) -> str:
    """The text without what would command a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _table(rows: Sequence[Mapping[str, Any]], titled: bool) -> None:
    # Slow to load, and only a person at a terminal needs them.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*names, box=None, show_header=titled)
    for row in rows:
        table.add_row(*(Text(_cell(row.get(name))) for name in names))
    Console().print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
