"""Trigger: whether a person, a monitor or an agent makes a change, by the kind of caller."""

from enum import StrEnum

from beamkeep.kernel import ActorKind, Call, Refusal


class TriggerSource(StrEnum):
    OPERATOR = "Operator"
    MONITOR = "Monitor"
    AUTO = "Auto"


class MonitorTriggerRequiredError(Refusal, status=403):
    """Only a monitor can report observations. Call with the service account of the monitor."""


class MonitorTriggerNotPermittedError(Refusal, status=403):
    """A monitor cannot mark or restore a supply. A person or an agent must do that."""


TRIGGERS = {
    ActorKind.HUMAN: TriggerSource.OPERATOR,
    ActorKind.SERVICE_ACCOUNT: TriggerSource.MONITOR,
    ActorKind.AGENT: TriggerSource.AUTO,
}


def source_of(call: Call) -> TriggerSource:
    """Return who triggers a change by this call."""
    return TRIGGERS[call.principal_kind]


def require_monitor(call: Call) -> None:
    """Raise MonitorTriggerRequiredError when the caller is not a monitor."""
    if source_of(call) is not TriggerSource.MONITOR:
        raise MonitorTriggerRequiredError


def require_no_monitor(call: Call) -> None:
    """Raise MonitorTriggerNotPermittedError when the caller is a monitor."""
    if source_of(call) is TriggerSource.MONITOR:
        raise MonitorTriggerNotPermittedError
