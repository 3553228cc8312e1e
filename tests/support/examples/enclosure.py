"""Examples of enclosures."""

from uuid import uuid4

from beamkeep.testing.examples import CallExample, Do, given
from tests.support.examples.federation import OWN_SITE

PERMITTED = {"permit_status": "Permitted", "reason": "Search done", "monitor_ref": "pss:hutch"}


async def a_name(do: Do) -> str:
    """A name that no enclosure has."""
    return f"Hutch {uuid4()}"


async def an_enclosure(do: Do) -> str:
    hutch = {"name": await a_name(do), "facility_code": OWN_SITE}
    answer = await do("register_enclosure", hutch)
    return answer["enclosure_id"]


async def the_account(do: Do) -> str:
    """The machine account that reports."""
    myself = await do.by_account("get_self", {})
    return myself["actor_id"]


async def a_monitored_enclosure(do: Do) -> str:
    bound = {"enclosure_id": await an_enclosure(do), "monitor_id": await the_account(do)}
    await do("bind_enclosure_monitor", bound)
    return bound["enclosure_id"]


async def a_permitted_enclosure(do: Do) -> str:
    enclosure_id = await a_monitored_enclosure(do)
    await do("observe_enclosure_status", {"enclosure_id": enclosure_id, **PERMITTED})
    return enclosure_id


EXAMPLES: dict[str, CallExample] = {
    "register_enclosure": given(name=a_name, facility_code=OWN_SITE),
    "observe_enclosure_status": given(enclosure_id=a_monitored_enclosure, **PERMITTED),
    "bind_enclosure_monitor": given(enclosure_id=an_enclosure, monitor_id=the_account),
    "unbind_enclosure_monitor": given(enclosure_id=a_monitored_enclosure, monitor_id=the_account),
    "decommission_enclosure": given(enclosure_id=an_enclosure, reason="Rebuilt"),
    "get_enclosure": given(enclosure_id=a_permitted_enclosure),
    "get_enclosure_history": given(enclosure_id=a_permitted_enclosure),
    "list_enclosures": given(facility_code=OWN_SITE, lifecycle="Active"),
}
