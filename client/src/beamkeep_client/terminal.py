"""Answers printed for a person: tables that fit the terminal, and sentences."""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from .catalogue import Entry

TAIL = 8
"""The end of an id is shown: the beginning of a UUIDv7 is its time, which many ids share."""
ID_LENGTH = 36
SIGNS = {"good": ("●", "green"), "warning": ("▲", "yellow"), "bad": ("✕", "red")}
STATES = {
    "good": {
        *("Active", "Approved", "Available", "Completed", "InProgress", "Nominal", "Open"),
        *("Permitted", "Running", "Succeeded"),
    },
    "warning": {
        *("Degraded", "Held", "Maintenance", "OnHold", "Queued", "Recovering", "Unknown"),
        *("UnderReview", "Warning"),
    },
    "bad": {
        *("Aborted", "Failed", "Faulted", "NotPermitted", "Rejected", "Stopped", "Truncated"),
        "Unavailable",
    },
}
STALE = "This list is not up to date: its worker does not run or keep up. `get` is up to date."
SIZES = ("B", "kB", "MB", "GB", "TB", "PB")
NEUTRAL = "○"
"""The sign of a state that is neither good nor bad."""
STATE_COLUMNS = {"status", "permit_status", "current_status", "lifecycle", "condition"}
HEADS = {
    "created_at": "age",
    "external_refs": "refs",
    "last_reported_at": "reported",
    "last_revised_at": "revised",
    "updated_at": "age",
    "recorded_at": "age",
    "sampled_at": "age",
    "condition_reason": "reason",
    "current_status": "status",
    "mounted_on_asset_id": "mounted on",
    "object_scope": "scope",
    "last_observed_at": "since",
    "last_observed_reason": "reason",
    "last_status_changed_at": "since",
    "last_status_reason": "reason",
    "permit_status": "permit",
    "planned_end_at": "end",
    "planned_start_at": "start",
    "status_reason": "reason",
}
"""What a column is called, where its name says it with too many words."""
SIGN_OF = {state: SIGNS[kind] for kind, states in STATES.items() for state in states}
FIRST = (
    *("name", "title", "status", "permit_status", "current_status", "lifecycle", "condition"),
    *("last_status_reason", "version"),
)
"""What an answer shows first."""
CALLED = ("name", "title", "text")
"""What tells a person which object is meant."""
UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def printable(text: str) -> str:
    """Return the text with every terminal control character replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def width() -> int:
    """Return the columns of the terminal."""
    return shutil.get_terminal_size().columns


def height() -> int:
    """Return the lines of the terminal; of no terminal, more than any answer has."""
    return shutil.get_terminal_size().lines if sys.stdout.isatty() else sys.maxsize


def shortened(text: str) -> str:
    """Return a line that fits the terminal."""
    return text if len(text) <= width() else f"{text[: width() - 1]}…"


def tail(id: str) -> str:
    """Return the end of an id, which is accepted in its place."""
    return f"…{id[-TAIL:]}"


def age(text: str) -> str:
    """Return how long ago a time was, such as `5m`, or when it comes, such as `in 5m`."""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()
    size, unit = next((each for each in UNITS if abs(seconds) >= each[0]), UNITS[-1])
    count = f"{int(abs(seconds) / size)}{unit}"
    return count if seconds >= 0 else f"in {count}"


def local(text: str) -> str:
    """Return a time on the clock of this machine, with its day unless that is today."""
    when, here = datetime.fromisoformat(text).astimezone(), datetime.now().astimezone()
    return f"{when:%H:%M}" if when.date() == here.date() else f"{when:%Y-%m-%d %H:%M}"


def show(entry: Entry, body: Mapping[str, Any], form: str = "table") -> None:
    """Print a list as a table, anything else field by field."""
    names = {id: each["name"] for id, each in body.get("names", {}).items()}
    if "items" not in body:
        _show_fields(entry, body, names)
        return
    items: Sequence[Mapping[str, Any]] = body["items"]
    columns = list(entry.columns) if entry.columns and form == "table" else _all_columns(items)
    own, *_ = columns or [""]
    rows = [
        [_own(row.get(own), form, entry), *(_shown(row, n, form, names) for n in columns[1:])]
        for row in items
    ]
    if rows:
        heads = [name if form == "wide" else head(name, is_own=name == own) for name in columns]
        heads = [each.upper() for each in heads]
        fixed = 1 if own.endswith("id") else 0
        for line in _lines([heads, *rows], None if form == "wide" else width(), fixed=fixed):
            _echo(line)
    else:
        _echo(f"No {entry.noun.replace('-', ' ')} fits." if entry.noun else "Nothing fits.")
    if (total := body.get("total")) is not None:
        _echo(f"{total} in all", err=True)
    if body.get("stale"):
        _echo(STALE, err=True)
    if more := body.get("next_cursor"):
        _echo(f"There are more: --cursor {more}", err=True)


def _own(value: object, form: str, entry: Entry) -> str:
    """Return the first cell of a row: an id that is accepted in its place."""
    whole = entry.whole_ids and isinstance(value, str) and _is_id(value)
    return _cell(value, "wide" if whole else form, {})


def _shown(row: Mapping[str, Any], column: str, form: str, names: Mapping[str, str]) -> str:
    value = row.get(column)
    return table_cell(value, column, names) if form == "table" else _cell(value, form, names)


def _all_columns(items: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in items for name in row))


def _show_fields(entry: Entry, body: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Print what is known of an object: what it is called first, lists line by line."""
    own = f"{entry.noun.replace('-', '_')}_id"
    first = [name for name in FIRST if name in body]
    others = [name for name in body if name not in {*FIRST, "names", "names_more"}]
    named = {name: body[name] for name in (*first, *([own] if own in body else ()), *others)}
    known = {name: value for name, value in named.items() if not is_empty(value)}
    plain = {name: value for name, value in known.items() if not _is_long(value)}
    rows = [[_label(n, own), field_cell(n, v, {} if n == own else names)] for n, v in plain.items()]
    for line in _lines(rows, width(), fixed=1):
        _echo(line)
    for name, values in known.items():
        if _is_long(values):
            _echo(_label(name, own))
            for value in values:
                _echo(shortened(f"  {brief(value, names)}"))


