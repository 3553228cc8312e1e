"""Freshness: when a monitor last reported, by the store's clock, whatever it said."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.support.examples.enclosure import PERMITTED, a_monitored_enclosure, an_enclosure
from tests.support.examples.supply import (
    a_lost_supply,
    a_monitored_supply,
    a_supply,
    an_available_supply,
    monitored,
)

from beamkeep.contexts.trust.freshness import as_stale
from beamkeep.deployment.service import compose
from beamkeep.kernel import Refusal
from beamkeep.testing.installation import FACTS
from beamkeep.testing.service import AdminClient, memory_service

pytestmark = pytest.mark.anyio

LIMIT, MOMENT = FACTS.stale_after, timedelta(microseconds=1)
BACK = {"status": "Recovering", "reason": "200 mA", "monitor_ref": "SR:DCCT"}
UNKNOWN = {**PERMITTED, "permit_status": "Unknown"}


class Clock:
    """A clock that stands still until it is put forward."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class World:
    """A service in memory whose store tells the time; the clock of the service itself is wrong."""

    async def start(self) -> None:
        self.clock, self.wrong = Clock(), Clock()
        self.wrong.now += timedelta(days=400)
        _, self.store = await memory_service()
        self.store.clock = self.clock
        self.service = compose(self.store, self.store, b"k" * 32, facts=FACTS, clock=self.wrong)

    @property
    def do(self) -> AdminClient:
        return AdminClient(self.service, self.store)

    def events(self, id: str) -> int:
        return len(self.store.streams["Enclosure", UUID(id)])

    async def shown(self, name: str, **arguments: Any) -> tuple[Any, Any]:
        """When a thing was last reported of, and whether that is too long ago."""
        found = await self.do(name, arguments)
        return found["last_reported_at"], found["stale"]

    async def listed(self, name: str, **arguments: Any) -> tuple[Any, Any]:
        """The same, as its list shows it."""
        (found,) = (await self.do(name, arguments))["items"]
        return found["last_reported_at"], found["stale"]


@pytest.fixture
async def world() -> World:
    world = World()
    await world.start()
    return world


async def test_an_enclosure_that_was_never_reported_of_says_so_and_is_not_stale(world: World):
    id = await an_enclosure(world.do)
    assert await world.shown("get_enclosure", enclosure_id=id) == (None, False)
    assert await world.listed("list_enclosures") == (None, False)


async def test_every_accepted_report_is_remembered_and_only_a_change_is_an_event(world: World):
    id = await a_monitored_enclosure(world.do)
    about = {"enclosure_id": id}
    for hour, events in ((1, 3), (2, 3), (3, 3)):
        world.clock.now += timedelta(hours=1)
        assert await world.do("observe_enclosure_status", about | PERMITTED) is None
        expected = f"2030-01-01T0{hour}:00:00Z", False
        assert await world.shown("get_enclosure", **about) == expected
        assert await world.listed("list_enclosures", permit_status="Permitted") == expected
        assert world.events(id) == events


async def test_a_permit_is_stale_by_the_clock_of_the_store_whatever_that_of_the_service_says(
    world: World,
):
    about = {"enclosure_id": await a_monitored_enclosure(world.do)}
    await world.do("observe_enclosure_status", about | PERMITTED)
    for later, stale in ((timedelta(0), False), (LIMIT, False), (LIMIT + MOMENT, True)):
        world.clock.now = datetime(2030, 1, 1, tzinfo=UTC) + later
        for shift in (-1000, 0, 1000):
            world.wrong.now = world.clock.now + timedelta(days=shift)
            expected = "2030-01-01T00:00:00Z", stale
            assert await world.shown("get_enclosure", **about) == expected
            assert await world.listed("list_enclosures") == expected
    assert (await world.do("get_enclosure", about))["permit_status"] == "Permitted"


async def test_a_report_of_an_unknown_permit_is_not_the_last_report(world: World):
    about = {"enclosure_id": await a_monitored_enclosure(world.do)}
    await world.do("observe_enclosure_status", about | PERMITTED)
    world.clock.now += timedelta(hours=1)
    await world.do("observe_enclosure_status", about | UNKNOWN)
    assert await world.shown("get_enclosure", **about) == ("2030-01-01T00:00:00Z", True)


