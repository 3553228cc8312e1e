"""Events: those that happened, and those that happen, for programs and at a terminal."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from .calling import ATTEMPTS, connect, refused
from .http import HttpClient, ServiceError
from .terminal import printable, shortened, tail
from .times import FORMS, TimeParameter, now

PATH = "/events"
PAUSE_SECONDS = 2.0
PAGE_EVENTS = 500
ENDS = {
    "token": (401, "The access token is no longer valid. Get a new one."),
    "permission": (403, "You are no longer permitted to follow events. Ask an administrator."),
}
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
        found = followed(client, params) if follow else listed(client, params)
        line = short_line if sys.stdout.isatty() else whole_line
        try:
            for event in found:
                click.echo(json.dumps(event) if as_json else line(event))
        except ServiceError as error:
            refused(error)

    text = "Print events: those that happened, or with --follow those that happen."
    return click.Command("events", callback=run, params=[*OPTIONS], help=text)


def listed(client: HttpClient, params: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all events that happened, page by page."""
    after: dict[str, Any] = {}
    while True:
        asked = {**params, **after, "limit": PAGE_EVENTS}
        page = client.request("GET", PATH, params=asked, attempts=ATTEMPTS).json()
        yield from page["items"]
        if not page["more"]:
            return
        after = {"after": page["next_cursor"]}


def followed(
    client: HttpClient, params: Mapping[str, Any], sleep: Callable[[float], None] = time.sleep
) -> Iterator[Mapping[str, Any]]:
    """Yield events as they happen, and continue after a lost connection.

    Raise ServiceError when the service refuses them, or cannot be reached at the beginning.
    """
    last_id = ""
    while True:
        try:
            for sent in client.events(PATH, params, last_id):
                last_id = sent.id or last_id
                if sent.kind == "event":
                    yield json.loads(sent.data)
                elif sent.kind == "end" and (reason := json.loads(sent.data)["reason"]) in ENDS:
                    status, text = ENDS[reason]
                    raise ServiceError(text, status=status)
        except ServiceError as error:
            if not error.is_transient and not (last_id and error.status is None):
                raise
        sleep(PAUSE_SECONDS)


def whole_line(event: Mapping[str, Any]) -> str:
    """Return one line for a program: when, what, of which object, and why."""
    what = event["type"].removeprefix("beamkeep.")
    parts = [event["time"], what, event["streamtype"], event["subject"]]
    return printable("  ".join([*parts, *_told(event)]))


def short_line(event: Mapping[str, Any]) -> str:
    """Return one line that fits a terminal: the local time, what, of which object, and why."""
    what, here = event["type"].removeprefix("beamkeep."), now()
    when = datetime.fromisoformat(event["time"]).astimezone(here.tzinfo)
    clock = f"{when:%H:%M:%S}" if when.date() == here.date() else f"{when:%Y-%m-%d %H:%M}"
    is_named = event["subject"] != event["streamid"]
    called = event["subject"] if is_named else tail(event["streamid"])
    return shortened(printable("  ".join([clock, f"{what:<{TYPE_WIDTH}}", called, *_told(event)])))


def _told(event: Mapping[str, Any]) -> list[str]:
    data: Mapping[str, Any] = event["data"]
    told: Sequence[Any] = [data.get(field) for field in ("name", "title", "reason")]
    return [str(each) for each in told if each and each != event["subject"]]
