"""How the witness is wired into a deployment."""

import time
from collections.abc import Sequence
from pathlib import Path

import httpx2

from beamkeep.adapters.postgres.connections import Connections, OneConnection
from beamkeep.adapters.postgres.lease import PostgresLease
from beamkeep.contexts.seams.installation import Readers
from beamkeep.kernel import replace
from beamkeep.parts.wiring import IDLE, Core, Grounds, Wiring
from beamkeep.runtime.clock import now
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.workers.supervision import Loop, while_held

from .cosigners import PATH as COSIGNING
from .cosigners import CosigningReceiver
from .cosigning import Cosigner, key_list
from .keys import TreeFile
from .postgres import READING, PostgresWitness
from .postgres_cosigning import PostgresCosigning
from .postgres_reading import PostgresWitnessReader
from .proving import witness_faults
from .receivers import CheckpointReceiver, FileReceiver, HttpReceiver
from .settings import WitnessSettings
from .signing import Witness


def readers(grounds: Grounds, own: WitnessSettings, here: Readers) -> Readers:
    """Let reads find checkpoints and proofs."""
    return replace(here, witness=PostgresWitnessReader(grounds.commands))


def loops(core: Core, own: WitnessSettings) -> Sequence[Loop]:
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


def routes(core: Core, own: WitnessSettings) -> Sequence[HttpRoute]:
    """Return the routes of the keys, and of the co-signing of other logs."""
    keys = key_list(PostgresCosigning(core.commands))
    if not own.witness_origins:
        return [keys]
    connections = Connections(own.witness_url, 2, **IDLE, **READING)
    core.closing.append(connections.close)
    cosigner = Cosigner(
        PostgresCosigning(connections),
        own.witness_keys()[0].signer,
        own.cosigned_origins,
        clock=time.time,
    )
    return [keys, cosigner.route()]


WIRING = Wiring(
    WitnessSettings, readers=readers, loops=loops, routes=routes, record_checks=witness_faults
)
