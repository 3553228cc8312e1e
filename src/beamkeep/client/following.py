"""Following a conduct at a terminal: one line for each step, and what to do at the end."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from beamkeep.kernel import Catalogue

from .calling import ATTEMPTS, call
from .http import HttpClient
from .terminal import printable

PAUSE = 0.5
MOST_ROWS = 100
OUTCOMES = ("Succeeded", "Failed", "Skipped")


class ConductFollower:
    """Reads one conduct again and again, and prints what is new."""

    def __init__(
        self,
        client: HttpClient,
        catalogue: Catalogue,
        procedure_id: str,
        conduct_id: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._rows, self._sleep = client, catalogue.named, sleep
        self._ids = {"procedure_id": procedure_id, "conduct_id": conduct_id}
        self._started: dict[tuple[object, ...], Mapping[str, Any]] = {}
        self._after, self._live = 0, ""

    def follow(self) -> bool:
        """Print every step until the conduct has ended; return whether it succeeded."""
        try:
            while True:
                conduct = self._ask("get_conduct", **self._ids)
                self._print_new(conduct)
                if conduct["status"] == "Ended":
                    break
                self._show(_present(conduct))
                self._sleep(PAUSE)
        except KeyboardInterrupt:
            self._show("")
            click.echo("The conduct goes on. Cancel it with:")
            click.echo(f"  beamkeep cancel-conduct {self._options()} --reason '...'")
            raise click.exceptions.Exit(130) from None
        self._show("")
        for line in _end(conduct, f"--procedure-id {conduct['procedure_id']}"):
            click.echo(printable(line))
        return bool(conduct["succeeded"])

    def _ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        return call(self._client, self._rows[name], arguments, attempts=ATTEMPTS).json()

    def _options(self) -> str:
        return " ".join(f"--{name.replace('_', '-')} {id}" for name, id in self._ids.items())

    def _print_new(self, conduct: Mapping[str, Any]) -> None:
        while rows := self._ask(
            "list_procedure_activities", **self._ids, after_sequence=self._after, limit=MOST_ROWS
        )["items"]:
            self._after = rows[-1]["sequence"]
            for row in rows:
                attempt = (row["phase"], row["iteration_index"], row["step_index"], row["attempt"])
                if row["stage"] == "Started":
                    self._started[attempt] = row
                elif row["stage"] in OUTCOMES:
                    self._show("")
                    line = _line(row, self._started.pop(attempt, row), conduct["step_count"])
                    click.echo(printable(line))

    def _show(self, text: str) -> None:
        """Replace the line of the step under way, where that is possible."""
        if sys.stdout.isatty():
            width = len(self._live)
            self._live = printable(text)[:79]
            click.echo(f"\r{self._live:<{width}}" + ("\r" if not text else ""), nl=False)


def decide(client: HttpClient, catalogue: Catalogue, procedure_id: str) -> Mapping[str, list[int]]:
    """Ask what to do with each step that needs a decision, and return the lists of the answers."""
    rows = catalogue.named
    procedure = call(client, rows["get_procedure"], {"procedure_id": procedure_id}).json()
    last: Mapping[str, Any] = procedure["last_conduct"] or {}
    answers: dict[str, list[int]] = {"redo_step_indexes": [], "skip_step_indexes": []}
    for index in last.get("undecided_step_indexes", ()):
        asked = {"procedure_id": procedure_id, "step_index": index, "limit": MOST_ROWS}
        found = call(client, rows["list_procedure_activities"], asked).json()["items"]
        for line in _facts(index, found):
            click.echo(printable(line))
        choice = click.prompt(
            "Do the step again, skip it, or quit and decide later?",
            type=click.Choice(["redo", "skip", "quit"]),
        )
        if choice == "quit":
            click.echo("Nothing was sent.")
            raise click.exceptions.Exit(1)
        answers[f"{choice}_step_indexes"].append(index)
    return {name: indexes for name, indexes in answers.items() if indexes}


def _facts(index: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is known of a step that needs a decision."""
    started = [row for row in rows if row["stage"] == "Started"]
    ended = [row for row in rows if row["stage"] in OUTCOMES]
    last = (started or rows)[-1]
    yield f"Step {index} ({_what(last)}) needs a decision."
    if started:
        yield f"  Attempt {last['attempt']} was started at {_clock(last['sampled_at'])}."
    outcome = ended[-1] if ended and ended[-1]["attempt"] == last["attempt"] else None
    if outcome is None:
        yield "  Its outcome is not known: the worker ended before it could record one."
    else:
        detail = outcome["detail"]
        yield f"  It failed: {detail.get('error_class')}: {detail.get('message')}"
        if detail.get("in_doubt"):
            yield "  The value or the job may have arrived in spite of that."


def _line(row: Mapping[str, Any], started: Mapping[str, Any], count: int) -> str:
    """Return one finished step as one line."""
    place = "closing" if row["phase"] == "Closing" else f"{row['step_index'] + 1}/{count}"
    if row["iteration_index"]:
        place = f"pass {row['iteration_index']}, {place}"
    took = (_time(row["sampled_at"]) - _time(started["sampled_at"])).total_seconds()
    detail, again = row["detail"], f", attempt {row['attempt']}" if row["attempt"] > 1 else ""
    said = f"{row['stage']} after {took:.1f} s{again}"
    if row["stage"] == "Failed":
        said += f": {detail.get('error_class')}: {detail.get('message')}"
    elif "value" in detail:
        said += f": {detail['value']}"
    return f"{_clock(row['sampled_at'])}  {place}  {_what(started)}  {said}"


def _what(row: Mapping[str, Any]) -> str:
    detail: Mapping[str, Any] = row["detail"]
    target = detail.get("address") or detail.get("name") or detail.get("job") or ""
    value = f" = {detail['value']}" if row["step_kind"] == "setpoint" and "value" in detail else ""
    return f"{row['step_kind']} {target}{value}".strip()


def _present(conduct: Mapping[str, Any]) -> str:
    """Return what happens now, in one line."""
    if conduct["needs"]:
        return f"Nobody is at work. A person can call: {', '.join(conduct['needs'])}"
    current: Mapping[str, Any] | None = conduct["current"]
    if current is None:
        return "Waiting for a worker." if conduct["status"] == "Queued" else conduct["status"]
    until = f", at most until {_clock(current['until'])}" if current.get("until") else ""
    what = f"{current['step_kind']} {current['target'] or ''}".strip()
    return f"now: step {current['step_index'] + 1}, {what}, since {_clock(current['since'])}{until}"


def _end(conduct: Mapping[str, Any], options: str) -> Iterator[str]:
    """Yield how a conduct ended, and what a person can do about it."""
    done, count = conduct["completed_count"], conduct["step_count"]
    passes = f" in pass {conduct['iteration_count']}" if conduct["iteration_count"] else ""
    yield f"{conduct['outcome']}: {done} of {count} steps are finished{passes}."
    if failure := conduct["failure"]:
        at = "" if failure["step_index"] is None else f" of step {failure['step_index']}"
        yield f"Reason{at}: {failure['error_class']}: {failure['message']}"
    for failure in conduct["closing_failures"]:
        told = f"{failure['error_class']}: {failure['message']}"
        yield f"Closing step {failure['step_index']}: {told}"
    if indexes := conduct["undecided_step_indexes"]:
        numbers = ", ".join(map(str, indexes))
        yield f"Decide about these steps first, with redo or skip: {numbers}."
    for name in conduct["needs"] or ():
        yield f"  beamkeep {name.replace('_', '-')} {options}"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _clock(text: str) -> str:
    return _time(text).astimezone(UTC).strftime("%H:%M:%S")
