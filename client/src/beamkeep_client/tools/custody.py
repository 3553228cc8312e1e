"""Custody: which copies on a storage may be deleted, and a plan that a cleaner obeys.

A plan is a file of JSON lines: what it is about, the copies, and how many they are. A copy is
discarded before its bytes are deleted, and the service decides again on each. Copies because of
which others may go are checked before a plan is made.
"""

import csv
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit
from uuid import uuid4

import click

from beamkeep_client.calling import connect, parts_of, stop
from beamkeep_client.http import ATTEMPTS, ServiceError
from beamkeep_client.references import AmbiguousNameError
from beamkeep_client.shared.checksums import FileOnHost, host_name, identity_of
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.terminal import human, local, printable, shortened

from .copies import Verifying, due_copy
from .naming import object_id, printed_failures

PAGE, FORMAT = 10_000, 2
STAYING = 3
REPORT = "/datasets/custody/report"
MARKER = ".beamkeep-storage"
"""The file in the directory of a storage that has the id of the storage."""
ASK_EVERY = 1.0
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""With what a cell begins that a spreadsheet computes."""
COLUMNS = ("verdict", "byte_size", "uri", "why", "distribution_id", "dataset_id")
EXIT_CODES = (
    "Exit codes: 0 done, 3 the service keeps a copy of the plan, 1 refused or a stale plan,"
    " 2 no answer from the service, 64 wrong usage."
)


class PlannedCopy(NamedTuple):
    """A copy that a plan lets go."""

    distribution_id: str
    dataset_id: str
    supply_id: str | None
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
    for command in (_report(), _plan(), _discard(), _removed(), _mark_storage()):
        group.add_command(command)
    return group


WHERE = (
    click.Option(["--supply"], help="Copies on this storage, by name or id."),
    click.Option(["--under"], help="Copies whose address begins so: /data/2030-01 or s3://bucket."),
)


def _report() -> click.Command:
    def run(supply: str | None, under: str | None, form: str | None) -> None:
        with printed_failures(*FAILURES):
            client = connect(click.get_current_context())
            pages = pages_of(client, _filters(client, supply, under))
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
    def run(
        supply: str | None, under: str | None, check_under: Sequence[str], wait: float, file: Path
    ) -> None:
        with printed_failures(*FAILURES):
            client = connect(click.get_current_context())
            filters = _filters(client, supply, under)
            _check_first(client, filters, check_under, wait)
            count, size, until = write_plan(file, client.url, filters, pages_of(client, filters))
        summary = f"{copies_of(count)}, {human(size)}, may be deleted until {local(until)}."
        click.echo(f"{summary}\nNext: beamkeep custody discard {file} --reason TEXT", err=True)

    file = click.Argument(["file"], type=click.Path(dir_okay=False, path_type=Path))
    check_under = click.Option(
        ["--check-under"],
        multiple=True,
        help="Directory of this host in which copies that stay are read. Can be repeated.",
    )
    wait = click.Option(
        ["--wait"],
        type=click.FloatRange(min=0),
        default=3600.0,
        show_default=True,
        help="Seconds to wait for checks by the service.",
    )
    text = (
        "Write the copies that may all be deleted to a plan, which is valid for an hour."
        " Copies that must stay for that, and were not checked lately, are checked first:"
        " on this host with --check-under, or by the service if it has read them before."
    )
    params: list[click.Parameter] = [file, *WHERE, check_under, wait]
    return click.Command("plan", callback=run, params=params, help=text)


def _check_first(
    client: HttpClient, filters: Mapping[str, str], check_under: Sequence[str], wait: float
) -> None:
    """Have copies checked that must stay if others go, and that were not checked lately."""
    lines = (line for page in pages_of(client, filters) for line in page["items"])
    ids = sorted({id for line in lines for id in line["check_first"]})
    if not ids:
        return
    click.echo(f"Checking {copies_of(len(ids))} first.", err=True)
    roots = [(os.path.normpath(each), os.path.normpath(each)) for each in check_under]
    copies = [_distribution(client, id) for id in ids]
    now = datetime.now(UTC)
    here = [due for copy in copies if (due := due_copy(copy, roots, None, now))]
    Verifying(client, here, rate=None, from_storage=False).run(1)
    seen = {due.id for due in here}
    waiting = [
        copy["distribution_id"]
        for copy in copies
        if copy["distribution_id"] not in seen and _is_asked_for(client, copy)
    ]
    deadline = time.monotonic() + wait
    while waiting and time.monotonic() < deadline:
        waiting = [id for id in waiting if _is_being_checked(client, id)]
        if waiting:
            time.sleep(ASK_EVERY)


def _is_asked_for(client: HttpClient, copy: Mapping[str, Any]) -> bool:
    """Ask the service to check a copy that it has read before; a failure would spoil others."""
    id = copy["distribution_id"]
    if all(check["verified_by"] != "Service" for check in copy["good_checks"]):
        remedy = "Check it where it is: --check-under, or beamkeep verify-copies on its host."
        click.echo(printable(f"not checked: {copy['uri']}: {remedy}"), err=True)
        return False
    try:
        client.request("POST", f"/distributions/{id}/request-check", json={}, attempts=ATTEMPTS)
    except ServiceError as error:
        if error.code != "DistributionCheckPendingError":
            raise
    return True


def _is_being_checked(client: HttpClient, id: str) -> bool:
    path = f"/distributions/{id}/checks"
    return bool(client.request("GET", path, attempts=ATTEMPTS).json()["items"])


def _distribution(client: HttpClient, id: str) -> Mapping[str, Any]:
    return client.request("GET", f"/distributions/{id}", attempts=ATTEMPTS).json()


def _discard() -> click.Command:
    def run(file: Path, reason: str, null: bool) -> None:
        with printed_failures(*FAILURES):
            client = connect(click.get_current_context())
            plan = read_plan(file, client.url)
            end, staying = "\0" if null else "\n", 0
            for copy in plan.copies:
                require_valid(plan, service_time(client, plan.filters))
                try:
                    files = let_go(client, copy, reason)
                except RetainedError as error:
                    click.echo(printable(f"kept: {copy.uri}: {error}"), err=True)
                    staying += 1
                else:
                    for path in files:
                        click.echo(f"{path}{end}", nl=False)
        if staying:
            stop(f"{staying} of {copies_of(len(plan.copies))} stay.", STAYING)

    params: list[click.Parameter] = [
        _plan_file(),
        click.Option(["--reason"], required=True, help="Why the copies are deleted."),
        click.Option(["-0", "--null"], is_flag=True, help="End each path with a NUL (xargs -0)."),
    ]
    text = (
        "Discard the copies of a plan, and print the path of each file that may be deleted now."
        " Delete the files within the hour, then run `beamkeep custody removed` with the same plan."
    )
    return click.Command("discard", callback=run, params=params, help=text, epilog=EXIT_CODES)


def _removed() -> click.Command:
    def run(file: Path) -> None:
        with printed_failures(*FAILURES):
            client = connect(click.get_current_context())
            copies = read_plan(file, client.url).copies
            left, done, unsure = 0, 0, 0
            for copy in copies:
                path = local_path(copy.uri)
                if path is None or not is_mounted(path, copy.supply_id):
                    unsure += 1
                elif _is_here(client, copy, path):
                    left += 1
                else:
                    done += _record_removal(client, copy)
        summary = f"Recorded the removal of {copies_of(done)}; {left} still here."
        click.echo(summary, err=True)
        if unsure:
            why = f"no {MARKER} above it names its storage, so the storage may not be mounted"
            ways = "beamkeep custody mark-storage STORAGE DIRECTORY"
            stop(f"Nothing recorded of {copies_of(unsure)}: {why}. Next: {ways}", STAYING)

    text = (
        "Record that files of a plan were deleted: those that this host does not see any more,"
        " while it sees the marker of their storage."
    )
    return click.Command("removed", callback=run, params=[_plan_file()], help=text)


def _mark_storage() -> click.Command:
    def run(supply: str, directory: Path) -> None:
        with printed_failures(*FAILURES):
            client = connect(click.get_current_context())
            id = object_id(client, supply, "Supply")
        marker = directory / MARKER
        marker.write_text(f"{id}\n", encoding="ascii")
        click.echo(f"{marker} names storage {id}.", err=True)

    where = click.Path(exists=True, file_okay=False, path_type=Path)
    params: list[click.Parameter] = [
        click.Argument(["supply"]),
        click.Argument(["directory"], type=where),
    ]
    text = "Put the id of a storage into its directory, which proves that it is mounted."
    return click.Command("mark-storage", callback=run, params=params, help=text)


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
                if line["verdict"] in {"Deletable", "Discarded"}:
                    planned = PlannedCopy(*(line[name] for name in PlannedCopy._fields))
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
        reason = f"The plan was valid until {local(plan.valid_until)}."
        raise UnusablePlanError(f"{reason} Things may have changed since: make a new plan.")


def copies_of(number: int) -> str:
    """Return a number of copies in words."""
    return "1 copy" if number == 1 else f"{number} copies"


def local_path(uri: str) -> str | None:
    """Return the path of a `file` address that this host sees; None for every other address."""
    split = urlsplit(uri)
    if split.scheme != "file" or split.netloc.lower() not in {"", host_name().lower()}:
        return None
    return os.fsdecode(unquote_to_bytes(split.path))


def is_mounted(path: str, supply_id: str | None) -> bool:
    """Return whether a directory above a path has the marker of this storage."""
    for above in Path(path).parents:
        try:
            return (above / MARKER).read_text(encoding="ascii").strip() == supply_id
        except (OSError, UnicodeDecodeError):
            continue
    return False


class RetainedError(Exception):
    """A copy of a plan that is not deleted, and why."""


def let_go(client: HttpClient, copy: PlannedCopy, reason: str) -> Sequence[str]:
    """Discard one copy, and return its files on this host; raise RetainedError when it stays."""
    path = local_path(copy.uri)
    if path is None and urlsplit(copy.uri).scheme == "file":
        raise RetainedError(f"It is on host {urlsplit(copy.uri).netloc}. Run the plan there.")
    files = _files_of(client, copy, path) if path else [copy.uri]
    for each in files if path else ():
        if os.path.realpath(each) != os.path.normpath(each):
            raise RetainedError(f"A link leads to {os.path.realpath(each)}.")
    if path and not copy.uri.endswith("/"):
        _require_checked_file(client, copy, path)
    try:
        client.request(
            "POST",
            f"/distributions/{copy.distribution_id}/discard",
            json={"reason": reason},
            idempotency_key=uuid4().hex,
            attempts=ATTEMPTS,
        )
    except ServiceError as error:
        if error.status is None:
            raise
        if error.code != "DistributionCannotDiscardError":
            raise RetainedError(error.detail) from None
        text = f"already discarded: {copy.uri}. The reason of then stays."
        click.echo(printable(text), err=True)
    # A copy that was registered meanwhile may have bytes of this one, or it was restored.
    asked = {"distribution_id": copy.distribution_id}
    answer = client.request("GET", REPORT, params=asked, attempts=ATTEMPTS)
    lines = answer.json()["items"]
    if not lines or lines[0]["verdict"] != "Discarded":
        raise RetainedError(lines[0]["why"] if lines else "Its bytes are gone already.")
    return files


def _require_checked_file(client: HttpClient, copy: PlannedCopy, path: str) -> None:
    """Raise RetainedError when another file is at the path than the one that a check has read."""
    try:
        here = identity_of(os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return
    checked = _distribution(client, copy.distribution_id)["file"]
    if checked is not None and FileOnHost(**checked)[:3] != here[:3]:
        raise RetainedError("Another file is there than the one that was checked. Check it again.")


def _files_of(client: HttpClient, copy: PlannedCopy, path: str) -> Sequence[str]:
    """Return the files of a copy; raise RetainedError for a directory with other files, too."""
    if not copy.uri.endswith("/"):
        return [path]
    found = _distribution(client, copy.distribution_id)
    if found["of_parts"]:
        return [os.path.join(path, part) for part in parts_of(client, copy.dataset_id)]
    files = [os.path.join(above, name) for above, _, names in os.walk(path) for name in names]
    dataset = client.request("GET", f"/datasets/{copy.dataset_id}", attempts=ATTEMPTS).json()
    count = dataset["file_count"]
    if files and len(files) != count:
        raise RetainedError(
            f"The directory has {len(files)} files; the dataset has {count or 'any'}."
        )
    return files


def _is_here(client: HttpClient, copy: PlannedCopy, path: str) -> bool:
    """Return whether this host still sees a file of a copy."""
    try:
        return any(os.path.lexists(each) for each in _files_of(client, copy, path))
    except RetainedError:
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
        filters["uri_prefix"] = f"file://{quote(under)}" if under.startswith("/") else under
    return filters


def pages_of(client: HttpClient, filters: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """Yield the pages of a custody report."""

    def ask(after: str | None) -> Mapping[str, Any]:
        asked = {**filters, "limit": PAGE, **({"after": after} if after else {})}
        return client.request("GET", REPORT, params=asked, attempts=ATTEMPTS).json()

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


def service_time(client: HttpClient, filters: Mapping[str, str]) -> datetime:
    """Return the time by the clock of the service, which decides whether a plan is stale."""
    first = {**filters, "limit": 1}
    answer = client.request("GET", REPORT, params=first, attempts=ATTEMPTS)
    return datetime.fromisoformat(answer.json()["judged_at"])


def _print_table(lines: Iterator[Mapping[str, Any]]) -> None:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for line in lines:
        verdict = str(line["verdict"])
        counts[verdict] += 1
        sizes[verdict] += int(line["byte_size"])
        size, why = human(line["byte_size"]), line["why"]
        click.echo(shortened(printable(f"{verdict:<10} {size:>9}  {line['uri']}")))
        if verdict in {"Needed", "CheckFirst"}:
            click.echo(shortened(printable(f"{'':<21} {why}")))
    for verdict in counts:
        click.echo(f"{verdict}: {copies_of(counts[verdict])}, {human(sizes[verdict])}", err=True)


def _print_csv(lines: Iterator[Mapping[str, Any]]) -> None:
    out = csv.writer(sys.stdout)
    out.writerow(COLUMNS)
    out.writerows([csv_cell(line[name]) for name in COLUMNS] for line in lines)


def csv_cell(value: object) -> object:
    """Return a value that a spreadsheet shows and does not compute."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _print_json(lines: Iterator[Mapping[str, Any]]) -> None:
    for line in lines:
        click.echo(json.dumps(line, ensure_ascii=False))


def _write_line(out: IO[str], value: object, add: Callable[[bytes], object] | None = None) -> None:
    text = json.dumps(value, ensure_ascii=False) + "\n"
    out.write(text)
    if add:
        add(text.encode())
