"""The commands of `beamkeep` that run the service."""

import re
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TextIO
from uuid import UUID, uuid4

import click

# The settings or the database are at fault, and trying again does not help.
BROKEN = 78
# The database went away while the service started: trying again helps (EX_TEMPFAIL).
TRY_AGAIN = 75

if TYPE_CHECKING:
    from beamkeep.deployment.settings import DatabaseSettings, Settings


@click.command()
def serve() -> None:
    """Run the HTTP service.

    It waits for a database that cannot be reached yet, and stops on SIGINT or SIGTERM. The
    settings are environment variables.
    """
    from asyncio import get_running_loop

    from beamkeep.adapters.hiding import hide_process
    from beamkeep.adapters.http_server import configured, serve_both, taken
    from beamkeep.deployment.composition import web

    hide_process()
    settings = _settings()

    async def run() -> None:
        await _begin("serve", settings)
        # The server stops at these signals and raises them again; without a handler they would
        # end the process before its connections are closed.
        for number in (signal.SIGINT, signal.SIGTERM):
            get_running_loop().add_signal_handler(number, lambda: None)
        ports = {
            "PORT": (settings.host, settings.port),
            "METRICS_PORT": (settings.metrics_host, settings.metrics_port),
        }
        for name, place in ports.items():
            if because := await taken(*place):
                click.echo(f"{name}: {because}", err=True)
                sys.exit(1)
        async with web(settings) as served:
            main = configured(
                served.application,
                host=settings.host,
                port=settings.port,
                deadline_seconds=settings.deadline_seconds,
                limit_concurrency=settings.limit_concurrency,
                connections_per_address=settings.connections_per_address,
                trusted_proxies=settings.trusted_proxies,
            )
            metrics = served.metrics and configured(
                served.metrics,
                host=settings.metrics_host,
                port=settings.metrics_port,
                deadline_seconds=settings.deadline_seconds,
                limit_concurrency=settings.limit_concurrency,
            )
            # A thread that parses or describes keeps the loop waiting no longer than this.
            sys.setswitchinterval(SWITCH_SECONDS)
            await serve_both(main, metrics, on_stop=served.application.stop_streams)

    _run(run())


@click.command()
@click.option("--shards", help="Shards of the event log, for example 0,1,2 (default: all).")
def work(shards: str | None) -> None:
    """Run the background work.

    It updates the lists, watches for stale enclosures and supplies, observes the control system,
    carries out conducts, and relays events to NATS. It waits for a database that cannot be reached
    yet, and stops on SIGINT or SIGTERM.
    """
    from asyncio import get_running_loop

    from beamkeep.adapters.hiding import hide_process
    from beamkeep.deployment.composition import Deployment

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

    _run(run())


@click.command()
def migrate() -> None:
    """Create or upgrade the database schema."""
    import asyncpg

    from beamkeep.adapters.postgres.migrate import MigrationChangedError
    from beamkeep.adapters.postgres.migrate import migrate as apply
    from beamkeep.deployment.settings import DatabaseSettings

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
    from beamkeep.adapters.postgres.ledger import ledger
    from beamkeep.deployment.checking import deployment_faults
    from beamkeep.parts.witness.proving import witness_faults
    from beamkeep.workers.auditing import differences

    settings = _settings()

    async def tried() -> tuple[int, bool]:
        number, hidden = 0, False
        async for fault in deployment_faults(settings):
            number, hidden = number + 1, hidden or fault.hides_record
            click.echo(fault.text)
        return number, hidden

    wrong, hidden = _run_on_database(tried())

    async def shown(faults: AsyncIterator[str]) -> int:
        number = 0
        async for fault in faults:
            number += 1
            click.echo(fault)
        return number

    async def compare() -> int:
        async with ledger(settings.database_url.get_secret_value()) as kept:
            return await shown(differences(kept))

    # A database with faults may have no tables to compare.
    if not hidden:
        wrong += _run_on_database(compare()) + _run_on_database(shown(witness_faults(settings)))
    if not wrong:
        click.echo("nothing is wrong")
    sys.exit(1 if wrong else 0)


