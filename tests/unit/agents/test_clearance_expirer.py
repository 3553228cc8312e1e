"""ClearanceExpirer: ends what has lapsed, once, with its decision."""

import json
from datetime import datetime
from uuid import UUID

import pytest
from tests.support.agents import expirer, forbid
from tests.support.examples.safety import an_active_clearance
from tests.unit.agents.conftest import World

from beamkeep.parts.agents.clearance_expirer import EXPIRER

pytestmark = pytest.mark.anyio


async def lapsed(world: World) -> UUID:
    """Return an active clearance of which the validity has elapsed by the database's clock."""
    clearance_id = UUID(await an_active_clearance(world.do))
    shown = await world.do("get_clearance", {"clearance_id": str(clearance_id)})
    until = shown["valid_until"]
    assert until, "the example has an end"
    world.now = datetime.fromisoformat(until)
    return clearance_id


async def test_a_lapsed_clearance_is_expired_once_with_its_decision(world: World):
    clearance_id = await lapsed(world)
    loop = expirer(world.service, world.store)
    world.later(seconds=-1)
    await loop.turn()
    assert world.events("ClearanceExpired") == []
    world.later(seconds=1)
    await loop.turn()
    await loop.turn()
    (expired,) = world.events("ClearanceExpired")
    assert (expired.stream_id, expired.command_name) == (clearance_id, "expire_clearance")
    assert json.loads(bytes(expired.payload))["reason"] == "validity window elapsed"
    (decided,) = world.decisions()
    assert (decided["choice"], decided["rule"]) == ("Expire", "agent:ClearanceExpirer:v1")
    assert decided["inputs"]["clearance_id"] == str(clearance_id)


async def test_a_denied_expiry_is_deferred_once(world: World):
    await forbid(world.do, EXPIRER, "expire_clearance")
    await lapsed(world)
    loop = expirer(world.service, world.store)
    await loop.turn()
    await loop.turn()
    assert [each["choice"] for each in world.decisions()] == ["ExpiryDeferred"]
    assert world.events("ClearanceExpired") == []
