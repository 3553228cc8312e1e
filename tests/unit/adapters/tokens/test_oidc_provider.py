"""Tokens of a real identity provider, over real connections."""

import time
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from tests.support.oidc import (
    AUDIENCE,
    KEYCLOAK_AUDIENCE,
    OPAQUE_AUDIENCE,
    SECRETS,
    OidcProvider,
    oidc_provider,
)

from beamkeep.adapters.tokens.providers import IdentityProviders, IntrospectionProvider, JwtProvider
from beamkeep.runtime.tokens import IdentityProviderUnavailableError, InvalidTokenError
from beamkeep.testing.tokens import Clock

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with oidc_provider() as provider:
        yield provider


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        yield http


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time())


def signed_by(provider: OidcProvider, http: httpx2.AsyncClient, clock: Clock) -> IdentityProviders:
    configured = JwtProvider(
        issuer=provider.issuer, audiences=(AUDIENCE,), jwks_uri=f"{provider.issuer}/jwks"
    )
    return IdentityProviders([configured], None, http, clock)


def introspected_by(
    provider: OidcProvider, http: httpx2.AsyncClient, clock: Clock, client: str = "beam keep"
) -> IdentityProviders:
    configured = IntrospectionProvider.model_validate(
        {
            "issuer": provider.issuer,
            "endpoint": f"{provider.issuer}/token/introspection",
            "client_id": client,
            "client_secret": SECRETS.get(client, "wrong"),
            "audiences": [OPAQUE_AUDIENCE],
            "client_credentials": True,
        }
    )
    return IdentityProviders([configured], provider.issuer, http, clock)


@pytest.fixture
def by_signature(
    provider: OidcProvider, http: httpx2.AsyncClient, clock: Clock
) -> IdentityProviders:
    return signed_by(provider, http, clock)


@pytest.fixture
def by_question(
    provider: OidcProvider, http: httpx2.AsyncClient, clock: Clock
) -> IdentityProviders:
    return introspected_by(provider, http, clock)


async def test_a_signed_token_is_verified_with_the_published_keys(
    provider: OidcProvider, by_signature: IdentityProviders, clock: Clock
):
    token = provider.token()
    assert token.count(".") == 2
    principal = await by_signature.verify(token)
    assert (principal.issuer, principal.subject) == (provider.issuer, "console")
    assert principal.expires_at == pytest.approx(clock.now + 3600, abs=60)


async def test_a_token_as_keycloak_issues_it_needs_the_relaxation_of_its_entry(
    provider: OidcProvider, http: httpx2.AsyncClient, clock: Clock
):
    entry = {
        "issuer": provider.issuer,
        "audiences": [KEYCLOAK_AUDIENCE],
        "jwks_uri": f"{provider.issuer}/jwks",
    }
    token = provider.token(KEYCLOAK_AUDIENCE)
    strict = IdentityProviders([JwtProvider.model_validate(entry)], None, http, clock)
    with pytest.raises(InvalidTokenError) as refused:
        await strict.verify(token)
    assert (refused.value.fault.part, refused.value.fault.found) == ("header typ", "JWT")
    relaxed = JwtProvider.model_validate(entry | {"token_types": ["JWT"]})
    principal = await IdentityProviders([relaxed], None, http, clock).verify(token)
    assert (principal.issuer, principal.subject) == (provider.issuer, "console")


async def test_an_entry_that_agrees_with_the_published_metadata_has_no_fault(
    provider: OidcProvider, by_signature: IdentityProviders, by_question: IdentityProviders
):
    assert await by_signature.faults() == []
    assert await by_question.faults() == []


async def test_an_address_of_keys_that_the_metadata_contradict_is_named(
    provider: OidcProvider, http: httpx2.AsyncClient, clock: Clock
):
    entry = JwtProvider(
        issuer=provider.issuer, audiences=(AUDIENCE,), jwks_uri=f"{provider.issuer}/jwks?old"
    )
    (fault,) = await IdentityProviders([entry], None, http, clock).faults()
    assert fault.startswith(f"The metadata of {provider.issuer} have the jwks_uri")


async def test_an_opaque_token_is_verified_by_asking(
    provider: OidcProvider, by_question: IdentityProviders, clock: Clock
):
    token = provider.token(OPAQUE_AUDIENCE)
    assert "." not in token
    principal = await by_question.verify(token)
    assert (principal.issuer, principal.subject) == (provider.issuer, "console")
    assert principal.expires_at == pytest.approx(clock.now + 3600, abs=60)


async def test_a_signed_token_for_another_service_is_refused(
    provider: OidcProvider, by_signature: IdentityProviders
):
    with pytest.raises(InvalidTokenError):
        await by_signature.verify(provider.token("https://other.test"))


async def test_an_opaque_token_for_another_service_is_refused(
    provider: OidcProvider, by_question: IdentityProviders
):
    token = provider.token("https://opaque.other.test")
    with pytest.raises(InvalidTokenError):
        await by_question.verify(token)


async def test_a_signed_token_the_provider_does_not_introspect_is_refused(
    provider: OidcProvider, by_question: IdentityProviders
):
    with pytest.raises(InvalidTokenError):
        await by_question.verify(provider.token())


async def test_a_token_nobody_issued_is_refused(
    provider: OidcProvider, by_question: IdentityProviders
):
    with pytest.raises(InvalidTokenError):
        await by_question.verify("made-up")


async def test_a_revoked_opaque_token_is_refused_after_thirty_seconds(
    provider: OidcProvider, by_question: IdentityProviders, clock: Clock
):
    token, asked_at = provider.token(OPAQUE_AUDIENCE), clock.now
    await by_question.verify(token)
    provider.revoke(token)
    clock.now = asked_at + 29
    await by_question.verify(token)
    clock.now = asked_at + 30
    with pytest.raises(InvalidTokenError):
        await by_question.verify(token)


async def test_a_client_the_provider_does_not_know_is_not_answered(
    provider: OidcProvider, http: httpx2.AsyncClient, clock: Clock
):
    providers = introspected_by(provider, http, clock, client="stranger")
    with pytest.raises(IdentityProviderUnavailableError):
        await providers.verify(provider.token(OPAQUE_AUDIENCE))


async def test_without_the_provider_signed_tokens_verify_and_opaque_ones_cannot(
    http: httpx2.AsyncClient, clock: Clock
):
    with oidc_provider() as provider:
        signed, asked = signed_by(provider, http, clock), introspected_by(provider, http, clock)
        await signed.verify(provider.token())
        unseen, opaque = provider.token(), provider.token(OPAQUE_AUDIENCE)
        provider.stop()
        await signed.verify(unseen)
        clock.now += 1800
        await signed.verify(unseen)
        with pytest.raises(IdentityProviderUnavailableError):
            await asked.verify(opaque)
