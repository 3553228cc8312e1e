"""`beamkeep`: the commands that run the service, and one for each operation and question."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import click

if TYPE_CHECKING:
    from beamkeep.settings import DatabaseSettings, Settings


@click.command()
def serve() -> None:
    """Run the HTTP service.

    It stops on SIGINT or SIGTERM. The settings are environment variables.
    """
    from beamkeep.adapters.http_server import configured, serve_both
    from beamkeep.app import web

    settings = _settings()

    async def run() -> None:
        # The server stops at these signals and raises them again; without a handler they would
        # end the process before its connections are closed.
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, lambda: None)
        async with web(settings) as served:
            main = configured(
                served.application,
                host=settings.host,
                port=settings.port,
                deadline_seconds=settings.deadline_seconds,
                limit_concurrency=settings.limit_concurrency,
                trusted_proxies=settings.trusted_proxies,
            )
            metrics = served.metrics and configured(
                served.metrics,
                host=settings.metrics_host,
                port=settings.metrics_port or 0,
                deadline_seconds=settings.deadline_seconds,
                limit_concurrency=settings.limit_concurrency,
            )
            await serve_both(main, metrics, on_stop=served.application.stop_streams)

    _run(run())


@click.command()
@click.option("--shards", help="Shards of the event log, for example 0,1,2 (default: all).")
def work(shards: str | None) -> None:
    """Run the background work.

    It updates the lists, watches for stale enclosures and supplies, observes the control system,
    and carries out conducts. It stops on SIGINT or SIGTERM.
    """
    from beamkeep.app import Deployment

    try:
        wanted = [int(shard) for shard in shards.split(",")] if shards else None
    except ValueError:
        raise click.UsageError("--shards must be numbers, for example 0,1,2.") from None
    settings = _settings()

    async def run() -> None:
        deployment = Deployment(settings)
        service = await deployment.service(works=True)
        if settings.work_metrics_port:
            deployment.telemetry.serve(settings.metrics_host, settings.work_metrics_port)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, deployment.supervisor.stop)
        loops = [*deployment.loops(service, wanted), deployment.notice_loop()]
        await deployment.supervisor.run(loops)
        await deployment.close()

    _run(run())


@click.command()
def migrate() -> None:
    """Create or upgrade the database schema."""
    import asyncpg

    from beamkeep.adapters.postgres.migrate import MigrationChangedError
    from beamkeep.adapters.postgres.migrate import migrate as apply
    from beamkeep.settings import DatabaseSettings

    settings = _read(DatabaseSettings)
    url = settings.migration_database_url or settings.database_url
    try:
        applied = _run(apply(url.get_secret_value()))
    except (
        OSError,
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        MigrationChangedError,
    ) as error:
        click.echo(f"The database was not migrated: {error}", err=True)
        sys.exit(78)
    click.echo("\n".join(f"applied {name}" for name in applied) or "The schema is up to date.")


@click.command()
def check() -> None:
    """Check the deployment for faults.

    Check the databases and the identity providers, and compare grants, standings, logins and
    claims with the events. Exit code 1 means that faults were found.
    """
    from beamkeep.adapters.postgres.fence import faults
    from beamkeep.adapters.postgres.ledger import ledger
    from beamkeep.auditing import differences

    settings = _settings()
    urls = {"DATABASE_URL": settings.database_url}
    if settings.projector_database_url:
        urls["PROJECTOR_DATABASE_URL"] = settings.projector_database_url
    found = [
        f"{name}: {fault}"
        for name, url in urls.items()
        for fault in _run(faults(url.get_secret_value()))
    ]
    found += [f"IDENTITY_PROVIDERS: {fault}" for fault in _run(_provider_faults(settings))]
    click.echo("".join(f"{fault}\n" for fault in found), nl=False)

    async def compare() -> int:
        number = 0
        async with ledger(settings.database_url.get_secret_value()) as kept:
            async for difference in differences(kept):
                number += 1
                click.echo(difference)
        return number

    # A database with faults may have no tables to compare.
    wrong = len(found) or _run(compare())
    if not wrong:
        click.echo("nothing is wrong")
    sys.exit(1 if wrong else 0)


async def _provider_faults(settings: "Settings") -> list[str]:
    import httpx2

    from beamkeep.app import verifier

    async with httpx2.AsyncClient() as http:
        return await verifier(settings, http).faults()


@click.command()
@click.argument("view")
def rebuild(view: str) -> None:
    """Rebuild the list VIEW from the events.

    The old list is served until the new one has caught up.
    """
    from beamkeep.app import Deployment
    from beamkeep.contexts import CATALOGUE

    views = {each.name: each for each in CATALOGUE.views}
    if view not in views:
        raise click.UsageError(
            f"There is no list {view}. The lists are {', '.join(sorted(views))}."
        )

    async def run() -> int:
        deployment = Deployment(_settings())
        try:
            return await deployment.projections.rebuild(views[view], deployment.shards)
        finally:
            await deployment.close()

    click.echo(
        f"Generation {_run(run())} of {view} is being built; it replaces the list when done."
    )


@click.command("mcp-stdio")
def mcp_stdio() -> None:
    """Serve MCP on standard input and output."""
    import httpx2

    from beamkeep.app import Deployment, verifier
    from beamkeep.kernel import SurfaceKind
    from beamkeep.runtime.admission import Caller
    from beamkeep.runtime.tokens import MissingTokenError
    from beamkeep.surfaces.mcp import serve_stdio

    settings = _settings()
    surface: UUID | None = settings.mcp_stdio_surface_id

    async def run() -> None:
        deployment = Deployment(settings)
        async with httpx2.AsyncClient() as http:
            tokens = verifier(settings, http)

            async def caller() -> Caller:
                if settings.mcp_stdio_access_token is None:
                    raise MissingTokenError
                verified = await tokens.verify(settings.mcp_stdio_access_token.get_secret_value())
                return Caller(
                    uuid4(),
                    (verified.issuer, verified.subject),
                    transport=SurfaceKind.MCP_STDIO,
                    selected_surface=str(surface) if surface else None,
                )

            await serve_stdio(await deployment.service(), caller)
        await deployment.close()

    _run(run())


def main() -> None:
    """Run the command line."""
    from beamkeep.client.verbs import verbs
    from beamkeep.contexts import CATALOGUE

    group = verbs(CATALOGUE)
    for command in (serve, work, migrate, check, rebuild, mcp_stdio):
        group.add_command(command)
    group()


def _settings() -> "Settings":
    from beamkeep.settings import Settings
    from beamkeep.telemetry import configure_logging

    settings = _read(Settings)
    configure_logging(settings.log_json, settings.log_level)
    return settings


def _read[S: DatabaseSettings](kind: type[S]) -> S:
    from pydantic import ValidationError

    try:
        return kind()
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            where = ".".join(str(part) for part in fault["loc"]).upper()
            said = fault["msg"].removeprefix("Value error, ")
            click.echo(f"{where}: {said}".removeprefix(": "), err=True)
        sys.exit(78)


def _run[T](work: Coroutine[Any, Any, T]) -> T:
    import uvloop

    from beamkeep.adapters.control import MissingExtraError
    from beamkeep.adapters.postgres.fence import UnfitDatabaseError
    from beamkeep.adapters.registered import BrokenEntryPointError
    from beamkeep.contexts.trust.bootstrap import AdministratorUnusableError

    refused = UnfitDatabaseError, AdministratorUnusableError, MissingExtraError
    try:
        return uvloop.run(work)
    except* (*refused, BrokenEntryPointError) as unfit:
        for error in unfit.exceptions:
            click.echo(str(error), err=True)
    sys.exit(78)


if __name__ == "__main__":
    main()