def _check_token(token: str) -> Never:
    import httpx2

    from beamkeep.adapters.tokens.diagnosis import diagnose
    from beamkeep.deployment.composition import Deployment, verifier

    settings = _settings()

    async def run() -> tuple[bool, str]:
        deployment = Deployment(settings)
        async with httpx2.AsyncClient() as http:
            found = await diagnose(token, verifier(settings, http), deployment.store)
        await deployment.close()
        return found

    accepted, text = _run(run())
    click.echo(text)
    sys.exit(0 if accepted else 1)


@click.command()
@click.argument("view")
def rebuild(view: str) -> None:
    """Rebuild the list VIEW from the events.

    The old list is served until the new one has caught up.
    """
    from beamkeep.contexts import CATALOGUE
    from beamkeep.deployment.composition import Deployment

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


@click.command()
@click.option(
    "--from",
    "cursor",
    required=True,
    help="Cursor after which the relay continues, or `now` for the end of the log (required).",
)
def relay(cursor: str) -> None:
    """Decide where the relay to NATS continues.

    Use it after the database was restored to an earlier time. The first message after it has the
    header Beamkeep-Break.
    """
    from beamkeep.contexts.seams.log import InvalidFeedCursorError
    from beamkeep.deployment.composition import Deployment
    from beamkeep.feed.log import START
    from beamkeep.runtime.parsing import MalformedRequestError

    settings = _settings()
    if settings.nats_url is None:
        click.echo("NATS_URL is not set: this deployment has no relay.", err=True)
        sys.exit(BROKEN)

    async def run() -> None:
        deployment = Deployment(settings)
        try:
            place = await (await deployment.log_reader()).place(cursor)
            await deployment.relay_places().decide(place or START)
        finally:
            await deployment.close()

    try:
        _run(run())
    except (InvalidFeedCursorError, MalformedRequestError) as refused:
        click.echo(f"The relay was not moved: {refused}", err=True)
        sys.exit(1)
    click.echo(f"The relay to {settings.nats_stream} continues there.")


@click.command()
@click.option(
    "--checkpoints",
    type=click.File(),
    help="File with signed checkpoints (default: those in the database, which are weaker).",
)
@click.option(
    "--keys",
    type=click.File(),
    help="File with verifier keys, one per line or as /.well-known/beamkeep-checkpoint-keys answers"
    " (default: those in the database).",
)
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    metavar="NAME",
    help="Name of an anchor or a redaction that you know of, as `verify` shows it. Repeat the"
    " option for each (default: none).",
)
def verify(checkpoints: TextIO | None, keys: TextIO | None, accepted: tuple[str, ...]) -> None:
    """Compute the record again and compare it with signed checkpoints.

    Read the event log and the rows of runs, decisions and procedures, and name the first
    difference. Compare grants, standings and claims with the events. Exit code 1 means that the
    record differs, or that an anchor or a redaction was not accepted.
    """
    from beamkeep.deployment.settings import DatabaseSettings
    from beamkeep.parts.witness.proving import verify_record

    settings = _read(DatabaseSettings)
    url = settings.reader_database_url or settings.database_url

    async def run() -> int:
        number = 0
        told = verify_record(
            url.get_secret_value(),
            None if checkpoints is None else _text(checkpoints),
            None if keys is None else _text(keys),
            lambda done: click.echo(f"\r{done} leaves", nl=False, err=True),
            accepted,
        )
        async for is_fault, line in told:
            number += is_fault
            click.echo(line)
        return number

    if not (wrong := _run_on_database(run())):
        click.echo("nothing is wrong")
    sys.exit(1 if wrong else 0)


