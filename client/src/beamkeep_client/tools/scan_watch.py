"""Watches folders for scan files, and has the service ingest each when it is complete.

What becomes of a file is stored in a database in the state folder. A call is written there before
it is made, and made again with the same key after a crash, so no scan is ingested twice.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatch
from hashlib import file_digest, sha256
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from urllib.parse import unquote_to_bytes, urlsplit

import click

from beamkeep_client.calling import REFUSED, UNREACHABLE, connect, stop
from beamkeep_client.http import ServiceError
from beamkeep_client.references import AmbiguousNameError
from beamkeep_client.shared.checksums import tree_digest
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.terminal import local, printable

from .naming import object_id

NAMED = {"asset": "Asset", "run": "Run", "subject": "Subject", "supply": "Supply"}
"""What may be called by its name, and the kind of object it is."""
FIELDS = {"asset": "producing_asset_id", "run": "producing_run_id"}
MOST_ATTEMPTS = 5
LONGEST_PAUSE = 300
LATER = {"ScanFileUnstableError", "ConcurrencyError"}
"""Refusals of a file that will be complete later."""
PERHAPS_LATER = {"ScanFileNotFoundError"}
"""Refusals that pass if a file is still to be copied; after some attempts they are final."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS scan (
    path TEXT PRIMARY KEY,
    seen TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'ingested', 'dead')),
    call TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    due REAL NOT NULL DEFAULT 0,
    detail TEXT NOT NULL DEFAULT '',
    changed_at TEXT NOT NULL
) STRICT
"""


class Watched(NamedTuple):
    """A file and what is known of it."""

    path: str
    seen: str
    """Its size and modification time when it was last looked at."""
    state: str
    call: str | None
    """The call that was made, or is being made, as JSON."""
    attempts: int
    due: float
    detail: str
    changed_at: str


class Ledger:
    """What became of each file, in a database that survives a crash at any point."""

    def __init__(self, folder: Path) -> None:
        # Slow to load, and other commands do without it.
        import sqlite3  # noqa: PLC0415

        folder.mkdir(parents=True, exist_ok=True)
        self._rows = sqlite3.connect(folder / "scans.sqlite", isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = FULL")
        self._rows.execute(SCHEMA)

    def close(self) -> None:
        self._rows.close()

    def one(self, path: str) -> Watched | None:
        found = self._rows.execute("SELECT * FROM scan WHERE path = ?", (path,)).fetchone()
        return Watched(*found) if found else None

    def all(self, *states: str) -> list[Watched]:
        """Return the files in these states, in the order of their paths."""
        marks = ", ".join("?" * len(states))
        asked = f"SELECT * FROM scan WHERE state IN ({marks}) ORDER BY path"  # noqa: S608
        return [Watched(*row) for row in self._rows.execute(asked, states)]

    def put(self, file: Watched) -> Watched:
        """Write down what is known of a file."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._rows.execute(
            "INSERT OR REPLACE INTO scan VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            file._replace(changed_at=now),
        )
        return file

    def forget(self, path: str) -> None:
        self._rows.execute("DELETE FROM scan WHERE path = ?", (path,))

    def retry(self, paths: Iterable[str]) -> int:
        """Put dead letters back to be tried again, all or those of these paths; return how many."""
        wanted = {os.path.abspath(path) for path in paths}
        dead = [each for each in self.all("dead") if not wanted or each.path in wanted]
        for each in dead:
            self.put(each._replace(state="waiting", call=None, attempts=0, due=0.0))
        return len(dead)


class Rules(NamedTuple):
    """Which files are scans, and what is said of them."""

    folders: tuple[str, ...]
    patterns: tuple[str, ...]
    quiet_seconds: float
    given: Mapping[str, str]
    """Names and values that apply to every file."""
    from_path: re.Pattern[str] | None
    """Groups of this expression are values for the file whose path matches."""
    sidecar: str | None
    """The suffix of a JSON file next to a scan, with more values; a scan waits for it."""
    seen_as: tuple[tuple[str, str], ...]
    """Folders of this host, and the folders in which the service sees the same files."""


class NotYetError(Exception):
    """Something of a scan is not there yet."""


class UnusableError(Exception):
    """What is said of a file cannot be used."""


