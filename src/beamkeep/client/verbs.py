"""The command line: every operation and every question as a verb, against a running service."""

import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from beamkeep.kernel import Catalogue, Operation, Question
from beamkeep.surfaces.schema import input_schema

from .calling import REFUSED, Row, end, link_to, refusal_of, send
from .importing.applying import import_group
from .terminal import show

if TYPE_CHECKING:
    import httpx2

MISUSED = 64
SCALARS: Mapping[str, click.ParamType[Any]] = {
    "string": click.STRING,
    "integer": click.INT,
    "number": click.FLOAT,
}


class Json(click.ParamType[Any]):
    """A value written as JSON; where it is not JSON and may be a text, the text itself."""

    def __init__(self, text_too: bool = False) -> None:
        self.name, self._text_too = "json", text_too

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            return value if self._text_too else self.fail("it is not JSON", param, ctx)


def option(name: str, schema: Mapping[str, Any], question: bool) -> click.Option:
    """One argument as an option."""
    shapes = [s for s in schema.get("anyOf", [schema]) if s.get("type") != "null"]
    shape: Mapping[str, Any] = shapes[0] if len(shapes) == 1 else {}
    items: Mapping[str, Any] = shape.get("items", {})
    kind, many = shape.get("type"), items.get("type") in SCALARS
    told = [schema.get("description"), shape.get("description")]
    if (default := schema.get("default")) not in (None, [], {}):
        told.append(f"Otherwise {default}.")
    flag = f"--{_kebab(name)}"
    if kind == "boolean":
        flag, accepted = f"{flag}/--no-{_kebab(name)}", click.BOOL
    elif many or kind in SCALARS:
        accepted = _scalar(items if many else shape)
    else:
        accepted = click.STRING if question else Json(text_too=not kind)
    text = " ".join(dict.fromkeys(filter(None, told))) or None
    return click.Option([flag, name], type=accepted, default=None, multiple=many, help=text)


def _scalar(shape: Mapping[str, Any]) -> click.ParamType[Any]:
    return click.Choice(shape["enum"]) if "enum" in shape else SCALARS[shape["type"]]


ARGUMENTS = click.Option(
    ["--arguments"], type=Json(), help="All arguments as one JSON object; options win over it."
)
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print the answer as it came.")
FOR_OPERATIONS = (
    click.Option(["--dry-run"], is_flag=True, help="Check everything, write nothing."),
    click.Option(["--idempotency-key"], help="Repeating the call with it is safe."),
)
FOR_CHANGES = (click.Option(["--if-match"], type=int, help="The version it must still be at."),)


class Verb(click.Command):
    """One row of the catalogue. Its options are made only when it is the one called."""

    def __init__(self, row: Row, transport: "httpx2.BaseTransport | None") -> None:
        super().__init__(_kebab(row.name), help=cleandoc(row.doc))
        self._row, self._transport = row, transport

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            row, asks = self._row, isinstance(self._row, Question)
            own = input_schema(row)["properties"]
            self.params += [option(name, schema, asks) for name, schema in own.items()]
            if isinstance(row, Operation):
                self.params += [*FOR_OPERATIONS, *(() if row.genesis else FOR_CHANGES)]
            self.params += [ARGUMENTS, JSON]
        return super().get_params(ctx)

    def invoke(self, ctx: click.Context) -> None:
        assert ctx.parent is not None, "the group knows the service"  # noqa: S101
        link = link_to(self._transport, **ctx.parent.params)
        schema, given = input_schema(self._row), dict(ctx.params)
        as_json = given.pop("as_json")
        arguments = _arguments(given, schema)
        if missing := [name for name in schema.get("required", ()) if name not in arguments]:
            raise click.UsageError("Missing " + ", ".join(f"--{_kebab(n)}" for n in missing), ctx)
        response = send(self._row, arguments, given, link)
        if not response.is_success:
            end(refusal_of(response), REFUSED)
        if as_json or not sys.stdout.isatty():
            click.echo(response.content, nl=bool(response.content))
        else:
            show(response.json() if response.content else {}, response.headers.get("etag"))


def _arguments(given: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """What the call takes, taken out of what was given."""
    whole: object = given.pop("arguments") or {}
    if not isinstance(whole, dict):
        raise click.UsageError("--arguments is not a JSON object", click.get_current_context())
    own = {name: given.pop(name) for name in schema["properties"]}
    return cast("dict[str, Any]", whole) | {n: v for n, v in own.items() if v not in (None, ())}


class Verbs(click.Group):
    """Every row of the catalogue by name, in kebab case or in snake case."""

    def __init__(self, catalogue: Catalogue, transport: "httpx2.BaseTransport | None") -> None:
        super().__init__("beamkeep", help="Operations control of an experiment facility.")
        self._rows = {_kebab(name): row for name, row in catalogue.named.items()}
        self._transport = transport
        self.params += [
            click.Option(["--url"], envvar="BEAMKEEP_URL", default="http://127.0.0.1:8000"),
            click.Option(
                ["--token-file"],
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                help="Holds the access token; otherwise BEAMKEEP_TOKEN does.",
            ),
            click.Option(["--surface-id"], help="Call by another surface than the usual one."),
        ]
        self.add_command(_listing(catalogue))
        self.add_command(import_group(catalogue, transport))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self._rows]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = _kebab(cmd_name)
        row = self._rows.get(name)
        return Verb(row, self._transport) if row else super().get_command(ctx, name)

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _misuse():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _misuse():
            return super().invoke(ctx)


class Misuse(click.UsageError):
    """A call that cannot be meant as it was written."""

    exit_code = MISUSED


@contextmanager
def _misuse() -> Generator[None]:
    """Give a wrong call an exit code of its own: 2 says that the service cannot be reached."""
    try:
        yield
    except click.UsageError as error:
        raise Misuse(error.format_message(), error.ctx) from None


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

    text = "Print every operation and every question."
    return click.Command("catalogue", callback=run, params=[JSON], help=text)


def _kind(row: Row) -> str:
    if isinstance(row, Question):
        return "question"
    return "create" if row.genesis else "change"


def _kebab(name: str) -> str:
    return name.replace("_", "-")


def verbs(catalogue: Catalogue, transport: "httpx2.BaseTransport | None" = None) -> click.Group:
    """The command line of a service with this catalogue."""
    return Verbs(catalogue, transport)
