"""The keys of an issuer: rotated, flooded, fetched by many at once, and out of reach."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.support.provider_harness import ProviderHarness

from beamkeep.adapters.tokens.providers import IdentityProviders, JwtProvider
from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    VerifiedPrincipal,
)
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.tokens import (
    ABSENT,
    AUDIENCE,
    NOW,
    Clock,
    Members,
    PrivateKey,
    claims,
    header,
    jwk,
    mint,
)

pytestmark = pytest.mark.anyio

OLD = rsa.generate_private_key(65537, 2048)
NEW = rsa.generate_private_key(65537, 2048)


class Site(ProviderHarness):
    """An issuer that publishes keys."""

    def __init__(self) -> None:
        super().__init__(
            JwtProvider(issuer=ISSUER, audiences=(AUDIENCE,), jwks_uri="https://idp.test/jwks")
        )
        self.published: dict[str, PrivateKey] = {"old": OLD}
        self._made = 0

    def usual_answer(self) -> dict[str, object]:
        return {"keys": [jwk(key, kid) for kid, key in self.published.items()]}

    @property
    def fetches(self) -> int:
        return len(self.requests)

    def token(self, kid: str = "old", key: PrivateKey = OLD, lasts: float = 3600) -> str:
        """A token never seen before."""
        self._made += 1
        now = self.clock.now
        body = claims(iat=now, exp=now + lasts, jti=f"{self._made}")
        return mint(key, header(kid=kid), body)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    async with site.http:
        yield site


async def test_keys_are_fetched_once_for_many_tokens(site: Site):
    for _ in range(5):
        await site.accepts(site.token())
    site.after(599)
    await site.accepts(site.token())
    assert site.fetches == 1


async def test_keys_are_fetched_again_after_ten_minutes(site: Site):
    await site.accepts(site.token())
    site.after(600)
    await site.accepts(site.token())
    assert site.fetches == 2


async def test_a_new_key_is_accepted_after_one_refresh(site: Site):
    await site.accepts(site.token())
    site.published["new"] = NEW
    site.after(60)
    await site.accepts(site.token("new", NEW))
    await site.accepts(site.token("old", OLD))
    assert site.fetches == 2


async def test_a_removed_key_is_refused_within_ten_minutes(site: Site):
    await site.accepts(site.token())
    del site.published["old"]
    site.after(599)
    await site.accepts(site.token())
    site.after(600)
    await site.refuses(site.token())


async def test_a_token_accepted_with_a_removed_key_is_refused_within_ten_minutes(site: Site):
    await site.accepts(site.token())
    del site.published["old"]
    site.after(590)
    token = site.token()
    await site.accepts(token)
    site.after(599)
    await site.accepts(token)
    site.after(600)
    await site.refuses(token)


async def test_a_key_replaced_under_the_same_id_is_refused(site: Site):
    await site.accepts(site.token())
    site.published["old"] = NEW
    site.after(600)
    await site.refuses(site.token("old", OLD))
    await site.accepts(site.token("old", NEW))


async def test_a_flood_of_random_key_ids_makes_one_fetch_a_minute(site: Site):
    for second in range(300):
        site.after(second)
        for each in range(3):
            await site.refuses(site.token(f"random-{second}-{each}"))
    assert site.fetches == 5


async def test_a_flood_of_random_key_ids_does_not_keep_good_tokens_out(site: Site):
    for each in range(200):
        await site.refuses(site.token(f"random-{each}"))
    await site.accepts(site.token())


HOPELESS: dict[str, tuple[Members, Members]] = {
    "expired": (header(kid="old"), claims(exp=NOW - 3600, iat=NOW - 7200)),
    "not for us": (header(kid="old"), claims(aud="https://other.test")),
    "algorithm not configured": (header(kid="old", alg="PS256"), claims()),
    "critical extension": (header(kid="old", crit=["exp"], exp=1), claims()),
    "no key id": (header(kid=ABSENT), claims()),
}


@pytest.mark.parametrize(("head", "body"), HOPELESS.values(), ids=HOPELESS)
async def test_a_hopeless_token_costs_no_fetch(site: Site, head: Members, body: Members):
    await site.refuses(mint(OLD, head, body))
    assert site.fetches == 0


async def test_many_at_once_make_one_fetch(site: Site):
    site.gate = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(site.accepts, site.token())
        await anyio.wait_all_tasks_blocked()
        site.gate.set()
    assert site.fetches == 1


async def test_a_caller_that_gives_up_leaves_the_fetch_to_the_others(site: Site):
    site.gate = anyio.Event()
    first = anyio.CancelScope()
    accepted: list[VerifiedPrincipal] = []

    async def give_up() -> None:
        with first:
            accepted.append(await site.accepts(site.token()))

    async def wait() -> None:
        accepted.append(await site.accepts(site.token()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(give_up)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        first.cancel()
        await anyio.wait_all_tasks_blocked()
        site.gate.set()
    assert first.cancelled_caught
    assert len(accepted) == 1
    assert site.fetches == 1


OUTAGES: dict[str, httpx2.Response | Exception] = {
    "no connection": httpx2.ConnectError("refused"),
    "too slow": httpx2.ReadTimeout("slow"),
    "server error": httpx2.Response(503),
    "redirect": httpx2.Response(302, headers={"location": "https://evil.test/jwks"}),
    "not found": httpx2.Response(404, json={"keys": []}),
    "not JSON": httpx2.Response(200, text="<html>"),
    "no key set": httpx2.Response(200, json={"keys": {}}),
    "too large": httpx2.Response(200, json={"keys": [], "note": "x" * 300_000}),
}


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_an_outage_is_bridged_with_old_keys_for_an_hour_and_no_longer(
    site: Site, outage: httpx2.Response | Exception
):
    await site.accepts(site.token())
    site.answer = outage
    for second in (600, 1800, 3599):
        site.after(second)
        await site.accepts(site.token())
    last = site.token()
    await site.accepts(last)
    site.after(3600)
    await site.cannot_tell(site.token())
    await site.cannot_tell(last)


async def test_an_outage_is_probed_once_a_minute(site: Site):
    await site.accepts(site.token())
    site.answer = httpx2.ConnectError("refused")
    for second in range(600, 1200):
        site.after(second)
        await site.accepts(site.token())
    assert site.fetches == 1 + 10


async def test_a_key_removed_during_an_outage_is_refused_a_minute_after_it(site: Site):
    await site.accepts(site.token())
    site.answer = httpx2.ConnectError("refused")
    site.after(600)
    token = site.token()
    await site.accepts(token)
    site.answer = None
    site.published = {"new": NEW}
    site.after(660)
    await site.refuses(token)


async def test_an_unknown_key_during_an_outage_is_not_called_invalid(site: Site):
    await site.accepts(site.token())
    site.answer = httpx2.ConnectError("refused")
    site.after(60)
    await site.cannot_tell(site.token("new", NEW))
    await site.accepts(site.token())


async def test_a_provider_never_reached_is_unavailable_and_tried_again_after_two_seconds(
    site: Site,
):
    site.answer = httpx2.ConnectError("refused")
    for _ in range(20):
        await site.cannot_tell(site.token())
    assert site.fetches == 1
    site.answer = None
    site.after(2)
    await site.accepts(site.token())
    assert site.fetches == 2


async def test_a_fetch_that_never_ends_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("beamkeep.adapters.tokens.endpoint.RESPONSE_TIMEOUT", 0.01)
    site.gate = anyio.Event()
    with anyio.fail_after(5):
        await site.cannot_tell(site.token())


async def test_an_empty_key_set_refuses_every_token(site: Site):
    site.published = {}
    await site.refuses(site.token())


async def test_a_verified_token_is_not_cached_beyond_its_expiry(site: Site):
    await site.accepts(site.token())
    token = site.token(lasts=30)
    expiry = (await site.accepts(token)).expires_at
    # Without keys only memory could still accept the token.
    site.published = {}
    site.after(60)
    await site.refuses(site.token("other"))
    site.clock.now = expiry - 0.001
    await site.accepts(token)
    site.clock.now = expiry
    await site.refuses(token)


async def test_a_verified_token_is_cached_for_five_minutes(site: Site):
    token = site.token()
    await site.accepts(token)
    site.published = {}
    site.after(60)
    await site.refuses(site.token("other"))
    site.after(299.9)
    await site.accepts(token)
    site.after(300)
    await site.refuses(token)


async def test_keys_in_a_file_are_read_again_after_ten_minutes(tmp_path: Path):
    file, clock = tmp_path / "keys.json", Clock()
    file.write_text(json.dumps({"keys": [jwk(OLD, "old")]}))
    provider = JwtProvider(issuer=ISSUER, audiences=(AUDIENCE,), jwks_file=file)
    async with httpx2.AsyncClient() as http:
        providers = IdentityProviders([provider], None, http, clock)
        await providers.verify(mint(OLD, header(kid="old"), claims(jti="1")))
        file.write_text(json.dumps({"keys": [jwk(NEW, "new")]}))
        clock.now = NOW + 600
        await providers.verify(mint(NEW, header(kid="new"), claims(jti="2")))
        with pytest.raises(InvalidTokenError):
            await providers.verify(mint(OLD, header(kid="old"), claims(jti="3")))


async def test_a_missing_file_of_keys_is_an_outage(tmp_path: Path):
    provider = JwtProvider(issuer=ISSUER, audiences=(AUDIENCE,), jwks_file=tmp_path / "absent")
    async with httpx2.AsyncClient() as http:
        providers = IdentityProviders([provider], None, http, Clock())
        with pytest.raises(IdentityProviderUnavailableError):
            await providers.verify(mint(OLD, header(kid="old")))


async def test_a_clock_that_is_set_back_does_not_prolong_a_withdrawn_key(site: Site):
    await site.accepts(site.token())
    del site.published["old"]
    site.set_back = 86_400.0
    site.after(600)
    site.published["new"] = NEW
    body = claims(iat=site.wall_clock(), exp=site.wall_clock() + 3600, jti="late")
    await site.refuses(mint(OLD, header(kid="old"), body))
    await site.accepts(mint(NEW, header(kid="new"), body))
    assert site.fetches == 2


async def test_nobody_vouches_before_the_keys_of_some_provider_are_there(site: Site):
    site.answer = httpx2.ConnectError("down")
    assert not await site.providers.any_available()
    assert await site.providers.outages() == [
        (
            f"The keys of {ISSUER} cannot be read from https://idp.test/jwks."
            " Provide a readable key set there with a key for RS256."
        )
    ]
    site.answer = None
    # Whoever asks whether we are ready does not make us ask in a flood.
    assert not await site.providers.any_available()
    assert site.fetches == 1
    site.after(2)
    assert await site.providers.any_available()
    assert site.fetches == 2
    # Only a check reads the metadata.
    assert await site.providers.faults() == []
    assert site.fetches == 3


async def test_a_provider_that_goes_away_vouches_with_its_keys_for_an_hour(site: Site):
    await site.accepts(site.token())
    site.answer = httpx2.ConnectError("down")
    site.after(3599)
    assert await site.providers.any_available()
    await site.accepts(site.token())
    site.after(3600)
    assert not await site.providers.any_available()
    await site.cannot_tell(site.token())


async def test_a_key_set_without_a_usable_key_is_named(site: Site):
    site.published.clear()
    assert not await site.providers.any_available()
    assert "with a key for RS256" in (await site.providers.faults())[0]


async def test_one_provider_that_vouches_is_enough(tmp_path: Path):
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [jwk(OLD, "old")]}))
    there, gone = (
        JwtProvider(issuer=file, audiences=(AUDIENCE,), jwks_file=tmp_path / file)
        for file in ("jwks.json", "absent.json")
    )
    async with httpx2.AsyncClient() as http:
        providers = IdentityProviders([there, gone], None, http, Clock())
        assert await providers.any_available()
        assert [outage.split()[3] for outage in await providers.outages()] == ["absent.json"]
        assert not await IdentityProviders([gone], None, http, Clock()).any_available()
        assert await IdentityProviders([], None, http, Clock()).any_available()
