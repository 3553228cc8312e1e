"""The commands of `beamkeep` that run the service."""

import gc
import linecache
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Never, TextIO
from uuid import UUID, uuid4

import click

from beamkeep.parts.verbs import BROKEN, carry_out, configure, read, run_on_database

from .parts import PARTS

if TYPE_CHECKING:
    from .settings import ServerSettings


@click.command()
def serve() -> None:
    """Run the HTTP service.

    It waits for a database that cannot be reached yet, and stops on SIGINT or SIGTERM. The
    settings are environment variables.
    """
    with _loading():
        from beamkeep.adapters.hiding import hide_process
        from beamkeep.adapters.http_server import HttpServer, serve_both, taken

        from .web import web

    hide_process()
    settings = _settings()

    async def run() -> None:
        await _begin("serve", settings)
        ports = {
            "PORT": (settings.host, settings.port),
            "METRICS_PORT": (settings.metrics_host, settings.metrics_port),
        }
        for name, place in ports.items():
            if because := await taken(*place):
                click.echo(f"{name}: {because}", err=True)
                sys.exit(1)
        async with web(settings) as served:
            main = HttpServer(
                served.application,
                host=settings.host,
                port=settings.port,
                deadline_seconds=settings.deadline_seconds,
                limit_concurrency=settings.limit_concurrency,
                connections_per_address=settings.connections_per_address,
                trusted_proxies=settings.trusted_proxies,
            )
            metrics = served.metrics and HttpServer(
                served.metrics,
                host=settings.metrics_host,
                port=settings.metrics_port,
                deadline_seconds=settings.deadline_seconds,
                limit_concurrency=settings.limit_concurrency,
            )
            # A thread that parses or describes keeps the loop waiting no longer than this.
            sys.setswitchinterval(SWITCH_SECONDS)
            await serve_both(main, metrics, on_stop=served.application.stop_streams)

    carry_out(run())


@click.command()
@click.option("--shards", help="Shards of the event log, for example 0,1,2 (default: all).")
def work(shards: str | None) -> None:
    """Run the background work.

    It updates the lists, watches for stale enclosures and supplies, observes the control system,
    carries out conducts, and relays events to NATS. It waits for a database that cannot be reached
    yet, and stops on SIGINT or SIGTERM.
    """
    with _loading():
        from asyncio import get_running_loop

        from beamkeep.adapters.hiding import hide_process

        from .composition import Deployment

    hide_process()
    try:
        wanted = [int(shard) for shard in shards.split(",")] if shards else None
    except ValueError:
        raise click.UsageError("--shards must be numbers, for example 0,1,2.") from None
    settings = _settings()

    async def run() -> None:
        await _begin("work", settings)
        deployment = Deployment(settings)
        service = await deployment.service(works=True)
        if settings.work_metrics_port:
            deployment.telemetry.serve(settings.metrics_host, settings.work_metrics_port)
        for number in (signal.SIGINT, signal.SIGTERM):
            get_running_loop().add_signal_handler(number, deployment.supervisor.stop)
        loops = [await deployment.follow(), deployment.notice_loop()]
        loops += deployment.loops(service, wanted)
        await deployment.supervisor.run(loops)
        await deployment.close()

    carry_out(run())


@click.command()
def migrate() -> None:
    """Create or upgrade the database schema."""
    import asyncpg

    from beamkeep.adapters.postgres.migrate import MigrationChangedError
    from beamkeep.adapters.postgres.migrate import migrate as apply
    from beamkeep.parts.settings import DatabaseSettings

    url = read(DatabaseSettings).migrating_url
    try:
        applied = carry_out(apply(url.get_secret_value()))
    except (
        OSError,
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        MigrationChangedError,
    ) as error:
        click.echo(f"The database was not migrated: {error}", err=True)
        sys.exit(BROKEN)
    click.echo("\n".join(f"applied {name}" for name in applied) or "The schema is up to date.")


@click.command()
@click.option(
    "--token",
    type=click.File(),
    help="Check only the access token in this file, and name the claim that is refused.",
)
def check(token: TextIO | None) -> None:
    """Check the deployment for faults.

    Check the settings, the data roots, the identity providers and the message bus. Try to read and
    write as each role of the database. See that workers run and that an administrator can log in.
    Compare grants, standings, logins and claims with the events. Exit code 1 means that faults were
    found.
    """
    if token:
        _check_token(token.read().strip())

    from .checking import deployment_faults, record_faults

    settings = _settings()

    async def tried() -> tuple[int, bool]:
        number, hidden = 0, False
        async for fault in deployment_faults(settings):
            number, hidden = number + 1, hidden or fault.hides_record
            click.echo(fault.text)
        return number, hidden

    wrong, hidden = run_on_database(tried())

    async def compare() -> int:
        number = 0
        async for each in record_faults(settings):
            number += 1
            click.echo(each)
        return number

    # A database with faults may have no tables to compare.
    if not hidden:
        wrong += run_on_database(compare())
    if not wrong:
        click.echo("nothing is wrong")
    sys.exit(1 if wrong else 0)


