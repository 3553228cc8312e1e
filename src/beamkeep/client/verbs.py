"""The command line: one verb for each operation and each question of the catalogue."""

import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from beamkeep.kernel import Accepted, Catalogue, Operation, Question, reply_of
from beamkeep.surfaces.schema import input_schema

from .calling import ATTEMPTS, REFUSED, CatalogueRow, call, connect
from .events import events_command
from .following import ConductFollower, decide
from .importing.importer import import_group
from .terminal import show

if TYPE_CHECKING:
    import httpx2

DEFAULT_URL = "http://127.0.0.1:8000"
URL_HELP = f"Address of the service (default: $BEAMKEEP_URL, else {DEFAULT_URL})."
HELP = """Control the operations of an experiment facility.

Exit codes: 0 success, 1 refused, 2 no answer from the service, 64 wrong usage, 78 wrong settings.
"""
SCALARS: Mapping[str, click.ParamType[Any]] = {
    "string": click.STRING,
    "integer": click.INT,
    "number": click.FLOAT,
}


class JsonParameter(click.ParamType[Any]):
    """A parameter written as JSON; with `or_text`, what is not JSON is taken as a string."""

    def __init__(self, or_text: bool = False) -> None:
        self.name, self._or_text = "json", or_text

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            return value if self._or_text else self.fail("The value is not JSON.", param, ctx)


def option(name: str, schema: Mapping[str, Any], required: bool, question: bool) -> click.Option:
    """Return the option for one argument of an operation or a question."""
    shapes = [s for s in schema.get("anyOf", [schema]) if s.get("type") != "null"]
    shape: Mapping[str, Any] = shapes[0] if len(shapes) == 1 else {}
    items: Mapping[str, Any] = shape.get("items", {})
    kind, many = shape.get("type"), items.get("type") in SCALARS
    parts = [schema.get("description"), shape.get("description"), "(repeatable)" * many]
    if (default := schema.get("default")) not in (None, [], {}):
        parts.append(f"(default: {default})")
    # Click's own check would not see a value in --arguments.
    parts.append("[required]" * required)
    flag = f"--{_kebab(name)}"
    if kind == "boolean":
        flag, accepted = f"{flag}/--no-{_kebab(name)}", click.BOOL
    elif many or kind in SCALARS:
        accepted = _scalar(items if many else shape)
    else:
        accepted = click.STRING if question else JsonParameter(or_text=not kind)
    text = " ".join(dict.fromkeys(filter(None, parts))) or None
    form = (items if many else shape).get("format", "").upper() or None
    return click.Option(
        [flag, name], type=accepted, metavar=form, default=None, multiple=many, help=text
    )


def _scalar(shape: Mapping[str, Any]) -> click.ParamType[Any]:
    return click.Choice(shape["enum"]) if "enum" in shape else SCALARS[shape["type"]]


ARGUMENTS = click.Option(
    ["--arguments"],
    type=JsonParameter(),
    help="All arguments as a JSON object; options override them.",
)
JSON = click.Option(
    ["--json", "as_json"], is_flag=True, help="Print JSON (default: a table if at a terminal)."
)
FOR_OPERATIONS = (
    click.Option(["--dry-run"], is_flag=True, help="Check the command and write nothing."),
    click.Option(["--idempotency-key"], help="Key for safe repeats; lost answers are retried."),
)
FOR_ACCEPTED = (
    click.Option(
        ["--follow"], is_flag=True, help="Print each step, and return when the conduct has ended."
    ),
)
FOR_CHANGES = (
    click.Option(["--if-match"], type=int, help="Version the object must have (default: any)."),
)


class Verb(click.Command):
    """The verb of one operation or question. Its options are made when it is called."""

    def __init__(
        self,
        row: CatalogueRow,
        catalogue: Catalogue,
        transport: "httpx2.BaseTransport | None",
    ) -> None:
        super().__init__(_kebab(row.name), help=cleandoc(row.doc))
        self._row, self._catalogue, self._transport = row, catalogue, transport

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            row, schema = self._row, input_schema(self._row)
            needed, asks = schema.get("required", ()), isinstance(row, Question)
            own = schema["properties"].items()
            self.params += [option(name, each, name in needed, asks) for name, each in own]
            if isinstance(row, Operation):
                self.params += [*FOR_OPERATIONS, *(() if row.genesis else FOR_CHANGES)]
                self.params += FOR_ACCEPTED if is_followed(row) else ()
            self.params += [ARGUMENTS, JSON]
        return super().get_params(ctx)

    def invoke(self, ctx: click.Context) -> None:
        assert ctx.parent is not None, "a verb is called through its group"  # noqa: S101
        client = connect(self._transport, **ctx.parent.params)
        schema, given = input_schema(self._row), dict(ctx.params)
        as_json = given.pop("as_json")
        arguments = _arguments(given, schema)
        if missing := [name for name in schema.get("required", ()) if name not in arguments]:
            flags = ", ".join(f"--{_kebab(name)}" for name in missing)
            raise click.UsageError(f"Missing required options: {flags}", ctx)
        attempts, follows = ATTEMPTS if given.get("idempotency_key") else 1, given.pop("follow", 0)
        if sys.stdin.isatty() and needs_decisions(schema, arguments):
            arguments |= decide(client, self._catalogue, arguments["procedure_id"])
        response = call(client, self._row, arguments, **given, attempts=attempts)
        if follows and not given.get("dry_run"):
            told = response.json()
            ids = told["procedure_id"], told["conduct_id"]
            if not ConductFollower(client, self._catalogue, *ids).follow():
                raise click.exceptions.Exit(REFUSED)
        elif as_json or not sys.stdout.isatty():
            click.echo(response.content, nl=bool(response.content))
        else:
            show(response.json() if response.content else {}, response.headers.get("etag"))


