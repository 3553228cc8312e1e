"""Custody: which copies on a storage may be deleted, and a plan that a cleaner obeys.

A plan is a file of JSON lines: what it is about, the copies, and how many they are. A copy is
discarded before its bytes are deleted, and the service decides again on each.
"""

import csv
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

import click

from .calling import ATTEMPTS, connect, stop
from .http import HttpClient, ServiceError
from .naming import object_id, told_failures
from .references import AmbiguousNameError
from .terminal import local, printable, shortened

PAGE, FORMAT = 10_000, 1
KEPT = 3
SIZES = ("B", "kB", "MB", "GB", "TB", "PB")
COLUMNS = ("verdict", "byte_size", "uri", "why", "distribution_id", "dataset_id")
EXIT_CODES = (
    "Exit codes: 0 done, 3 the service keeps a copy of the plan, 1 refused or a stale plan,"
    " 2 no answer from the service, 64 wrong usage."
)


class PlannedCopy(NamedTuple):
    """A copy that a plan lets go."""

    distribution_id: str
    uri: str
    byte_size: int


class Plan(NamedTuple):
    """Copies that may all be deleted, if nothing has changed since."""

    filters: Mapping[str, str]
    valid_until: str
    copies: Sequence[PlannedCopy]


class UnusablePlanError(Exception):
    """A plan that must not be obeyed."""


FAILURES = AmbiguousNameError, UnusablePlanError


def custody_command() -> click.Group:
    """Return the commands about what may be deleted."""
    group = click.Group("custody", help="Find out which copies may be deleted, and let them go.")
    for command in (_report(), _plan(), _discard(), _removed()):
        group.add_command(command)
    return group


WHERE = (
    click.Option(["--supply"], help="Copies on this storage, by name or id."),
    click.Option(["--under"], help="Copies whose address begins so: /data/2030-01 or s3://bucket."),
)


def _report() -> click.Command:
    def run(supply: str | None, under: str | None, form: str | None) -> None:
        with told_failures(*FAILURES):
            client = connect(click.get_current_context())
            pages = _pages(client, _filters(client, supply, under))
            shape = form or ("table" if sys.stdout.isatty() else "csv")
            lines = (line for page in pages for line in page["items"])
            {"table": _print_table, "csv": _print_csv, "json": _print_json}[shape](lines)

    output = click.Option(
        ["-o", "--output", "form"],
        type=click.Choice(["table", "csv", "json"]),
        help="How copies are printed (default: table at a terminal, else csv).",
    )
    text = "Show for every copy whether it may be deleted, and why."
    return click.Command("report", callback=run, params=[*WHERE, output], help=text)


def _plan() -> click.Command:
    def run(supply: str | None, under: str | None, file: Path) -> None:
        with told_failures(*FAILURES):
            client = connect(click.get_current_context())
            filters = _filters(client, supply, under)
            count, size, until = write_plan(file, client.url, filters, _pages(client, filters))
        told = f"{copies_of(count)}, {human(size)}, may be deleted until {local(until)}."
        click.echo(f"{told}\nNext: beamkeep custody discard {file} --reason TEXT", err=True)

    file = click.Argument(["file"], type=click.Path(dir_okay=False, path_type=Path))
    text = "Write the copies that may all be deleted to a plan, which is valid for an hour."
    return click.Command("plan", callback=run, params=[file, *WHERE], help=text)


def _discard() -> click.Command:
    def run(file: Path, reason: str, null: bool) -> None:
        with told_failures(*FAILURES):
            client = connect(click.get_current_context())
            plan = read_plan(file, client.url)
            require_valid(plan, _service_time(client, plan.filters))
            copies = plan.copies
            kept = sum(not _let_go(client, copy, reason, "\0" if null else "\n") for copy in copies)
        if kept:
            stop(f"The service keeps {kept} of {copies_of(len(copies))}.", KEPT)

    params: list[click.Parameter] = [
        _plan_file(),
        click.Option(["--reason"], required=True, help="Why the copies are deleted."),
        click.Option(["-0", "--null"], is_flag=True, help="End each path with a NUL (xargs -0)."),
    ]
    text = (
        "Discard the copies of a plan, and print the path of each that may be deleted now."
        " Delete the files, then run `beamkeep custody removed` with the same plan."
    )
    return click.Command("discard", callback=run, params=params, help=text, epilog=EXIT_CODES)