class ScanWatch:
    """Finds complete scan files and has each ingested."""

    def __init__(self, client: HttpClient, ledger: Ledger, rules: Rules) -> None:
        self._client, self._ledger, self._rules = client, ledger, rules
        self._ids: dict[tuple[str, str], str] = {}

    def look(self) -> int:
        """Look at the folders once, ingest what is complete, and return how many files wait."""
        for path in self._found():
            self._notice(path)
        waiting = 0
        for file in self._ledger.all("sending", "waiting"):
            waiting += self._proceed(file)
        return waiting

    def _found(self) -> Iterator[str]:
        rules = self._rules
        for folder in rules.folders:
            for above, _, names in os.walk(folder):
                for name in sorted(names):
                    if any(fnmatch(name, pattern) for pattern in rules.patterns):
                        yield os.path.join(above, name)

    def _notice(self, path: str) -> None:
        """Take up a file that is new, or that has changed since it was last looked at."""
        seen, known = seen_of(path), self._ledger.one(path)
        if seen is None or (known and (known.state == "sending" or known.seen == seen)):
            return
        self._ledger.put(Watched(path, seen, "waiting", None, 0, 0.0, "", ""))

    def _proceed(self, file: Watched) -> bool:
        """Ingest a file if it is complete; return whether it still waits."""
        if file.due > time.time():
            return True
        if file.state == "waiting":
            if seen_of(file.path) is None:
                self._ledger.forget(file.path)
                return False
            if not self._is_quiet(file.path):
                return True
            try:
                arguments = self._arguments(file.path)
            except NotYetError as error:
                return self._postpone(file, str(error))
            except (UnusableError, AmbiguousNameError, ValueError) as error:
                return self._bury(file, str(error))
            file = self._ledger.put(file._replace(state="sending", call=call_of(file, arguments)))
        return self._send(file)

    def _send(self, file: Watched) -> bool:
        call = json.loads(file.call or "{}")
        key, arguments = call["key"], call["arguments"]
        try:
            answer = self._client.request(
                "POST", "/scans/ingest", json=arguments, idempotency_key=key
            ).json()
        except ServiceError as error:
            return self._refused(file, arguments, error)
        return self._done(file, answer["dataset_id"])

    def _refused(self, file: Watched, arguments: dict[str, Any], error: ServiceError) -> bool:
        """Decide what a failure means for a file; raise it when no file can succeed."""
        if error.status in {401, 403}:
            raise error
        if error.status is None or error.is_transient or error.status >= 500:
            # Perhaps it was ingested: the call stays as it is. Other files go first.
            pause = min(2.0**file.attempts, LONGEST_PAUSE)
            again = file._replace(attempts=file.attempts + 1, due=time.time() + pause)
            self._ledger.put(again._replace(detail=str(error)))
            raise error
        if error.code == "ScanAlreadyIngestedError":
            return self._done(file, str(error.problem.get("dataset_id", "known already")))
        if error.code == "InvalidScanChecksumError" and "checksum" not in arguments:
            try:
                with_sums = self._summed(file.path, arguments, error.problem)
            except OSError as gone:
                return self._postpone(file, str(gone))
            if with_sums:
                again = file._replace(call=call_of(file, with_sums))
                return self._send(self._ledger.put(again))
        if error.code in LATER or (error.code in PERHAPS_LATER and file.attempts < MOST_ATTEMPTS):
            return self._postpone(file, error.detail)
        return self._bury(file, f"{error.code}: {error.detail}")

    def _summed(
        self, path: str, arguments: Mapping[str, Any], problem: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Return the arguments with the sums of the files that the service asks for."""
        parts: list[dict[str, Any]] = problem.get("parts") or []
        if not parts:
            return None
        address = urlsplit(str(problem["base"])).path
        base = self._here(os.fsdecode(unquote_to_bytes(address)))
        say(f"summing    {path} ({len(parts)} files)")
        sums = [{**part, "sha256": sum_of(os.path.join(base, part["path"]))} for part in parts]
        if len(sums) == 1:
            checksum = {"algorithm": "sha256", "value": sums[0]["sha256"]}
            return {**arguments, "checksum": checksum}
        tree = tree_digest((part["path"], part["sha256"]) for part in sums)
        checksum = {"algorithm": "sha256-tree", "value": tree}
        return {**arguments, "checksum": checksum, "parts": sums}

    def _done(self, file: Watched, dataset_id: str) -> bool:
        self._ledger.put(file._replace(state="ingested", detail=dataset_id))
        say(f"ingested   {file.path} as dataset {dataset_id}")
        return False

    def _postpone(self, file: Watched, why: str) -> bool:
        attempts = file.attempts + 1
        due = time.time() + min(self._rules.quiet_seconds * 2**attempts, LONGEST_PAUSE)
        later = file._replace(state="waiting", call=None, attempts=attempts, due=due, detail=why)
        self._ledger.put(later)
        if file.detail != why:
            say(f"waiting    {file.path}: {why}")
        return True

    def _bury(self, file: Watched, why: str) -> bool:
        self._ledger.put(file._replace(state="dead", detail=why))
        say(f"refused    {file.path}: {why}")
        return False

    def _is_quiet(self, path: str) -> bool:
        return time.time() - os.stat(path).st_mtime >= self._rules.quiet_seconds

    def _arguments(self, path: str) -> dict[str, Any]:
        """Return the arguments of the call for a file, names resolved."""
        rules, given = self._rules, dict[str, Any](self._rules.given)
        if rules.from_path:
            if (match := rules.from_path.search(path)) is None:
                raise UnusableError("The path does not match --from-path.")
            given |= {name: text for name, text in match.groupdict().items() if text}
        if rules.sidecar:
            given |= self._sidecar(path + rules.sidecar)
        for name, kind in NAMED.items():
            if (text := given.pop(name, None)) is not None:
                given[FIELDS.get(name, f"{name}_id")] = self._id(str(text), kind)
        if "producing_asset_id" not in given:
            raise UnusableError("No asset is named. Use --asset, --from-path or --sidecar.")
        return {**given, "locator": Path(self._there(path)).as_uri()}

    def _sidecar(self, path: str) -> dict[str, Any]:
        name = os.path.basename(path)
        if seen_of(path) is None or not self._is_quiet(path):
            raise NotYetError(f"{name} is not complete yet.")
        try:
            found: object = json.loads(Path(path).read_bytes())
        except ValueError:
            raise UnusableError(f"{name} is not JSON.") from None
        if not isinstance(found, dict):
            raise UnusableError(f"{name} is not a JSON object.")
        return cast("dict[str, Any]", found)

    def _id(self, text: str, kind: str) -> str:
        """Return the id of an object that is called by its name or its id."""
        if (text, kind) not in self._ids:
            # Only one attempt: the watch itself tries again later.
            self._ids[text, kind] = object_id(self._client, text, kind, attempts=1)
        return self._ids[text, kind]

    def _there(self, path: str) -> str:
        """Return the path under which the service sees a file of this host."""
        return _moved(path, self._rules.seen_as)

    def _here(self, path: str) -> str:
        """Return the path on this host of a file that the service names."""
        return _moved(path, [(there, here) for here, there in self._rules.seen_as])


def _moved(path: str, folders: Iterable[tuple[str, str]]) -> str:
    for old, new in folders:
        if path == old or path.startswith(f"{old.rstrip('/')}/"):
            return new.rstrip("/") + path.removeprefix(old.rstrip("/"))
    return path


def call_of(file: Watched, arguments: Mapping[str, Any]) -> str:
    """Return a call with a key that is the same for the same file and arguments."""
    named = json.dumps([file.path, file.seen, arguments], sort_keys=True)
    key = f"scan-{sha256(named.encode()).hexdigest()[:48]}"
    return json.dumps({"key": key, "arguments": arguments})


def seen_of(path: str) -> str | None:
    """Return the size and the modification time of a file, or None if it is gone."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


def sum_of(path: str) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb", buffering=0) as file:
        return file_digest(file, "sha256").hexdigest()


def say(text: str) -> None:
    """Print one line."""
    click.echo(printable(text))


OPTIONS: Sequence[click.Parameter] = (
    click.Argument(["folders"], nargs=-1, metavar="FOLDER..."),
    click.Option(
        ["--state"],
        type=click.Path(file_okay=False, path_type=Path),
        required=True,
        help="Folder that keeps what became of each file.",
    ),
    click.Option(
        ["--pattern", "patterns"],
        multiple=True,
        default=("*.nx", "*.nxs", "*_master.h5"),
        help="Names of files that are scans (repeatable; default: *.nx, *.nxs, *_master.h5).",
    ),
    click.Option(["--asset"], help="Asset that captures the scans, by name or id."),
    click.Option(["--run"], help="Run that produces the scans, by name or id."),
    click.Option(["--subject"], help="Sample (default: that of the run), by name or id."),
    click.Option(["--supply"], help="Storage that the files are on, by name or id."),
    click.Option(
        ["--from-path"],
        help="Regular expression; its groups asset, run, subject, supply and name are taken.",
    ),
    click.Option(
        ["--sidecar"],
        help="Suffix of a JSON file next to each scan, with arguments for its ingest.",
    ),
    click.Option(
        ["--seen-as"],
        multiple=True,
        metavar="HERE=THERE",
        help="Folder of this host, and where the service sees the same files (repeatable).",
    ),
    click.Option(
        ["--quiet", "quiet_seconds"],
        type=click.FloatRange(0),
        default=10.0,
        help="Seconds for which a file must not change before it is ingested (default: 10).",
    ),
    click.Option(
        ["--every"],
        type=click.FloatRange(0.1),
        default=5.0,
        help="Seconds between two looks at the folders (default: 5).",
    ),
    click.Option(["--once"], is_flag=True, help="Look once, and return."),
    click.Option(["--dead"], is_flag=True, help="Show the files that were refused."),
    click.Option(["--retry"], is_flag=True, help="Try refused files again: all, or those named."),
)


def watch_scans_command() -> click.Command:
    """Return the command that watches folders for scans."""

    def run(state: Path, folders: tuple[str, ...], dead: bool, retry: bool, **options: Any) -> None:
        with closing(Ledger(state)) as ledger:
            if dead:
                _show_dead(ledger)
            elif retry:
                click.echo(f"Files to try again: {ledger.retry(folders)}")
            else:
                with _alone(state):
                    _watch(ledger, folders, **options)

    text = (
        "Watch folders and have the service ingest each new scan file when it is complete."
        " The service must see the files beneath one of its DATA_ROOTS."
    )
    return click.Command("watch-scans", callback=run, params=[*OPTIONS], help=text)


def _watch(
    ledger: Ledger,
    folders: tuple[str, ...],
    patterns: tuple[str, ...],
    quiet_seconds: float,
    from_path: str | None,
    sidecar: str | None,
    seen_as: tuple[str, ...],
    every: float,
    once: bool,
    **named: str | None,
) -> None:
    if not folders:
        raise click.UsageError("Name a folder to watch.")
    try:
        expression = re.compile(from_path) if from_path else None
    except re.error as error:
        raise click.UsageError(f"--from-path is no regular expression: {error}.") from None
    pairs = [pair.partition("=") for pair in seen_as]
    rules = Rules(
        folders=tuple(os.path.abspath(folder) for folder in folders),
        patterns=patterns,
        quiet_seconds=quiet_seconds,
        given={name: text for name, text in named.items() if text},
        from_path=expression,
        sidecar=sidecar,
        seen_as=tuple((os.path.abspath(here), there) for here, _, there in pairs),
    )
    watch = ScanWatch(connect(click.get_current_context()), ledger, rules)
    reported = ""
    while True:
        try:
            waiting, reported = watch.look(), ""
        except ServiceError as error:
            if once or error.status in {401, 403}:
                stop(printable(str(error)), UNREACHABLE if error.status is None else REFUSED)
            if str(error) != reported:
                click.echo(printable(f"no answer: {error}"), err=True)
            waiting, reported = 1, str(error)
        if once:
            if waiting:
                click.echo(f"Files that wait: {waiting}", err=True)
            return
        time.sleep(every)


def _show_dead(ledger: Ledger) -> None:
    for file in ledger.all("dead"):
        click.echo(printable(f"{local(file.changed_at)}  {file.path}"))
        click.echo(printable(f"  {file.detail}"))


@contextmanager
def _alone(state: Path) -> Generator[IO[str]]:
    """Hold the state folder, so that no second watch uses it."""
    with (state / "lock").open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stop(f"Another watch uses {state}.", REFUSED)
        yield held
