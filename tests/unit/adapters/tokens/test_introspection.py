"""Opaque tokens: what a provider may answer, and what each answer is worth."""

import asyncio
import logging
from base64 import b64decode
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import parse_qs

import anyio
import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.support.provider_harness import ProviderHarness

from beamkeep.adapters.tokens.introspection import CONCURRENT_REQUESTS
from beamkeep.adapters.tokens.providers import IntrospectionProvider
from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    MalformedCredentialsError,
)
from beamkeep.testing.tokens import ABSENT, AUDIENCE, NOW, claims, mint

pytestmark = pytest.mark.anyio

ASKED = "https://asked.test"
SECRET = "s3cret:+ %é"
GOOD: dict[str, object] = {
    "active": True,
    "sub": "7f3a",
    "client_id": "console",
    "aud": AUDIENCE,
    "iss": ASKED,
    "exp": NOW + 3600,
    "iat": NOW - 10,
    "token_type": "Bearer",
}


def said(**changes: object) -> dict[str, object]:
    return {each: value for each, value in (GOOD | changes).items() if value is not ABSENT}


class Asked(ProviderHarness):
    """A provider that is asked about every token."""

    def __init__(self, **settings: object) -> None:
        provider = IntrospectionProvider.model_validate(
            {
                "issuer": ASKED,
                "endpoint": f"{ASKED}/introspect",
                "client_id": "beam keep",
                "client_secret": SECRET,
                "audiences": [AUDIENCE],
            }
            | settings
        )
        super().__init__(provider, ASKED)

    def usual_answer(self) -> dict[str, object]:
        return GOOD

    def says(self, answer: dict[str, object]) -> None:
        self.answer = httpx2.Response(200, json=answer)


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    asked = Asked()
    async with asked.http:
        yield asked


ACCEPTED: dict[str, tuple[dict[str, object], str]] = {
    "a person": (said(), "7f3a"),
    "no client": (said(client_id=ABSENT), "7f3a"),
    "no issuer": (said(iss=ABSENT), "7f3a"),
    "no token type": (said(token_type=ABSENT), "7f3a"),
    "no time of issue": (said(iat=ABSENT), "7f3a"),
    "ours among other audiences": (said(aud=["https://other.test", AUDIENCE]), "7f3a"),
    "valid from within the leeway": (said(nbf=NOW + 60), "7f3a"),
    "expired within the leeway": (said(exp=NOW - 59), "7f3a"),
}

REFUSED: dict[str, dict[str, object]] = {
    "not active": {"active": False},
    "active missing": said(active=ABSENT),
    "active a text": said(active="true"),
    "active a number": said(active=1),
    "active null": said(active=None),
    "audience missing": said(aud=ABSENT),
    "audience null": said(aud=None),
    "audience another": said(aud="https://other.test"),
    "audience our prefix": said(aud="https://beamkeep"),
    "audience a list of others": said(aud=["https://other.test"]),
    "audience a number": said(aud=[AUDIENCE, 1]),
    "issuer another": said(iss="https://other.test"),
    "issuer with a slash at the end": said(iss=f"{ASKED}/"),
    "issuer null": said(iss=None),
    "expiry missing": said(exp=ABSENT),
    "expiry past": said(exp=NOW - 60),
    "expiry a text": said(exp=str(NOW)),
    "expiry true": said(exp=True),
    "not before the future": said(nbf=NOW + 61),
    "not before a text": said(nbf="0"),
    "issued in the future": said(iat=NOW + 61),
    "bound to a key": said(cnf={"jkt": "x"}),
    "token type of a bound token": said(token_type="DPoP"),
    "token type a number": said(token_type=1),
    "neither subject nor client": said(sub=ABSENT, client_id=ABSENT),
    "a client without a subject": said(sub=ABSENT),
    "subject null": said(sub=None),
    "subject empty": said(sub=""),
    "subject too long": said(sub="s" * 256),
    "subject with a null character": said(sub="a\0"),
    "client a number": said(client_id=1),
    "client empty and no subject": said(sub=ABSENT, client_id=""),
}

