"""Migrations of the database: SQL files that are applied in order, forward only."""

import asyncio
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

import asyncpg

from beamkeep.contexts.catalogue import SITE

MIGRATIONS = files(__package__) / "migrations"
STANDING = files(__package__) / "standing.sql"
"""Privileges and time limits of the database, which no dump contains."""
CONCURRENTLY = "_concurrently"
"""The end of the name of a migration whose statements are transactions of their own."""
LOCK = "SELECT pg_try_advisory_lock(hashtextextended('migrate', 0))"


class MigrationChangedError(Exception):
    """A migration was changed after it was applied."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Migration {name} was changed after it was applied."
            " Install the release that applied it."
        )


def migrations() -> dict[str, str]:
    """Return the text of every migration by name, in order: the service's own, then a site's."""
    found = _texts(MIGRATIONS)
    for name, context in SITE.items():
        own = _texts(context.migrations) if context.migrations else {}
        found |= {f"{name}/{file}": text for file, text in own.items()}
    return found


def _texts(folder: Traversable) -> dict[str, str]:
    files = sorted((each for each in folder.iterdir() if each.name.endswith(".sql")), key=str)
    return {file.name.removesuffix(".sql"): file.read_text() for file in files}


async def migrate(url: str) -> list[str]:
    """Apply missing migrations, privileges and time limits; return the names of the migrations."""
    connection = await asyncpg.connect(url)
    applied: list[str] = []
    try:
        # Only one host at a time migrates. A host that waited within a statement would in turn be
        # waited for by an index that is made concurrently.
        while not await connection.fetchval(LOCK):
            await asyncio.sleep(0.1)
        await connection.execute(
            """CREATE TABLE IF NOT EXISTS public.beamkeep_migrations (
                 name text PRIMARY KEY, digest text NOT NULL,
                 applied_at timestamptz NOT NULL DEFAULT now())"""
        )
        await connection.execute("GRANT SELECT ON public.beamkeep_migrations TO PUBLIC")
        rows = await connection.fetch("SELECT name, digest FROM public.beamkeep_migrations")
        known = {row["name"]: row["digest"] for row in rows}
        for name, statements in migrations().items():
            digest = sha256(statements.encode()).hexdigest()
            if known.get(name, digest) != digest:
                raise MigrationChangedError(name)
            if name in known:
                continue
            is_concurrent = name.endswith(CONCURRENTLY)
            for statement in statements.split(";\n")[:-1] if is_concurrent else ():
                await connection.execute(statement)
            async with connection.transaction():
                if not is_concurrent:
                    await connection.execute(statements)
                await connection.execute(
                    "INSERT INTO public.beamkeep_migrations (name, digest) VALUES ($1, $2)",
                    name,
                    digest,
                )
            applied.append(name)
        await connection.execute(STANDING.read_text())
    finally:
        await connection.close()
    return applied
