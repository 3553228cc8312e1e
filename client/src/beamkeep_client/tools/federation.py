"""First contact with another facility: cards, fingerprints, and rotations of its seal key."""

import json
import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

import click

from beamkeep_client.calling import REFUSED, connect, stop
from beamkeep_client.http import ATTEMPTS
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.terminal import printable

from .delivery import export_command, import_command
from .naming import printed_failures

KEY_CHARACTERS, GROUP, GROUPS = 43, 4, 8
ROOT, ONLINE = "SealOfflineRoot", "SealOnlineSigning"
ROTATION_PREFIX = "beamkeep/seal-rotation/v1"
ROTATION = ("previous_key_fingerprint", "new_key_fingerprint", "sequence_number")
PAGE = 100
COMPARE = (
    "A card shows that somebody has each private key, but not who. Compare the\n"
    "fingerprints with the administrator of the facility by telephone or in person."
)
NO_TERMINAL = (
    "The fingerprints must be compared by a person. Run this at a terminal, or give --yes"
    " if they have been compared."
)


class CardKey(NamedTuple):
    """One public key on a card."""

    audience: str
    purpose: str
    public_key: str
    expires_at: str | None
    key_check_signature: str


class Card(NamedTuple):
    """What a facility gives another at first contact, and when it has new keys."""

    facility_code: str
    name: str
    credentials: Sequence[CardKey]


class UnusableFileError(Exception):
    """A file of a peer that cannot be used."""


def federation_command() -> click.Group:
    """Return the commands for exchange with other facilities."""
    text = "Meet other facilities, and exchange signed records with them."
    group = click.Group("federation", help=text)
    commands = _card(), _add_peer(), _check_rotation(), export_command(), import_command()
    for command in commands:
        group.add_command(command)
    return group


def _card() -> click.Command:
    def run() -> None:
        with printed_failures(UnusableFileError):
            card = own_card(connect(click.get_current_context()))
        shown = {**card._asdict(), "credentials": [key._asdict() for key in card.credentials]}
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        for line in fingerprint_lines(card.credentials):
            click.echo(line, err=True)

    text = (
        "Print the card of the own site: its public keys, for the administrator of a peer."
        " The fingerprints are printed to standard error; read them out over a second channel."
    )
    return click.Command("card", callback=run, help=text)


def _add_peer() -> click.Command:
    def run(file: Path, yes: bool) -> None:
        if not yes and not sys.stdin.isatty():
            raise click.UsageError(NO_TERMINAL)
        with printed_failures(UnusableFileError):
            card = read_card(file)
            click.echo(printable(f"{card.name} ({card.facility_code})"))
            for line in fingerprint_lines(card.credentials):
                click.echo(line)
            click.echo(COMPARE)
            _ask("Are the fingerprints the same, and should the keys be registered?", yes)
            client = connect(click.get_current_context())
            site, keys = add_keys(client, card)
            path = f"/federation/facilities/{site}"
            trusted = _get(client, path)["trust_anchor_credential_ids"]
            seals = [id for id, purpose in keys.items() if purpose in {ROOT, ONLINE}]
            if seals := [id for id in seals if id not in trusted]:
                _ask("Verify the seal pointers of this facility with its seal keys?", yes)
                for id in seals:
                    _send(client, f"{path}/add-trust-anchor-credential", {"credential_id": id})
                    click.echo(f"trust anchor added: {id}")

    file = click.Argument(["file"], type=click.Path(exists=True, dir_okay=False, path_type=Path))
    option = click.Option(["--yes"], is_flag=True, help="Ask nothing; for scripts.")
    text = (
        "Register the facility and the keys of a card. Keys that are known stay as they are; a new"
        " key for the same audience and purpose begins a rotation."
    )
    return click.Command("add-peer", callback=run, params=[file, option], help=text)


