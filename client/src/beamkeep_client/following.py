"""Following a conduct at a terminal: one line for each step, and what to do at the end."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from .calling import call
from .catalogue import catalogue
from .http import ATTEMPTS
from .synchronous.http import HttpClient
from .terminal import printable

PAUSE = 0.5
MOST_ROWS = 100
OUTCOMES = ("Succeeded", "Failed", "Skipped")
QUESTION = "Redo the step, skip it, abandon the procedure, or quit and decide later?"


class ConductFollower:
    """Reads one conduct again and again, and prints what is new."""

    def __init__(
        self,
        client: HttpClient,
        procedure_id: str,
        conduct_id: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._sleep = client, sleep
        self._ids = {"procedure_id": procedure_id, "conduct_id": conduct_id}
        self._started: dict[tuple[object, ...], Mapping[str, Any]] = {}
        self._differing: dict[tuple[object, ...], str] = {}
        self._after, self._live = 0, ""

    def follow(self) -> bool:
        """Print every step until the conduct has ended; return whether it succeeded."""
        try:
            while True:
                conduct = self._ask("get_conduct", **self._ids)
                self._print_new()
                if conduct["status"] == "Ended" or conduct["needs"]:
                    break
                self._show(_present(conduct))
                self._sleep(PAUSE)
        except KeyboardInterrupt:
            self._show("")
            click.echo("The conduct continues. See how far it is, or cancel it:")
            click.echo(f"  beamkeep procedure get-conduct {self._options()}")
            click.echo(f"  {self._cancel()}")
            raise click.exceptions.Exit(130) from None
        self._show("")
        lines = _end(conduct) if conduct["status"] == "Ended" else _left(self._cancel())
        for line in lines:
            click.echo(printable(line))
        return bool(conduct["succeeded"])

    def _ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        return call(self._client, catalogue()[name], arguments, attempts=ATTEMPTS).json()

    def _options(self) -> str:
        return " ".join(f"--{name.replace('_', '-')} {id}" for name, id in self._ids.items())

    def _cancel(self) -> str:
        return f"beamkeep procedure cancel-conduct {self._options()} --reason '...'"

    def _print_new(self) -> None:
        while rows := self._ask(
            "list_procedure_activities", **self._ids, after_sequence=self._after, limit=MOST_ROWS
        )["items"]:
            self._after = rows[-1]["sequence"]
            for row in rows:
                attempt = (row["phase"], row["iteration_index"], row["step_index"], row["attempt"])
                detail = row["detail"]
                if row["stage"] == "Started":
                    self._started[attempt] = row
                elif row["stage"] == "Reading" and detail.get("differs"):
                    self._differing[attempt] = f"The value read back is {detail['value']}."
                elif row["stage"] in OUTCOMES:
                    self._show("")
                    note = self._differing.pop(attempt, "")
                    for line in _lines(row, self._started.pop(attempt, row), note):
                        click.echo(printable(line))

    def _show(self, text: str) -> None:
        """Replace the line of the step under way, where that is possible."""
        if sys.stdout.isatty():
            width = len(self._live)
            self._live = printable(text)[:79]
            click.echo(f"\r{self._live:<{width}}" + ("\r" if not text else ""), nl=False)


def decide(client: HttpClient, procedure_id: str) -> Mapping[str, Any]:
    """Ask what to do with each step that needs a decision, and return the arguments that say so."""
    rows = catalogue()
    procedure = call(client, rows["get_procedure"], {"procedure_id": procedure_id}).json()
    last: Mapping[str, Any] = procedure["last_conduct"] or {}
    answers: dict[str, list[int]] = {"redo_step_indexes": [], "skip_step_indexes": []}
    for index in last.get("undecided_step_indexes", ()):
        asked = {"procedure_id": procedure_id, "phase": "Steps", "step_index": index}
        if current := procedure["current_iteration_index"]:
            asked["iteration_index"] = current
        asked["limit"] = MOST_ROWS
        found = call(client, rows["list_procedure_activities"], asked).json()["items"]
        for line in _facts(index, found):
            click.echo(printable(line))
        choice = click.prompt(QUESTION, type=click.Choice(["redo", "skip", "abandon", "quit"]))
        if choice == "quit":
            click.echo("Nothing was sent.")
            raise click.exceptions.Exit(1)
        if choice == "abandon":
            return {"abandon": True}
        answers[f"{choice}_step_indexes"].append(index)
    return {name: indexes for name, indexes in answers.items() if indexes}


def _facts(index: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is known of a step that needs a decision."""
    started = [row for row in rows if row["stage"] == "Started"]
    ended = [row for row in rows if row["stage"] in OUTCOMES]
    last = (started or rows)[-1]
    yield f"Step {index} ({_what(last)}) needs a decision."
    if started:
        yield f"  Attempt {last['attempt']} started at {_clock(last['sampled_at'])}."
    outcome = ended[-1] if ended and ended[-1]["attempt"] == last["attempt"] else None
    if outcome is None:
        yield "  Its outcome is not known: the worker stopped before it recorded one."
    else:
        yield f"  The attempt failed: {_error(outcome['detail'])}"
        if outcome["detail"].get("in_doubt"):
            yield "  The value or the job may have arrived nevertheless."


