"""Examples of enclosures."""

from uuid import uuid4

from tests.support.examples.federation import OWN_SITE
from tests.support.examples.making import Do, Example, given

PERMITTED = {"permit_status": "Permitted", "reason": "Search done", "monitor_ref": "pss:hutch"}


async def a_name(do: Do) -> str:
    """A name that no enclosure has."""
    return f"Hutch {uuid4()}"


async def an_enclosure(do: Do) -> str:
    hutch = {"name": await a_name(do), "facility_code": OWN_SITE}
    answer = await do("register_enclosure", hutch)
    return answer["enclosure_id"]


async def a_permitted_enclosure(do: Do) -> str:
    enclosure_id = await an_enclosure(do)
    await do("observe_enclosure_status", {"enclosure_id": enclosure_id, **PERMITTED})
    return enclosure_id


EXAMPLES: dict[str, Example] = {
    "register_enclosure": given(name=a_name, facility_code=OWN_SITE),
    "observe_enclosure_status": given(enclosure_id=an_enclosure, **PERMITTED),
    "decommission_enclosure": given(enclosure_id=an_enclosure, reason="Rebuilt"),
    "get_enclosure": given(enclosure_id=a_permitted_enclosure),
    "get_enclosure_history": given(enclosure_id=a_permitted_enclosure),
    "list_enclosures": given(facility_code=OWN_SITE, lifecycle="Active"),
}
