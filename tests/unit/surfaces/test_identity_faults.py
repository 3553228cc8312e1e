"""Forty ways to get identity wrong: each is named to those who run the service, not to callers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from structlog.testing import capture_logs

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.tokens.diagnosis import diagnose
from beamkeep.adapters.tokens.providers import IdentityProviders, IntrospectionProvider, JwtProvider
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.kernel import Refusal
from beamkeep.runtime import Service
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    MalformedCredentialsError,
    MissingTokenError,
    UnregisteredLoginError,
)
from beamkeep.surfaces.http.edge import EdgeOptions
from beamkeep.surfaces.http.pages import application
from beamkeep.surfaces.problem import problem
from beamkeep.telemetry import Telemetry
from beamkeep.testing.installation import FACTS, ISSUER
from beamkeep.testing.service import ADMIN, call, enrol, memory_service
from beamkeep.testing.tokens import ABSENT, AUDIENCE, NOW, Clock, claims, header, jwk, mint
from beamkeep.testing.web import GENEROUS, RESOURCE, always_ready, http_client

pytestmark = pytest.mark.anyio

KEY, OTHER = rsa.generate_private_key(65537, 2048), rsa.generate_private_key(65537, 2048)
ASKED = "https://asked.test"
SUBJECT = "subject-7f3a"
OPAQUE = "opaque-token-of-somebody"
DAY = 24 * 3600
PUBLISHED = httpx2.Response(200, json={"keys": [jwk(KEY, "rsa")]})
DOWN = httpx2.ConnectError("down")
GENERAL = InvalidTokenError()
SILENT = IdentityProviderUnavailableError()
DENIED = UnauthorizedError("Call: list_zones. Surface: HTTP. Ask an administrator for a grant.")


def signed(**changes: object) -> str:
    return mint(KEY, body=claims(**{"sub": SUBJECT, **changes}))


def headed(**changes: object) -> str:
    return mint(KEY, header(**changes), claims(sub=SUBJECT))


def without(claim: str) -> str:
    return mint(KEY, body=claims(**{"sub": SUBJECT, claim: ABSENT}))


def said(**changes: object) -> httpx2.Response:
    answer = {"active": True, "sub": SUBJECT, "client_id": "console", "aud": AUDIENCE}
    told = answer | {"exp": NOW + 3600} | changes
    return httpx2.Response(200, json={n: v for n, v in told.items() if v is not ABSENT})


class Fault(NamedTuple):
    """One way to get identity wrong."""

    reason: str
    """The label of the metric and of the log line."""
    text: str
    """The beginning of what `beamkeep check --token` prints."""
    token: str = OPAQUE
    refusal: Refusal = GENERAL
    """What the caller is told."""
    signing: Mapping[str, object] = {}
    """Changes to the entry of the provider that signs tokens."""
    keys: httpx2.Response | Exception = PUBLISHED
    answer: httpx2.Response | Exception = said()
    asking: Mapping[str, object] = {}
    """Changes to the entry of the provider that is asked."""
    default: str | None = ASKED


GOOD = signed()
SIGNED_PARTS = "token: expected header, claims and signature: 3 parts of base64url, 2 of them JSON"
FAULTS: dict[str, Fault] = {
    # The token as a text
    "too long": Fault(
        "too_long", "token: expected at most 8192 characters, found 9000", "a" * 9000
    ),
    "cut off": Fault("malformed", SIGNED_PARTS, GOOD[: GOOD.rindex(".")]),
    "encrypted": Fault("malformed", SIGNED_PARTS, GOOD + ".YQ.YQ"),
    "pasted with its end twice": Fault("malformed", SIGNED_PARTS, GOOD + GOOD[-10:] + "="),
    "claims that are no JSON": Fault("malformed", SIGNED_PARTS, mint(KEY, body=b"no json")),
    "claims named twice": Fault("malformed", SIGNED_PARTS, mint(KEY, body=b'{"a":1,"a":2}')),
    "opaque, and nobody to ask": Fault(
        "opaque", "token: expected a signed token, found an opaque token. Set DEFAULT", default=None
    ),
    # The issuer
    "another issuer": Fault(
        "unknown_issuer",
        f"iss: expected {ISSUER} or {ASKED}, found https://other.test.",
        signed(iss="https://other.test"),
    ),
    "a slash at the end of the issuer": Fault(
        "unknown_issuer",
        f"iss: expected {ISSUER} or {ASKED}, found {ISSUER}/.",
        signed(iss=ISSUER + "/"),
    ),
    "no issuer": Fault(
        "unknown_issuer", f"iss: expected {ISSUER} or {ASKED}, found nothing.", without("iss")
    ),
    # The header
    "an ID token": Fault("typ", "header typ: expected at+jwt, found JWT.", headed(typ="JWT")),
    "no type": Fault("typ", "header typ: expected at+jwt, found nothing.", headed(typ=ABSENT)),
    "another algorithm": Fault(
        "alg", "header alg: expected RS256, found PS256.", mint(KEY, header(alg="PS256"))
    ),
    "an algorithm that the entry does not name": Fault(
        "alg", "header alg: expected ES256, found RS256.", GOOD, signing={"algorithms": ["ES256"]}
    ),
    "no key id": Fault("kid", "header kid: expected 1 to 256 visible", headed(kid=ABSENT)),
    "a key in the header": Fault(
        "header", "header: expected none of b64, crit, enc,", headed(jku="https://evil.test")
    ),
    # The audience
    "another audience": Fault(
        "aud",
        f"aud: expected {AUDIENCE}, found https://other.test.",
        signed(aud="https://other.test"),
    ),
    "no audience": Fault("aud", f"aud: expected {AUDIENCE}, found nothing.", without("aud")),
    "only the audience of Keycloak itself": Fault(
        "aud", f"aud: expected {AUDIENCE}, found account.", signed(aud=["account"])
    ),
    # Other claims
    "no subject": Fault("sub", "sub: expected 1 to 255 printable", without("sub")),
    "no client": Fault("client_id", "client_id: expected 1 to 255", without("client_id")),
    "no token id": Fault("jti", "jti: expected 1 to 255 printable", without("jti")),
    "no expiry": Fault("exp", "exp: expected seconds since 1970", without("exp")),
    "no time of issue": Fault("iat", "iat: expected seconds since 1970", without("iat")),
    "a time as a text": Fault("exp", "exp: expected seconds since 1970", signed(exp="soon")),
    "bound to a key": Fault("cnf", "cnf: expected nothing, found a key", signed(cnf={"jkt": "x"})),
    # Times
    "expired": Fault(
        "expired",
        "exp: expected a time after 2027-01-15T07:59:00+00:00, found 2027-01-15T07:58:59+00:00.",
        signed(iat=NOW - 3600, exp=NOW - 61),
    ),
    "a clock that is behind": Fault(
        "not_yet_valid",
        "iat: expected a time before 2027-01-15T08:01:00+00:00, found 2027-01-15T08:01:01+00:00.",
        signed(iat=NOW + 61),
    ),
    "not valid yet": Fault("not_yet_valid", "nbf: expected a time before", signed(nbf=NOW + 600)),
    "valid for a week": Fault(
        "lifetime", "exp: expected at most 86400 seconds after iat", signed(exp=NOW + 7 * DAY)
    ),
    # The keys
    "an unknown key": Fault(
        "unknown_key",
        "header kid: expected one of the published keys: rsa (RS256), found new (RS256).",
        headed(kid="new"),
    ),
    "a key set of another purpose": Fault(
        "unknown_key",
        "header kid: expected one of the published keys: none, found rsa (RS256).",
        GOOD,
        keys=httpx2.Response(200, json={"keys": [jwk(KEY, "rsa", use="enc")]}),
    ),
    "signed by another key": Fault(
        "signature", "signature: expected a signature by the key rsa", mint(OTHER, body=claims())
    ),
    "no answer for the keys": Fault("keys", "key set: expected a", GOOD, SILENT, keys=DOWN),
    "a page in place of the keys": Fault(
        "keys", "key set: expected a", GOOD, SILENT, keys=httpx2.Response(200, text="<html>")
    ),
    "a file of keys that is missing": Fault(
        "keys",
        "key set: expected a JSON Web Key Set, found none that can be read. Run `beamkeep check`",
        GOOD,
        SILENT,
        signing={"jwks_uri": None, "jwks_file": "/nowhere/jwks.json"},
    ),
    # Introspection
    "revoked": Fault("inactive", "active: expected true, found false.", answer=said(active=False)),
    "an introspected token for another service": Fault(
        "aud", f"aud: expected {AUDIENCE}, found https://o.test.", answer=said(aud="https://o.test")
    ),
    "an introspected token of another issuer": Fault(
        "iss", f"iss: expected {ASKED}, found https://o.test.", answer=said(iss="https://o.test")
    ),
    "an introspected token without a subject": Fault(
        "sub", "sub: expected the subject of the token, found nothing.", answer=said(sub=ABSENT)
    ),
    "a person's token without a subject": Fault(
        "sub",
        "sub: expected the subject of the token, found nothing, and a username",
        answer=said(sub=ABSENT, username="somebody"),
        asking={"client_credentials": True},
    ),
    "an introspected token that is not for bearers": Fault(
        "token_type", "token_type: expected Bearer, found DPoP.", answer=said(token_type="DPoP")
    ),
    "an expired answer": Fault("expired", "exp: expected a time after", answer=said(exp=NOW - 61)),
    "a signed token that is not introspected": Fault(
        "not_introspected",
        f"token: expected a token that {ASKED} introspects, found unsupported_token_type.",
        answer=httpx2.Response(400, json={"error": "unsupported_token_type"}),
    ),
    "a wrong client secret": Fault(
        "introspection_client",
        "client_secret: expected a client beamkeep that may introspect, found status 401.",
        refusal=SILENT,
        answer=httpx2.Response(401),
    ),
    "a client that may not introspect": Fault(
        "introspection_client",
        "client_secret: expected a client beamkeep that may introspect, found status 403.",
        refusal=SILENT,
        answer=httpx2.Response(403),
    ),
    "a secret that cannot be read": Fault(
        "client_secret",
        "client_secret_file: expected a readable file /nowhere/secret, found none.",
        refusal=SILENT,
        asking={"client_secret": None, "client_secret_file": "/nowhere/secret"},
    ),
    "no answer to a question": Fault(
        "introspection",
        "endpoint: expected a JSON object with status 200, found no answer.",
        refusal=SILENT,
        answer=DOWN,
    ),
    "a page in place of an answer": Fault(
        "introspection",
        "endpoint: expected a JSON object with status 200, found status 404.",
        refusal=SILENT,
        answer=httpx2.Response(404, text="<html>"),
    ),
    # The login
    "nobody here has this login": Fault(
        "unregistered",
        f"login: the token is valid, and no actor is bound to the subject stranger of {ISSUER}.",
        signed(sub="stranger"),
        UnregisteredLoginError(),
    ),
    "quotes around the token": Fault(
        "malformed_credentials",
        "Authorization: expected one Bearer token, found",
        f'"{GOOD}"',
        MalformedCredentialsError(),
    ),
}


class Site:
    """A service whose identity providers are configured and answer as a fault says."""

    def __init__(self, service: Service, store: MemoryStore, fault: Fault) -> None:
        self.service, self.store, self.fault, self.telemetry = service, store, fault, Telemetry()
        signing = {"issuer": ISSUER, "audiences": [AUDIENCE], "jwks_uri": f"{ISSUER}/jwks"}
        asking = {
            "issuer": ASKED,
            "endpoint": f"{ASKED}/introspect",
            "client_id": "beamkeep",
            "client_secret": "s3cret",
            "audiences": [AUDIENCE],
        }
        self.entries = [
            JwtProvider.model_validate({**signing, **fault.signing}),
            IntrospectionProvider.model_validate({**asking, **fault.asking}),
        ]

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        given = self.fault.keys if request.method == "GET" else self.fault.answer
        if isinstance(given, Exception):
            raise given
        return httpx2.Response(given.status_code, content=given.content)

    def providers(self, http: httpx2.AsyncClient) -> IdentityProviders:
        return IdentityProviders(self.entries, self.fault.default, http, Clock())

    def http(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))

    async def diagnosis(self) -> tuple[bool, str]:
        """What `beamkeep check --token` finds."""
        async with self.http() as http:
            return await diagnose(self.fault.token, self.providers(http), self.store)

    async def call(self, **headers: str) -> tuple[httpx2.Response, list[Any]]:
        """What the caller is answered, and the lines that are logged."""
        async with self.http() as http:
            options = EdgeOptions(RESOURCE, self.providers(http), limits=GENEROUS)
            edge = application(
                self.service,
                options,
                ready=always_ready,
                metrics=self.telemetry.exposition,
                telemetry=self.telemetry,
            )
            async with http_client(edge) as caller:
                with capture_logs() as logged:
                    answer = await caller.get("/zones", headers=headers)
        return answer, [line for line in logged if line["event"] != "call"]

    def counted(self, reason: str) -> float | None:
        return self.telemetry.registry.get_sample_value(
            "beamkeep_tokens_refused_total", {"reason": reason}
        )


@pytest.fixture(scope="module")
async def kept() -> tuple[Service, MemoryStore]:
    service, store = await memory_service()
    await enrol(service, SUBJECT, "list_zones")
    await enrol(service, SUBJECT, issuer=ASKED)
    return service, store


def site(kept: tuple[Service, MemoryStore], fault: Fault) -> Site:
    return Site(*kept, fault)


def test_there_are_at_least_forty():
    assert len(FAULTS) >= 40


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_check_names_the_claim_and_what_would_clear_it(
    kept: tuple[Service, MemoryStore], fault: Fault
):
    accepted, text = await site(kept, fault).diagnosis()
    assert not accepted
    assert text.startswith(fault.text)
    assert fault.token not in text
    remedy = text.removeprefix(fault.text).rpartition(". ")[2]
    assert len(remedy) > 15
    assert remedy.endswith(".")


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_one_line_says_why_and_the_caller_learns_no_more_than_is_safe(
    kept: tuple[Service, MemoryStore], fault: Fault
):
    here = site(kept, fault)
    answer, logged = await here.call(authorization=f"Bearer {fault.token}")
    assert (answer.status_code, answer.json()) == (fault.refusal.status, problem(fault.refusal))
    (line,) = logged
    assert (line["event"], line["reason"]) == ("token refused", fault.reason)
    assert here.counted(fault.reason) == 1
    told = f"{line} {answer.text} {answer.headers}"
    assert not [secret for secret in (fault.token, SUBJECT, "stranger", "s3cret") if secret in told]


async def test_a_call_without_a_token_is_named_too(kept: tuple[Service, MemoryStore]):
    here = site(kept, Fault("missing", ""))
    answer, (line,) = await here.call()
    assert (answer.status_code, answer.json()) == (401, problem(MissingTokenError()))
    assert (line["event"], line["part"]) == ("token refused", "Authorization")
    assert here.counted("missing") == 1


async def test_a_deactivated_actor_is_named_and_learns_only_that_it_may_not_call(
    kept: tuple[Service, MemoryStore],
):
    service, _ = kept
    gone = await enrol(service, "gone", "list_zones")
    await call(service, "deactivate_actor", {"actor_id": str(gone)})
    here = site(kept, Fault("", "", signed(sub="gone")))
    accepted, text = await here.diagnosis()
    assert not accepted
    assert text.startswith(f"actor: the token is valid, and its actor {gone} is barred")
    answer, (line,) = await here.call(authorization=f"Bearer {here.fault.token}")
    assert (answer.status_code, answer.json()) == (403, problem(DENIED))
    assert (line["event"], line["reason_code"]) == ("barred actor", "inactive_principal")


async def test_a_denied_caller_reads_whom_to_ask():
    contact = "Write to beamline-control@facility.example."
    store = MemoryStore(Codec(CATALOGUE.aggregates.values()))
    await prepare(store, store, ADMIN, open_for_development=False, facts=FACTS)
    service = compose(store, store, b"k" * 32, facts=FACTS, access_contact=contact)
    await enrol(service, SUBJECT)
    answer, _ = await Site(service, store, Fault("", "", GOOD)).call(authorization=f"Bearer {GOOD}")
    told = UnauthorizedError(f"Call: list_zones. Surface: HTTP. {contact}")
    assert (answer.status_code, answer.json()) == (403, problem(told))


async def test_a_good_token_opens_the_service_and_nothing_is_logged(
    kept: tuple[Service, MemoryStore],
):
    here = site(kept, Fault("", "", GOOD))
    accepted, text = await here.diagnosis()
    assert accepted
    assert text.startswith("The token is valid until 2027-01-15T09:00:00+00:00. Its actor is ")
    answer, logged = await here.call(authorization=f"Bearer {GOOD}")
    assert (answer.status_code, logged) == (200, [])


async def test_a_refused_answer_is_named_again_while_it_is_remembered(
    kept: tuple[Service, MemoryStore],
):
    here = site(kept, FAULTS["revoked"])
    async with here.http() as http:
        providers = here.providers(http)
        first, again = [await diagnose(OPAQUE, providers, here.store) for _ in range(2)]
    assert first == again
