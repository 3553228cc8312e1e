"""Open items: the states that a shift may leave open, and the events that lead to them."""

from collections.abc import Mapping, Sequence, Set
from enum import StrEnum

from beamkeep.contexts.enclosure import enclosure
from beamkeep.contexts.equipment import asset
from beamkeep.contexts.operation import procedure
from beamkeep.contexts.proposal import proposal
from beamkeep.contexts.run import run
from beamkeep.contexts.supply import supply
from beamkeep.contexts.trust import visit
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
        observed = isinstance(event, enclosure.EnclosurePermitObserved)
        state = event.to_permit_status if observed else self.leads_to[type(event)]
        return state if state in self.states else None


def _targets[S: StrEnum, E: Event](axis: Axis[S, E]) -> dict[type[Event], str]:
    return {event: target for event, (_, target, _) in axis.moves.items()}


FAILING = {asset.AssetCondition.DEGRADED, asset.AssetCondition.FAULTED}
CLOSED = {enclosure.PermitStatus.NOT_PERMITTED, enclosure.PermitStatus.UNKNOWN}
SERVED = {supply.SupplyStatus.AVAILABLE, supply.SupplyStatus.DECOMMISSIONED}
LACKING = {*supply.SupplyStatus} - SERVED
PRESENT = {visit.VisitStatus.ARRIVED, visit.VisitStatus.IN_PROGRESS, visit.VisitStatus.ON_HOLD}
MAINTENANCE = asset.AssetLifecycle.MAINTENANCE

OPEN_RUNS = OpenItems(
    run.OPEN,
    [run.ListRuns(status=run.OPEN)],
    {run.RunStarted: run.RunStatus.RUNNING, **_targets(run.STATUS)},
)
OPEN_PROCEDURES = OpenItems(
    procedure.OPEN,
    [procedure.ListProcedures(status=procedure.OPEN)],
    _targets(procedure.STATUS),
)
FAILING_ASSETS = OpenItems(
    FAILING,
    [asset.ListAssets(condition=condition) for condition in sorted(FAILING)],
    _targets(asset.CONDITION) | {asset.AssetDecommissioned: asset.AssetLifecycle.DECOMMISSIONED},
)
ASSETS_IN_MAINTENANCE = OpenItems(
    {MAINTENANCE}, [asset.ListAssets(lifecycle=MAINTENANCE)], _targets(asset.LIFECYCLE)
)
CLOSED_ENCLOSURES = OpenItems(
    CLOSED,
    [enclosure.ListEnclosures(permit_status=frozenset(CLOSED))],
    {
        enclosure.EnclosureRegistered: enclosure.PermitStatus.UNKNOWN,
        **_targets(enclosure.LIFECYCLE),
    },
)
LACKING_SUPPLIES = OpenItems(
    LACKING,
    [supply.ListSupplies(status=frozenset(LACKING))],
    {supply.SupplyRegistered: supply.SupplyStatus.UNKNOWN, **_targets(supply.STATUS)},
)
OPEN_VISITS = OpenItems(
    PRESENT, [visit.ListVisits(status=frozenset(PRESENT))], _targets(visit.STATUS)
)
OPEN_PROPOSALS = OpenItems(
    {proposal.ProposalStatus.OPEN},
    [proposal.ListProposals(open=True)],
    {
        proposal.ProposalRegistered: proposal.ProposalStatus.OPEN,
        **_targets(proposal.STATUS),
    },
)
OPEN_ITEMS = (
    *(OPEN_RUNS, OPEN_PROCEDURES, FAILING_ASSETS, ASSETS_IN_MAINTENANCE),
    *(CLOSED_ENCLOSURES, LACKING_SUPPLIES, OPEN_VISITS, OPEN_PROPOSALS),
)
