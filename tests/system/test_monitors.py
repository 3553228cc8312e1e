"""Monitors cannot be impersonated: whatever the policies say, nobody else reports what they see."""

from collections.abc import AsyncGenerator
from uuid import UUID

import httpx2
import pytest
from tests.support.examples import EXAMPLES
from tests.support.examples.agent import MODEL
from tests.system.calling import As

from beamkeep.contexts.trust import seeded
from beamkeep.runtime import Service
from beamkeep.surfaces.http.edge import EdgeOptions
from beamkeep.surfaces.http.pages import application
from beamkeep.testing.calling import Calling, Mcp, Rest
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import CALLERS, call, enrol, memory_service, policy
from beamkeep.testing.static_verifier import StaticVerifier
from beamkeep.testing.web import GENEROUS, RESOURCE, always_ready, http_client

pytestmark = pytest.mark.anyio

OBSERVING = ["observe_enclosure_status", "observe_supply_status"]
DECLARING = ["mark_supply_available", "restore_supply"]
MONITORS = {name: CALLERS[name] for name in OBSERVING}


async def an_agent(service: Service, subject: str) -> UUID:
    """Define an agent with a login and with every tool that is tried here."""
    told = {"kind": "Scheduler", "name": "Hal", "version": "1", "model_ref": MODEL}
    made = await call(service, "define_agent", told | {"tools": [*OBSERVING, *DECLARING]})
    login = {"issuer": ISSUER, "subject": subject, "actor_id": str(made.id)}
    await call(service, "bind_actor_identity", login)
    return made.id


@pytest.fixture(scope="module")
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    service, _ = await memory_service()
    for id in (await enrol(service, "eve"), await an_agent(service, "hal")):
        for surface_id in seeded.SURFACES.values():
            await call(service, "define_policy", policy("Everything", surface_id, id, "*"))
    known = StaticVerifier("ada", "eve", "hal", *MONITORS.values())
    options = EdgeOptions(RESOURCE, known, limits=GENEROUS)
    served = application(service, options, ready=always_ready, metrics=lambda: b"")
    async with http_client(served) as http:
        yield http


@pytest.mark.parametrize("surface", [Rest, Mcp])
@pytest.mark.parametrize("impostor", ["eve", "hal"])
@pytest.mark.parametrize("name", OBSERVING)
async def test_who_is_permitted_everything_and_no_monitor_is_refused(
    name: str, impostor: str, surface: type[Calling], http: httpx2.AsyncClient
):
    observed = await EXAMPLES[name](As(Rest(http), "ada", MONITORS))
    refused = await As(surface(http), impostor).send(name, observed)
    assert (refused.status, refused.body["code"]) == (403, "MonitorTriggerRequiredError")
    assert (await As(surface(http), "ada", MONITORS).send(name, observed)).ok


@pytest.mark.parametrize("surface", [Rest, Mcp])
@pytest.mark.parametrize("name", OBSERVING)
async def test_an_account_that_is_permitted_everything_and_not_bound_is_refused(
    name: str, surface: type[Calling], http: httpx2.AsyncClient
):
    do = As(Rest(http), "ada", MONITORS)
    observed = await EXAMPLES[name](do)
    (about,) = observed.keys() & {"enclosure_id", "supply_id"}
    kind = about.removesuffix("_id")
    bound = {
        about: observed[about],
        "monitor_id": (await do.by_account("get_self", {}))["actor_id"],
    }
    await do(f"unbind_{kind}_monitor", bound)
    calling = As(surface(http), "ada", MONITORS)
    refused = await calling.send(name, observed)
    assert (refused.status, refused.body["code"]) == (403, "MonitorTriggerNotBoundError")
    assert f"bind_{kind}_monitor" in refused.body["detail"]
    await do(f"bind_{kind}_monitor", bound)
    assert (await calling.send(name, observed)).ok


@pytest.mark.parametrize("surface", [Rest, Mcp])
@pytest.mark.parametrize("name", DECLARING)
async def test_a_monitor_that_is_permitted_everything_declares_nothing_available(
    name: str, surface: type[Calling], http: httpx2.AsyncClient
):
    declared = await EXAMPLES[name](As(Rest(http), "ada", MONITORS))
    for monitor in MONITORS.values():
        refused = await As(surface(http), monitor).send(name, declared)
        assert (refused.status, refused.body["code"]) == (403, "MonitorTriggerNotPermittedError")
    assert (await As(surface(http), "hal").send(name, declared)).ok
