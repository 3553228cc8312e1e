"""Staleness on a real database: starts, reads, the watch and readiness go by its clock."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from functools import partial
from math import inf
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.examples.enclosure import a_permitted_enclosure
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.recipe import define_plan
from tests.support.examples.starting import start_run
from tests.support.examples.supply import monitored
from uuid_utils.compat import uuid7

from beamkeep.contexts.starting.checks import (
    RunRequiresAvailableSupplyError,
    RunRequiresPermittedEnclosureError,
)
from beamkeep.deployment.composition import Deployment
from beamkeep.deployment.service import compose
from beamkeep.deployment.settings import settings_of
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.testing.database import Database
from beamkeep.testing.installation import FACTS
from beamkeep.testing.postgres import Deployed
from beamkeep.testing.service import AdminClient
from beamkeep.workers.reporting import Monitor
from beamkeep.workers.staleness import REF, StalenessWatch

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

AGE = "UPDATE bk.{} SET last_reported_at = last_reported_at - interval '3 days'"
BACK = {"status": "Recovering", "reason": "200 mA", "monitor_ref": "SR:DCCT"}
NEVER_LOOKED = (
    "The staleness watch never looked; enclosures that fall silent stay as they are."
    " Look for errors in the log of this process."
)


class World:
    """A service whose own clock is wrong by as much as it is told, with nobody who watches."""

    def __init__(self, deployed: Deployed, database: Database) -> None:
        self.deployed, self.database = deployed, database
        self.shift = timedelta(0)
        service = compose(
            deployed.store,
            deployed.lists,
            b"k" * 32,
            facts=FACTS,
            clock=lambda: datetime.now(UTC) + self.shift,
        )
        self.service, self.do = service, AdminClient(service, deployed.store)

    async def enclosure(self, plan_id: str) -> Any:
        """What readiness says of the permit for a plan."""
        readiness = await self.do("get_plan_readiness", {"plan_id": plan_id})
        return next(each for each in readiness["checks"] if each["check"] == "enclosure")


@pytest.fixture
def world(deployed: Deployed, database: Database) -> World:
    return World(deployed, database)


SHIFTS = [timedelta(days=days) for days in (-10, 0, 10)]


async def test_a_permit_reported_three_days_ago_starts_no_run_whatever_the_service_s_clock_says(
    world: World,
):
    run = await start_run(world.do)
    world.database.ask(AGE.format("enclosure_freshness"))
    for world.shift in SHIFTS:
        with pytest.raises(RunRequiresPermittedEnclosureError, match="last report 3 days ago"):
            await world.do("start_run", run)
        found = await world.enclosure(run["plan_id"])
        assert (found["passed"], found["cleared_by"]) == (False, ["observe_enclosure_status"])
        (fact,) = found["facts"]
        assert fact["state"] == "Unknown (stale: last report 3 days ago), Active"
        shown = await world.do("get_enclosure", {"enclosure_id": fact["id"]})
        assert (shown["permit_status"], shown["stale"]) == ("Permitted", True)


async def test_a_fresh_permit_starts_a_run_whatever_the_service_s_clock_says(world: World):
    for world.shift in SHIFTS:
        run = await start_run(world.do)
        assert (await world.enclosure(run["plan_id"]))["passed"]
        (fact,) = (await world.enclosure(run["plan_id"]))["facts"]
        shown = await world.do("get_enclosure", {"enclosure_id": fact["id"]})
        assert (shown["permit_status"], shown["stale"]) == ("Permitted", False)
        reported_at = datetime.fromisoformat(shown["last_reported_at"])
        assert abs(reported_at - datetime.now(UTC)) < timedelta(days=1)
        assert (await world.do("start_run", run))["run_id"]


async def test_a_supply_whose_observer_is_silent_starts_no_run_until_somebody_vouches_for_it(
    world: World,
):
    plan = await define_plan(world.do, needed_supplies=["helium"])
    del plan["window"]
    run = {"name": "Night 1", **await world.do("define_plan", plan)}
    helium = {"kind": "helium", "name": "Helium", "facility_code": OWN_SITE}
    about = await world.do("register_supply", helium)
    await monitored(world.do, about["supply_id"])
    await world.do("mark_supply_available", {**about, "reason": "Level is high"})
    await world.deployed.projector.catch_up([WHOLE_LOG])
    await world.do("observe_supply_status", {**about, **BACK})
    assert (await world.do("start_run", run))["run_id"]
    world.database.ask(AGE.format("supply_freshness"))
    with pytest.raises(RunRequiresAvailableSupplyError, match="last report 3 days ago"):
        await world.do("start_run", run)
    shown = await world.do("get_supply", about)
    assert (shown["status"], shown["stale"]) == ("Available", True)
    (listed,) = (await world.do("list_supplies", {"status": "Available"}))["items"]
    assert (listed["status"], listed["stale"]) == ("Available", True)
    await world.do("mark_supply_available", {**about, "reason": "Seen by eye"})
    assert (await world.do("start_run", run))["run_id"]
    shown = await world.do("get_supply", about)
    assert (shown["last_reported_at"], shown["stale"]) == (None, False)


@pytest.fixture
async def deployment(database: Database) -> AsyncGenerator[Deployment]:
    settings = settings_of(
        database_url=SecretStr(database.url()),
        projector_database_url=SecretStr(database.url("bk_projector")),
        require_authenticated_principal=False,
        development=True,
        project_in_serve=True,
    )
    deployment = Deployment(settings)
    yield deployment
    await deployment.close()


async def test_a_deployment_without_reports_of_enclosures_is_ready_with_any_watcher(
    deployment: Deployment,
):
    assert await deployment.ready() is None


async def test_once_an_enclosure_was_reported_of_somebody_must_watch(
    world: World, deployment: Deployment
):
    await a_permitted_enclosure(world.do)
    assert await deployment.ready() == NEVER_LOOKED
    monitor, sessions = Monitor(world.service.sender, uuid7), world.service.sessions
    watch = StalenessWatch(monitor, sessions, partial(deployment.store.beat, REF))
    await watch.look()
    assert await deployment.ready() is None
    for shift in ("-", "+"):
        world.database.ask(f"UPDATE bk.heartbeat SET beat_at = now() {shift} interval '10 minutes'")
        told = await deployment.ready()
        assert told is not None
        assert told.startswith("The staleness watch last looked ")
    await watch.look()
    assert await deployment.ready() is None


async def test_a_service_that_needs_a_watching_worker_says_which(world: World, database: Database):
    await a_permitted_enclosure(world.do)
    settings = settings_of(
        database_url=SecretStr(database.url()),
        require_authenticated_principal=False,
        development=True,
        project_in_serve=False,
    )
    deployment = Deployment(settings)
    told = await deployment.ready()
    await deployment.close()
    assert told is not None
    assert told.endswith("Check that `beamkeep work` runs.")


async def test_the_age_of_the_last_look_is_a_metric(world: World, deployment: Deployment):
    def age() -> float | None:
        return deployment.telemetry.registry.get_sample_value(
            "beamkeep_staleness_watch_age_seconds"
        )

    await deployment.watch_age.measure()
    assert age() == inf
    await deployment.store.beat(REF)
    world.database.ask("UPDATE bk.heartbeat SET beat_at = now() - interval '10 minutes'")
    await deployment.watch_age.measure()
    first = age()
    assert first is not None
    assert 600 <= first < inf
    assert (age() or 0) > first, "it grows while the database is not asked"


async def test_the_watch_finds_a_silent_enclosure_by_the_database_s_clock_and_without_the_lists(
    world: World, deployment: Deployment
):
    about = {"enclosure_id": await a_permitted_enclosure(world.do)}
    monitor, sessions = Monitor(world.service.sender, uuid7), world.service.sessions
    watch = StalenessWatch(monitor, sessions, partial(deployment.store.beat, REF))
    for world.shift in SHIFTS:
        await watch.look()
        assert (await world.do("get_enclosure", about))["permit_status"] == "Permitted"
    world.database.ask(AGE.format("enclosure_freshness"))
    world.shift = SHIFTS[0]
    await watch.look()
    shown = await world.do("get_enclosure", about)
    assert (shown["permit_status"], shown["stale"]) == ("Unknown", True)
