"""Freshness: when an enclosure's monitor was last heard of, whether or not anything changed."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from tests.support.examples.enclosure import PERMITTED, an_enclosure
from tests.support.service import INSTALLATION, Doing, memory_service

from beamkeep.app import compose
from beamkeep.kernel import Refusal

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that stands still until it is put forward."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class World:
    """A service in memory whose time is told."""

    async def start(self) -> None:
        self.clock = Clock()
        _, self.store = await memory_service()
        self.service = compose(
            self.store, self.store, b"k" * 32, installation=INSTALLATION, clock=self.clock
        )

    @property
    def do(self) -> Doing:
        return Doing(self.service, self.store)

    def events(self, id: str) -> int:
        return len(self.store.streams["Enclosure", UUID(id)])


@pytest.fixture
async def world() -> World:
    world = World()
    await world.start()
    return world


async def test_an_enclosure_that_was_never_heard_of_says_so(world: World):
    id = await an_enclosure(world.do)
    shown = await world.do("get_enclosure", {"enclosure_id": id})
    assert (shown["permit_status"], shown["last_reported_at"]) == ("Unknown", None)


async def test_every_accepted_report_is_remembered_and_only_a_change_is_an_event(world: World):
    id = await an_enclosure(world.do)
    about = {"enclosure_id": id}
    for hour, events in ((1, 2), (2, 2), (3, 2)):
        world.clock.now += timedelta(hours=1)
        assert await world.do("observe_enclosure_status", about | PERMITTED) is None
        shown = await world.do("get_enclosure", about)
        assert shown["last_reported_at"] == f"2030-01-01T0{hour}:00:00Z"
        assert world.events(id) == events
    (row,) = (await world.do("list_enclosures", {"permit_status": "Permitted"}))["items"]
    assert row["last_observed_at"] == "2030-01-01T01:00:00Z"
    assert "last_reported_at" not in row


async def test_a_report_that_is_refused_or_only_tried_is_not_remembered(world: World):
    about = {"enclosure_id": await an_enclosure(world.do)}
    for wrong, options in (({}, {"subject": "ada"}), ({"reason": " "}, {})):
        with pytest.raises(Refusal):
            await world.do("observe_enclosure_status", about | PERMITTED | wrong, **options)
    await world.do("observe_enclosure_status", about | PERMITTED, dry_run=True)
    assert (await world.do("get_enclosure", about))["last_reported_at"] is None


async def test_the_state_as_it_was_is_shown_with_what_was_last_heard_today(world: World):
    about = {"enclosure_id": await an_enclosure(world.do)}
    await world.do("observe_enclosure_status", about | PERMITTED)
    shown = await world.do("get_enclosure", {**about, "as_of": 1})
    assert (shown["permit_status"], shown["last_reported_at"]) == (
        "Unknown",
        "2030-01-01T00:00:00Z",
    )
