"""A hutch around an asset, whose permit a test grants and withdraws."""

from typing import Any
from uuid import uuid4

from beamkeep.testing.service import ACCOUNT
from tests.support.conducting import ConductorBench
from tests.support.examples.enclosure import PERMITTED
from tests.support.examples.federation import OWN_SITE


class Hutch:
    """An enclosure that the target asset of procedures stands in."""

    def __init__(self, world: ConductorBench, enclosure_id: str, asset_id: str) -> None:
        self._world, self._enclosure_id, self.asset_id = world, enclosure_id, asset_id

    @classmethod
    async def around_an_asset(cls, world: ConductorBench) -> "Hutch":
        """Return a hutch that permits work."""
        name = f"Hutch {uuid4()}"
        made = await world.ask("register_enclosure", name=name, facility_code=OWN_SITE)
        account = await world.ask("get_self", subject=ACCOUNT)
        bound = {"enclosure_id": made["enclosure_id"], "monitor_id": account["actor_id"]}
        await world.ask("bind_enclosure_monitor", **bound)
        asset_id = (await world.an_asset())["asset_id"]
        where = {"asset_id": asset_id, "located_in_enclosure_id": made["enclosure_id"]}
        await world.ask("locate_asset", **where)
        hutch = cls(world, made["enclosure_id"], asset_id)
        await hutch.report("Permitted")
        return hutch

    async def report(self, permit_status: str) -> None:
        """Report the permit as the monitor of the hutch does."""
        observation: dict[str, Any] = {**PERMITTED, "permit_status": permit_status}
        await self._world.ask(
            "observe_enclosure_status", enclosure_id=self._enclosure_id, **observation
        )

    async def procedure(self, **more: Any) -> str:
        """Register a procedure about the asset in the hutch."""
        return await self._world.procedure(target_asset_ids=[self.asset_id], **more)
