"""The verb of one operation or question."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from .calling import REFUSED, call, connect, refused
from .catalogue import Entry, Field, catalogue, request_of
from .following import ConductFollower, decide
from .http import ATTEMPTS, ServiceError
from .layouts import LAYOUTS
from .parameters import JsonParameter, TimeParameter
from .references import AmbiguousNameError, Reference, unresolved, with_ids
from .synchronous.http import HttpClient
from .synchronous.references import found
from .terminal import printable, shortened, show, tail

if TYPE_CHECKING:
    import httpx2

SCALARS: Mapping[str, click.ParamType[Any]] = {
    "string": click.STRING,
    "integer": click.INT,
    "number": click.FLOAT,
}
ID_TEXT = re.compile(r'"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"')
MOST_NAMED = 50
FORMS = ("table", "wide", "json", "yaml", "name")


def kebab(name: str) -> str:
    """Return a name as the command line writes it."""
    return name.replace("_", "-")


def option(name: str, field: Field, required: bool, question: bool) -> click.Option:
    """Return the option for one argument of an operation or a question."""
    parts = [field.help, "(repeatable)" * field.many]
    if field.default is not None:
        parts.append(f"(default: {field.default})")
    # Click's own check would not see a value in --arguments.
    parts.append("[required]" * required)
    flags = [f"--{kebab(name)}"]
    if field.type == "boolean":
        flags, accepted = [f"{flags[0]}/--no-{kebab(name)}"], click.BOOL
    elif field.format == "date-time":
        accepted = TimeParameter()
    elif scalar := SCALARS.get(field.type or ""):
        accepted = click.Choice(field.enum) if field.enum else scalar
    else:
        accepted = click.STRING if question else JsonParameter(or_text=not field.type)
    if field.refers_to and name.endswith("_id"):
        flags.append(f"--{kebab(name.removesuffix('_id'))}")
    metavar = "NAME|ID" if field.refers_to else (field.format or "").upper() or None
    text = " ".join(filter(None, parts)) or None
    return click.Option(
        [*flags, name],
        type=accepted,
        metavar=metavar,
        default=None,
        multiple=field.many,
        help=text,
        shell_complete=partial(_suggested, field.suggested) if field.suggested else None,
    )


def _suggested(
    words: Sequence[str], ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[str]:
    """Return the words that a shell offers for what is typed so far."""
    return [word for word in words if word.casefold().startswith(incomplete.casefold())]


FOR_OPERATIONS = (
    click.Option(["--dry-run"], is_flag=True, help="Check the command and write nothing."),
    click.Option(["--idempotency-key"], help="Key for safe repeats; lost answers are retried."),
    click.Option(
        ["--proposal-note"], help="Propose the command instead, and tell the approver this."
    ),
)
FOR_ACCEPTED = (
    click.Option(
        ["--follow"], is_flag=True, help="Print each step, and return when the conduct has ended."
    ),
)
FOR_CHANGES = (
    click.Option(["--if-match"], type=int, help="Version the object must have (default: any)."),
)
FOR_ALL = (
    click.Option(
        ["--arguments"],
        type=JsonParameter(),
        help="All arguments as a JSON object; options override them.",
    ),
    click.Option(
        ["-o", "--output", "form"],
        type=click.Choice(FORMS),
        help="How the answer is printed (default: table at a terminal, else json).",
    ),
    click.Option(["--json", "as_json"], is_flag=True, hidden=True, help="The same as -o json."),
    click.Option(
        ["--by-name/--no-by-name"],
        default=None,
        help="Accept names and ends of ids where an id is asked for (default: at a terminal).",
    ),
)


class Verb(click.Command):
    """The verb of one operation or question. Its options are made when it is called."""

    entry: Entry

    def __init__(self, entry: Entry, name: str, hidden: bool = False, more: str = "") -> None:
        super().__init__(name, help=f"{entry.doc}{more}", hidden=hidden)
        self.entry = entry

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            entry = self.entry
            if entry.target:
                self.params.append(_target(entry))
            self.params.extend(
                option(name, field, name in entry.required, entry.is_question)
                for name, field in entry.fields.items()
            )
            if not entry.is_question:
                self.params.extend(FOR_OPERATIONS)
                self.params.extend(FOR_CHANGES if entry.kind == "change" else ())
                self.params.extend(FOR_ACCEPTED if entry.follows else ())
            self.params.extend(FOR_ALL)
        return super().get_params(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments of the call first, those that are required at the top."""
        own, entry = self.entry.fields.keys(), self.entry
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        arguments = sorted(
            (each for each in options if each.name in own),
            key=lambda each: each.name not in entry.required,
        )
        for title, several in (
            ("Arguments", arguments),
            ("Options", [each for each in options if each.name not in own]),
        ):
            rows = [row for each in several if (row := each.get_help_record(ctx))]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> None:
        entry, client, given = self.entry, connect(ctx), dict(ctx.params)
        form = _form(given)
        by_name = given.pop("by_name")
        arguments = _arguments(given, entry)
        if missing := [name for name in entry.required if name not in arguments]:
            flags = ", ".join(f"--{kebab(name)}" for name in missing)
            raise click.UsageError(f"Missing required options: {flags}", ctx)
        by_name = sys.stdin.isatty() if by_name is None else by_name
        objects = _objects(client, entry, arguments, by_name=by_name)
        ids = {reference: hit["id"] for reference, hit in objects.items()}
        arguments = with_ids(entry, arguments, ids)
        attempts, follows = ATTEMPTS if given.get("idempotency_key") else 1, given.pop("follow", 0)
        if sys.stdin.isatty() and needs_decisions(entry, arguments):
            arguments |= decide(client, arguments["procedure_id"])
        # A repeated call must say the same as the first one, so its basis is not read again.
        if "basis" in entry.fields.keys() - arguments.keys() and not given.get("idempotency_key"):
            arguments |= basis_now(client, entry, arguments)
        if form == "table" and "names" in entry.fields:
            arguments.setdefault("names", True)
        response = call(client, entry, arguments, **given, attempts=attempts)
        begun: Mapping[str, Any] = response.json() if follows else {}
        if "conduct_id" in begun:
            if not ConductFollower(client, begun["procedure_id"], begun["conduct_id"]).follow():
                raise click.exceptions.Exit(REFUSED)
        else:
            names = {hit["id"]: hit["name"] for hit in objects.values()}
            rehearsed = bool(given.get("dry_run"))
            _print(
                *(entry, arguments, response),
                form=form,
                names=names,
                resolve=partial(_names, client),
                rehearsed=rehearsed,
            )


