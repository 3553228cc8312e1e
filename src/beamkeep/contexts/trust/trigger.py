"""What set a change off: a person, a monitor or an agent, told by who calls."""

from enum import StrEnum

from beamkeep.kernel import ActorKind, Call, Refusal


class TriggerSource(StrEnum):
    OPERATOR = "Operator"
    MONITOR = "Monitor"
    AUTO = "Auto"


class MonitorTriggerRequiredError(Refusal, status=403):
    """Only a monitor reports what it observes. Let the monitor's service account call."""


class MonitorTriggerNotPermittedError(Refusal, status=403):
    """A monitor cannot declare it available. A person or an agent must."""


TRIGGERS = {
    ActorKind.HUMAN: TriggerSource.OPERATOR,
    ActorKind.SERVICE_ACCOUNT: TriggerSource.MONITOR,
    ActorKind.AGENT: TriggerSource.AUTO,
}


def trigger(call: Call) -> TriggerSource:
    """What set this call off."""
    return TRIGGERS[call.principal_kind]


def require_monitor(call: Call) -> None:
    """Refuse whoever is not a monitor."""
    if trigger(call) is not TriggerSource.MONITOR:
        raise MonitorTriggerRequiredError


def require_no_monitor(call: Call) -> None:
    """Refuse a monitor."""
    if trigger(call) is TriggerSource.MONITOR:
        raise MonitorTriggerNotPermittedError
