"""The command line: nouns of the catalogue with their verbs, and what other packages add."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .catalogue import Entry, added, catalogue
from .events import events_command
from .finding import catalogue_command, find_command
from .login import login_command, logout_command
from .mcp import mcp_command
from .shared.words import NOUNS
from .verbs import StatusVerb, Verb, kebab

if TYPE_CHECKING:
    import httpx2

HELP = """Control the operations of an experiment facility.

`beamkeep NOUN -h` shows the verbs of a noun, as in `beamkeep run start`.
"""
EXIT_CODES = "0 success, 1 refused, 2 no answer from the service, 64 wrong usage, 78 wrong settings"
HELP_SETTINGS = {"help_option_names": ["-h", "--help"]}
VERBS = "beamkeep.verbs"
"""The entry points by which other packages add commands."""
ON_HOSTS = frozenset({"custody", "federation", "verify-copies", "watch-scans"})
"""Commands that people run on a particular host; help names them without a description."""
CLOSE = 0.6


class WrongUsage(click.UsageError):
    """A usage error whose exit code differs from that of a service that does not answer."""

    exit_code = 64


@contextmanager
def _usage_errors() -> Generator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        # A noun alone: its verbs are what the caller wants to know.
        click.echo(error.format_message(), err=True)
        raise click.exceptions.Exit(WrongUsage.exit_code) from None
    except click.UsageError as error:
        raise WrongUsage(error.format_message(), error.ctx) from None


class Suggesting(click.Group):
    """A group that names similar commands when one is not found."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            names = {**self.aliases(), **{name: name for name in self.list_commands(ctx)}}
            import difflib

            close = difflib.get_close_matches(args[0], names, cutoff=CLOSE)
            path = ctx.command_path
            hints = [f"  {path} {name}" for name in dict.fromkeys(names[each] for each in close)]
            asked = "\n".join(["\nDid you mean:", *hints]) if hints else ""
            raise click.UsageError(f"There is no command {args[0]}.{asked}", ctx) from None

    def aliases(self) -> Mapping[str, str]:
        """Return commands that help does not show, and what they are called there."""
        return {}


class Noun(Suggesting):
    """The verbs of one kind of object."""

    def __init__(self, name: str, entries: list[Entry]) -> None:
        text = NOUNS.get(name, f"Verbs of {name.replace('-', ' ')}.")
        super().__init__(name, help=text, context_settings=HELP_SETTINGS)
        self._shown = {entry.short or entry.verb: entry for entry in entries}
        self._verbs = {entry.verb: entry for entry in entries} | self._shown

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self._shown]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self._verbs.get(cmd_name)
        return Verb(entry, cmd_name) if entry else None


class CommandLine(Suggesting):
    """Everything that `beamkeep` can do."""

    def __init__(self) -> None:
        super().__init__(
            "beamkeep",
            help=HELP,
            epilog=f"Exit codes: {EXIT_CODES}.",
            context_settings=HELP_SETTINGS,
        )
        self._flat = {kebab(entry.name): entry for entry in catalogue().values()}
        self._top = {entry.verb: entry for entry in catalogue().values() if not entry.noun}
        self._nouns: dict[str, list[Entry]] = {}
        for entry in catalogue().values():
            if entry.noun:
                self._nouns.setdefault(entry.noun, []).append(entry)
        self.params.extend(
            [
                click.Option(
                    ["--url"],
                    envvar="BEAMKEEP_URL",
                    help="Address of the service (default: $BEAMKEEP_URL, login).",
                ),
                click.Option(
                    ["--profile"],
                    envvar="BEAMKEEP_PROFILE",
                    default="default",
                    help="Login to use (default: $BEAMKEEP_PROFILE, else default).",
                ),
                click.Option(
                    ["--token-file"],
                    type=click.Path(exists=True, dir_okay=False, path_type=Path),
                    help="File with the access token (default: $BEAMKEEP_TOKEN).",
                ),
                click.Option(
                    ["--surface-id"], help="Surface to call (default: the service's REST surface)."
                ),
                click.Option(
                    ["--version"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_version,
                    help="Print the versions and exit.",
                ),
            ]
        )
        for command in (
            *(events_command(), find_command(), catalogue_command()),
            *(login_command(), logout_command(), completion_command()),
            *(mcp_command(), StatusVerb()),
        ):
            self.add_command(command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *ON_HOSTS, *self._top, *self._nouns, *_added()})

    def aliases(self) -> Mapping[str, str]:
        return {name: entry.words for name, entry in self._flat.items()}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = kebab(cmd_name)
        if known := self.commands.get(name):
            return known
        if name in ON_HOSTS:
            return _on_host(name)
        if name in self._top:
            return Verb(self._top[name], name)
        if name in self._nouns:
            return Noun(name, self._nouns[name])
        if name in _added():
            return _added()[name]
        return Verb(self._flat[name], name, hidden=True) if name in self._flat else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the nouns in a paragraph, so that help fits a screen."""
        with formatter.section("Nouns"):
            formatter.write_text(", ".join(self._nouns))
        with formatter.section("Commands for a host of the service or of its files"):
            formatter.write_text(", ".join(sorted({*ON_HOSTS, *_added()})))
        others = sorted({*self.commands, *self._top})
        rows = [(n, self._brief(ctx, n)) for n in others if n != "catalogue"]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _brief(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=60) if command else ""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _usage_errors():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _usage_errors():
            return super().invoke(ctx)


def _on_host(name: str) -> click.Command:
    """Return a command of ON_HOSTS, for which alone its module is imported."""
    match name:
        case "custody":
            from .tools.custody import custody_command

            return custody_command()
        case "federation":
            from .tools.federation import federation_command

            return federation_command()
        case "verify-copies":
            from .tools.copies import verify_copies_command

            return verify_copies_command()
        case _:
            from .tools.scan_watch import watch_scans_command

            return watch_scans_command()


def completion_command() -> click.Command:
    """Return the command that prints what a shell needs to complete words."""

    def run(shell: str) -> None:
        from click.shell_completion import get_completion_class

        kind = get_completion_class(shell)
        if kind:
            click.echo(kind(command_line(), {}, "beamkeep", "_BEAMKEEP_COMPLETE").source())

    shells = click.Argument(["shell"], type=click.Choice(["bash", "zsh", "fish"]))
    text = "Print the completion of a shell; for bash: source <(beamkeep completion bash)."
    return click.Command("completion", callback=run, params=[shells], help=text)


@cache
def _added() -> Mapping[str, click.Command]:
    found = [verb for point in added(VERBS) for verb in point.load()]
    return {verb.name: verb for verb in found}


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        # The server and its client are distributions of their own, and may differ.
        with suppress(PackageNotFoundError):
            click.echo(f"beamkeep {version('beamkeep')}")
        click.echo(f"beamkeep-client {version('beamkeep-client')}")
        ctx.exit()


def command_line() -> click.Group:
    """Return the command line."""
    return CommandLine()


def main(transport: "httpx2.BaseTransport | None" = None) -> None:
    """Run the command line."""
    command_line()(obj=transport, prog_name="beamkeep")