def is_followed(row: CatalogueRow) -> bool:
    """Return whether an operation begins a conduct, which `--follow` can show."""
    reply = reply_of(row) if isinstance(row, Operation) else None
    return reply is not None and issubclass(reply, Accepted) and hasattr(reply, "conduct_id")


def needs_decisions(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Return whether steps in doubt are to be asked for: the caller decided nothing about them."""
    decided = {"redo_step_indexes", "skip_step_indexes"}
    return decided <= schema["properties"].keys() and not {*decided, "abandon"} & arguments.keys()


def _arguments(given: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the arguments of the call from the options given, and return them."""
    whole: object = given.pop("arguments") or {}
    if not isinstance(whole, dict):
        raise click.UsageError("--arguments must be a JSON object.", click.get_current_context())
    own = {name: given.pop(name) for name in schema["properties"]}
    return cast("dict[str, Any]", whole) | {n: v for n, v in own.items() if v not in (None, ())}


class Verbs(click.Group):
    """The verbs of the catalogue, by name in kebab case or in snake case."""

    def __init__(self, catalogue: Catalogue, transport: "httpx2.BaseTransport | None") -> None:
        super().__init__("beamkeep", help=HELP)
        self._rows = {_kebab(name): row for name, row in catalogue.named.items()}
        self._catalogue, self._transport = catalogue, transport
        self.params += [
            click.Option(["--url"], envvar="BEAMKEEP_URL", default=DEFAULT_URL, help=URL_HELP),
            click.Option(
                ["--token-file"],
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                help="File that contains the access token (default: $BEAMKEEP_TOKEN).",
            ),
            click.Option(
                ["--surface-id"], help="Surface to call (default: the service's REST surface)."
            ),
        ]
        self.add_command(_listing(catalogue))
        self.add_command(import_group(catalogue, transport))
        self.add_command(events_command(transport))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self._rows]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = _kebab(cmd_name)
        row = self._rows.get(name)
        return (
            Verb(row, self._catalogue, self._transport) if row else super().get_command(ctx, name)
        )

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _usage_errors():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _usage_errors():
            return super().invoke(ctx)


class WrongUsage(click.UsageError):
    """A usage error whose exit code differs from that of a service that does not answer."""

    exit_code = 64


@contextmanager
def _usage_errors() -> Generator[None]:
    try:
        yield
    except click.UsageError as error:
        raise WrongUsage(error.format_message(), error.ctx) from None


def _listing(catalogue: Catalogue) -> click.Command:
    def run(as_json: bool) -> None:
        rows = [
            {
                "name": row.name,
                "method": row.route.method,
                "path": row.route.path,
                "kind": _kind(row),
                "aggregate": row.aggregate.name,
            }
            for row in catalogue.named.values()
        ]
        if as_json:
            click.echo(json.dumps(rows))
            return
        wide = {name: max(len(row[name]) for row in rows) for name in rows[0]}
        for row in rows:
            click.echo("  ".join(row[name].ljust(wide[name]) for name in row).rstrip())

    text = "List all operations and questions."
    as_json = click.Option(
        ["--json", "as_json"], is_flag=True, help="Print JSON (default: a table)."
    )
    return click.Command("catalogue", callback=run, params=[as_json], help=text)


def _kind(row: CatalogueRow) -> str:
    if isinstance(row, Question):
        return "question"
    return "create" if row.genesis else "change"


def _kebab(name: str) -> str:
    return name.replace("_", "-")


def verbs(catalogue: Catalogue, transport: "httpx2.BaseTransport | None" = None) -> click.Group:
    """Return the command line for the operations and questions of a catalogue."""
    return Verbs(catalogue, transport)