def _removed() -> click.Command:
    def run(file: Path) -> None:
        with told_failures(*FAILURES):
            client = connect(click.get_current_context())
            copies = read_plan(file, client.url).copies
            paths = ((copy, path_of(copy.uri)) for copy in copies)
            gone = [copy for copy, path in paths if path and not os.path.lexists(path)]
            done = sum(_record_removal(client, copy) for copy in gone)
        left = len(copies) - len(gone)
        click.echo(f"Recorded the removal of {copies_of(done)}; {left} still here.", err=True)

    text = "Record that files of a plan were deleted: those that this host does not see any more."
    return click.Command("removed", callback=run, params=[_plan_file()], help=text)


def _plan_file() -> click.Argument:
    kind = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.Argument(["file"], type=kind, metavar="PLAN")


def write_plan(
    file: Path, url: str, filters: Mapping[str, str], pages: Iterator[Mapping[str, Any]]
) -> tuple[int, int, str]:
    """Write a plan; return the number of its copies, their bytes and until when it is valid."""
    count, size, until, digest = 0, 0, "", sha256()
    partial = file.with_name(f"{file.name}.part")
    with partial.open("w", encoding="utf-8") as out:
        for page in pages:
            if not until:
                until = page["valid_until"]
                about = {"plan": FORMAT, "url": url, "valid_until": until, **filters}
                _write_line(out, about, digest.update)
            for line in page["items"]:
                if line["verdict"] != "Needed":
                    planned = PlannedCopy(line["distribution_id"], line["uri"], line["byte_size"])
                    _write_line(out, planned._asdict(), digest.update)
                    count, size = count + 1, size + planned.byte_size
        _write_line(out, {"copies": count, "bytes": size, "sha256": digest.hexdigest()})
    partial.replace(file)
    return count, size, until


def read_plan(file: Path, url: str) -> Plan:
    """Return a plan; raise UnusablePlanError when it was changed, cut or is another service's."""
    lines = file.read_bytes().splitlines(keepends=True)
    try:
        about, end = json.loads(lines[0]), json.loads(lines[-1])
        copies = [PlannedCopy(**json.loads(line)) for line in lines[1:-1]]
        is_whole = end["sha256"] == sha256(b"".join(lines[:-1])).hexdigest()
        of, until = about["url"], about["valid_until"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise UnusablePlanError(f"{file} is not a plan, or it was cut off.") from None
    if about.get("plan") != FORMAT or not is_whole or end["copies"] != len(copies):
        raise UnusablePlanError(f"{file} was changed or cut off. Make a new plan.")
    if of != url:
        raise UnusablePlanError(f"{file} is a plan of {of}, not of {url}.")
    filters = {name: about[name] for name in ("supply_id", "uri_prefix") if name in about}
    return Plan(filters, until, copies)


def require_valid(plan: Plan, now: datetime) -> None:
    """Raise UnusablePlanError when the hour of a plan is over."""
    if now > datetime.fromisoformat(plan.valid_until):
        told = f"The plan was valid until {local(plan.valid_until)}."
        raise UnusablePlanError(f"{told} Things may have changed since: make a new plan.")


def copies_of(number: int) -> str:
    """Return a number of copies in words."""
    return "1 copy" if number == 1 else f"{number} copies"


def human(size: float) -> str:
    """Return a number of bytes for a person, such as 1.2 TB."""
    power = 0
    while size >= 1000 and power < len(SIZES) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.0f} {SIZES[power]}" if not power else f"{size:.1f} {SIZES[power]}"


