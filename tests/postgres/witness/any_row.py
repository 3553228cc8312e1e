"""Random alterations of any row of any table, as the owner of a database with triggers off."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

import psycopg

from beamkeep.contexts.feed.subscription import SLOTS
from beamkeep.parts.witness.trees.tree import leaf_hash
from beamkeep.testing.database import Database

PAGE = Path(__file__).parents[3] / "docs" / "explanations" / "integrity.md"
HEADING = "## What verification does not find"
ALL = "all"

TABLES = """
SELECT c.relname::text, array_agg(ARRAY[a.attname::text, format_type(a.atttypid, NULL)]),
       coalesce((SELECT array_agg(k.attname::text) FROM pg_index i
                   JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY (i.indkey)
                  WHERE i.indrelid = c.oid AND i.indisprimary), '{}')
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
   AND NOT a.attisdropped AND a.attgenerated = ''
 WHERE c.relnamespace = 'bk'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
 GROUP BY c.oid, c.relname ORDER BY c.relname
"""
# Another value of each type.
CHANGES = {
    "uuid": "gen_random_uuid()",
    "text": "coalesce({0}, '') || 'x'",
    "bigint": "coalesce({0}, 0) + 1",
    "integer": "coalesce({0}, 0) + 1",
    "smallint": "coalesce({0}, 0) + 1",
    "double precision": "coalesce({0}, 0) + 1e-9",
    "boolean": "NOT coalesce({0}, false)",
    "timestamp with time zone": "coalesce({0}, now()) + interval '1 day'",
    "date": "coalesce({0}, current_date) + 1",
    "json": "'{{\"forged\": 1}}'",
    "bytea": "sha256(coalesce({0}, ''))",
    "xid8": "({0}::text::bigint + 1)::text::xid8",
    "text[]": "{0} || 'x'::text",
    "integer[]": "{0} || 7",
}
ROWS = {"claims": f"scope NOT IN ('seed', '{SLOTS}')"}
"""Which rows of a table are altered, where it is not all of them."""


MADE_ANEW = {"snapshots"}
"""Tables of which a row may be missing."""


class Column(NamedTuple):
    table: str
    name: str
    type: str


class Altered(NamedTuple):
    """What was done, in words."""

    kind: str
    told: str


def unproved() -> Mapping[str, set[str]]:
    """Return the columns whose alteration the page says is not found, by table."""
    text = PAGE.read_text().partition(HEADING)[2].partition("\n## ")[0]
    found: dict[str, set[str]] = {}
    for tables, columns in re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE):
        for table in re.findall(r"`(\w+)`", tables):
            found.setdefault(table, set()).update(re.findall(r"`(\w+)`", columns) or {ALL})
    return found


class Owner(NamedTuple):
    """Whoever owns the database and alters what is in it."""

    database: Database
    columns: Mapping[str, Sequence[Column]]
    """What is altered, by table."""
    keys: Mapping[str, Sequence[str]]

    def of(self, copy: Database) -> Self:
        """Return the owner of a copy of the database, who has switched the triggers off."""
        for table in ("events", "actor_profile", "authorization_denials"):
            copy.ask(f"ALTER TABLE bk.{table} DISABLE TRIGGER ALL")
        return self._replace(database=copy)

    def alter(self, dice: Random, notes: str, tx: int) -> Altered:
        """Alter something that was there when the last checkpoint was signed."""
        while True:
            kind = dice.choice(["change", "change", "change", "removal", "addition", "tree"])
            table = dice.choice([*self.columns])
            try:
                return self._altered(kind, table, dice, notes=notes, tx=tx)
            except (psycopg.errors.IntegrityError, psycopg.errors.GeneratedAlways):
                # A constraint that has nothing to do with the record: the next is another one.
                continue

    def _altered(self, kind: str, table: str, dice: Random, *, notes: str, tx: int) -> Altered:
        where = ROWS.get(table, "true")
        if table == "events":
            where = f"transaction_id::text::bigint <= {tx}"
        chosen = f"""SELECT ctid, tableoid FROM bk.{table} WHERE {where}
                      ORDER BY md5(ctid::text || tableoid || '{dice.random()}') LIMIT 1"""
        at = f"(ctid, tableoid) IN ({chosen})"
        if kind == "tree":
            return self._another_tree(dice, notes)
        if kind == "removal" and table not in MADE_ANEW:
            self.database.ask(f"DELETE FROM bk.{table} WHERE {at}")
            return Altered(kind, table)
        if kind in {"change", "removal"}:
            column = dice.choice(self.columns[table])
            value = CHANGES[column.type].format(column.name)
            self.database.ask(f"UPDATE bk.{table} SET {column.name} = {value} WHERE {at}")
            return Altered(kind, f"{table}.{column.name}")
        # One row more, like one that is there, with another key.
        names = [column.name for column in self.columns[table]]
        others = {column.name: column for column in self.columns[table]}
        own = [name for name in self.keys[table] or names[:1] if name in others]
        if table == "events":
            own = ["stream_id", "event_id"]
        key = dice.choice(own or names)
        values = [
            CHANGES[others[name].type].format(name) if name == key else name for name in names
        ]
        self.database.ask(
            f"""INSERT INTO bk.{table} ({", ".join(names)}) OVERRIDING SYSTEM VALUE
                SELECT {", ".join(values)} FROM bk.{table} WHERE {at}"""
        )
        return Altered(kind, f"{table} by {key}")

    def _another_tree(self, dice: Random, notes: str) -> Altered:
        """An event is altered, and another tree is begun over it, with an anchor that says why."""
        self.database.ask(
            """UPDATE bk.events SET payload = '{"forged": 1}' WHERE position = (
                 SELECT position FROM bk.events ORDER BY random() LIMIT 1)"""
        )
        origin, size, root, *_ = dice.choice(notes.split("\n\n")[:-1]).split("\n")[-3:]
        form = dice.choice(["v1", "v2"])
        more = [] if form == "v1" else [str(dice.randrange(int(size) + 1))]
        lines = [f"beamkeep/anchor/{form}", "Restored", "1", origin, size, root, *more]
        leaf = dice.choice(["\n".join(lines), "anything", None])
        tree = origin.rpartition("/")[2].partition("-")[0]
        first = leaf_hash((leaf or "").encode())
        self.database.ask(
            """UPDATE bk.witness_tree SET number = 2, size = 1, tx = 0, frontier = %s
                WHERE tree = %s""",
            first,
            tree,
        )
        self.database.ask(
            """INSERT INTO bk.witness_anchor (tree, number, floor, reason, leaf)
               VALUES (%s, 2, 99999999, 'Restored', %s)""",
            tree,
            leaf,
        )
        return Altered("tree", str(leaf))


def owner_of(database: Database) -> Owner:
    """Return the owner of a database, who alters what the page does not list as unproved."""
    spared, columns, keys = unproved(), dict[str, list[Column]](), dict[str, list[str]]()
    found: list[Any] = database.ask(TABLES)
    for table, named, key in found:
        ((count,),) = database.ask(f"SELECT count(*) FROM bk.{table}")
        if count and ALL not in spared.get(table, ()):
            keys[table] = key
            columns[table] = [
                Column(table, name, type)
                for name, type in named
                if name not in spared.get(table, ())
            ]
    return Owner(database, columns, keys)