def _echo(text: str, err: bool = False) -> None:
    # The Python client does without Click, which is slow to load.
    import click  # noqa: PLC0415

    click.echo(text, err=err)


def _styled(text: str, colour: str) -> str:
    import click  # noqa: PLC0415

    return click.style(text, fg=colour)


def is_empty(value: object) -> bool:
    """Return whether a value says nothing."""
    if isinstance(value, dict):
        return all(is_empty(each) for each in cast("dict[str, object]", value).values())
    return value is None or value == []


def _label(name: str, own: str) -> str:
    if name == own:
        return "id"
    several = f"{name.removesuffix('_ids')}s" if name.endswith("_ids") else name
    plain = several.removeprefix("last_status_").removesuffix("_id").removesuffix("_at")
    return plain.replace("_", " ")


def field_cell(name: str, value: object, names: Mapping[str, str] = {}) -> str:
    """Return a value with the name of an object next to its id, and the age next to a time."""
    if not isinstance(value, str):
        return _cell(value, "table", names)
    if _is_id(value):
        called = names.get(value)
        return f"{printable(called)} ({tail(value)})" if called else value
    if _is_time(value):
        then = age(value)
        return f"{value[:19].replace('T', ' ')} UTC ({then if then[:2] == 'in' else then + ' ago'})"
    return table_cell(value, name)


def brief(value: object, names: Mapping[str, str]) -> str:
    """Return one part of an answer in one line, what it is called first."""
    if not isinstance(value, Mapping):
        return field_cell("", value, names)
    parts = cast("Mapping[str, Any]", value)
    shown = {name: each for name, each in parts.items() if not is_empty(each)}
    called = [name for name in CALLED if name in shown][:1]
    called = called or [n for n, v in shown.items() if isinstance(v, str) and v in names][:1]
    first = [_cell(shown.pop(name), "table", names) for name in called]
    cells = {_label(name, ""): _cell(v, "table", names) for name, v in shown.items()}
    rest = [f"{label} {text}" for label, text in cells.items() if text not in first]
    return ", ".join([*first, *rest])