@click.command()
@click.option("--reason", required=True, help="Why the database was restored (required).")
@click.option(
    "--diverged",
    is_flag=True,
    help="Begin a new tree although the log differs from what was signed (default: refuse).",
)
def anchor(reason: str, diverged: bool) -> None:
    """Let the witness go on after a restore.

    Compute the log again and compare it with what was signed last. If the log is shorter, a new
    tree begins, and its first leaf names the reason and the last checkpoint.
    """
    from beamkeep.parts.witness.proving import anchor_trees
    from beamkeep.parts.witness.signing import WitnessRefusedError

    settings = _settings()
    try:
        for line in _run_on_database(anchor_trees(settings, reason, is_diverged=diverged)):
            click.echo(line)
    except (WitnessRefusedError, ValueError) as refused:
        click.echo(str(refused), err=True)
        sys.exit(1)


@click.command()
@click.option(
    "--table", required=True, help="Table of the row, such as run_logbook_entry (required)."
)
@click.option("--key", required=True, help="Primary key of the row (required).")
@click.option(
    "--reason", required=True, help="Why the row is removed, without personal data (required)."
)
def redact(table: str, key: str, reason: str) -> None:
    """Remove one row that must not be kept, and keep its hash.

    Checkpoints of the log stay valid. Events cannot be removed.
    """
    from beamkeep.deployment.settings import DatabaseSettings
    from beamkeep.parts.witness.postgres_proving import redact as remove

    settings = _read(DatabaseSettings)
    url = settings.migration_database_url or settings.database_url
    try:
        is_removed = _run(remove(url.get_secret_value(), table, key, reason=reason))
    except ValueError as refused:
        click.echo(str(refused), err=True)
        sys.exit(1)
    if not is_removed:
        click.echo(f"{table} has no row {key}.", err=True)
        sys.exit(1)
    click.echo(f"{table} {key} is removed, and its hash is kept.")


@click.command("witness-key")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
def witness_key(name: str, file: Path) -> None:
    """Make a key that signs checkpoints, and print its verifier key.

    NAME is how others know the key, such as control.example.org/north-ring/witness. FILE is
    created and must not exist.
    """
    from beamkeep.parts.witness.keys import make_key

    try:
        click.echo(make_key(name, file).key().text)
    except (OSError, ValueError) as error:
        click.echo(f"The key was not made: {error}", err=True)
        sys.exit(1)


@click.command("end-witness-key")
@click.argument("key")
@click.option("--leaked", is_flag=True, help="List the key as revoked (default: as replaced).")
def end_witness_key(key: str, leaked: bool) -> None:
    """List a verifier key as one that signs no more.

    KEY is the verifier key, as `witness-key` has printed it. What only a revoked key has signed
    proves nothing.
    """
    from beamkeep.deployment.settings import DatabaseSettings
    from beamkeep.parts.witness.postgres_cosigning import end_key
    from beamkeep.parts.witness.trees.notes import InvalidNoteError, read_key

    settings = _read(DatabaseSettings)
    url = settings.migration_database_url or settings.database_url
    try:
        verifier_key = read_key(key)
    except InvalidNoteError:
        click.echo(f"{key} is not a verifier key.", err=True)
        sys.exit(1)
    _run(end_key(url.get_secret_value(), verifier_key, is_leaked=leaked))
    click.echo(f"{verifier_key.name} is listed as {'revoked' if leaked else 'replaced'}.")


@click.command("mcp-stdio")
@click.option("--toolsets", default="", help="Toolsets to list, such as run,safety (default: all).")
def mcp_stdio(toolsets: str) -> None:
    """Serve MCP on standard input and output."""
    import httpx2

    from beamkeep.deployment.composition import Deployment, verifier
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
                    token_ends_at=verified.ends_at,
                    transport=SurfaceKind.MCP_STDIO,
                    selected_surface=str(surface) if surface else None,
                )

            await serve_stdio(await deployment.service(), caller, toolsets)
        await deployment.close()

    _run(run())


