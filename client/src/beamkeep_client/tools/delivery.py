"""Delivery between facilities: envelopes as files, and files to the service of a partner.

A file is moved only after the service has answered. The key of a call follows from the permit and
the file, so that a file that is sent again, by this process or the next, is imported once.
"""

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import click

from beamkeep_client.calling import REFUSED, connect, stop
from beamkeep_client.http import ServiceError
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.terminal import printable

from .naming import printed_failures

SOME_REFUSED = 3
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
TRIES = 10
"""How often a call is made that gets no answer: for about two minutes."""
LOOK_SECONDS = 1.0
MOST_BYTES = 1024 * 1024
"""A service cuts the connection of a larger request, which would look like a lost answer."""
PRESENT = "ArtifactAlreadyImportedError"
"""The code that says that the service has exactly this envelope: an earlier answer was lost."""
UNFIT = frozenset(
    {
        "BodyTooLargeError",
        "InvalidArtifactEnvelopeError",
        "MalformedRequestError",
        "SealPointerConflictError",
        "StaleArtifactError",
        "StaleSealPointerError",
    }
)
"""Codes about one envelope. Any other refusal would meet every envelope, so the command ends."""
EXIT_CODES = (
    "Exit codes: 0 all delivered, 3 an envelope was refused, 1 the service refuses all,"
    " 2 no answer from the service, 64 wrong usage."
)


def export_command() -> click.Command:
    """Return the command that writes envelopes to files."""

    def run(permit_id: UUID, artifact_ids: tuple[UUID, ...], outbox: Path) -> None:
        with printed_failures():
            client = connect(click.get_current_context())
            outbox.mkdir(mode=0o700, parents=True, exist_ok=True)
            for id in artifact_ids:
                click.echo(write_envelope(outbox, export(client, permit_id, id)))

    params: list[click.Parameter] = [
        click.Argument(["permit_id"], type=click.UUID),
        click.Argument(
            ["artifact_ids"], type=click.UUID, nargs=-1, required=True, metavar="ARTIFACT_ID..."
        ),
        click.Option(
            ["--outbox"],
            type=click.Path(file_okay=False, path_type=Path),
            required=True,
            help="Directory to write the envelopes to.",
        ),
    ]
    text = (
        "Make a signed copy of each dataset's or calibration's record for the peer of an outbound"
        " permit, and write each to a file. Prints the names of the files."
    )
    return click.Command("export", callback=run, params=params, help=text)


def import_command() -> click.Command:
    """Return the command that sends envelopes from files to a service."""

    def run(paths: tuple[Path, ...], permit_id: UUID, follow: bool) -> None:
        if follow and not all(path.is_dir() for path in paths):
            raise click.UsageError("--follow looks at directories only.")
        with printed_failures(), alone({p if p.is_dir() else p.parent for p in paths}):
            client = connect(click.get_current_context())
            counts = Counter[str]()
            while True:
                for file in waiting(paths):
                    counts[deliver(client, permit_id, file, endlessly=follow)] += 1
                if not follow:
                    break
                time.sleep(LOOK_SECONDS)
        click.echo(f"{counts['delivered']} delivered, {counts['refused']} refused.", err=True)
        if counts["refused"]:
            raise click.exceptions.Exit(SOME_REFUSED)

    params: list[click.Parameter] = [
        click.Argument(
            ["paths"],
            type=click.Path(exists=True, path_type=Path),
            nargs=-1,
            required=True,
            metavar="PATH...",
        ),
        click.Option(
            ["--permit", "permit_id"],
            type=click.UUID,
            required=True,
            help="Inbound permit of the service that imports.",
        ),
        click.Option(["--follow"], is_flag=True, help="Keep looking for new files."),
    ]
    text = (
        "Import envelopes from files, or from all files of a directory, oldest first. With the"
        " address and a login of a partner's service, this delivers to the partner.\n\n"
        "A file moves to the directory `delivered` next to it, or to `refused` with the refusal."
    )
    return click.Command("import", callback=run, params=params, help=text, epilog=EXIT_CODES)