class StatusVerb(Verb):
    """How all beamlines stand, or one of them if it is named first."""

    def __init__(self) -> None:
        more = "\n\nWith the name of a beamline, show the board of that beamline."
        super().__init__(catalogue()["get_status"], "status", more=more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args and not args[0].startswith("-")
        self.params.clear()
        self.entry: Entry = catalogue()["get_board" if named else "get_status"]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[BEAMLINE]", "[OPTIONS]"]


def _objects(
    client: HttpClient, entry: Entry, arguments: dict[str, Any], by_name: bool
) -> dict[Reference, Mapping[str, Any]]:
    """Return the object that each reference among the arguments means."""
    objects: dict[Reference, Mapping[str, Any]] = {}

    for reference in unresolved(entry, arguments):
        if not by_name:
            hint = "Give --by-name to use names and ends of ids."
            raise click.UsageError(f"{printable(reference.text)} is not a UUID. {hint}")
        try:
            objects[reference] = found(client, reference)
        except AmbiguousNameError as error:
            lines = "\n".join(shortened(line) for line in str(error).splitlines())
            raise click.UsageError(lines) from None
        except ServiceError as error:
            refused(error)
    return objects


def _names(client: HttpClient, value: object) -> Mapping[str, Any]:
    """Return the names of the objects whose ids are in an answer, as far as they may be read."""
    ids = sorted(set(ID_TEXT.findall(json.dumps(value))))[:MOST_NAMED]
    method, path, asked = request_of(catalogue()["resolve_names"], {"id": ids})
    try:
        found: list[Any] = client.request(method, path, **asked).json()["items"] if ids else []
    except ServiceError:
        return {}
    return {each["id"]: each for each in found}


def _target(entry: Entry) -> click.Argument:
    """Return the object of a verb as a word without a flag."""
    called = entry.noun or entry.target or ""
    return click.Argument(["target"], required=False, metavar=f"[{called.upper()}]")


def needs_decisions(entry: Entry, arguments: Mapping[str, Any]) -> bool:
    """Return whether steps in doubt are to be asked for: the caller decided nothing about them."""
    decided = {"redo_step_indexes", "skip_step_indexes"}
    return decided <= entry.fields.keys() and not {*decided, "abandon"} & arguments.keys()


def basis_now(client: HttpClient, entry: Entry, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return what the decision rests on at present, so that it is refused if that changes."""
    get, target = catalogue()[f"get_{entry.noun.replace('-', '_')}"], entry.in_path[0]
    shown: Mapping[str, Any] = call(client, get, {target: arguments[target]}).json()
    now: Mapping[str, Any] = shown.get("now") or {}
    basis = now.get("basis")
    return {"basis": basis} if basis else {}


def _form(given: dict[str, Any]) -> str:
    form, as_json = given.pop("form"), given.pop("as_json")
    return form or ("table" if sys.stdout.isatty() and not as_json else "json")


def _arguments(given: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Remove the arguments of the call from the options given, and return them."""
    whole: object = given.pop("arguments") or {}
    if not isinstance(whole, dict):
        raise click.UsageError("--arguments must be a JSON object.", click.get_current_context())
    own = {name: given.pop(name) for name in entry.fields}
    if (word := given.pop("target", None)) and entry.target:
        own[entry.target] = [word] if entry.fields[entry.target].many else word
    return cast("dict[str, Any]", whole) | {n: v for n, v in own.items() if v not in (None, ())}


def _print(
    entry: Entry,
    arguments: Mapping[str, Any],
    response: "httpx2.Response",
    form: str,
    names: Mapping[str, str],
    resolve: Callable[[object], Mapping[str, Any]],
    rehearsed: bool = False,
) -> None:
    """Print an answer as it was asked for; `names` are those of objects that were looked up."""
    if form == "json":
        click.echo(response.content, nl=bool(response.content))
        return
    body: Mapping[str, Any] = response.json() if response.content else {}
    if form == "yaml":
        import yaml  # noqa: PLC0415

        click.echo(yaml.safe_dump(body, sort_keys=False, allow_unicode=True), nl=False)
    elif form == "name":
        if _is_proposed(entry, body):
            click.echo(f"proposal/{body['proposal_id']}")
            return
        for row in body.get("items", [body]):
            click.echo(f"{entry.noun}/{_id(entry, row | dict(arguments))}")
    elif form == "table" and (layout := LAYOUTS.get(entry.name)):
        for line in layout(body):
            click.echo(shortened(printable(line)))
    elif entry.is_question:
        show(entry, body, form)
    else:
        if rehearsed:
            events = ", ".join(event["event_type"] for event in body["events"]) or "nothing"
            would = "propose" if "would_propose" in body else "write"
            click.echo(f"Nothing was written. It would {would}: {events}")
            return
        if _is_proposed(entry, body):
            click.echo(f"{entry.words}: proposed. Proposal {body['proposal_id']} needs approval.")
            return
        row, etag = {**arguments, **body}, response.headers.get("etag")
        click.echo(shortened(printable(_said(entry, row, etag, names=names))))
        if rest := {n: v for n, v in body.items() if v not in (None, []) and n not in arguments}:
            show(entry, {**rest, "names": resolve(rest)}, form)


def _is_proposed(entry: Entry, body: Mapping[str, Any]) -> bool:
    """Return whether a command was not carried out, because somebody must approve it first."""
    return "proposal_id" in body and entry.noun != "proposal" and not entry.is_question


def _id(entry: Entry, row: Mapping[str, Any]) -> str:
    own = f"{entry.noun.replace('-', '_')}_id"
    return str(row.get(own) or row.get("id") or next(iter(row.values()), ""))


def _said(entry: Entry, row: Mapping[str, Any], etag: str | None, names: Mapping[str, str]) -> str:
    """Return what a command did, in one sentence."""
    id = _id(entry, row)
    called = names.get(id) or row.get("name") or row.get("title") or tail(id)
    version = f" (version {etag.strip(chr(34))})" if etag else ""
    noun = entry.noun.replace("-", " ")
    return f"{noun} {called} {entry.said or f'{entry.verb}: done'}{version}"
