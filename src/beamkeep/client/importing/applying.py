"""`beamkeep import`: the verbs that enter a file."""

import time
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import click

from beamkeep.client.calling import REFUSED, Link, end, link_to, refusal_of, send
from beamkeep.client.terminal import plain
from beamkeep.kernel import Catalogue

from .described import read
from .happi import beamline_of
from .lines import MOST_BYTES, Fault, FaultyFileError, Located, decoded, located
from .proposing import Made, Proposal, Row, Step, existing, propose

BUSY = frozenset({429, 503})
ATTEMPTS = 20


class Importing:
    """One import into one service."""

    def __init__(self, catalogue: Catalogue, link: Link) -> None:
        self._rows, self._link, self._run = catalogue.named, link, uuid4().hex

    def proposal(self, found: Located) -> Proposal:
        """What is to be done, or everything that is wrong with the file."""
        beamline = read(found)
        return propose(beamline, found, existing(beamline, self._all))

    def apply(self, steps: list[Step]) -> None:
        """Try what can be tried beforehand, then do all of it, saying how far it is."""
        for step in steps:
            if not _awaits(step.arguments):
                self._send(step.operation, step.arguments, {"dry_run": True}, step.about)
        made: dict[Made, str] = {}
        token = None
        for number, step in enumerate(steps, 1):
            key = {"idempotency_key": f"{self._run}-{number}"}
            answer = self._send(step.operation, _filled(step.arguments, made), key, step.about)
            token = answer.headers.get("position-token", token)
            if step.makes:
                made[step.makes] = answer.json()[f"{step.makes.kind}_id"]
            click.echo(f"[{number}/{len(steps)}] {step.operation} {plain(step.about)}", err=True)
        if token:
            # Whoever imports again at once must find all of it.
            for name in ("list_families", "list_models", "list_enclosures", "list_assets"):
                self._send(name, {"min_token": token, "limit": 1}, {}, name)

    def _all(self, name: str, **filters: str) -> list[Row]:
        rows: list[Row] = []
        cursor: str | None = ""
        while cursor is not None:
            more = {"cursor": cursor} if cursor else {}
            page = self._send(name, {**filters, "limit": 100, **more}, {}, name).json()
            rows += page["items"]
            cursor = page["next_cursor"]
        return rows

    def _send(
        self, name: str, arguments: dict[str, Any], beside: dict[str, Any], about: str
    ) -> Any:
        response = send(self._rows[name], dict(arguments), beside, self._link)
        for _ in range(ATTEMPTS):
            if response.status_code not in BUSY:
                break
            time.sleep(float(response.headers.get("retry-after", 1)))
            response = send(self._rows[name], dict(arguments), beside, self._link)
        if not response.is_success:
            end(f"{about}: {refusal_of(response)}", REFUSED)
        return response


def _awaits(arguments: dict[str, Any]) -> bool:
    """Whether something in them is yet to be made."""
    return any(isinstance(part, Made) for value in arguments.values() for part in _parts(value))


def _filled(arguments: dict[str, Any], made: dict[Made, str]) -> dict[str, Any]:
    """The same with the ids of what was made."""

    def known(part: Any) -> Any:
        return made[part] if isinstance(part, Made) else part

    return {
        name: [known(part) for part in _parts(value)] if isinstance(value, list) else known(value)
        for name, value in arguments.items()
    }


def _parts(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


FILE = click.Argument(["file"], type=click.Path(exists=True, dir_okay=False, path_type=Path))
APPLY = click.Option(["--apply"], is_flag=True, help="Do it; without this, only say what it is.")
FACILITY = click.Option(["--facility"], required=True, help="The code of the facility.")


def import_group(catalogue: Catalogue, transport: Any = None) -> click.Group:
    """The verbs that enter a file into the service the command line is given."""

    def run(file: Path, apply: bool, facility: str | None = None) -> None:
        context = click.get_current_context().find_root()
        importing = Importing(catalogue, link_to(transport, **context.params))
        try:
            found = located(decoded(_content(file)))
            found = beamline_of(found, facility) if facility else found
            proposal = importing.proposal(found)
        except FaultyFileError as faulty:
            for fault in faulty.faults:
                what = f"{fault.where}: {fault.what}" if fault.where else fault.what
                click.echo(plain(f"{file}:{fault.line}: {what}"), err=True)
            end(str(faulty), REFUSED)
        _show(proposal)
        if apply and proposal.steps:
            importing.apply(proposal.steps)
        elif proposal.steps:
            click.echo("Nothing was written. Repeat it with --apply to do this.", err=True)

    group = click.Group("import", help="Enter what a file describes.")
    for name, options, told in (
        ("yaml", [APPLY], "Enter a described beamline."),
        ("happi", [FACILITY, APPLY], "Enter the devices of a happi database."),
    ):
        group.add_command(click.Command(name, callback=run, params=[FILE, *options], help=told))
    return group


def _content(file: Path) -> bytes:
    """What a file holds, or a little more of it than is read."""
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise FaultyFileError(Fault(1, "", f"it cannot be read: {error.strerror}")) from None


def _show(proposal: Proposal) -> None:
    for step in proposal.steps:
        click.echo(plain(f"{step.operation} {step.about}"))
    for text in proposal.left:
        click.echo(plain(f"left alone: {text}"))
    if not proposal.steps and not proposal.left:
        click.echo(f"no difference in {proposal.same}")
