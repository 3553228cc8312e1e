"""How the witness is wired into a deployment."""

import time
from collections.abc import AsyncGenerator, Sequence

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.contexts.seams.installation import Readers
from beamkeep.kernel import replace
from beamkeep.parts.wiring import IDLE, Core, Grounds, Wiring
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.workers.supervision import Loop

from .cosigning import Cosigner, key_list
from .postgres import READING
from .postgres_cosigning import PostgresCosigning
from .postgres_reading import PostgresWitnessReader
from .settings import WitnessSettings


def readers(grounds: Grounds, own: WitnessSettings, here: Readers) -> Readers:
    """Let reads find checkpoints and proofs."""
    return replace(here, witness=PostgresWitnessReader(grounds.commands))


def loops(core: Core, own: WitnessSettings) -> Sequence[Loop]:
    """Return the loop that grows the trees and signs them, if there is a key."""
    from .loops import loops as found

    return found(own)


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


async def record_checks(own: WitnessSettings) -> AsyncGenerator[str]:
    """Yield what is wrong with the record."""
    from .proving import witness_faults

    async for fault in witness_faults(own):
        yield fault


WIRING = Wiring(
    WitnessSettings, readers=readers, loops=loops, routes=routes, record_checks=record_checks
)
