"""Examples of how beamlines stand."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do, given
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.run import a_held_run


async def a_beamline_in_use(do: Do) -> str:
    """A beamline on which a run is held."""
    run = await do("get_run", {"run_id": await a_held_run(do)})
    asset = await do("get_asset", {"asset_id": run["asset_ids"][0]})
    return asset["parent_id"] or asset["id"]


async def get_board(do: Do) -> dict[str, Any]:
    return {"asset_id": await a_beamline_in_use(do)}


EXAMPLES: dict[str, CallExample] = {
    "get_board": get_board,
    "get_status": given(facility_code=OWN_SITE),
}
