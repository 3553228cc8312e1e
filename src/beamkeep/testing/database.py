"""A database of a throwaway cluster."""

from typing import NamedTuple

import psycopg

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.parts.wiring import IDLE

from .cluster import Cluster

TIMEOUTS = {"statement_timeout": "2000", "lock_timeout": "500"}


class Database(NamedTuple):
    """One database of a cluster."""

    cluster: Cluster
    name: str

    def url(self, user: str = "bk_app", tcp: bool = False) -> str:
        """Return the address of the database for a role."""
        return self.cluster.url(self.name, user, tcp)

    def connections(self, most: int = 8, **settings: str) -> Connections:
        """Return connections as the service has them."""
        return Connections(self.url(), most, **(IDLE | TIMEOUTS | settings))

    def ask(self, statement: str, *arguments: object) -> list[tuple[object, ...]]:
        """Return the rows of one statement, run as superuser."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), arguments or None)
            return cursor.fetchall() if cursor.description else []
