"""How the verbs of `beamkeep` read settings, run, and say what is wrong."""

import re
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from .settings import CoreSettings, DatabaseSettings

# The settings or the database are at fault, and trying again does not help.
BROKEN = 78
# The database went away while the service started: trying again helps (EX_TEMPFAIL).
TRY_AGAIN = 75


def configure[S: CoreSettings](kind: type[S]) -> S:
    """Return the settings in the environment, and log as they say."""
    from beamkeep.telemetry import configure_logging

    settings = read(kind)
    configure_logging(settings.log_json, settings.log_level)
    return settings


def read[S: DatabaseSettings](kind: type[S]) -> S:
    """Return the settings in the environment; say which of them are wrong and end."""
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


def text_of(file: TextIO) -> str:
    """Return what a text file contains; say if it is none and end."""
    try:
        return file.read()
    except UnicodeDecodeError:
        click.echo(f"{file.name} is not a text file in UTF-8.", err=True)
        sys.exit(BROKEN)


def run_on_database[T](work: Coroutine[Any, Any, T]) -> T:
    """Run something that reads a record, whatever is wrong with the database or the files."""
    import asyncpg
    import msgspec

    from beamkeep.runtime.store import StoreUnavailableError

    unread = "The record was not read to its end"
    try:
        return carry_out(work)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, StoreUnavailableError) as error:
        remedy = "See that the database runs and answers."
        if str(getattr(error, "sqlstate", "")).startswith("42"):
            # A table is missing, or the role may not read it.
            remedy = "Run `beamkeep migrate`, and log in as bk_reader or bk_app."
        click.echo(f"{unread}: {error}. {remedy}", err=True)
    except OSError as error:
        remedy = "See that the database runs and answers, and that the files can be read."
        click.echo(f"{unread}: {error}. {remedy}", err=True)
    except msgspec.MsgspecError as error:
        click.echo(f"{unread}: a file or a row cannot be read: {error}.", err=True)
    sys.exit(BROKEN)


def carry_out[T](work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; say what keeps a deployment from its work and end."""
    import uvloop

    from beamkeep.adapters.extras import BrokenEntryPointError, MissingExtraError
    from beamkeep.adapters.postgres.fence import UnfitDatabaseError
    from beamkeep.adapters.postgres.reaching import UnreachableDatabaseError
    from beamkeep.contexts.trust.bootstrap import AdministratorUnusableError

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
