"""Bringing a database to the form this version of the service needs: SQL files, forward only."""

from hashlib import sha256
from importlib.resources import files

import asyncpg

MIGRATIONS = files(__package__) / "migrations"
STANDING = files(__package__) / "standing.sql"
"""Privileges and time limits of the whole database, which no dump and no copy carries over."""


class MigrationChangedError(Exception):
    """A migration that was applied earlier no longer reads as it did then."""


def migrations() -> dict[str, str]:
    """Every migration by name, in order."""
    found = (file for file in MIGRATIONS.iterdir() if file.name.endswith(".sql"))
    return {file.name.removesuffix(".sql"): file.read_text() for file in sorted(found, key=str)}


async def migrate(url: str) -> list[str]:
    """Apply every missing migration, each in a transaction, and the standing limits; say which."""
    connection = await asyncpg.connect(url)
    applied: list[str] = []
    try:
        # Two hosts that migrate at once take turns.
        await connection.execute("SELECT pg_advisory_lock(hashtextextended('migrate', 0))")
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
            async with connection.transaction():
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
