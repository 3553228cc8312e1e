"""The place of a relay on PostgreSQL, and the decision where it continues."""

from uuid import uuid4

import pytest

from beamkeep.feed.log import LogPlace
from beamkeep.parts.relay.postgres_places import PostgresRelayPlaces
from beamkeep.parts.relay.relay import LastMessage, RelayPlace
from beamkeep.runtime.store import Position
from beamkeep.testing.database import Database

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

FIRST, SECOND = (LogPlace(Position(tx, tx), uuid4()) for tx in (7, 8))


async def test_a_place_is_stored_for_each_stream(unseeded: Database):
    connections = unseeded.connections()
    places, other = (PostgresRelayPlaces(connections, name) for name in ("A", "B"))
    assert await places.read() is None
    await places.write(FIRST)
    await places.write(SECOND)
    assert await places.read() == RelayPlace(SECOND)
    assert await other.read() is None
    await connections.close()


async def test_a_decision_is_stored_until_a_relay_has_begun_to_follow_it(unseeded: Database):
    connections = unseeded.connections()
    places = PostgresRelayPlaces(connections, "decided")
    await places.write(SECOND)
    await places.decide(FIRST)
    # A relay that still runs does not know of the decision.
    await places.write(SECOND)
    assert await places.read() == RelayPlace(FIRST, decided=True)
    await places.begin_break(40)
    begun = RelayPlace(FIRST, decided=True, break_sequence=40)
    assert await places.read() == begun
    assert not begun.is_followed(LastMessage(40, None))
    assert begun.is_followed(LastMessage(41, None))
    await places.write(SECOND)
    assert await places.read() == RelayPlace(SECOND)
    await connections.close()
