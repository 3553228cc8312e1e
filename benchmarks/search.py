"""How long a search takes among a million objects, and the names of a thousand ids."""

import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.directory import SEARCHING, PostgresDirectory
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.names import Search
from beamkeep.feed.directory.reading import DirectoryReader
from beamkeep.kernel import ObjectScope
from beamkeep.testing.past import Past

from .rig import Database, Rig

ROWS, ASKED, OWN = 1_000_000, 200, 20_000
METHOD = (
    "p50 and p95 in milliseconds of {} searches each among {} objects, from the question to the"
    " ranked answer, on one connection. A tenth of all names contains `foam`, and one name in a"
    " hundred is `Alignment`."
)
# A name has one of ten words, so that each is a part of a tenth of all names.
FILL = """
INSERT INTO bk.directory (id, version, owner_id, kind, status, name, folded, words, tail)
SELECT id, 1, CASE WHEN n % ($1::int / $2::int) = 0 THEN $3::uuid ELSE $4::uuid END,
       (ARRAY['Run', 'Run', 'Run', 'Subject', 'Asset', 'Plan', 'Decision'])[n % 7 + 1], 'Active',
       name, lower(name), lower(name) || E'\\nbl' || n % 40 || ':axis' || n,
       reverse(right(id::text, 8))
  FROM (SELECT n, (lpad(to_hex(1800000000000 + n), 12, '0') || '7' || left(md5(n::text), 3) || '8'
                   || right(md5(n::text), 15))::uuid AS id,
               CASE WHEN n % 100 = 7 THEN 'Alignment' ELSE
          (ARRAY['Foam', 'Fossil', 'Battery', 'Bone', 'Catalyst', 'Film', 'Powder', 'Crystal',
                 'Alloy', 'Cell'])[n % 10 + 1] || ' ' || n END AS name
          FROM generate_series(1, $1::int) AS n) AS named
"""

WORDS = "CREATE INDEX directory_words ON bk.directory USING gin (words bk.gin_trgm_ops)"

type Text = Callable[[random.Random], str]


class Caller(Past):
    """A caller who may get objects of every kind, all of them or the caller's own."""

    def __init__(self, me: UUID, scope: ObjectScope) -> None:
        super().__init__(())
        self.principal_id: UUID | None = me
        self._scope = scope

    async def scopes(self, calls: Iterable[str]) -> Mapping[str, ObjectScope]:
        return dict.fromkeys(calls, self._scope)


def _texts(rows: int) -> dict[str, tuple[Text, float]]:
    """What is searched for, and the most milliseconds that the p95 may be."""

    def a_number(draw: random.Random) -> int:
        return draw.randrange(rows // 10) * 10

    return {
        "a name": (lambda draw: f"foam {a_number(draw)}", 20),
        "a name of one object in a hundred": (lambda _: "alignment", 20),
        "the beginning of a few names": (lambda draw: f"foam {a_number(draw)}"[:-2], 20),
        "the beginning of a tenth of all names": (lambda _: "foa", 20),
        "a part of a tenth of all names": (lambda _: "oam", 100),
        "a part of a few names": (lambda draw: f"am {a_number(draw)}", 100),
        "a keyword": (lambda draw: f"axis{a_number(draw)}", 100),
        "a part of no name": (lambda _: "qqqq", 100),
    }


async def measure(rig: Rig) -> dict[str, Any]:
    """Search for each kind of text again and again."""
    rows = rig.pick(ROWS, ROWS // 10, ROWS // 500)
    asked = rig.pick(ASKED, ASKED // 4, 2)
    own = rig.pick(OWN, OWN, OWN // 500)
    async with rig.database("search") as database:
        me, other = uuid7(), uuid7()
        await database.owner.execute("DROP INDEX bk.directory_words")
        await database.owner.execute(FILL, rows, own, me, other, timeout=1800)
        await database.owner.execute(WORDS, timeout=1800)
        await database.settle()
        directory = PostgresDirectory(database.pool(1, **SEARCHING))
        reader, found = DirectoryReader(directory, CATALOGUE), dict[str, dict[str, float]]()
        for scope in (ObjectScope.ALL, ObjectScope.OWN):
            caller = Caller(me, scope)
            for name, (text, most) in _texts(rows).items():
                draw = random.Random(1)  # noqa: S311

                async def search(
                    text: Text = text, draw: random.Random = draw, caller: Caller = caller
                ) -> None:
                    await reader.search(Search(q=text(draw)), caller)

                label = f"{name}, among {own:,} own" if scope is ObjectScope.OWN else name
                found[label] = await timed(search, asked, most)
        ids = await _ids(database)
        every = Caller(me, ObjectScope.ALL)

        async def name_all() -> None:
            await reader.named(ids, every)

        found["the names of 1,000 ids"] = await timed(name_all, asked, 20)
    return {
        "searches": found,
        "reached": all(each["p95_ms"] <= each["most_ms"] for each in found.values()),
        "method": METHOD.format(asked, f"{rows:,}"),
    }


async def _ids(database: Database) -> list[UUID]:
    rows = await database.owner.fetch(
        "SELECT id FROM bk.directory TABLESAMPLE SYSTEM (5) LIMIT 1000"
    )
    return [row["id"] for row in rows]


async def timed(step: Callable[[], Awaitable[object]], times: int, most: float) -> dict[str, float]:
    """Return p50 and p95 of a step in milliseconds, and the most that it may take."""
    taken: list[float] = []
    for _ in range(times):
        since = time.perf_counter()
        await step()
        taken.append(1e3 * (time.perf_counter() - since))
    taken.sort()
    p50, p95 = (round(taken[int(times * part)], 2) for part in (0.5, 0.95))
    return {"p50_ms": p50, "p95_ms": p95, "most_ms": most}
