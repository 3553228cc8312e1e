"""Monitors: the accounts that an administrator has bound to what they report on."""

from collections.abc import Set
from uuid import UUID

from beamkeep.contexts.access.actor import Actor, actors, require_administrator
from beamkeep.contexts.access.profile import MONITOR
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import ActorKind, Call, Cannot, Record, Refusal

from .administrators import permitted_everything
from .grants import require_all_confirmed
from .trigger import require_monitor

MOST_MONITORS = 10


class MonitorTriggerNotBoundError(Refusal, status=403):
    """Only an account that an administrator has bound to this object can report on it."""


class NewMonitor(Record):
    """An account that is to report, and whether the caller may bind it."""

    account: Actor
    permitted_everything: bool = False


async def new_monitor(account_id: UUID, read: Reader) -> NewMonitor:
    """Return an account that is to report."""
    return NewMonitor(await read.one(actors, account_id), await permitted_everything(read))


def require_bound(monitor_ids: Set[UUID], binding: str, call: Call) -> None:
    """Raise the refusal of a report by anybody but a monitor that is bound to the object.

    The workers of the service report as the seeded Monitor, as which nobody can log in.
    """
    require_monitor(call)
    if call.principal_id != MONITOR and call.principal_id not in monitor_ids:
        raise MonitorTriggerNotBoundError(
            f"The caller is account {call.principal_id}. Ask an administrator to bind the account"
            f" with {binding}."
        )


def require_bindable(
    given: NewMonitor, monitor_ids: Set[UUID], refusal: type[Cannot], call: Call
) -> None:
    """Raise a refusal unless the caller may bind the account as one more monitor."""
    require_administrator(given.permitted_everything, call)
    account = given.account
    if account.kind is not ActorKind.SERVICE_ACCOUNT:
        raise refusal(f"Actor {account.id} is of kind {account.kind}; name a service account.")
    if not account.active:
        raise refusal(f"Actor {account.id} is not active.")
    if account.id in monitor_ids:
        raise refusal(f"Actor {account.id} is bound already.")
    if len(monitor_ids) >= MOST_MONITORS:
        raise refusal(f"There are {MOST_MONITORS} monitors; unbind one first.")
    require_all_confirmed(account)