def path_of(uri: str) -> str | None:
    """Return the path that a file: address means; None for another address."""
    split = urlsplit(uri)
    return os.fsdecode(unquote_to_bytes(split.path)) if split.scheme == "file" else None


def _let_go(client: HttpClient, copy: PlannedCopy, reason: str, end: str) -> bool:
    """Discard one copy and print where it is; return False when the service keeps it."""
    path = f"/distributions/{copy.distribution_id}/discard"
    key = f"custody-{copy.distribution_id}"
    try:
        client.request(
            "POST", path, json={"reason": reason}, idempotency_key=key, attempts=ATTEMPTS
        )
    except ServiceError as error:
        if error.status is None:
            raise
        if error.code != "DistributionCannotDiscardError":
            click.echo(printable(f"kept: {copy.uri}: {error.detail}"), err=True)
            return False
        # Discarded before: by an earlier run of this plan, or by somebody else.
    click.echo(f"{path_of(copy.uri) or copy.uri}{end}", nl=False)
    return True


def _record_removal(client: HttpClient, copy: PlannedCopy) -> bool:
    path = f"/distributions/{copy.distribution_id}/record-removal"
    try:
        client.request("POST", path, json={}, attempts=ATTEMPTS)
    except ServiceError as error:
        if error.code != "DistributionCannotRecordRemovalError":
            raise
        return False
    return True


def _filters(client: HttpClient, supply: str | None, under: str | None) -> dict[str, str]:
    if supply is None and under is None:
        raise click.UsageError("Name a storage with --supply, or an address with --under.")
    filters = {"supply_id": object_id(client, supply, "Supply")} if supply else {}
    if under:
        filters["uri_prefix"] = f"file://{under}" if under.startswith("/") else under
    return filters


def _pages(client: HttpClient, filters: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    def ask(after: str | None) -> Mapping[str, Any]:
        asked = {**filters, "limit": PAGE, **({"after": after} if after else {})}
        path = "/datasets/custody/report"
        return client.request("GET", path, params=asked, attempts=ATTEMPTS).json()

    # The service judges the next page while this one is printed.
    with ThreadPoolExecutor(1) as ahead:
        waiting = ahead.submit(ask, None)
        while True:
            page = waiting.result()
            last = page["next_cursor"]
            if last is not None:
                waiting = ahead.submit(ask, last)
            yield page
            if last is None:
                return


def _service_time(client: HttpClient, filters: Mapping[str, str]) -> datetime:
    """Return the time by the clock of the service, which decides whether a plan is stale."""
    first = {**filters, "limit": 1}
    answer = client.request("GET", "/datasets/custody/report", params=first, attempts=ATTEMPTS)
    return datetime.fromisoformat(answer.json()["judged_at"])


def _print_table(lines: Iterator[Mapping[str, Any]]) -> None:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for line in lines:
        verdict = str(line["verdict"])
        counts[verdict] += 1
        sizes[verdict] += int(line["byte_size"])
        size, why = human(line["byte_size"]), line["why"]
        click.echo(shortened(printable(f"{verdict:<9} {size:>9}  {line['uri']}")))
        if verdict == "Needed":
            click.echo(shortened(printable(f"{'':<20} {why}")))
    for verdict in counts:
        click.echo(f"{verdict}: {copies_of(counts[verdict])}, {human(sizes[verdict])}", err=True)


def _print_csv(lines: Iterator[Mapping[str, Any]]) -> None:
    out = csv.writer(sys.stdout)
    out.writerow(COLUMNS)
    out.writerows([line[name] for name in COLUMNS] for line in lines)


def _print_json(lines: Iterator[Mapping[str, Any]]) -> None:
    for line in lines:
        click.echo(json.dumps(line, ensure_ascii=False))


def _write_line(out: IO[str], value: object, add: Callable[[bytes], object] | None = None) -> None:
    text = json.dumps(value, ensure_ascii=False) + "\n"
    out.write(text)
    if add:
        add(text.encode())
