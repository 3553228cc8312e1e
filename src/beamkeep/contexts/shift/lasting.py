"""What a shift may leave open: how it is found, and which events open and close it."""

from collections.abc import Mapping, Sequence

from beamkeep.contexts.enclosure.enclosure import (
    EnclosureDecommissioned,
    EnclosurePermitObserved,
    EnclosureRegistered,
    ListEnclosures,
    PermitStatus,
)
from beamkeep.contexts.equipment.asset import (
    AssetCondition,
    AssetDecommissioned,
    AssetDegraded,
    AssetFaulted,
    AssetLifecycle,
    AssetMaintenanceEntered,
    AssetMaintenanceExited,
    AssetRestored,
    ListAssets,
)
from beamkeep.contexts.run.run import (
    ENDS,
    ListRuns,
    RunHeld,
    RunResumed,
    RunStarted,
    RunStatus,
)
from beamkeep.contexts.supply.supply import (
    ListSupplies,
    SupplyDegraded,
    SupplyDeregistered,
    SupplyMarkedAvailable,
    SupplyMarkedRecovering,
    SupplyMarkedUnavailable,
    SupplyRegistered,
    SupplyRestored,
    SupplyStatus,
)
from beamkeep.contexts.trust.visit import (
    ListVisits,
    VisitAborted,
    VisitArrived,
    VisitCancelled,
    VisitCompleted,
    VisitHeld,
    VisitResumed,
    VisitStarted,
    VisitStatus,
    VisitVoided,
)
from beamkeep.kernel import Event, Listing, Record


class Lasting(Record):
    """Something that may be open for longer than a shift."""

    open_now: Sequence[Listing]
    """The lists of those that are open today."""
    opened_by: Mapping[type[Event], str]
    """The events that leave it open, and in which state."""
    closed_by: Sequence[type[Event]]

    @property
    def moves(self) -> tuple[type[Event], ...]:
        return (*self.opened_by, *self.closed_by)

    def state_after(self, event: Event) -> str | None:
        """How an event leaves it, if that is open."""
        if isinstance(event, EnclosurePermitObserved):
            status = event.to_permit_status
            return None if status is PermitStatus.PERMITTED else status
        return self.opened_by.get(type(event))


OPEN_RUN = Lasting(
    [ListRuns(status=frozenset({RunStatus.RUNNING, RunStatus.HELD}))],
    {
        RunStarted: RunStatus.RUNNING,
        RunResumed: RunStatus.RUNNING,
        RunHeld: RunStatus.HELD,
    },
    ENDS,
)
NOT_WORKING = Lasting(
    [ListAssets(condition=each) for each in (AssetCondition.DEGRADED, AssetCondition.FAULTED)],
    {AssetDegraded: AssetCondition.DEGRADED, AssetFaulted: AssetCondition.FAULTED},
    (AssetRestored, AssetDecommissioned),
)
IN_MAINTENANCE = Lasting(
    [ListAssets(lifecycle=AssetLifecycle.MAINTENANCE)],
    {AssetMaintenanceEntered: AssetLifecycle.MAINTENANCE},
    (AssetMaintenanceExited, AssetDecommissioned),
)
WITHOUT_PERMIT = Lasting(
    [
        ListEnclosures(permit_status=PermitStatus.NOT_PERMITTED),
        ListEnclosures(permit_status=PermitStatus.UNKNOWN),
    ],
    {EnclosureRegistered: PermitStatus.UNKNOWN},
    # What was observed opens or closes, by the status it leads to.
    (EnclosurePermitObserved, EnclosureDecommissioned),
)
NOT_AVAILABLE = Lasting(
    [
        ListSupplies(status=SupplyStatus.UNKNOWN),
        ListSupplies(status=SupplyStatus.DEGRADED),
        ListSupplies(status=SupplyStatus.UNAVAILABLE),
        ListSupplies(status=SupplyStatus.RECOVERING),
    ],
    {
        SupplyRegistered: SupplyStatus.UNKNOWN,
        SupplyDegraded: SupplyStatus.DEGRADED,
        SupplyMarkedUnavailable: SupplyStatus.UNAVAILABLE,
        SupplyMarkedRecovering: SupplyStatus.RECOVERING,
    },
    (SupplyMarkedAvailable, SupplyRestored, SupplyDeregistered),
)
OPEN_VISIT = Lasting(
    [
        ListVisits(status=VisitStatus.ARRIVED),
        ListVisits(status=VisitStatus.IN_PROGRESS),
        ListVisits(status=VisitStatus.ON_HOLD),
    ],
    {
        VisitArrived: VisitStatus.ARRIVED,
        VisitStarted: VisitStatus.IN_PROGRESS,
        VisitResumed: VisitStatus.IN_PROGRESS,
        VisitHeld: VisitStatus.ON_HOLD,
    },
    (VisitCompleted, VisitCancelled, VisitAborted, VisitVoided),
)
LASTING = OPEN_RUN, NOT_WORKING, IN_MAINTENANCE, WITHOUT_PERMIT, NOT_AVAILABLE, OPEN_VISIT
