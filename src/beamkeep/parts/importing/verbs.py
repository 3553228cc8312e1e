"""The verb of imports."""

from pathlib import Path

import click


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
    from .importer import run

    run(file, apply)


@import_file.command()
@FILE
@APPLY
@click.option("--facility", required=True, help="Code of the facility of the devices.")
def happi(file: Path, apply: bool, facility: str) -> None:
    """Import the devices of a happi database."""
    from .importer import run

    run(file, apply, facility)


VERBS = (import_file,)
