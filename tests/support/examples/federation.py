"""Examples of federation."""

from uuid import uuid4

from beamkeep.testing.server import FACILITY_CODE
from tests.support.examples.making import Do, Example, given

OWN_SITE = FACILITY_CODE
"""The code of the site that every test deployment is at."""


async def a_code(do: Do) -> str:
    """A facility code that nobody has."""
    return f"f-{uuid4().hex[:28]}"


async def a_facility(do: Do) -> str:
    site = {"code": await a_code(do), "name": "Neutron source", "kind": "Site"}
    answer = await do("register_facility", site)
    return answer["facility_id"]


async def a_decommissioned_facility(do: Do) -> str:
    facility_id = await a_facility(do)
    await do("decommission_facility", {"facility_id": facility_id, "reason": "Closed"})
    return facility_id


EXAMPLES: dict[str, Example] = {
    "register_facility": given(code=a_code, name="Hall 2", kind="Area", parent_id=a_facility),
    "decommission_facility": given(facility_id=a_facility, reason="Closed"),
    "get_facility": given(facility_id=a_facility),
    "get_facility_history": given(facility_id=a_decommissioned_facility),
    "list_facilities": given(kind="Site", status="Active"),
}