async def test_a_decommissioned_enclosure_is_not_followed_any_more(world: World):
    about = {"enclosure_id": await a_monitored_enclosure(world.do)}
    await world.do("observe_enclosure_status", about | PERMITTED)
    await world.do("decommission_enclosure", about | {"reason": "Rebuilt"})
    assert await world.shown("get_enclosure", **about) == (None, False)


async def test_a_report_that_is_refused_or_only_tried_is_not_remembered(world: World):
    about = {"enclosure_id": await a_monitored_enclosure(world.do)}
    for wrong, options in (({}, {"subject": "ada"}), ({"reason": " "}, {})):
        with pytest.raises(Refusal):
            await world.do("observe_enclosure_status", about | PERMITTED | wrong, **options)
    await world.do("observe_enclosure_status", about | PERMITTED, dry_run=True)
    assert await world.shown("get_enclosure", **about) == (None, False)


async def test_with_an_earlier_state_nothing_of_today_is_shown(world: World):
    hutch = {"enclosure_id": await a_monitored_enclosure(world.do)}
    await world.do("observe_enclosure_status", hutch | PERMITTED)
    beam = {"supply_id": await a_monitored_supply(world.do)}
    await world.do("observe_supply_status", beam | BACK)
    for as_of in (1, 2):
        assert await world.shown("get_enclosure", **hutch, as_of=as_of) == (None, None)
        assert await world.shown("get_supply", **beam, as_of=as_of) == (None, None)


async def test_a_supply_that_nobody_observes_is_never_stale(world: World):
    id = await an_available_supply(world.do)
    world.clock.now += timedelta(days=400)
    assert await world.shown("get_supply", supply_id=id) == (None, False)
    assert await world.listed("list_supplies", status="Available") == (None, False)


async def test_an_observed_supply_is_stale_once_its_observer_is_silent(world: World):
    about = {"supply_id": await a_monitored_supply(world.do)}
    await world.do("observe_supply_status", about | BACK)
    for later, stale in ((LIMIT, False), (LIMIT + MOMENT, True)):
        world.clock.now = datetime(2030, 1, 1, tzinfo=UTC) + later
        expected = "2030-01-01T00:00:00Z", stale
        assert await world.shown("get_supply", **about) == expected
        assert await world.listed("list_supplies", status="Available") == expected
    await world.do("observe_supply_status", about | BACK | {"unchanged": True})
    assert await world.shown("get_supply", **about) == ("2030-01-01T00:01:00.000001Z", False)


async def found(world: World, id: str) -> None:
    world.clock.now += LIMIT + MOMENT
    await world.do("mark_supply_available", {"supply_id": id, "reason": "Seen by eye"})


async def restored(world: World, id: str) -> None:
    await world.do("restore_supply", {"supply_id": id, "reason": "200 mA"})


async def deregistered(world: World, id: str) -> None:
    await world.do("deregister_supply", {"supply_id": id, "reason": "Typed twice"})


@pytest.mark.parametrize(
    ("make", "vouch"),
    [(an_available_supply, found), (a_lost_supply, restored), (a_supply, deregistered)],
)
async def test_an_operator_who_vouches_for_a_supply_is_believed_until_its_observer_reports_again(
    world: World,
    make: Callable[[AdminClient], Awaitable[str]],
    vouch: Callable[[World, str], Awaitable[None]],
):
    id = await monitored(world.do, await make(world.do))
    await world.do("observe_supply_status", {"supply_id": id} | BACK)
    assert (await world.shown("get_supply", supply_id=id))[0]
    await vouch(world, id)
    world.clock.now += timedelta(days=1)
    assert await world.shown("get_supply", supply_id=id) == (None, False)
    if vouch is not deregistered:
        await world.do("observe_supply_status", {"supply_id": id} | BACK)
        assert (await world.shown("get_supply", supply_id=id))[0]


def test_the_age_of_a_report_is_written_in_plain_words():
    for age, told in (
        (timedelta(seconds=1), "1 second"),
        (timedelta(seconds=119), "119 seconds"),
        (timedelta(minutes=119), "119 minutes"),
        (timedelta(hours=47, minutes=59), "47 hours"),
        (timedelta(days=3), "3 days"),
    ):
        assert as_stale(age) == f"Unknown (stale: last report {told} ago)"
        assert as_stale(-age) == f"Unknown (stale: last report {told} in the future)"
    assert as_stale(None) == "Unknown (never reported)"