NO_ANSWERS: dict[str, httpx2.Response | Exception] = {
    "no connection": httpx2.ConnectError("refused"),
    "too slow": httpx2.ReadTimeout("slow"),
    "our client refused": httpx2.Response(401, json={"error": "invalid_client"}),
    "forbidden": httpx2.Response(403, json=GOOD),
    "bad request": httpx2.Response(400, json={"error": "invalid_request"}),
    "server error": httpx2.Response(500, json=GOOD),
    "created": httpx2.Response(201, json=GOOD),
    "redirect": httpx2.Response(307, headers={"location": "https://evil.test"}),
    "not JSON": httpx2.Response(200, text="active"),
    "an array": httpx2.Response(200, json=[GOOD]),
    "active twice": httpx2.Response(200, text='{"active": false, "active": true}'),
    "a depth bomb": httpx2.Response(200, text="[" * 200_000),
    "too large": httpx2.Response(200, json=said(note="x" * 300_000)),
}


@pytest.mark.parametrize(("answer", "subject"), ACCEPTED.values(), ids=ACCEPTED)
async def test_an_active_token_is_accepted(asked: Asked, answer: dict[str, object], subject: str):
    asked.says(answer)
    principal = await asked.providers.verify("opaque")
    assert (principal.issuer, principal.subject) == (ASKED, subject)
    assert principal.expires_at == answer["exp"]


@pytest.mark.parametrize("answer", REFUSED.values(), ids=REFUSED)
async def test_any_other_answer_refuses_the_token(asked: Asked, answer: dict[str, object]):
    asked.says(answer)
    await asked.refuses()


NOT_A_CLIENT: dict[str, dict[str, object]] = {
    "a person named otherwise": said(sub=ABSENT, username="lise"),
    "a person named by nothing": said(sub=ABSENT, username=None),
    "subject null": said(sub=None),
    "subject empty": said(sub=""),
    "subject a list": said(sub=["console"]),
    "no client": said(sub=ABSENT, client_id=ABSENT),
}


async def test_a_token_without_a_subject_is_its_clients_only_where_the_provider_is_said_to_do_so():
    for declared in (False, True):
        asked = Asked(client_credentials=declared)
        asked.says(said(sub=ABSENT))
        if declared:
            assert (await asked.providers.verify("opaque")).subject == "console"
        else:
            with pytest.raises(InvalidTokenError) as refused:
                await asked.providers.verify("opaque")
            assert refused.value.fault.part == "sub"
            assert "set client_credentials of its entry to true" in refused.value.fault.remedy
        await asked.http.aclose()


@pytest.mark.parametrize("answer", NOT_A_CLIENT.values(), ids=NOT_A_CLIENT)
async def test_a_persons_token_without_a_subject_is_never_its_clients(answer: dict[str, object]):
    asked = Asked(client_credentials=True)
    async with asked.http:
        asked.says(answer)
        await asked.refuses()


async def test_people_who_log_in_by_one_client_do_not_become_one_actor():
    asked = Asked()
    async with asked.http:
        for person in ("lise", "otto"):
            asked.says(said(sub=ABSENT, username=person))
            await asked.refuses(f"token-of-{person}")


@pytest.mark.parametrize("answer", NO_ANSWERS.values(), ids=NO_ANSWERS)
async def test_without_an_answer_nobody_is_let_in_and_the_next_try_asks_again(
    asked: Asked, answer: httpx2.Response | Exception
):
    asked.answer = answer
    for _ in range(2):
        await asked.cannot_tell()
    assert len(asked.requests) == 2


async def test_a_token_the_provider_does_not_introspect_is_refused(asked: Asked):
    asked.answer = httpx2.Response(400, json={"error": "unsupported_token_type"})
    await asked.refuses()


