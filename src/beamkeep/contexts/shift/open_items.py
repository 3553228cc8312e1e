"""Open items: the states that a shift may leave open, and the events that lead to them."""

from collections.abc import Mapping, Sequence, Set
from enum import StrEnum

from beamkeep.contexts.enclosure import enclosure
from beamkeep.contexts.enclosure.enclosure import EnclosurePermitObserved, PermitStatus
from beamkeep.contexts.equipment import asset
from beamkeep.contexts.equipment.asset import AssetCondition, AssetLifecycle, ListAssets
from beamkeep.contexts.run import run
from beamkeep.contexts.run.run import ListRuns, RunStatus
from beamkeep.contexts.supply import supply
from beamkeep.contexts.supply.supply import ListSupplies, SupplyStatus
from beamkeep.contexts.trust import visit
from beamkeep.contexts.trust.visit import ListVisits, VisitStatus
from beamkeep.kernel import Axis, Event, Listing, Record


class OpenItems(Record):
    """The states of one kind of object that count as open."""

    states: Set[str]
    lists: Sequence[Listing]
    """The lists of the objects that are open now."""
    leads_to: Mapping[type[Event], str]
    """The state after each event that opens or closes an object."""

    def state_after(self, event: Event) -> str | None:
        """Return the state that an event led to, if that state is open."""
        observed = isinstance(event, EnclosurePermitObserved)
        state = event.to_permit_status if observed else self.leads_to[type(event)]
        return state if state in self.states else None


def _targets[S: StrEnum, E: Event](axis: Axis[S, E]) -> dict[type[Event], str]:
    return {event: target for event, (_, target, _) in axis.moves.items()}


FAILING = {AssetCondition.DEGRADED, AssetCondition.FAULTED}
CLOSED = {PermitStatus.NOT_PERMITTED, PermitStatus.UNKNOWN}
LACKING = {*SupplyStatus} - {SupplyStatus.AVAILABLE, SupplyStatus.DECOMMISSIONED}
PRESENT = {VisitStatus.ARRIVED, VisitStatus.IN_PROGRESS, VisitStatus.ON_HOLD}

OPEN_RUNS = OpenItems(
    run.OPEN,
    [ListRuns(status=run.OPEN)],
    {run.RunStarted: RunStatus.RUNNING, **_targets(run.STATUS)},
)
FAILING_ASSETS = OpenItems(
    FAILING,
    [ListAssets(condition=condition) for condition in sorted(FAILING)],
    _targets(asset.CONDITION) | {asset.AssetDecommissioned: AssetLifecycle.DECOMMISSIONED},
)
ASSETS_IN_MAINTENANCE = OpenItems(
    {AssetLifecycle.MAINTENANCE},
    [ListAssets(lifecycle=AssetLifecycle.MAINTENANCE)],
    _targets(asset.LIFECYCLE),
)
CLOSED_ENCLOSURES = OpenItems(
    CLOSED,
    [enclosure.ListEnclosures(permit_status=status) for status in sorted(CLOSED)],
    {enclosure.EnclosureRegistered: PermitStatus.UNKNOWN, **_targets(enclosure.LIFECYCLE)},
)
LACKING_SUPPLIES = OpenItems(
    LACKING,
    [ListSupplies(status=status) for status in sorted(LACKING)],
    {supply.SupplyRegistered: SupplyStatus.UNKNOWN, **_targets(supply.STATUS)},
)
OPEN_VISITS = OpenItems(
    PRESENT, [ListVisits(status=status) for status in sorted(PRESENT)], _targets(visit.STATUS)
)
OPEN_ITEMS = (
    *(OPEN_RUNS, FAILING_ASSETS, ASSETS_IN_MAINTENANCE),
    *(CLOSED_ENCLOSURES, LACKING_SUPPLIES, OPEN_VISITS),
)
