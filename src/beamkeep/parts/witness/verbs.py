"""The verbs of the witness."""

import sys
from pathlib import Path
from typing import TextIO

import click

from beamkeep.parts.verbs import carry_out, configure, read, run_on_database, text_of


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
    from beamkeep.parts.settings import DatabaseSettings

    from .proving import verify_record

    settings = read(DatabaseSettings)
    url = settings.reader_database_url or settings.database_url

    async def run() -> int:
        number = 0
        lines = verify_record(
            url.get_secret_value(),
            None if checkpoints is None else text_of(checkpoints),
            None if keys is None else text_of(keys),
            lambda done: click.echo(f"\r{done} leaves", nl=False, err=True),
            accepted,
        )
        async for is_fault, line in lines:
            number += is_fault
            click.echo(line)
        return number

    if not (wrong := run_on_database(run())):
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
    """Let the witness continue after a restore.

    Compute the log again and compare it with what was signed last. If the log is shorter, a new
    tree begins, and its first leaf names the reason and the last checkpoint.
    """
    from .proving import anchor_trees
    from .settings import WitnessSettings
    from .signing import WitnessRefusedError

    settings = configure(WitnessSettings)
    try:
        for line in run_on_database(anchor_trees(settings, reason, is_diverged=diverged)):
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
    from beamkeep.parts.settings import DatabaseSettings

    from .postgres_proving import redact as remove

    url = read(DatabaseSettings).migrating_url
    try:
        is_removed = carry_out(remove(url.get_secret_value(), table, key, reason=reason))
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
    from .keys import make_key

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
    from beamkeep.parts.settings import DatabaseSettings

    from .postgres_cosigning import end_key
    from .trees.notes import InvalidNoteError, read_key

    url = read(DatabaseSettings).migrating_url
    try:
        verifier_key = read_key(key)
    except InvalidNoteError:
        click.echo(f"{key} is not a verifier key.", err=True)
        sys.exit(1)
    carry_out(end_key(url.get_secret_value(), verifier_key, is_leaked=leaked))
    click.echo(f"{verifier_key.name} is listed as {'revoked' if leaked else 'replaced'}.")


VERBS = (verify, anchor, redact, witness_key, end_witness_key)
