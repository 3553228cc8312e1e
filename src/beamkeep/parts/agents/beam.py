"""Beam: which supplies serve a run with beam, and since when all of them are lost."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.equipment.asset import with_all_above
from beamkeep.contexts.run.run import Run
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.supply.gate import scope_of
from beamkeep.contexts.supply.supply import (
    IN_USE,
    ListSupplies,
    Supply,
    SupplyDeregistered,
    SupplyMarkedUnavailable,
    SupplyStatus,
    supplies,
)
from beamkeep.kernel import Record

from .histories import Histories

BEAM = "photon_beam"
LOST = frozenset({SupplyStatus.UNAVAILABLE, SupplyStatus.RECOVERING})
"""A recovering supply has been lost and is not back."""


class BeamLoss(Record):
    """The event that took beam away last."""

    supply_id: UUID
    version: int
    position: int
    since: datetime

    @property
    def episode(self) -> str:
        return f"{self.supply_id}:{self.version}"


class BeamState(Record):
    """The supplies of beam in the scope of a run."""

    supplies: Sequence[Supply]
    """Those in use."""
    last_loss: BeamLoss | None

    @property
    def loss(self) -> BeamLoss | None:
        """The loss that lasts; None if any supply is not lost, or none is in use."""
        lost = bool(self.supplies) and all(each.status in LOST for each in self.supplies)
        return self.last_loss if lost else None


async def beam_of(run: Run, read: Reader, histories: Histories) -> BeamState:
    """Return the beam of a run, folded."""
    scope = await scope_of(await with_all_above(run.asset_ids, read), read)
    queries = [ListSupplies(kind=BEAM, facility_code=code) for code in sorted(scope.facility_codes)]
    listed = [id for query in queries for id in await read.matching(query)]
    # A supply that was deregistered no longer serves the run, but may have been its last beam.
    found = [it for it in (await read.many(supplies, listed)).values() if scope.reaches(it)]
    losses = [loss for it in found if (loss := await _last_loss(it, read, histories))]
    newest = max(losses, key=lambda loss: loss.position, default=None)
    return BeamState([each for each in found if each.status in IN_USE], newest)


async def _last_loss(supply: Supply, read: Reader, histories: Histories) -> BeamLoss | None:
    """Return the newest event by which a supply that was not lost was taken away."""
    taking = await histories.newest(
        supplies,
        supply.id,
        read.version(supplies, supply.id),
        types=(SupplyMarkedUnavailable, SupplyDeregistered),
        fits=lambda event: event.from_status not in LOST,
    )
    if taking is None:
        return None
    at = taking[0]
    return BeamLoss(supply.id, at.version, position=at.position, since=at.recorded_at)
