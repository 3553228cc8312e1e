"""The loop that grows the trees and signs them."""

from collections.abc import Sequence
from pathlib import Path

import httpx2

from beamkeep.adapters.postgres.connections import OneConnection
from beamkeep.adapters.postgres.lease import PostgresLease
from beamkeep.parts.wiring import IDLE
from beamkeep.runtime.clock import now
from beamkeep.workers.supervision import Loop, while_held

from .cosigners import PATH as COSIGNING
from .cosigners import CosigningReceiver
from .keys import TreeFile
from .postgres import READING, PostgresWitness
from .receivers import CheckpointReceiver, FileReceiver, HttpReceiver
from .settings import WitnessSettings
from .signing import Witness


def loops(own: WitnessSettings) -> Sequence[Loop]:
    """Return the loop that grows the trees and signs them, if there is a key."""
    return [_witness(own, own.witness_key_file)] if own.witness_key_file else []


def _witness(own: WitnessSettings, key_file: Path) -> Loop:
    async def run() -> None:
        connection = OneConnection(own.witness_url, **IDLE, **READING)
        store = PostgresWitness(connection)
        try:
            async with httpx2.AsyncClient() as http:
                receivers: list[CheckpointReceiver] = []
                if own.witness_send_file:
                    receivers.append(FileReceiver(own.witness_send_file))
                if (address := own.witness_send_url) and address.endswith(COSIGNING):
                    receivers.append(CosigningReceiver(address, http, store))
                elif address:
                    receivers.append(HttpReceiver(address, http))
                witness = Witness(store, own.witness_keys(), own.witness_origin, clock=now)
                sent = TreeFile(key_file.with_name(f"{key_file.name}.sent"))
                await witness.run(receivers, sent)
        finally:
            await connection.close()

    return while_held(PostgresLease(own.witness_url, "witness", [0]), "witness", run)
