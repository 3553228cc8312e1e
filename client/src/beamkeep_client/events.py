"""Events: those that happened, and those that happen, for programs and at a terminal."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from .calling import connect, refused
from .http import ServiceError
from .parameters import TimeParameter
from .synchronous.events import PATH, followed
from .synchronous.http import HttpClient
from .terminal import printable, shortened, tail
from .times import FORMS, now

PAGE_EVENTS = 500
TYPE_WIDTH = 22


OPTIONS = (
    click.Option(["--follow"], is_flag=True, help="Keep printing events as they happen."),
    click.Option(["--type"], multiple=True, help="Only events of this type, such as RunHeld."),
    click.Option(["--stream-type"], multiple=True, help="Only events of this kind of object."),
    click.Option(["--stream-id"], multiple=True, help="Only events of the object with this id."),
    click.Option(["--facility-code"], help="Only events of objects in this facility."),
    click.Option(["--principal-id"], help="Only events that this principal caused."),
    click.Option(["--command-name"], help="Only events of this command, such as hold_run."),
    click.Option(
        ["--since"],
        type=TimeParameter(),
        help=f"Begin at this time: {FORMS} (default: the beginning; with --follow, now).",
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="Print each event as a line of JSON."),
)


def events_command() -> click.Command:
    """Return the command that prints events."""

    def run(follow: bool, as_json: bool, **given: Any) -> None:
        client = connect(click.get_current_context())
        params = {name: value for name, value in given.items() if value not in (None, ())}
        found = followed(client, params) if follow else happened(client, params)
        line = short_line if sys.stdout.isatty() else whole_line
        try:
            for event in found:
                click.echo(json.dumps(event) if as_json else line(event))
        except ServiceError as error:
            refused(error)

    text = "Print events: those that happened, or with --follow those that happen."
    return click.Command("events", callback=run, params=[*OPTIONS], help=text)


def happened(client: HttpClient, params: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all events that happened, page by page."""
    for page in client.pages(PATH, {**params, "limit": PAGE_EVENTS}, "after"):
        yield from page["items"]


def whole_line(event: Mapping[str, Any]) -> str:
    """Return one line for a program: when, what, of which object, and why."""
    what = event["type"].removeprefix("beamkeep.")
    parts = [event["time"], what, event["streamtype"], event["subject"]]
    return printable("  ".join([*parts, *_details(event)]))


def short_line(event: Mapping[str, Any]) -> str:
    """Return one line that fits a terminal: the local time, what, of which object, and why."""
    what, here = event["type"].removeprefix("beamkeep."), now()
    when = datetime.fromisoformat(event["time"]).astimezone(here.tzinfo)
    clock = f"{when:%H:%M:%S}" if when.date() == here.date() else f"{when:%Y-%m-%d %H:%M}"
    is_named = event["subject"] != event["streamid"]
    called = event["subject"] if is_named else tail(event["streamid"])
    return shortened(
        printable("  ".join([clock, f"{what:<{TYPE_WIDTH}}", called, *_details(event)]))
    )


def _details(event: Mapping[str, Any]) -> list[str]:
    data: Mapping[str, Any] = event["data"]
    details: Sequence[Any] = [data.get(field) for field in ("name", "title", "reason")]
    return [str(each) for each in details if each and each != event["subject"]]
