"""Examples of supplies."""

from typing import Any
from uuid import uuid4

from beamkeep.testing.examples import CallExample, Do, Make, given
from tests.support.examples.assets import an_asset
from tests.support.examples.enclosure import the_account
from tests.support.examples.federation import OWN_SITE


async def register_supply(do: Do) -> dict[str, Any]:
    return {
        "kind": "photon_beam",
        "name": f"Ring beam {uuid4()}",
        "facility_code": OWN_SITE,
        "containing_asset_id": await an_asset(do),
    }


def a_supply_after(*names: str) -> Make:
    """A supply to which these commands were given."""

    async def make(do: Do) -> str:
        answer = await do("register_supply", await register_supply(do))
        for name in names:
            await do(name, {"supply_id": answer["supply_id"], "reason": "Seen on the display"})
        return answer["supply_id"]

    return make


async def monitored(do: Do, supply_id: str) -> str:
    """A supply on which the machine account reports."""
    bound = {"supply_id": supply_id, "monitor_id": await the_account(do)}
    await do("bind_supply_monitor", bound)
    return supply_id


async def a_monitored_supply(do: Do) -> str:
    return await monitored(do, await an_available_supply(do))


a_supply = a_supply_after()
an_available_supply = a_supply_after("mark_supply_available")
a_lost_supply = a_supply_after("mark_supply_unavailable")
a_recovering_supply = a_supply_after("mark_supply_unavailable", "mark_supply_recovering")

EXAMPLES: dict[str, CallExample] = {
    "register_supply": register_supply,
    "mark_supply_available": given(supply_id=a_supply, reason="Checked"),
    "degrade_supply": given(supply_id=an_available_supply, reason="Weak"),
    "mark_supply_unavailable": given(supply_id=an_available_supply, reason="Beam dump"),
    "mark_supply_recovering": given(supply_id=a_lost_supply, reason="Refilling"),
    "restore_supply": given(supply_id=a_recovering_supply, reason="200 mA again"),
    "bind_supply_monitor": given(supply_id=a_supply, monitor_id=the_account),
    "unbind_supply_monitor": given(supply_id=a_monitored_supply, monitor_id=the_account),
    "observe_supply_status": given(
        supply_id=a_monitored_supply,
        status="Unavailable",
        reason="Current is 0",
        monitor_ref="SR:DCCT",
    ),
    "deregister_supply": given(supply_id=a_supply, reason="Typed twice"),
    "get_supply": given(supply_id=an_available_supply),
    "get_supply_history": given(supply_id=an_available_supply),
    "list_supplies": given(kind="photon_beam", facility_code=OWN_SITE, status=["Available"]),
}