SWITCH_SECONDS = 0.001


@click.group("import")
def import_file() -> None:
    """Import a beamline from a file."""


FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
APPLY = click.option("--apply", is_flag=True, help="Apply the changes (default: preview only).")


@import_file.command()
@FILE
@APPLY
def yaml(file: Path, apply: bool) -> None:
    """Import a beamline that a YAML or JSON file describes."""
    from beamkeep.parts.importing.importer import run

    run(file, apply)


@import_file.command()
@FILE
@APPLY
@click.option("--facility", required=True, help="Code of the facility of the devices.")
def happi(file: Path, apply: bool, facility: str) -> None:
    """Import the devices of a happi database."""
    from beamkeep.parts.importing.importer import run

    run(file, apply, facility)


def main() -> None:
    """Run the command line."""
    from beamkeep_client.cli import main

    main()


def _settings() -> "Settings":
    from beamkeep.deployment.settings import Settings
    from beamkeep.telemetry import configure_logging

    settings = _read(Settings)
    configure_logging(settings.log_json, settings.log_level)
    return settings


async def _begin(command: str, settings: "Settings") -> None:
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


def _read[S: DatabaseSettings](kind: type[S]) -> S:
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    try:
        return kind()
    except SettingsError as error:
        # Its cause has the value, which may contain a secret.
        (name,) = re.findall(r'"(\w+)" from', str(error))
        click.echo(f"{name.upper()}: The value is not JSON.", err=True)
        sys.exit(BROKEN)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            where = ".".join(str(part) for part in fault["loc"]).upper()
            said = fault["msg"].removeprefix("Value error, ")
            click.echo(f"{where}: {said}".removeprefix(": "), err=True)
        sys.exit(BROKEN)


def _text(file: TextIO) -> str:
    try:
        return file.read()
    except UnicodeDecodeError:
        click.echo(f"{file.name} is not a text file in UTF-8.", err=True)
        sys.exit(BROKEN)


def _run_on_database[T](work: Coroutine[Any, Any, T]) -> T:
    """Run something that reads a record, whatever is wrong with the database or the files."""
    import asyncpg
    import msgspec

    from beamkeep.runtime.store import StoreUnavailableError

    told = "The record was not read to its end"
    try:
        return _run(work)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, StoreUnavailableError) as error:
        remedy = "See that the database runs and answers."
        if str(getattr(error, "sqlstate", "")).startswith("42"):
            # A table is missing, or the role may not read it.
            remedy = "Run `beamkeep migrate`, and log in as bk_reader or bk_app."
        click.echo(f"{told}: {error}. {remedy}", err=True)
    except OSError as error:
        remedy = "See that the database runs and answers, and that the files can be read."
        click.echo(f"{told}: {error}. {remedy}", err=True)
    except msgspec.MsgspecError as error:
        click.echo(f"{told}: a file or a row cannot be read: {error}.", err=True)
    sys.exit(BROKEN)


def _run[T](work: Coroutine[Any, Any, T]) -> T:
    import uvloop

    from beamkeep.adapters.extras import MissingExtraError
    from beamkeep.adapters.postgres.fence import UnfitDatabaseError
    from beamkeep.adapters.postgres.reaching import UnreachableDatabaseError
    from beamkeep.contexts.trust.bootstrap import AdministratorUnusableError
    from beamkeep.parts.conducting.registered import BrokenEntryPointError

    refused = UnfitDatabaseError, AdministratorUnusableError, MissingExtraError
    code = BROKEN
    try:
        return uvloop.run(work)
    except* UnreachableDatabaseError as unreachable:
        for error in unreachable.exceptions:
            click.echo(str(error), err=True)
        code = TRY_AGAIN
    except* (*refused, BrokenEntryPointError) as unfit:
        for error in unfit.exceptions:
            click.echo(str(error), err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
