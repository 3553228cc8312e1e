"""Events at a terminal: those that happened, and those that happen."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import click

from .calling import ATTEMPTS, REFUSED, UNREACHABLE, connect, stop
from .http import HttpClient, ServiceError
from .terminal import printable

PATH = "/events"
PAUSE_SECONDS = 2.0
PAGE_EVENTS = 500
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
DURATION = re.compile(r"([0-9]{1,6})([smhd])")
ENDS = {
    "token": "The access token is no longer valid. Get a new one.",
    "permission": "You are no longer permitted to follow events. Ask an administrator.",
}


class PastTime(click.ParamType[Any]):
    """A time, or a time before now such as `2h`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if found := DURATION.fullmatch(str(value)):
            return (now() - timedelta(**{UNITS[found[2]]: int(found[1])})).isoformat()
        return value


OPTIONS = (
    click.Option(["--follow"], is_flag=True, help="Keep printing events as they happen."),
    click.Option(["--type"], multiple=True, help="Only events of this type, such as RunHeld."),
    click.Option(["--stream-type"], multiple=True, help="Only events of this kind of object."),
    click.Option(["--stream-id"], multiple=True, help="Only events of the object with this id."),
    click.Option(["--principal-id"], help="Only events that this principal caused."),
    click.Option(["--command-name"], help="Only events of this command, such as hold_run."),
    click.Option(
        ["--since"],
        type=PastTime(),
        help="Begin at this time, or so long ago: 30m, 2h, 7d"
        " (default: the beginning; with --follow, now).",
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="Print each event as a line of JSON."),
)


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def events_command(transport: Any = None) -> click.Command:
    """Return the command that prints events."""

    def run(follow: bool, as_json: bool, **given: Any) -> None:
        context = click.get_current_context().find_root()
        client = connect(transport, **context.params)
        params = {name: value for name, value in given.items() if value not in (None, ())}
        found = followed(client, params) if follow else listed(client, params)
        for event in found:
            click.echo(json.dumps(event) if as_json else printable(line(event)))

    text = "Print events: those that happened, or with --follow those that happen."
    return click.Command("events", callback=run, params=[*OPTIONS], help=text)


def listed(client: HttpClient, params: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all events that happened, page by page."""
    after: dict[str, Any] = {}
    while True:
        asked = {**params, **after, "limit": PAGE_EVENTS}
        try:
            page = client.request("GET", PATH, params=asked, attempts=ATTEMPTS).json()
        except ServiceError as error:
            _stop(error)
        yield from page["items"]
        if not page["more"]:
            return
        after = {"after": page["next_cursor"]}


def followed(
    client: HttpClient, params: Mapping[str, Any], sleep: Callable[[float], None] = time.sleep
) -> Iterator[Mapping[str, Any]]:
    """Yield events as they happen, and continue after a lost connection."""
    last_id = ""
    while True:
        try:
            for sent in client.events(PATH, params, last_id):
                last_id = sent.id or last_id
                if sent.kind == "event":
                    yield json.loads(sent.data)
                elif sent.kind == "end" and (reason := json.loads(sent.data)["reason"]) in ENDS:
                    stop(ENDS[reason], REFUSED)
        except ServiceError as error:
            if not error.is_transient and not (last_id and error.status is None):
                _stop(error)
        sleep(PAUSE_SECONDS)


def line(event: Mapping[str, Any]) -> str:
    """Return one readable line: when, what, of which object, and why."""
    data: Mapping[str, Any] = event["data"]
    told: Sequence[Any] = [data.get(field) for field in ("name", "title", "reason")]
    what = event["type"].removeprefix("beamkeep.")
    parts = [event["time"], what, event["streamtype"], event["subject"]]
    return "  ".join([*parts, *(str(each) for each in told if each)])


def _stop(error: ServiceError) -> NoReturn:
    stop(str(error), UNREACHABLE if error.status is None else REFUSED)
