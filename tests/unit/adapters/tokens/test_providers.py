"""The registry: what may be configured, who is asked, and what is remembered."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import TypeAdapter, ValidationError

from beamkeep.adapters.tokens import cache
from beamkeep.adapters.tokens.providers import (
    IdentityProvider,
    IdentityProviders,
    IntrospectionProvider,
    JwtProvider,
)
from beamkeep.runtime.tokens import InvalidTokenError
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.tokens import AUDIENCE, NOW, Clock, claims, header, jwk, mint

KEY = rsa.generate_private_key(65537, 2048)
JWT: dict[str, object] = {
    "kind": "jwt",
    "issuer": ISSUER,
    "audiences": [AUDIENCE],
    "jwks_uri": "https://idp.test/jwks",
}
ASKED: dict[str, object] = {
    "kind": "introspection",
    "issuer": "https://asked.test",
    "endpoint": "https://asked.test/introspect",
    "client_id": "beamkeep",
    "client_secret": "s3cret",
    "audiences": [AUDIENCE],
}
CONFIGURED = TypeAdapter[JwtProvider | IntrospectionProvider](IdentityProvider)

ACCEPTED: dict[str, dict[str, object]] = {
    "signed": JWT,
    "signed, keys on loopback": JWT | {"jwks_uri": "http://127.0.0.1:9000/jwks"},
    "signed, keys on loopback by name": JWT | {"jwks_uri": "http://localhost/jwks"},
    "signed, keys on loopback version 6": JWT | {"jwks_uri": "http://[::1]:9000/jwks"},
    "signed, keys in a file": JWT | {"jwks_uri": None, "jwks_file": "keys.json"},
    "asked": ASKED,
    "asked, secret in a file": ASKED | {"client_secret": None, "client_secret_file": "secret"},
    "asked, no audience": ASKED | {"audiences": []},
}

REFUSED: dict[str, dict[str, object]] = {
    "unknown kind": JWT | {"kind": "saml"},
    "unknown member": JWT | {"discovery": True},
    "empty issuer": JWT | {"issuer": ""},
    "no audience": JWT | {"audiences": []},
    "empty audience": JWT | {"audiences": [""]},
    "no algorithm": JWT | {"algorithms": []},
    "algorithm none": JWT | {"algorithms": ["none"]},
    "algorithm with a shared secret": JWT | {"algorithms": ["RS256", "HS256"]},
    "no keys": JWT | {"jwks_uri": None},
    "keys twice": JWT | {"jwks_file": "keys.json"},
    "keys over http": JWT | {"jwks_uri": "http://idp.test/jwks"},
    "keys over http on a host that sounds local": JWT | {"jwks_uri": "http://localhost.evil.test"},
    "keys from a file address": JWT | {"jwks_uri": "file:///etc/keys.json"},
    "keys without a host": JWT | {"jwks_uri": "https:///jwks"},
    "keys behind credentials": JWT | {"jwks_uri": "https://user:word@idp.test/jwks"},
    "keys with a fragment": JWT | {"jwks_uri": "https://idp.test/jwks#keys"},
    "asked over http": ASKED | {"endpoint": "http://asked.test"},
    "asked without a secret": ASKED | {"client_secret": None},
    "asked with two secrets": ASKED | {"client_secret_file": "secret"},
}


@pytest.mark.parametrize("settings", ACCEPTED.values(), ids=ACCEPTED)
def test_a_provider_may_be_configured_so(settings: dict[str, object]):
    assert CONFIGURED.validate_python(settings).kind == settings["kind"]


@pytest.mark.parametrize("settings", REFUSED.values(), ids=REFUSED)
def test_a_provider_may_not_be_configured_so(settings: dict[str, object]):
    with pytest.raises(ValidationError):
        CONFIGURED.validate_python(settings)


def test_a_refused_configuration_does_not_tell_the_secret():
    with pytest.raises(ValidationError) as refusal:
        IntrospectionProvider.model_validate(ASKED | {"client_secret_file": "secret"})
    assert "s3cret" not in str(refusal.value)
    assert "s3cret" not in repr(IntrospectionProvider.model_validate(ASKED))


@pytest.mark.parametrize("provider", [JwtProvider, IntrospectionProvider])
def test_every_setting_is_described(provider: type[JwtProvider | IntrospectionProvider]):
    assert all(field.description for field in provider.model_fields.values())


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as http:
        yield http


@pytest.mark.anyio
async def test_two_providers_cannot_have_one_issuer(http: httpx2.AsyncClient):
    twice = [JwtProvider.model_validate(JWT), JwtProvider.model_validate(JWT)]
    with pytest.raises(ValueError, match="Two identity providers have the issuer"):
        IdentityProviders(twice, None, http, Clock())


@pytest.mark.anyio
@pytest.mark.parametrize("default", ["https://unknown.test", ISSUER])
async def test_the_default_issuer_must_be_an_introspection_provider(
    http: httpx2.AsyncClient, default: str
):
    with pytest.raises(ValueError, match="not a configured introspection provider"):
        IdentityProviders([JwtProvider.model_validate(JWT)], default, http, Clock())


@pytest.mark.anyio
async def test_an_opaque_token_without_a_default_issuer_is_refused(http: httpx2.AsyncClient):
    providers = IdentityProviders(
        [IntrospectionProvider.model_validate(ASKED)], None, http, Clock()
    )
    with pytest.raises(InvalidTokenError):
        await providers.verify("opaque")


@pytest.mark.anyio
async def test_only_the_tokens_used_last_are_remembered(
    http: httpx2.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cache, "MAX_CACHED_TOKENS", 2)
    file, clock = tmp_path / "keys.json", Clock()
    file.write_text(json.dumps({"keys": [jwk(KEY, "rsa")]}))
    settings = JWT | {"jwks_uri": None, "jwks_file": file}
    providers = IdentityProviders([JwtProvider.model_validate(settings)], None, http, clock)
    first, second, third = (mint(KEY, header(), claims(jti=jti)) for jti in "123")
    for token in (first, second, first, third):
        await providers.verify(token)
    # With another key set only memory accepts these tokens.
    file.write_text(json.dumps({"keys": []}))
    clock.now = NOW + 60
    with pytest.raises(InvalidTokenError):
        await providers.verify(mint(KEY, header(kid="unknown")))
    await providers.verify(first)
    await providers.verify(third)
    with pytest.raises(InvalidTokenError):
        await providers.verify(second)


@pytest.mark.anyio
async def test_a_flood_of_worthless_tokens_pushes_no_good_one_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cache, "MAX_CACHED_TOKENS", 2)
    good = {"active": True, "sub": "7f3a", "aud": AUDIENCE, "exp": NOW + 60}
    questions = 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal questions
        questions += 1
        is_good = b"token=good" in request.content
        return httpx2.Response(200, json=good if is_good else {"active": False})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        provider = IntrospectionProvider.model_validate(ASKED)
        providers = IdentityProviders([provider], provider.issuer, http, Clock())
        await providers.verify("good")
        for each in range(5):
            with pytest.raises(InvalidTokenError):
                await providers.verify(f"worthless-{each}")
        await providers.verify("good")
    assert questions == 1 + 5


@pytest.mark.anyio
async def test_a_remembered_token_waits_for_nothing(http: httpx2.AsyncClient, tmp_path: Path):
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [jwk(KEY, "rsa")]}))
    settings = JWT | {"jwks_uri": None, "jwks_file": file}
    providers = IdentityProviders([JwtProvider.model_validate(settings)], None, http, Clock())
    token = mint(KEY)
    await providers.verify(token)
    with pytest.raises(StopIteration):
        providers.verify(token).send(None)