def export(client: HttpClient, permit_id: UUID, artifact_id: UUID) -> Mapping[str, Any]:
    """Return a new envelope of an artifact, with its signature and the id of the exchange."""
    path, body = f"/federation/permits/{permit_id}/export", {"artifact_id": str(artifact_id)}
    key = f"export-{uuid4()}"
    return patiently(lambda: client.request("POST", path, json=body, idempotency_key=key).json())


def write_envelope(outbox: Path, exported: Mapping[str, Any]) -> Path:
    """Write what `import_artifact` takes to a file, whole or not at all; return its name."""
    sent = {name: exported[name] for name in ("envelope", "signature")}
    file = outbox / f"{UUID(exported['exchange_id'])}.json"
    partial = file.with_suffix(".part")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode())
        out.flush()
        os.fsync(out.fileno())
    partial.replace(file)
    folder = os.open(outbox, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return file


def waiting(paths: Sequence[Path]) -> list[Path]:
    """Return the envelopes that wait, by the id of their exchange, which is their age."""
    files = [file for path in paths for file in (path.glob("*.json") if path.is_dir() else [path])]
    return sorted(files, key=lambda file: file.name)


def deliver(client: HttpClient, permit_id: UUID, file: Path, endlessly: bool = False) -> str:
    """Send one envelope as it stands in its file; move the file once the service has answered.

    Return `delivered` or `refused`. Raise ServiceError when no envelope would be accepted.
    """
    body, path = file.read_bytes(), f"/federation/permits/{permit_id}/import"
    key = f"envelope-{sha256(permit_id.bytes + body).hexdigest()}"
    tries = None if endlessly else TRIES
    try:
        if len(body) > MOST_BYTES:
            problem = {"code": "BodyTooLargeError", "detail": "An envelope has at most 1 MiB."}
            raise ServiceError(problem["detail"], status=413, code=problem["code"], problem=problem)
        patiently(lambda: client.request("POST", path, content=body, idempotency_key=key), tries)
    except ServiceError as error:
        if error.code in UNFIT:
            problem = json.dumps(error.problem, ensure_ascii=False, indent=2)
            move(file, "refused").with_suffix(".refusal").write_text(
                f"{problem}\n", encoding="utf-8"
            )
            click.echo(printable(f"refused: {file.name}: {error}"), err=True)
            return "refused"
        if error.code != PRESENT:
            raise
    move(file, "delivered")
    click.echo(file.name)
    return "delivered"


def move(file: Path, folder: str) -> Path:
    """Move a file to a folder next to it; return where it is now."""
    place = file.parent / folder
    place.mkdir(mode=0o700, exist_ok=True)
    return file.replace(place / file.name)


def patiently[T](call: Callable[[], T], tries: int | None = TRIES) -> T:
    """Return the answer to a call that is safe to repeat; wait longer after each lost one."""
    is_reported = False
    for pause in pauses():
        try:
            return call()
        except ServiceError as error:
            tries = None if tries is None else tries - 1
            if tries == 0 or not is_passing(error):
                raise
            if not is_reported:
                click.echo(printable(f"{error} (trying again)"), err=True)
            is_reported = True
            time.sleep(max(pause, min(error.retry_after or 0, LONGEST_PAUSE)))
    raise AssertionError("the pauses do not end")


def pauses() -> Iterator[float]:
    """Yield growing pauses, without end."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_PAUSE)


def is_passing(error: ServiceError) -> bool:
    """Return whether the same call may succeed later: no answer, a fault, or too many calls."""
    return error.is_transient or error.status is None or error.status >= 500


@contextmanager
def alone(folders: set[Path]) -> Generator[None]:
    """Hold directories: two deliveries at once would mix the order of the envelopes."""
    held = [os.open(folder, os.O_RDONLY) for folder in folders]
    try:
        for folder in held:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        stop("Another delivery uses the directory.", REFUSED)
    finally:
        for folder in held:
            os.close(folder)