async def test_an_answer_that_does_not_come_is_given_up(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("beamkeep.adapters.tokens.endpoint.RESPONSE_TIMEOUT", 0.01)
    asked.gate = anyio.Event()
    with anyio.fail_after(5):
        await asked.cannot_tell()


async def test_the_provider_is_asked_by_post_as_our_client(asked: Asked):
    await asked.providers.verify("opaque/token+1==")
    (question,) = asked.requests
    assert question.method == "POST"
    assert question.url == f"{ASKED}/introspect"
    assert parse_qs(question.content.decode()) == {
        "token": ["opaque/token+1=="],
        "token_type_hint": ["access_token"],
    }
    scheme, _, credentials = question.headers["authorization"].partition(" ")
    assert scheme == "Basic"
    assert b64decode(credentials) == b"beam+keep:s3cret%3A%2B+%25%C3%A9"


async def test_the_secret_may_be_in_a_file_and_change(tmp_path: Path):
    file = tmp_path / "secret"
    asked = Asked(client_secret=None, client_secret_file=file)
    async with asked.http:
        await asked.cannot_tell()
        for secret in ("first", "second"):
            file.write_text(f"{secret}\n")
            await asked.providers.verify(f"opaque-{secret}")
    sent = [each.headers["authorization"].split()[1] for each in asked.requests]
    assert list(map(b64decode, sent)) == [b"beam+keep:first", b"beam+keep:second"]


async def test_a_provider_that_names_no_audience_must_be_configured_so():
    asked = Asked(audiences=())
    async with asked.http:
        asked.says(said(aud=ABSENT))
        await asked.accepts()
        asked.says(said(aud="https://other.test"))
        await asked.refuses("another")


async def test_a_verified_token_is_cached_for_thirty_seconds(asked: Asked):
    await asked.accepts()
    asked.says({"active": False})
    asked.after(29.9)
    await asked.accepts()
    asked.after(30)
    await asked.refuses()
    assert len(asked.requests) == 2


async def test_a_verified_token_is_not_cached_beyond_its_expiry(asked: Asked):
    asked.says(said(exp=NOW + 10))
    await asked.accepts()
    asked.says({"active": False})
    asked.after(10)
    await asked.refuses()


async def test_a_refused_token_is_remembered_for_five_seconds(asked: Asked):
    asked.says({"active": False})
    for _ in range(10):
        await asked.refuses()
    assert len(asked.requests) == 1
    asked.says(GOOD)
    asked.after(4.9)
    await asked.refuses()
    asked.after(5)
    await asked.accepts()


async def test_one_token_sent_often_at_once_is_asked_about_once(asked: Asked):
    asked.gate = anyio.Event()
    waiting = [asyncio.create_task(asked.providers.verify("opaque")) for _ in range(20)]
    await asyncio.sleep(0)
    first, *others = waiting
    first.cancel()
    asked.gate.set()
    assert {each.subject for each in await asyncio.gather(*others)} == {"7f3a"}
    assert len(asked.requests) == 1


async def test_a_provider_is_asked_only_so_many_questions_at_once(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
):
    asked.gate = anyio.Event()
    names = [f"opaque{number}" for number in range(CONCURRENT_REQUESTS + 10)]
    waiting = [asyncio.create_task(asked.providers.verify(name)) for name in names]
    while len(asked.requests) < CONCURRENT_REQUESTS:
        await asyncio.sleep(0.001)
    monkeypatch.setattr("beamkeep.adapters.tokens.introspection.RESPONSE_TIMEOUT", 0.001)
    await asked.cannot_tell("one-too-many")
    assert len(asked.requests) == CONCURRENT_REQUESTS
    asked.gate.set()
    await asyncio.gather(*waiting)
    assert len(asked.requests) == len(names)


async def test_a_question_that_may_not_be_asked_is_not_asked(asked: Asked):
    class TooManyError(Exception):
        pass

    @contextmanager
    def refusing() -> Generator[None]:
        raise TooManyError
        yield

    with pytest.raises(TooManyError):
        await asked.providers.verify("opaque", refusing)
    assert not asked.requests
    await asked.providers.verify("opaque", nullcontext)
    # What is known needs no question.
    await asked.providers.verify("opaque", refusing)


async def test_a_signed_token_of_an_introspected_issuer_is_asked_about(asked: Asked):
    token = mint(rsa.generate_private_key(65537, 2048), body=claims(iss=ASKED))
    await asked.providers.verify(token)
    assert len(asked.requests) == 1


async def test_a_signed_token_of_an_unknown_issuer_is_not_asked_about(asked: Asked):
    good = mint(rsa.generate_private_key(65537, 2048), body=claims())
    head, body, signature = good.split(".")
    for token in (good, f"{head}.{body}", f"{head}A.{body}.{signature}", f"{good}.a.b"):
        await asked.refuses(token)
    assert not asked.requests


@pytest.mark.parametrize(
    "token", ["", "=", "two words", "line\n", "=first", "café", "\ud800", "a,b"]
)
async def test_what_cannot_be_a_bearer_token_is_not_asked_about(asked: Asked, token: str):
    with pytest.raises(MalformedCredentialsError):
        await asked.providers.verify(token)
    assert not asked.requests


async def test_neither_token_nor_secret_is_logged_or_shown(
    asked: Asked, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    for answer in (*NO_ANSWERS.values(), httpx2.Response(200, json={"active": False})):
        asked.answer = answer
        with pytest.raises((InvalidTokenError, IdentityProviderUnavailableError)) as refusal:
            await asked.providers.verify("very-private-token")
        told += [repr(refusal.value), repr(refusal.value.__context__), repr(refusal.value.facts)]
    text = caplog.text + "".join(told)
    assert "very-private" not in text
    assert "s3cret" not in text


async def test_a_clock_that_is_set_back_does_not_prolong_a_revoked_token(asked: Asked):
    await asked.accepts()
    asked.says({"active": False})
    asked.set_back = 10.0
    asked.after(30)
    await asked.refuses()


async def test_a_provider_without_our_secret_cannot_vouch(tmp_path: Path):
    file = tmp_path / "secret"
    asked = Asked(client_secret=None, client_secret_file=file)
    async with asked.http:
        assert not await asked.providers.any_available()
        unreadable = f"The client secret of {ASKED} cannot be read from {file}."
        remedy = "Create the file and make it readable."
        assert await asked.providers.faults() == [f"{unreadable} {remedy}"]
        file.write_text(SECRET)
        assert await asked.providers.any_available()
        # Only a check asks the provider itself.
        assert asked.requests == []
        assert await asked.providers.faults() == []
        assert [r.method for r in asked.requests] == ["POST", "GET"]


UNANSWERED: dict[str, httpx2.Response | Exception] = {
    "status 401. Check client_id and its secret, and permit the client to introspect.": (
        httpx2.Response(401)
    ),
    "no answer. Check the address, and that this host can reach it.": httpx2.ConnectError("down"),
}


@pytest.mark.parametrize(("cause", "answer"), UNANSWERED.items())
async def test_a_provider_that_answers_no_question_is_named(
    asked: Asked, cause: str, answer: httpx2.Response | Exception
):
    asked.answer = answer
    assert await asked.providers.faults() == [
        f"{ASKED} does not answer beam keep at {ASKED}/introspect: {cause}"
    ]


@pytest.mark.parametrize(
    ("published", "contradicted"),
    [
        ({}, False),
        ({"issuer": ASKED, "introspection_endpoint": f"{ASKED}/introspect"}, False),
        ({"issuer": f"{ASKED}/"}, True),
        ({"issuer": ASKED, "introspection_endpoint": f"{ASKED}/other"}, True),
    ],
)
async def test_metadata_that_contradict_the_entry_are_named(
    asked: Asked, published: dict[str, object], contradicted: bool
):
    asked.says(published)
    named = [f"The metadata of {ASKED} have the {list(published)[-1]}"] if contradicted else []
    assert [fault[: len(each)] for fault in await asked.providers.faults() for each in named] == (
        named
    )
    assert bool(await asked.providers.faults()) is contradicted