def _check_rotation() -> click.Command:
    def run(file: Path) -> None:
        with printed_failures(UnusableFileError):
            seal = _object(file)
            client = connect(click.get_current_context())
            site = site_of(client, str(seal.get("facility_code")))
            keys = [
                key for key in keys_of(client, site["facility_id"]) if key["status"] != "Revoked"
            ]
            anchors = [
                key for key in keys if key["credential_id"] in site["trust_anchor_credential_ids"]
            ]
            fault = rotation_fault(seal, anchors)
        if fault:
            stop(printable(fault), REFUSED)
        click.echo("The offline root signed this rotation. Fingerprint of the new key:")
        for line in grouped(seal["last_rotation"]["new_key_fingerprint"]):
            click.echo(f"  {line}")

    file = click.Argument(["file"], type=click.Path(exists=True, dir_okay=False, path_type=Path))
    text = (
        "Check the last rotation of a peer's seal key with the peer's offline root, which is a"
        " trust anchor here. FILE is what `beamkeep seal get -o json` prints at the peer."
    )
    return click.Command("check-rotation", callback=run, params=[file], help=text)


def own_card(client: HttpClient) -> Card:
    """Return the card of the site of the service."""
    site = site_of(client, _get(client, "/self")["facility"]["code"])
    ids = [key["credential_id"] for key in keys_of(client, site["facility_id"])]
    found = [_get(client, f"/federation/credentials/{id}") for id in ids]
    keys = [key for each in found if each["usable"] for key in _card_keys(each)]
    return Card(site["code"], site["name"], keys)


def _card_keys(credential: Mapping[str, Any]) -> Iterator[CardKey]:
    """Yield the key of a credential, and during a rotation the pending one."""
    for prefix in ("", "pending_") if credential["pending_public_key"] else ("",):
        yield CardKey(
            audience=credential["audience"],
            purpose=credential["purpose"],
            public_key=credential[f"{prefix}public_key"],
            expires_at=credential[f"{prefix}expires_at"],
            key_check_signature=credential[f"{prefix}key_check_signature"],
        )


def read_card(file: Path) -> Card:
    """Return the card in a file; raise UnusableFileError when the file has none."""
    try:
        fields = _object(file)
        keys = [CardKey(**each) for each in fields.pop("credentials")]
        card = Card(**fields, credentials=keys)
        texts = [text for key in keys for text in key._replace(expires_at="")]
        if not all(isinstance(text, str) for text in (card.facility_code, card.name, *texts)):
            raise TypeError
        for key in keys:
            fingerprint(key.public_key)
    except (KeyError, TypeError, ValueError):
        raise UnusableFileError(f"{file} is not a card.") from None
    return card


def add_keys(client: HttpClient, card: Card) -> tuple[str, dict[str, str]]:
    """Register what is new of a card; return the facility, and the purpose of each credential."""
    found = _get(client, "/federation/facilities", code=card.facility_code)["items"]
    if found:
        site = found[0]["facility_id"]
    else:
        new = {"code": card.facility_code, "name": card.name, "kind": "Site"}
        site = _send(client, "/federation/facilities", new)["facility_id"]
        click.echo(f"facility registered: {site}")
    known: dict[tuple[str, str], tuple[str, set[str]]] = {
        (key["audience"], key["purpose"]): (
            key["credential_id"],
            {key["public_key"], key["pending_public_key"]},
        )
        for key in (keys_of(client, site) if found else [])
        if key["status"] != "Revoked"
    }
    for key in card.credentials:
        values, key_of = key._asdict(), (key.audience, key.purpose)
        id, here = known.get(key_of, ("", set()))
        if not id:
            path = "/federation/credentials"
            id = _send(client, path, {"facility_id": site, **values})["credential_id"]
            click.echo(printable(f"credential registered: {id} ({key.purpose})"))
        elif key.public_key not in here:
            new = {f"new_{name}": values[name] for name in CardKey._fields[2:]}
            _send(client, f"/federation/credentials/{id}/rotation/start", new)
            click.echo(printable(f"rotation started: {id} ({key.purpose})"))
        known[key_of] = id, here | {key.public_key}
    return site, {known[key.audience, key.purpose][0]: key.purpose for key in card.credentials}