def _is_long(value: object) -> bool:
    """Return whether a value is a list of objects or of ids."""
    if not isinstance(value, list) or not value:
        return False
    first = cast("list[object]", value)[0]
    return isinstance(first, dict) or (isinstance(first, str) and _is_id(first))


def head(name: str, is_own: bool) -> str:
    """Return what a column is called."""
    if is_own and name.endswith("id"):
        return "id"
    plain = HEADS.get(name) or name.removesuffix("_id").removesuffix("_at")
    return plain.replace("_", " ")


def table_cell(value: object, column: str = "", names: Mapping[str, str] = {}) -> str:
    """Return a value as a table shows it, with the name of an object in place of its id."""
    text = _cell(value, "table", names)
    if column in STATE_COLUMNS and isinstance(value, str) and value not in SIGN_OF:
        return f"{NEUTRAL} {text}"
    return text


def _cell(value: object, form: str, names: Mapping[str, str]) -> str:
    if is_empty(value):
        return "-"
    if not isinstance(value, str):
        shown = _plain(value, names) if form == "table" else json.dumps(value, ensure_ascii=False)
        return printable(shown)
    if form == "table":
        if _is_id(value):
            return printable(names.get(value) or tail(value))
        if _is_time(value):
            return age(value)
        if value in SIGN_OF:
            return f"{SIGN_OF[value][0]} {value}"
    return printable(value)


def _plain(value: object, names: Mapping[str, str]) -> str:
    """Return what is not a text in few words."""
    match value:
        case bool():
            return "yes" if value else "no"
        case {"code": str(code), "system": str() | None}:
            return code
        case {"kind": str(), "id": str(id)}:
            return _cell(id, "table", names)
        case dict():
            parts = cast("dict[str, object]", value).items()
            shown = [(_label(name, ""), each) for name, each in parts if not is_empty(each)]
            return ", ".join(f"{label} {_part(each, names)}" for label, each in shown)
        case list():
            several = cast("list[object]", value)
            return ", ".join(_cell(each, "table", names) for each in several)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _part(value: object, names: Mapping[str, str]) -> str:
    """Return a value of a mapping; an id that is not known here may be one of another system."""
    is_foreign = isinstance(value, str) and _is_id(value) and value not in names
    return _cell(value, "wide" if is_foreign else "table", names)


def _is_id(text: str) -> bool:
    return len(text) == ID_LENGTH and text.count("-") == 4


def _is_time(text: str) -> bool:
    return text[:2] == "20" and text[10:11] == "T" and text.endswith("Z")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines that fit the terminal, in columns and without colours."""
    return _lines(rows, width(), coloured=False)


def _lines(
    rows: Sequence[Sequence[str]],
    most: int | None,
    fixed: int = 0,
    coloured: bool | None = None,
) -> list[str]:
    """Return rows as lines; the widest columns are shortened until the lines fit.

    The first `fixed` columns stay as they are: they hold what can be given back.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while most and sum(widths) + 2 * (len(widths) - 1) > most:
        widest = max(range(fixed, len(widths)), key=widths.__getitem__)
        if widths[widest] <= 1:
            break
        widths[widest] -= 1
    in_colour = _is_coloured() if coloured is None else coloured
    return [
        "  ".join(_fitted(c, w, in_colour) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _fitted(cell: str, columns: int, coloured: bool) -> str:
    text = cell if len(cell) <= columns else f"{cell[: columns - 1]}…"
    sign = SIGN_OF.get(cell[2:])
    shown = _styled(text, sign[1]) if sign and coloured else text
    return shown + " " * (columns - len(text))


def _is_coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def human(size: float) -> str:
    """Return a number of bytes for a person, such as 1.2 TB."""
    power = 0
    while size >= 1000 and power < len(SIZES) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.0f} {SIZES[power]}" if not power else f"{size:.1f} {SIZES[power]}"
