"""Waiting until a conduct has written a row."""

import asyncio

from tests.support.conducting import ConductorBench


async def until_row(world: ConductorBench, procedure_id: str, row: tuple[int, str]) -> None:
    """Return once the procedure has a row of this step and stage."""
    async with asyncio.timeout(60):
        while row not in await world.stages(procedure_id):
            await asyncio.sleep(0.001)
