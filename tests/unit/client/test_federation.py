"""Exchange with other facilities: envelopes as files, cards of peers, and rotations of seals."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx2
import pytest
from click.testing import CliRunner, Result
from tests.support.pseudo_terminal import BEAMKEEP, COLUMNS, at_terminal, screen

from beamkeep.contexts.federation.signatures import SignaturePrefix, key_fingerprint
from beamkeep.testing.signing import key_check, public_key, signed
from beamkeep_client.cli import command_line
from beamkeep_client.tools import delivery
from beamkeep_client.tools.federation import UnusableFileError, grouped, read_card, rotation_fault

PERMIT, ARTIFACT = UUID(int=1), UUID(int=2)
FIRST, SECOND = UUID(int=3), UUID(int=4)
SITE = str(UUID(int=5))
type Answer = httpx2.Response | Exception


def problem(status: int, code: str) -> httpx2.Response:
    return httpx2.Response(status, json={"code": code, "detail": "No.", "status": status})


class Service:
    """Answers calls in turn, and remembers them."""

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.calls = [*answers], list[httpx2.Request]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.calls.append(request)
        answer = self.answers.pop(0) if self.answers else httpx2.Response(201, json={})
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run(self, *words: str) -> Result:
        transport = httpx2.MockTransport(self)
        return CliRunner().invoke(command_line(), ["federation", *words], obj=transport)

    def deliver(self, folder: Path) -> Result:
        return self.run("import", str(folder), "--permit", str(PERMIT))


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that a delivery would have waited."""
    waited: list[float] = []
    monkeypatch.setattr(delivery, "time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    """A directory with two envelopes, the later one written first."""
    for id in (SECOND, FIRST):
        exported = {"exchange_id": str(id), "envelope": {"x": "é", "id": str(id)}, "signature": "s"}
        delivery.write_envelope(tmp_path / "outbox", exported)
    return tmp_path / "outbox"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    (tmp_path / "outbox").mkdir()


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob("*.*"))


def test_an_export_is_a_file_that_only_its_owner_reads(tmp_path: Path):
    exported = {"exchange_id": str(FIRST), "envelope": {"a": 1}, "signature": "s"}
    service = Service(httpx2.Response(200, json=exported))
    where = tmp_path / "new" / "outbox"
    result = service.run("export", str(PERMIT), str(ARTIFACT), "--outbox", str(where))
    assert result.exit_code == 0, result.output
    file = where / f"{FIRST}.json"
    assert result.stdout.strip() == str(file)
    assert json.loads(file.read_bytes()) == {"envelope": {"a": 1}, "signature": "s"}
    assert (file.stat().st_mode & 0o777, where.stat().st_mode & 0o777) == (0o600, 0o700)
    assert names(where) == [file.name]
    (call,) = service.calls
    assert call.url.path == f"/federation/permits/{PERMIT}/export"
    assert json.loads(call.content) == {"artifact_id": str(ARTIFACT)}


def test_an_export_whose_answer_is_lost_is_asked_for_again_with_its_key(tmp_path: Path):
    exported: dict[str, Any] = {"exchange_id": str(FIRST), "envelope": {}, "signature": "s"}
    service = Service(httpx2.ReadError("cut"), httpx2.Response(200, json=exported))
    words = "export", str(PERMIT), str(ARTIFACT), "--outbox", str(tmp_path)
    assert service.run(*words).exit_code == 0
    first, again = (call.headers["idempotency-key"] for call in service.calls)
    assert first == again


def test_envelopes_are_sent_oldest_first_and_as_they_stand(outbox: Path):
    texts = [(outbox / f"{id}.json").read_bytes() for id in (FIRST, SECOND)]
    (outbox / "half.part").write_text("{")
    service = Service()
    result = service.deliver(outbox)
    assert (result.exit_code, result.stderr) == (0, "2 delivered, 0 refused.\n")
    assert [call.content for call in service.calls] == texts
    assert {call.headers["content-type"] for call in service.calls} == {"application/json"}
    assert len({call.headers["idempotency-key"] for call in service.calls}) == 2
    assert names(outbox) == ["half.part"]
    assert names(outbox / "delivered") == [f"{FIRST}.json", f"{SECOND}.json"]


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.ReadError("cut"),
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("silent"),
        problem(500, "InternalError"),
        problem(503, "SignerUnavailableError"),
        problem(429, "TooManyRequestsError"),
        problem(409, "IdempotencyInFlightError"),
        httpx2.Response(502, text="Bad gateway"),
    ],
    ids=str,
)
def test_a_failure_that_passes_is_tried_again_with_the_same_key(
    answer: Answer, outbox: Path, pauses: list[float]
):
    service = Service(answer, answer, answer)
    assert service.deliver(outbox).exit_code == 0
    keys = [call.headers["idempotency-key"] for call in service.calls]
    assert len(keys) == 5
    assert len({*keys[:4]}) == 1
    assert pauses == [0.5, 1.0, 2.0]


def test_a_service_that_never_answers_is_given_up_and_nothing_moves(
    outbox: Path, pauses: list[float]
):
    service = Service(*[httpx2.ConnectError("refused")] * 20)
    assert service.deliver(outbox).exit_code == 2
    assert len(service.calls) == delivery.TRIES
    assert pauses == sorted(pauses)
    assert pauses[-1] == delivery.LONGEST_PAUSE
    assert names(outbox) == [f"{FIRST}.json", f"{SECOND}.json"]


def test_an_envelope_that_the_service_has_counts_as_delivered(outbox: Path):
    service = Service(httpx2.ReadError("cut"), problem(409, "ArtifactAlreadyImportedError"))
    assert service.deliver(outbox).exit_code == 0
    assert names(outbox / "delivered") == [f"{FIRST}.json", f"{SECOND}.json"]


@pytest.mark.parametrize("code", sorted(delivery.UNFIT))
def test_an_envelope_that_is_refused_is_set_aside_with_the_refusal(code: str, outbox: Path):
    result = Service(problem(409, code)).deliver(outbox)
    assert result.exit_code == delivery.SOME_REFUSED
    assert names(outbox / "refused") == [f"{FIRST}.json", f"{FIRST}.refusal"]
    assert json.loads((outbox / "refused" / f"{FIRST}.refusal").read_text())["code"] == code
    assert names(outbox / "delivered") == [f"{SECOND}.json"]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "InvalidTokenError"),
        (403, "UnauthorizedError"),
        (404, "PermitNotFoundError"),
        (409, "PermitCannotImportError"),
    ],
)
def test_a_refusal_that_would_meet_every_envelope_moves_nothing(
    status: int, code: str, outbox: Path
):
    service = Service(problem(status, code))
    assert service.deliver(outbox).exit_code == 1
    assert len(service.calls) == 1
    assert names(outbox) == [f"{FIRST}.json", f"{SECOND}.json"]


def test_a_file_that_no_service_reads_is_refused_without_being_sent(outbox: Path):
    (outbox / f"{FIRST}.json").write_bytes(b"x" * (delivery.MOST_BYTES + 1))
    service = Service()
    assert service.deliver(outbox).exit_code == delivery.SOME_REFUSED
    assert len(service.calls) == 1
    assert names(outbox / "refused") == [f"{FIRST}.json", f"{FIRST}.refusal"]


def test_two_deliveries_do_not_use_one_directory(outbox: Path):
    with delivery.alone({outbox}):
        result = Service().deliver(outbox)
    assert result.exit_code == 1
    assert "Another delivery" in result.stderr
    assert Service().deliver(outbox).exit_code == 0


def test_only_directories_are_followed(outbox: Path):
    words = "import", str(outbox / f"{FIRST}.json"), "--permit", str(PERMIT), "--follow"
    assert Service().run(*words).exit_code == 64


def test_a_directory_is_followed_until_the_command_is_stopped(
    outbox: Path, monkeypatch: pytest.MonkeyPatch
):
    looks = 0

    def later(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            raise KeyboardInterrupt
        exported: dict[str, Any] = {
            "exchange_id": str(UUID(int=9)),
            "envelope": {},
            "signature": "s",
        }
        delivery.write_envelope(outbox, exported)

    monkeypatch.setattr(delivery, "time", SimpleNamespace(sleep=later))
    Service().run("import", str(outbox), "--permit", str(PERMIT), "--follow")
    assert f"{UUID(int=9)}.json" in names(outbox / "delivered")


KEY: dict[str, Any] = {
    "audience": "imaging",
    "purpose": "DatasetExchange",
    "public_key": public_key("theirs"),
    "expires_at": None,
    "key_check_signature": key_check("theirs", "north-ring", "imaging", "DatasetExchange"),
}
CARD: dict[str, Any] = {"facility_code": "north-ring", "name": "North", "credentials": [KEY]}


@pytest.fixture
def card(tmp_path: Path) -> Path:
    file = tmp_path / "card.json"
    file.write_text(json.dumps(CARD))
    return file


@pytest.mark.parametrize(
    "changed",
    [
        {"more": 1},
        {"name": 7},
        {"credentials": None},
        {"credentials": [{**KEY, "public_key": "short"}]},
        {"credentials": [{**KEY, "public_key": 7}]},
        {"credentials": [{**KEY, "secret_ref": "x"}]},
    ],
    ids=str,
)
def test_a_file_that_is_not_a_card_is_not_used(changed: dict[str, Any], tmp_path: Path):
    file = tmp_path / "card.json"
    file.write_text(json.dumps({**CARD, **changed}))
    with pytest.raises(UnusableFileError, match="is not a card"):
        read_card(file)


def test_without_a_terminal_no_peer_is_added_unless_somebody_says_yes(card: Path):
    service = Service()
    result = service.run("add-peer", str(card))
    assert (result.exit_code, service.calls) == (64, [])
    assert "compared by a person" in result.stderr.replace("\n", " ")


def row(**changes: Any) -> dict[str, Any]:
    own = {"credential_id": SITE, "status": "Active", "pending_public_key": None}
    return {**KEY, **own, **changes}


def found(*items: dict[str, Any]) -> httpx2.Response:
    return httpx2.Response(200, json={"items": items})


def test_a_card_has_the_keys_of_every_page():
    first, second = ({"credential_id": str(id)} for id in (FIRST, SECOND))
    key = {**KEY, "expires_at": None, "usable": True, "pending_public_key": None}
    site = {"facility_id": SITE, "code": "lakeside", "name": "Lakeside"}
    service = Service(
        httpx2.Response(200, json={"facility": {"code": "lakeside"}}),
        found(site),
        httpx2.Response(200, json=site),
        httpx2.Response(200, json={"items": [first], "next_cursor": "further"}),
        found(second),
        httpx2.Response(200, json=key),
        httpx2.Response(200, json=key),
    )
    result = service.run("card")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["credentials"]) == 2
    assert service.calls[4].url.params["cursor"] == "further"
    assert [call.url.path for call in service.calls[5:]] == [
        f"/federation/credentials/{FIRST}",
        f"/federation/credentials/{SECOND}",
    ]


def test_a_new_peer_is_registered_with_its_keys(card: Path):
    service = Service(
        found(),
        httpx2.Response(201, json={"facility_id": SITE}),
        httpx2.Response(201, json={"credential_id": SITE}),
        httpx2.Response(200, json={"trust_anchor_credential_ids": []}),
    )
    result = service.run("add-peer", str(card), "--yes")
    assert result.exit_code == 0, result.output
    assert [call.url.path for call in service.calls[1:3]] == [
        "/federation/facilities",
        "/federation/credentials",
    ]
    assert json.loads(service.calls[2].content) == {"facility_id": SITE, **KEY}
    assert grouped(key_fingerprint(KEY["public_key"]))[0] in result.stdout


@pytest.mark.parametrize(
    ("here", "path"),
    [
        (row(), None),
        (row(public_key=public_key("older"), pending_public_key=KEY["public_key"]), None),
        (row(public_key=public_key("older")), f"/federation/credentials/{SITE}/rotation/start"),
        (row(public_key=public_key("older"), status="Revoked"), "/federation/credentials"),
    ],
)
def test_a_known_key_stays_and_a_new_one_begins_a_rotation(
    here: dict[str, Any], path: str | None, card: Path
):
    service = Service(
        found({"facility_id": SITE}),
        found(here),
        *([httpx2.Response(201, json={"credential_id": SITE})] if path else []),
        httpx2.Response(200, json={"trust_anchor_credential_ids": []}),
    )
    assert service.run("add-peer", str(card), "--yes").exit_code == 0
    sent = [call.url.path for call in service.calls if call.method == "POST"]
    assert sent == ([path] if path else [])


def test_a_person_compares_the_fingerprints_before_anything_is_sent(card: Path):
    # Nothing listens at this address: a call would end with another exit code.
    environment = {"BEAMKEEP_URL": "http://127.0.0.1:9"}
    words = BEAMKEEP, "federation", "add-peer", str(card)
    with at_terminal(*words, environment=environment) as terminal:
        shown = terminal.wait_for("[y/N]")
        assert all(len(line) <= COLUMNS for line in shown.splitlines())
        for line in grouped(key_fingerprint(KEY["public_key"])):
            assert line in shown
        terminal.type("n\n")
        assert "Nothing more was done." in terminal.rest()
        assert terminal.process.wait(60) == 1


@pytest.mark.parametrize("verb", ["", "card", "add-peer", "check-rotation", "export", "import"])
def test_the_help_fits_a_screen(verb: str):
    shown = screen(*["federation", verb][: 2 if verb else 1], "--help")
    assert shown.code == 0
    assert len(shown.lines) <= 24
    assert all(len(line) <= COLUMNS for line in shown.lines)


ROTATION: dict[str, Any] = {
    "previous_key_fingerprint": key_fingerprint(public_key("seal")),
    "new_key_fingerprint": key_fingerprint(public_key("seal-2")),
    "sequence_number": 7,
}
ANCHORS = [
    {
        "purpose": purpose,
        "public_key": public_key(name),
        "fingerprint": key_fingerprint(public_key(name)),
    }
    for name, purpose in (("seal", "SealOnlineSigning"), ("root", "SealOfflineRoot"))
]


def seal(by: str = "root", code: str = "north-ring", **changes: Any) -> dict[str, Any]:
    signature = signed(
        by, SignaturePrefix.SEAL_ROTATION, {"facility_code": "north-ring", **ROTATION}
    )
    pending = {"new_public_key": public_key("seal-2"), "offline_root_signature": signature}
    return {"facility_code": code, "last_rotation": {**ROTATION, **pending, **changes}}


def test_a_rotation_that_the_root_signed_is_good():
    assert rotation_fault(seal(), ANCHORS) is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda: {"facility_code": "x", "last_rotation": None}, "not been rotated"),
        (lambda: seal(offline_root_signature=None), "did not sign"),
        (lambda: seal(by="seal"), "No offline root"),
        (lambda: seal(code="elsewhere"), "No offline root"),
        (lambda: seal(sequence_number=8), "No offline root"),
        (lambda: seal(offline_root_signature="short"), "No offline root"),
        (lambda: seal(new_public_key=public_key("another")), "fingerprint"),
        (lambda: seal(previous_key_fingerprint="0" * 64), "previous key"),
    ],
)
def test_a_rotation_that_the_root_did_not_sign_is_not(
    given: Callable[[], dict[str, Any]], sentence: str
):
    assert sentence in (rotation_fault(given(), ANCHORS) or "")


def test_a_fingerprint_has_16_groups_of_4():
    lines = grouped(urlsafe_b64encode(b"x" * 48).decode())
    assert [len(line.split()) for line in lines] == [8, 8]
    assert {len(group) for line in lines for group in line.split()} == {4}