def _check_token(token: str) -> Never:
    import httpx2

    from beamkeep.adapters.tokens.diagnosis import diagnose

    from .composition import Deployment
    from .web import verifier

    settings = _settings()

    async def run() -> tuple[bool, str]:
        deployment = Deployment(settings)
        async with httpx2.AsyncClient() as http:
            found = await diagnose(token, verifier(settings, http), deployment.store)
        await deployment.close()
        return found

    accepted, text = carry_out(run())
    click.echo(text)
    sys.exit(0 if accepted else 1)


@click.command()
@click.argument("view")
def rebuild(view: str) -> None:
    """Rebuild the list VIEW from the events.

    The old list is served until the new one has caught up.
    """
    from beamkeep.contexts.catalogue import CATALOGUE

    from .composition import Deployment

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
        f"Generation {carry_out(run())} of {view} is being built; it replaces the list when done."
    )


@click.command("mcp-stdio")
@click.option("--toolsets", default="", help="Toolsets to list, such as run,safety (default: all).")
def mcp_stdio(toolsets: str) -> None:
    """Serve MCP on standard input and output."""
    import httpx2

    from beamkeep.kernel import SurfaceKind
    from beamkeep.runtime.admission import Caller
    from beamkeep.runtime.tokens import MissingTokenError
    from beamkeep.surfaces.tools.server import serve_stdio

    from .composition import Deployment
    from .web import verifier

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
                    token_ends_at=verified.ends_at,
                    transport=SurfaceKind.MCP_STDIO,
                    selected_surface=str(surface) if surface else None,
                )

            await serve_stdio(await deployment.service(), caller, toolsets)
        await deployment.close()

    carry_out(run())


@click.command("new-context")
@click.argument("context")
@click.argument("aggregate")
def new_context(context: str, aggregate: str) -> None:
    """Write the skeleton of a package that adds CONTEXT with one AGGREGATE.

    The names are those of Python modules, such as `loan_desk tool`. The package is written into a
    new folder of the name of the context.
    """
    from pathlib import Path

    from .new_context import NAME, write_skeleton

    for name in (context, aggregate):
        if not NAME.fullmatch(name):
            raise click.UsageError(f"{name} is not a name such as loan_desk.")
    folder = Path(context.replace("_", "-"))
    if folder.exists():
        raise click.UsageError(f"{folder} exists already.")
    for file in write_skeleton(folder, context, aggregate):
        click.echo(file)


@click.command("describe-context")
@click.argument("context")
def describe_context(context: str) -> None:
    """Write what clients read of an installed CONTEXT.

    The command line has its verbs from catalogue.json, and the Python client its methods from
    client.py. Run it in the folder of the package after each change of a declaration.
    """
    from pathlib import Path

    from beamkeep.contexts.catalogue import SITE
    from beamkeep.surfaces.tools.client_methods import client_of_context
    from beamkeep.surfaces.tools.command_line import as_file, rows_of_context

    folder = Path("src", context)
    if context not in SITE or not folder.is_dir():
        raise click.UsageError(f"Install the context {context}, and run this next to {folder}.")
    written = {
        "catalogue.json": as_file(rows_of_context(context)),
        "client.py": client_of_context(context),
    }
    for name, text in written.items():
        (folder / name).write_text(text)
        click.echo(folder / name)


SWITCH_SECONDS = 0.001


@contextmanager
def _loading() -> Generator[None]:
    """Import without collecting garbage, and leave what was imported out of every collection.

    Modules and classes live as long as the process, so each collection would visit them in vain.
    """
    gc.disable()
    try:
        yield
    finally:
        # The sources of commands, in which Pydantic found the texts of their fields.
        linecache.clearcache()
        gc.freeze()
        gc.enable()


def _settings() -> "ServerSettings":
    from .settings import Settings

    return configure(Settings)


def main() -> None:
    """Run the command line."""
    from beamkeep_client.cli import main

    main()


async def _begin(command: str, settings: "ServerSettings") -> None:
    """Log the version, and return once the databases answer, or once waiting does not help."""
    import structlog

    from beamkeep.adapters.postgres.reaching import until_reachable
    from beamkeep.runtime.evidence import RELEASE

    log = structlog.get_logger()
    log.info("starting", command=command, version=RELEASE)
    for name, url in settings.database_urls.items():

        def tell(reason: str, name: str = name) -> None:
            log.warning("waiting for the database", setting=name, because=reason)

        await until_reachable(url.get_secret_value(), tell)


def naming_faults(verb: click.Command) -> click.Command:
    """Let a verb name the wrong declarations of a site's contexts, which it meets as it loads."""
    run = verb.callback

    def callback(*arguments: object, **options: object) -> object:
        try:
            return run and run(*arguments, **options)
        except Exception as error:
            from beamkeep.contexts.declarations import FaultyDeclarationsError

            if not isinstance(error, FaultyDeclarationsError):
                raise
            click.echo(str(error), err=True)
            sys.exit(BROKEN)

    verb.callback = callback
    return verb


OWN = serve, work, migrate, check, rebuild, mcp_stdio, new_context, describe_context
VERBS = tuple(map(naming_faults, (*OWN, *(verb for part in PARTS for verb in part.verbs))))
