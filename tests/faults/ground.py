"""A cluster of its own with one prepared database, and a deployment of the service on it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from pydantic import SecretStr

from beamkeep.adapters.postgres.migrate import migrate
from beamkeep.deployment.composition import Deployment
from beamkeep.deployment.settings import settings_of
from beamkeep.testing.cluster import Cluster


class Ground:
    """One database in a cluster that may be crashed at will."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.admin_url = cluster.url("beamkeep")
        self.app_url = cluster.url("beamkeep", "bk_app")
        self.projector_url = cluster.url("beamkeep", "bk_projector")

    def settings(self, **more: Any) -> Any:
        """The settings of a service that is open to its developer."""
        return settings_of(
            database_url=SecretStr(self.app_url),
            projector_database_url=SecretStr(self.projector_url),
            migration_database_url=SecretStr(self.admin_url),
            require_authenticated_principal=False,
            development=True,
            project_in_serve=True,
            **more,
        )

    def deployment(self, **more: Any) -> Deployment:
        """The service, open to its developer, keeping no lists unless it is told to."""
        return Deployment(self.settings(**more))

    def environment(self, name: str) -> Mapping[str, str]:
        """The settings of a worker process whose connections bear this name."""
        return {
            "DATABASE_URL": self.app_url,
            "PROJECTOR_DATABASE_URL": f"{self.projector_url}&application_name={name}",
            "REQUIRE_AUTHENTICATED_PRINCIPAL": "false",
            "DEVELOPMENT": "true",
            "LOG_LEVEL": "error",
        }


@asynccontextmanager
async def fresh_ground() -> AsyncGenerator[Ground]:
    """A new cluster with a migrated database, removed afterwards."""
    with Cluster.start() as cluster:
        cluster.create_database("beamkeep")
        ground = Ground(cluster)
        await migrate(ground.admin_url)
        yield ground


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[asyncpg.Connection]:
    """A connection of the test's own."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()