def _lines(row: Mapping[str, Any], started: Mapping[str, Any], note: str) -> Iterator[str]:
    """Yield one finished step: a line, and another one with what is wrong about it."""
    took = (_time(row["sampled_at"]) - _time(started["sampled_at"])).total_seconds()
    again = f", attempt {row['attempt']}" if row["attempt"] > 1 else ""
    value = f": {row['detail']['value']}" if "value" in row["detail"] else ""
    said = f"{row['stage']} after {took:.1f} s{again}{value}"
    if row["stage"] == "Skipped":
        said = "Skipped"
    yield f"{_clock(row['sampled_at'])}  {_place(row)}  {_what(started)}  {said}"
    if row["stage"] == "Failed":
        yield f"           {_error(row['detail'])}"
    elif note:
        yield f"           {note}"


def _place(at: Mapping[str, Any]) -> str:
    """Return which step is meant, numbered as the arguments of commands number steps."""
    if at["phase"] == "Closing":
        return f"closing step {at['step_index']}"
    of_pass = f"pass {at['iteration_index']}, " if at["iteration_index"] else ""
    return f"{of_pass}step {at['step_index']}"


def _error(failure: Mapping[str, Any]) -> str:
    return f"{failure.get('error_class')}: {failure.get('message')}"


def _what(row: Mapping[str, Any]) -> str:
    detail: Mapping[str, Any] = row["detail"]
    target = detail.get("address") or detail.get("name") or detail.get("job") or ""
    value = f" = {detail['value']}" if row["step_kind"] == "setpoint" and "value" in detail else ""
    return f"{row['step_kind']} {target}{value}".strip()


def _present(conduct: Mapping[str, Any]) -> str:
    """Return what happens now, in one line."""
    current: Mapping[str, Any] | None = conduct["current"]
    if conduct["lease_expired"]:
        return "The worker was lost. Waiting for another one."
    if current is None:
        return "Waiting for a worker." if conduct["status"] == "Queued" else conduct["status"]
    what = f"{current['step_kind']} {current['target'] or ''}".strip()
    until = f"until {_clock(current['until'])} at the latest"
    return f"Now: {_place(current)}, {what}, since {_clock(current['since'])}, {until}"


def _left(cancel: str) -> Iterator[str]:
    """Yield what to do about a conduct that no worker takes any more."""
    yield "No worker takes this conduct any more: it failed too often. End it with:"
    yield f"  {cancel}"


def _end(conduct: Mapping[str, Any]) -> Iterator[str]:
    """Yield how a conduct ended, and what a person can do about it."""
    done, count = conduct["completed_count"], conduct["step_count"]
    passes = f" in pass {conduct['iteration_count']}" if conduct["iteration_count"] else ""
    yield f"The conduct ended {conduct['outcome']}. {done} of {count} steps are finished{passes}."
    if failure := conduct["failure"]:
        is_step = failure["step_index"] is not None
        subject = f"{_place(failure).capitalize()} failed" if is_step else "Reason"
        yield f"{subject}: {_error(failure)}"
    for failure in conduct["closing_failures"]:
        yield f"Closing step {failure['step_index']} failed: {_error(failure)}"
    if indexes := conduct["undecided_step_indexes"]:
        numbers = ", ".join(map(str, indexes))
        yield f"It is not known whether these steps were executed: {numbers}."
        yield "Redo or skip each of them."
    for name in conduct["needs"] or ():
        yield "Continue with:"
        yield f"  beamkeep {catalogue()[name].words} {conduct['procedure_id']} --follow"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _clock(text: str) -> str:
    return _time(text).astimezone(UTC).strftime("%H:%M:%SZ")
