"""Rows of the tables next to the event log: the statements that read and write them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeAliasType, cast, get_args, get_origin, get_type_hints

import asyncpg
import msgspec

from beamkeep.kernel import Delete, Insert, Record, Replace, Rows, Table, Upsert
from beamkeep.runtime.codec import encode
from beamkeep.runtime.store import RowQuery
from beamkeep.schemas import Json

from .connections import Connections
from .statements import Statement

type RowWrite = Insert | Replace | Upsert | Delete


class RowWriteShape(NamedTuple):
    """How rows are written; writes of one shape share one clause of a statement."""

    kind: type[RowWrite]
    table: Table[Any]
    key: tuple[str, ...]
    """The key columns by which a row is found."""


async def read_rows[R](
    connections: Connections, table: Table[R], where: Mapping[str, object]
) -> tuple[R, ...]:
    """Return the rows whose columns equal these values, or are among them if several are given."""
    values = {column: _as_list(value) for column, value in where.items()}
    if not all(values.values()):
        return ()  # Nothing is among no values, and needs no statement.
    statement = _select(table, tuple(where))
    return parsed_rows(table, await connections.read(*statement.bind(values)))


async def read_page[R](
    connections: Connections, table: Table[R], query: RowQuery, limit: int
) -> tuple[R, ...]:
    """Return one page of rows, in the order of the query."""
    statement = _select_page(
        table,
        where=tuple((column, _is_several(value)) for column, value in query.where.items()),
        compared=tuple((column, comparison) for column, comparison, _ in query.compared),
        by=query.by,
        newest_first=query.newest_first,
        after=bool(query.after),
    )
    values = {
        **{c: _as_list(v) if _is_several(v) else v for c, v in query.where.items()},
        **{f"bound_{n}": bound for n, (_, _, bound) in enumerate(query.compared)},
        **{f"after_{c}": v for c, v in zip(query.by, query.after, strict=bool(query.after))},
        "limit": limit,
    }
    return parsed_rows(table, await connections.read(*statement.bind(values)))


async def read_last[R](
    connections: Connections, table: Table[R], columns: tuple[str, str], ids: Sequence[object]
) -> tuple[R, ...]:
    """Return the row with each of these ids in the first column that is last by the second."""
    if not ids:
        return ()
    return parsed_rows(table, await connections.read(_select_last(table, *columns), list(ids)))


async def read_ancestors[R](
    connections: Connections, table: Table[R], ids: Sequence[object]
) -> tuple[R, ...]:
    """Return the rows of a tree that have these ids, and all rows above them."""
    if not ids:
        return ()
    return parsed_rows(table, await connections.read(_select_ancestors(table), list(ids)))


def shape_of(write: RowWrite) -> RowWriteShape:
    """Return how a row is written."""
    key = write.table.key
    return RowWriteShape(
        type(write), write.table, key[: len(write.key)] if isinstance(write, Delete) else key
    )


def row_values(writes: Sequence[RowWrite]) -> str:
    """Return rows that are written in one shape, as the JSON their clause takes."""
    return encode([_row(write) for write in writes]).decode()


def write_clause(shape: RowWriteShape, rows: str, condition: str) -> str:
    """Return the clause that writes rows, which a parameter holds, if a condition is true."""
    kind, table, key = shape
    name, columns = f"bk.{table.name}", written_columns(table)
    source = f"jsonb_populate_recordset(NULL::{name}, :{rows}::text::jsonb) AS r"
    same_key = " AND ".join(f"t.{column} = r.{column}" for column in key)
    values = [_written_value(table, column) for column in columns]
    if kind is Insert or kind is Upsert:
        selected = f"SELECT {', '.join(values)} FROM {source} WHERE {condition}"  # noqa: S608
        insert = f"INSERT INTO {name} ({', '.join(columns)}) {selected}"
        replaced = ", ".join(f"{column} = EXCLUDED.{column}" for column in columns)
        on_conflict = f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {replaced}"
        return insert + on_conflict if kind is Upsert else insert
    if kind is Replace:
        assigned = ", ".join(f"{c} = {v}" for c, v in zip(columns, values, strict=True))
        return f"UPDATE {name} AS t SET {assigned} FROM {source} WHERE {same_key} AND {condition}"  # noqa: S608
    return f"DELETE FROM {name} AS t USING {source} WHERE {same_key} AND {condition}"  # noqa: S608


@cache
def insert_if_absent(table: Table[Any]) -> Statement:
    """Return the statement that inserts rows whose keys are not taken."""
    clause = write_clause(RowWriteShape(Insert, table, table.key), "rows", "true")
    return Statement(f"{clause} ON CONFLICT DO NOTHING")


def copy_records(rows: Rows) -> list[tuple[Any, ...]]:
    """Return rows as COPY takes them: records and objects as JSON, other values unchanged."""
    columns = written_columns(rows.table)
    records = list(map(attrgetter(*columns), rows.rows))
    for place in map(columns.index, _json_columns(rows.table)):
        for number, record in enumerate(records):
            if record[place] is not None:
                text = encode(record[place]).decode()
                records[number] = (*record[:place], text, *record[place + 1 :])
    return records


def written_columns(table: Table[Any]) -> tuple[str, ...]:
    """Return the columns of a table that a write fills, without those that the database fills."""
    return tuple(name for name in stored_columns(table) if name != table.numbered)


def stored_columns(table: Table[Any]) -> tuple[str, ...]:
    """Return the columns of a table, without the age that is computed when a row is read."""
    age = table.stamped[1] if table.stamped else None
    return tuple(name for name in table.row.__struct_fields__ if name != age)


@cache
def _select(table: Table[Any], columns: tuple[str, ...]) -> Statement:
    """Select the rows whose columns have one of several values."""
    conditions = " AND ".join(f"{column} = ANY(:{column})" for column in columns)
    every = f"SELECT {read_columns(table)} FROM bk.{table.name}"  # noqa: S608
    return Statement(f"{every} WHERE {conditions}" if columns else every)


@cache
def _select_page(
    table: Table[Any],
    *,
    where: tuple[tuple[str, bool], ...],
    compared: tuple[tuple[str, str], ...],
    by: tuple[str, ...],
    newest_first: bool,
    after: bool,
) -> Statement:
    """Select rows in an order, from the first row or after a row."""
    # A condition with a single value keeps the order of an index that begins with the column.
    conditions = [
        f"{column} = ANY(:{column})" if several else f"{column} = :{column}"
        for column, several in where
    ]
    conditions += [f"{column} {how} :bound_{n}" for n, (column, how) in enumerate(compared)]
    if after:
        last = ", ".join(f":after_{column}" for column in by)
        conditions.append(f"({', '.join(by)}) {'<' if newest_first else '>'} ({last})")
    direction = " DESC" if newest_first else ""
    return Statement(
        f"SELECT {read_columns(table)} FROM bk.{table.name}"  # noqa: S608
        f" WHERE {' AND '.join(conditions) or 'true'}"
        f" ORDER BY {', '.join(column + direction for column in by)} LIMIT :limit"
    )


@cache
def _select_last(table: Table[Any], column: str, by: str) -> str:
    columns = read_columns(table)
    return (
        f"SELECT t.* FROM unnest($1::uuid[]) AS one (id) CROSS JOIN LATERAL ("  # noqa: S608
        f"SELECT {columns} FROM bk.{table.name} WHERE {column} = one.id"
        f" ORDER BY {by} DESC LIMIT 1) AS t"
    )


@cache
def _select_ancestors(table: Table[Any]) -> str:
    key, parent, name = table.key[0], table.parent, f"bk.{table.name}"
    columns = read_columns(table)
    return (
        f"WITH RECURSIVE t AS (SELECT {columns} FROM {name} WHERE {key} = ANY($1::uuid[])"  # noqa: S608
        f" UNION SELECT {', '.join(f'r.{c}' for c in stored_columns(table))}"
        f" FROM t JOIN {name} r ON r.{key} = t.{parent}) SELECT {columns} FROM t"
    )


def read_columns(table: Table[Any]) -> str:
    """Return the columns of a row, and its age at the moment of reading."""
    columns = ", ".join(stored_columns(table))
    if table.stamped is None:
        return columns
    stamp, age = table.stamped
    return f"{columns}, clock_timestamp() - {stamp} AS {age}"


def _written_value(table: Table[Any], column: str) -> str:
    """Return what is written to a column: the value in the row, or the time of the database."""
    if table.stamped is None or column != table.stamped[0]:
        return f"r.{column}"
    return f"CASE WHEN r.{column} IS NOT NULL THEN now() END"


def _row(write: RowWrite) -> object:
    if isinstance(write, Delete):
        return dict(zip(write.table.key, write.key, strict=False))
    return write.row


def parsed_rows[R](table: Table[R], records: Iterable[asyncpg.Record]) -> tuple[R, ...]:
    """Return what was read by `read_columns` as the rows of a table."""
    columns = _json_columns(table)
    rows = [dict(row) for row in records]
    for row in rows if columns else ():
        for column in columns:
            row[column] = row[column] and msgspec.json.decode(row[column])
    return tuple(msgspec.convert(rows, list[table.row]))


@cache
def _json_columns(table: Table[Any]) -> tuple[str, ...]:
    """Return the columns that contain a record or an object."""
    return tuple(column for column, hint in get_type_hints(table.row).items() if _is_json(hint))


def _is_json(hint: Any) -> bool:
    """Return whether a type contains a record, an object or any JSON value."""
    if isinstance(hint, TypeAliasType):
        return _is_json(hint.__value__)
    kind = get_origin(hint) or hint
    is_object = isinstance(kind, type) and issubclass(kind, Record | dict)
    return hint is Json or is_object or any(map(_is_json, get_args(hint)))


def _is_several(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset)


def _as_list(value: object) -> list[Any]:
    return list(cast("Iterable[Any]", value)) if _is_several(value) else [value]
