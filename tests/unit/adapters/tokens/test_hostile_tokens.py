"""Every hostile token is refused, and the good one it was made from is not."""

import hmac
import json
from base64 import b64encode, urlsafe_b64decode
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm
from jwt.utils import raw_to_der_signature

from beamkeep.adapters.tokens.jwt import JwtVerifier, parse_jwt
from beamkeep.adapters.tokens.providers import IdentityProviders, IntrospectionProvider, JwtProvider
from beamkeep.runtime.tokens import InvalidTokenError, MalformedCredentialsError
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.tokens import (
    ABSENT,
    AUDIENCE,
    NOW,
    Clock,
    Members,
    claims,
    header,
    jwk,
    mint,
    segment,
)

pytestmark = pytest.mark.anyio

RSA = rsa.generate_private_key(65537, 2048)
WEAK = rsa.generate_private_key(65537, 1024)  # noqa: S505
OTHER = rsa.generate_private_key(65537, 2048)
P256 = ec.generate_private_key(ec.SECP256R1())
P384 = ec.generate_private_key(ec.SECP384R1())
ED = Ed25519PrivateKey.generate()
ED448 = Ed448PrivateKey.generate()

KEYS = [
    jwk(RSA, "rsa"),
    jwk(P256, "ec"),
    jwk(ED, "ed"),
    jwk(P384, "p384"),
    jwk(ED448, "ed448"),
    jwk(WEAK, "weak"),
    jwk(RSA, "encrypts", use="enc"),
    jwk(RSA, "only-ps256", alg="PS256"),
    jwk(RSA, "only-signs", key_ops=["sign"]),
    RSAAlgorithm.to_jwk(RSA, as_dict=True) | {"kid": "leaked", "key_ops": ["verify"]},
    {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA", "kid": "shared"},
    jwk(RSA, "k" * 257),
    jwk(RSA, "two words"),
    jwk(RSA, "bell\x07"),
    jwk(RSA, ""),
    jwk(RSA, "ключ"),
]
PEM = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
DER = RSA.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

GOOD = mint(RSA)
HEAD, BODY, SIGNATURE = GOOD.split(".")
DAY = 24 * 3600


def with_header(**changes: object) -> str:
    return mint(RSA, header(**changes))


def with_claims(**changes: object) -> str:
    return mint(RSA, body=claims(**changes))


def unsigned(algorithm: object, signature: str = "") -> str:
    return f"{segment(header(alg=algorithm))}.{BODY}.{signature}"


def hashed(secret: bytes, kid: str = "rsa") -> str:
    text = f"{segment(header(alg='HS256', kid=kid))}.{BODY}"
    return f"{text}.{segment(hmac.digest(secret, text.encode(), 'sha256'))}"


def spelled(part: Members, old: str, new: str) -> bytes:
    """The JSON of a part with one piece of its text replaced."""
    text = json.dumps(part)
    assert old in text
    return text.replace(old, new).encode()


def claims_spelled(old: str, new: str) -> str:
    return mint(RSA, body=spelled(claims(), old, new))


def elliptic_in_der() -> str:
    text, _, signature = mint(P256, header(alg="ES256", kid="ec"), signed_with="ES256").rpartition(
        "."
    )
    return f"{text}.{segment(raw_to_der_signature(_bytes_of(signature), ec.SECP256R1()))}"


def _bytes_of(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def one_bit_off(text: str) -> str:
    flipped = bytearray(_bytes_of(text))
    flipped[7] ^= 1
    return segment(bytes(flipped))


def last_bits_respelled(text: str) -> str:
    """The same bytes in other letters: the low bits of the last letter are unused."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    assert len(text) % 4
    return text[:-1] + letters[letters.index(text[-1]) + 1]


HOSTILE: dict[str, Callable[[], str]] = {
    # The algorithm
    "algorithm none": lambda: unsigned("none"),
    "algorithm None": lambda: unsigned("None"),
    "algorithm NONE": lambda: unsigned("NONE"),
    "algorithm nOnE": lambda: unsigned("nOnE"),
    "algorithm none and a signature": lambda: unsigned("none", SIGNATURE),
    "algorithm none with a space": lambda: unsigned("none ", SIGNATURE),
    "algorithm empty": lambda: unsigned("", SIGNATURE),
    "algorithm null": lambda: unsigned(None, SIGNATURE),
    "algorithm missing": lambda: with_header(alg=ABSENT),
    "algorithm a list": lambda: with_header(alg=["RS256"]),
    "algorithm in lower case": lambda: with_header(alg="rs256"),
    "algorithm unknown": lambda: with_header(alg="XX256"),
    "HS256 with the public key in PEM": lambda: hashed(PEM),
    "HS256 with the public key in DER": lambda: hashed(DER),
    "HS256 with the public key as JWK": lambda: hashed(json.dumps(jwk(RSA, "rsa")).encode()),
    "HS256 with an empty secret": lambda: hashed(b""),
    "HS256 with a published secret": lambda: hashed(
        b"secret-secret-secret-secret-secret", "shared"
    ),
    "RS512, which is not configured": lambda: mint(RSA, header(alg="RS512"), signed_with="RS512"),
    "PS256 where the issuer has only RS256": lambda: mint(
        RSA, header(alg="PS256"), claims(iss="https://plain.test"), "PS256"
    ),
    "RS256 header over a PS256 signature": lambda: mint(RSA, signed_with="PS256"),
    "PS256 header over an RS256 signature": lambda: with_header(alg="PS256"),
    "ES256 header with an RSA key": lambda: with_header(alg="ES256"),
    "RS256 header with an elliptic key": lambda: mint(P256, header(kid="ec"), signed_with="ES256"),
    "EdDSA header with an elliptic key": lambda: mint(
        P256, header(alg="EdDSA", kid="ec"), signed_with="ES256"
    ),
    "ES256 header on another curve": lambda: mint(
        P384, header(alg="ES256", kid="p384"), signed_with="ES384"
    ),
    "EdDSA header on another curve": lambda: mint(
        ED448, header(alg="EdDSA", kid="ed448"), signed_with="EdDSA"
    ),
    "ES256 with the signature in DER": elliptic_in_der,
    "ES256 with a signature of zeros": lambda: (
        f"{segment(header(alg='ES256', kid='ec'))}.{BODY}.{segment(bytes(64))}"
    ),
    # The key
    "key of another issuer": lambda: mint(OTHER, header(kid="other")),
    "key of another issuer under our id": lambda: mint(OTHER),
    "key that nobody published": lambda: mint(
        rsa.generate_private_key(65537, 2048), header(kid="rsa")
    ),
    "key too short": lambda: mint(WEAK, header(kid="weak")),
    "key published for encryption": lambda: with_header(kid="encrypts"),
    "key published for another algorithm": lambda: with_header(kid="only-ps256"),
    "key published without verify": lambda: with_header(kid="only-signs"),
    "key whose private half lies open": lambda: with_header(kid="leaked"),
    "key id missing": lambda: with_header(kid=ABSENT),
    "key id empty": lambda: with_header(kid=""),
    "key id null": lambda: with_header(kid=None),
    "key id a number": lambda: with_header(kid=1),
    "key id a list": lambda: with_header(kid=["rsa"]),
    "key id unknown": lambda: with_header(kid="rsa2"),
    "key id in upper case": lambda: with_header(kid="RSA"),
    "key id a path": lambda: with_header(kid="../../../../dev/null"),
    "key id a query": lambda: with_header(kid="rsa'OR'1'='1"),
    "key id too long": lambda: with_header(kid="k" * 257),
    "key id with a space": lambda: with_header(kid="two words"),
    "key id with a control character": lambda: with_header(kid="bell\x07"),
    "key id beyond ASCII": lambda: with_header(kid="ключ"),
    "key id with a line break": lambda: with_header(kid="rsa\n"),
    # Other header members
    "key address in the header": lambda: with_header(jku="https://evil.test/jwks"),
    "certificate address in the header": lambda: with_header(x5u="https://evil.test/cert"),
    "key in the header": lambda: mint(OTHER, header(jwk=jwk(OTHER, "rsa"))),
    "key in the header, signed by ours": lambda: with_header(jwk=jwk(RSA, "rsa")),
    "certificate in the header": lambda: with_header(x5c=[b64encode(DER).decode()]),
    "critical extension unknown": lambda: with_header(crit=["exp"], exp=1),
    "critical extension list empty": lambda: with_header(crit=[]),
    "critical extension b64": lambda: with_header(crit=["b64"], b64=True),
    "payload not encoded": lambda: with_header(b64=False),
    "payload not encoded, and critical": lambda: with_header(b64=False, crit=["b64"]),
    "b64 spelled out": lambda: with_header(b64=True),
    "compressed": lambda: with_header(zip="DEF"),
    "content encryption named": lambda: with_header(enc="A256GCM"),
    "type JWT": lambda: with_header(typ="JWT"),
    "type missing": lambda: with_header(typ=ABSENT),
    "type null": lambda: with_header(typ=None),
    "type a list": lambda: with_header(typ=["at+jwt"]),
    "type of a logout token": lambda: with_header(typ="logout+jwt"),
    "type of a proof of possession": lambda: with_header(typ="dpop+jwt"),
    "type with a parameter": lambda: with_header(typ="at+jwt; charset=utf-8"),
    "identity token": lambda: mint(
        RSA,
        header(typ="JWT"),
        claims(client_id=ABSENT, jti=ABSENT, nonce="n", azp="console", at_hash="x"),
    ),
    # The form
    "encrypted, five segments": lambda: (
        f"{segment(header(alg='RSA-OAEP', enc='A256GCM'))}.{SIGNATURE}.AAAA.{BODY}.AAAA"
    ),
    "one segment": lambda: HEAD,
    "two segments": lambda: f"{HEAD}.{BODY}",
    "four segments": lambda: f"{GOOD}.{SIGNATURE}",
    "four segments, the last empty": lambda: f"{GOOD}.",
    "only dots": lambda: "..",
    "header empty": lambda: f".{BODY}.{SIGNATURE}",
    "payload empty": lambda: f"{HEAD}..{SIGNATURE}",
    "signature stripped": lambda: f"{HEAD}.{BODY}.",
    "signature truncated": lambda: GOOD[:-8],
    "signature with one bit flipped": lambda: f"{HEAD}.{BODY}.{one_bit_off(SIGNATURE)}",
    "signature of another token": lambda: (
        f"{HEAD}.{BODY}.{with_claims(sub='other').rpartition('.')[2]}"
    ),
    "signature respelled": lambda: f"{HEAD}.{BODY}.{last_bits_respelled(SIGNATURE)}",
    "payload swapped": lambda: f"{HEAD}.{segment(claims(sub='admin'))}.{SIGNATURE}",
    "header swapped": lambda: f"{segment(header(extra=1))}.{BODY}.{SIGNATURE}",
    "segments in another order": lambda: f"{BODY}.{HEAD}.{SIGNATURE}",
    "padding at the end": lambda: f"{GOOD}==",
    "padding inside": lambda: f"{HEAD}=.{BODY}.{SIGNATURE}",
    "not the URL alphabet": lambda: f"{HEAD}.{BODY}.{'+/' + SIGNATURE[2:]}",
    "a letter too many": lambda: f"{HEAD}A.{BODY}.{SIGNATURE}",
    "longer than 8 KiB": lambda: with_claims(note="x" * 6500),
    "empty": lambda: "",
    "space inside": lambda: f"{HEAD}. {BODY}.{SIGNATURE}",
    "space before": lambda: f" {GOOD}",
    "line break at the end": lambda: f"{GOOD}\n",
    "tab inside": lambda: f"{HEAD}\t.{BODY}.{SIGNATURE}",
    "null character at the end": lambda: f"{GOOD}\0",
    "two tokens": lambda: f"{GOOD},{GOOD}",
    "the scheme twice": lambda: f"Bearer {GOOD}",
    "beyond ASCII": lambda: f"{GOOD}é",
    "half a character": lambda: f"{GOOD}\ud800",
    "full-width dots": lambda: GOOD.replace(".", "\uff0e"),
    "header an array": lambda: mint(RSA, b'["RS256"]'),
    "header a text": lambda: mint(RSA, b'"RS256"'),
    "header not JSON": lambda: mint(RSA, b"{alg:RS256}"),
    "header with a member twice": lambda: mint(
        RSA, spelled(header(), '"alg":', '"alg": "none", "alg":')
    ),
    "payload an array": lambda: mint(RSA, body=b"[1]"),
    "payload null": lambda: mint(RSA, body=b"null"),
    "payload not JSON": lambda: mint(RSA, body=b"{iss}"),
    "payload cut off": lambda: mint(RSA, body=json.dumps(claims()).encode()[:-1]),
    "payload not UTF-8": lambda: mint(
        RSA, body=json.dumps(claims()).encode().replace(b"7f3a", b"7f\xff\xfe")
    ),
    "payload in UTF-16": lambda: mint(RSA, body=json.dumps(claims()).encode("utf-16-le")),
    "payload after a byte order mark": lambda: mint(
        RSA, body=b"\xef\xbb\xbf" + json.dumps(claims()).encode()
    ),
    "payload with a number that is none": lambda: with_claims(note=float("nan")),
    "payload a depth bomb": lambda: claims_spelled('"7f3a"', "[" * 2500 + "]" * 2500),
    "payload with a number of 5000 digits": lambda: claims_spelled('"7f3a"', "9" * 5000),
    "subject twice": lambda: claims_spelled('"sub":', '"sub": "admin", "sub":'),
    "issuer twice": lambda: claims_spelled('"iss":', '"iss": "https://evil.test", "iss":'),
    "a nested member twice": lambda: claims_spelled('"sub":', '"act": {"a": 1, "a": 2}, "sub":'),
    # Issuer
    "issuer missing": lambda: with_claims(iss=ABSENT),
    "issuer null": lambda: with_claims(iss=None),
    "issuer a list": lambda: with_claims(iss=[ISSUER]),
    "issuer unknown": lambda: with_claims(iss="https://evil.test"),
    "issuer with a slash at the end": lambda: with_claims(iss=f"{ISSUER}/"),
    "issuer in upper case": lambda: with_claims(iss="https://IDP.test"),
    "issuer with a space": lambda: with_claims(iss=f"{ISSUER} "),
    "issuer over http": lambda: with_claims(iss="http://idp.test"),
    "issuer of another key": lambda: with_claims(iss="https://other.test"),
    "issuer whose key has the same id": lambda: with_claims(iss="https://plain.test"),
    # Audience
    "audience missing": lambda: with_claims(aud=ABSENT),
    "audience null": lambda: with_claims(aud=None),
    "audience empty": lambda: with_claims(aud=[]),
    "audience another service": lambda: with_claims(aud="https://other.test"),
    "audience a list of others": lambda: with_claims(aud=["https://a.test", "https://b.test"]),
    "audience our prefix": lambda: with_claims(aud="https://beamkeep"),
    "audience beginning like ours": lambda: with_claims(aud=f"{AUDIENCE}.evil.test"),
    "audience with a slash at the end": lambda: with_claims(aud=f"{AUDIENCE}/"),
    "audience in upper case": lambda: with_claims(aud=AUDIENCE.upper()),
    "audience a number": lambda: with_claims(aud=1),
    "audience a list with a number": lambda: with_claims(aud=[AUDIENCE, 1]),
    "audience an object": lambda: with_claims(aud={AUDIENCE: True}),
    "audience a list in a list": lambda: with_claims(aud=[[AUDIENCE]]),
    # Time
    "expiry missing": lambda: with_claims(exp=ABSENT),
    "expiry past": lambda: with_claims(exp=NOW - 61),
    "expiry past by just the leeway": lambda: with_claims(exp=NOW - 60),
    "expiry null": lambda: with_claims(exp=None),
    "expiry a text": lambda: with_claims(exp=str(int(NOW) + 60)),
    "expiry true": lambda: with_claims(exp=True),
    "expiry NaN": lambda: with_claims(exp=float("nan")),
    "expiry infinite": lambda: with_claims(exp=float("inf")),
    "expiry an overflow": lambda: claims_spelled(str(int(NOW) + 3600), "1e999"),
    "expiry huge": lambda: with_claims(exp=10**400),
    "expiry zero": lambda: with_claims(exp=0),
    "expiry a list": lambda: with_claims(exp=[NOW + 60]),
    "not before the future": lambda: with_claims(nbf=NOW + 61),
    "not before a text": lambda: with_claims(nbf="0"),
    "not before true": lambda: with_claims(nbf=True),
    "not before null": lambda: with_claims(nbf=None),
    "issued in the future": lambda: with_claims(iat=NOW + 61),
    "issued in the future, valid from now": lambda: with_claims(iat=NOW + 61, nbf=NOW),
    "issued missing": lambda: with_claims(iat=ABSENT),
    "issued missing, valid from now": lambda: with_claims(iat=ABSENT, nbf=NOW),
    "issued a text": lambda: with_claims(iat=str(int(NOW))),
    "issued true": lambda: with_claims(iat=True, exp=NOW + 60),
    "valid for longer than a day": lambda: with_claims(iat=NOW - 10, exp=NOW + DAY),
    "valid for a year": lambda: with_claims(exp=NOW + 365 * DAY),
    # Who
    "subject missing": lambda: with_claims(sub=ABSENT),
    "subject empty": lambda: with_claims(sub=""),
    "subject null": lambda: with_claims(sub=None),
    "subject a number": lambda: with_claims(sub=7),
    "subject a list": lambda: with_claims(sub=["7f3a"]),
    "subject too long": lambda: with_claims(sub="s" * 256),
    "subject with a null character": lambda: with_claims(sub="7f3a\0"),
    "subject with a line break": lambda: with_claims(sub="7f3a\nadmin"),
    "subject half a character": lambda: with_claims(sub="\ud800"),
    "subject written backwards": lambda: with_claims(sub="\u202e7f3a"),
    "client missing": lambda: with_claims(client_id=ABSENT),
    "client empty": lambda: with_claims(client_id=""),
    "client a number": lambda: with_claims(client_id=1),
    "token id missing": lambda: with_claims(jti=ABSENT),
    "token id empty": lambda: with_claims(jti=""),
    "token id a number": lambda: with_claims(jti=1),
    "bound to a key": lambda: with_claims(
        cnf={"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}
    ),
    "bound to a certificate": lambda: with_claims(
        cnf={"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc"}
    ),
    "bound to nothing": lambda: with_claims(cnf=None),
}

GOOD_TOKENS: dict[str, Callable[[], str]] = {
    "RS256": lambda: GOOD,
    "PS256": lambda: mint(RSA, header(alg="PS256"), signed_with="PS256"),
    "ES256": lambda: mint(P256, header(alg="ES256", kid="ec"), signed_with="ES256"),
    "EdDSA": lambda: mint(ED, header(alg="EdDSA", kid="ed"), signed_with="EdDSA"),
    "type in full": lambda: with_header(typ="application/at+jwt"),
    "type in upper case": lambda: with_header(typ="AT+JWT"),
    "certificate thumbprint": lambda: with_header(x5t="hOBcHZi846VCHSJbFAs06g"),
    "key for PS256 alone": lambda: mint(
        RSA, header(alg="PS256", kid="only-ps256"), signed_with="PS256"
    ),
    "ours among other audiences": lambda: with_claims(aud=["https://other.test", AUDIENCE]),
    "our second audience": lambda: with_claims(aud=f"{AUDIENCE}/mcp"),
    "expired within the leeway": lambda: with_claims(exp=NOW - 59),
    "issued and valid from within the leeway": lambda: with_claims(iat=NOW + 60, nbf=NOW + 60),
    "valid for exactly a day": lambda: with_claims(iat=NOW - 10, exp=NOW - 10 + DAY),
    "subject of 255 letters": lambda: with_claims(sub="s" * 255),
    "subject beyond ASCII": lambda: with_claims(sub="Jürgen Müller"),
    "just under 8 KiB": lambda: with_claims(note="x" * 5400),
}


@pytest.fixture
async def providers(tmp_path: Path) -> AsyncIterator[IdentityProviders]:
    def jwt_provider(issuer: str, algorithms: list[str], *keys: object) -> JwtProvider:
        file = tmp_path / f"{issuer.removeprefix('https://')}.json"
        file.write_text(json.dumps({"keys": keys}))
        return JwtProvider.model_validate(
            {
                "issuer": issuer,
                "audiences": [AUDIENCE, f"{AUDIENCE}/mcp"],
                "algorithms": algorithms,
                "jwks_file": file,
            }
        )

    configured = [
        jwt_provider(ISSUER, ["RS256", "PS256", "ES256", "EdDSA"], *KEYS),
        jwt_provider("https://other.test", ["RS256"], jwk(OTHER, "other")),
        jwt_provider("https://plain.test", ["RS256"], jwk(OTHER, "rsa")),
        IntrospectionProvider.model_validate(
            {
                "issuer": "https://asked.test",
                "endpoint": "https://asked.test/introspect",
                "client_id": "beamkeep",
                "client_secret": "secret",
                "audiences": [],
            }
        ),
    ]
    vouch_for_all = {"active": True, "sub": "anybody", "exp": NOW + 60}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=vouch_for_all))
    async with httpx2.AsyncClient(transport=transport) as http:
        yield IdentityProviders(configured, None, http, Clock())


@pytest.mark.parametrize("build", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_token_is_refused_before_and_after_its_good_twin_was_accepted(
    providers: IdentityProviders, build: Callable[[], str]
):
    hostile = build()
    with pytest.raises((InvalidTokenError, MalformedCredentialsError)):
        await providers.verify(hostile)
    await providers.verify(GOOD)
    with pytest.raises((InvalidTokenError, MalformedCredentialsError)):
        await providers.verify(hostile)


@pytest.mark.parametrize("build", GOOD_TOKENS.values(), ids=GOOD_TOKENS)
async def test_a_good_token_is_accepted(providers: IdentityProviders, build: Callable[[], str]):
    assert (await providers.verify(build())).issuer == ISSUER


async def test_a_good_token_says_whose_it_is(providers: IdentityProviders):
    principal = await providers.verify(GOOD)
    assert (principal.issuer, principal.subject) == (ISSUER, "7f3a")
    assert principal.expires_at == NOW + 3600


async def test_a_verifier_refuses_the_tokens_of_another_issuer(tmp_path: Path):
    provider = JwtProvider(issuer="https://other.test", audiences=(AUDIENCE,), jwks_file=tmp_path)
    jwt = parse_jwt(GOOD)
    assert jwt is not None
    async with httpx2.AsyncClient() as http:
        with pytest.raises(InvalidTokenError):
            await JwtVerifier(provider, http, clock=Clock(), stopwatch=Clock()).verify(jwt)


def test_a_token_has_one_spelling():
    assert parse_jwt(GOOD) is not None
    assert parse_jwt(f"{HEAD}.{BODY}.{last_bits_respelled(SIGNATURE)}") is None


def test_no_two_hostile_tokens_are_the_same():
    assert len({build() for build in HOSTILE.values()}) == len(HOSTILE)


PLAIN = header(typ="JWT")
KEYCLOAK = {"client_id": ABSENT, "azp": "console", "typ": "Bearer", "aud": [AUDIENCE, "account"]}
NOT_FOR_BEARERS: dict[str, dict[str, object]] = {
    "an ID token by its claim typ": {"typ": "ID"},
    "a refresh token by its claim typ": {"typ": "Refresh"},
    "a claim typ that is no text": {"typ": ["Bearer"]},
    "an ID token by its at_hash": {"at_hash": "x", "typ": ABSENT},
    "an ID token by its c_hash": {"c_hash": "x", "typ": ABSENT},
    "a token whose audience is its client": {"azp": AUDIENCE},
    "a token whose audience is its client_id": {"client_id": AUDIENCE},
    "a token without a client": {"azp": ABSENT},
}


@pytest.fixture
async def relaxed(tmp_path: Path) -> AsyncIterator[IdentityProviders]:
    """The verifier of a provider that cannot set `at+jwt`."""
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [jwk(RSA, "rsa")]}))
    entry = JwtProvider(
        issuer=ISSUER,
        audiences=(AUDIENCE,),
        jwks_file=tmp_path / "jwks.json",
        token_types=("at+jwt", "JWT"),
    )
    async with httpx2.AsyncClient() as http:
        yield IdentityProviders([entry], None, http, Clock(NOW))


async def test_a_plain_jwt_is_accepted_where_the_entry_says_so(relaxed: IdentityProviders):
    assert (await relaxed.verify(mint(RSA, PLAIN, claims(**KEYCLOAK)))).subject == "7f3a"
    assert (await relaxed.verify(GOOD)).subject == "7f3a"


@pytest.mark.parametrize("changes", NOT_FOR_BEARERS.values(), ids=NOT_FOR_BEARERS)
async def test_a_plain_jwt_that_is_no_access_token_is_refused(
    relaxed: IdentityProviders, changes: dict[str, object]
):
    with pytest.raises(InvalidTokenError):
        await relaxed.verify(mint(RSA, PLAIN, claims(**KEYCLOAK | changes)))


async def test_an_access_token_by_its_type_must_name_its_client_as_the_standard_says(
    relaxed: IdentityProviders,
):
    with pytest.raises(InvalidTokenError) as refused:
        await relaxed.verify(mint(RSA, body=claims(client_id=ABSENT, azp="console")))
    assert refused.value.fault.part == "client_id"