def rotation_fault(seal: Mapping[str, Any], anchors: Sequence[Mapping[str, Any]]) -> str | None:
    """Return why a rotation is not one that the peer's offline root signed; None if it is."""
    rotation: dict[str, Any] = seal.get("last_rotation") or {}
    if not rotation:
        return "The seal has not been rotated."
    names = {*ROTATION, "new_public_key", "offline_root_signature"}
    if not names <= rotation.keys() or rotation["offline_root_signature"] is None:
        return "The offline root did not sign this rotation."
    online = {key["fingerprint"] for key in anchors if key["purpose"] == ONLINE}
    if rotation["previous_key_fingerprint"] not in online:
        return "The previous key is not a trust anchor of this facility here."
    if fingerprint(rotation["new_public_key"]) != rotation["new_key_fingerprint"]:
        return "The fingerprint is not that of the new key."
    signed = {"facility_code": seal["facility_code"], **{name: rotation[name] for name in ROTATION}}
    canonical = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    message = f"{ROTATION_PREFIX}\n{canonical}".encode()
    roots = [key["public_key"] for key in anchors if key["purpose"] == ROOT]
    if not any(verifies(key, rotation["offline_root_signature"], message) for key in roots):
        return "No offline root that is a trust anchor of this facility here signed this rotation."
    return None


def verifies(public_key: str, signature: str, message: bytes) -> bool:
    """Return whether the private key of a public key signed a message."""
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
            Ed25519PublicKey,
        )
    except ImportError:
        stop("Install beamkeep-client[federation] to check signatures.", REFUSED)
    try:
        Ed25519PublicKey.from_public_bytes(_bytes(public_key)).verify(_bytes(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public_key: str) -> str:
    """Return the SHA-256 of a public key; raise ValueError when the text is none."""
    if len(public_key) != KEY_CHARACTERS:
        raise ValueError("A public key has 43 characters.")
    return sha256(_bytes(public_key)).hexdigest()


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def grouped(digest: str) -> list[str]:
    """Return a fingerprint in 16 groups of 4 characters, on two lines."""
    groups = [digest[place : place + GROUP] for place in range(0, len(digest), GROUP)]
    return [" ".join(groups[:GROUPS]), " ".join(groups[GROUPS:])]


def fingerprint_lines(keys: Sequence[CardKey]) -> Iterator[str]:
    """Yield what a person reads out and compares."""
    for key in keys:
        until = f", until {key.expires_at}" if key.expires_at else ""
        yield printable(f"{key.purpose} for {key.audience}{until}")
        yield from (f"  {line}" for line in grouped(fingerprint(key.public_key)))


def site_of(client: HttpClient, code: str) -> Mapping[str, Any]:
    """Return the facility of a code; raise UnusableFileError when there is none."""
    found = _get(client, "/federation/facilities", code=code)["items"]
    if not found:
        raise UnusableFileError(f"There is no facility with the code {code} here.")
    return _get(client, f"/federation/facilities/{found[0]['facility_id']}")


def keys_of(client: HttpClient, facility_id: str) -> list[Mapping[str, Any]]:
    """Return the credentials of a facility, oldest first."""
    asked = {"facility_id": facility_id, "order": "oldest", "limit": PAGE}
    return [*client.rows("/federation/credentials", asked)]


def _object(file: Path) -> dict[str, Any]:
    try:
        found: Any = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UnusableFileError(f"{file} is not a JSON object.")
    return cast("dict[str, Any]", found)


def _ask(question: str, yes: bool) -> None:
    if not yes and not click.confirm(question):
        stop("Nothing more was done.", REFUSED)


def _get(client: HttpClient, path: str, **asked: Any) -> Any:
    return client.request("GET", path, params=asked, attempts=ATTEMPTS).json()


def _send(client: HttpClient, path: str, body: Mapping[str, Any]) -> Any:
    answer = client.request("POST", path, json=dict(body))
    return answer.json() if answer.content else None
