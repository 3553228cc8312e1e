"""Resolution: what an agent decided, and what follows from it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from uuid import UUID

from beamkeep.kernel import Cannot, Command, Record, Refusal
from beamkeep.schemas import Json


class AgentDecisionTakenError(Cannot):
    """The agent has already made this decision."""


class AgentIdentity(Record):
    """An agent of the service, and the context in which it decides."""

    id: UUID
    kind: str
    context: str

    @property
    def rule(self) -> str:
        """The rule that its decisions name."""
        return f"agent:{self.kind}:v1"


class Apart(Record):
    """An event that is looked at again later, while the agent answers those after it."""

    seconds: float


class Resolution(Record):
    """A decision that an agent makes once for each key, and the command that follows from it."""

    decision_id: UUID
    choice: str
    key: str
    inputs: Mapping[str, Json]
    command: Command | None = None
    new_id: UUID | None = None
    """The id of what the command creates."""
    parent_id: UUID | None = None
    denied: "Callable[[str], Resolution] | None" = None
    """Returns the resolution if no policy permits the command, given the reason code."""
    refused: "Mapping[type[Refusal], Resolution]" = MappingProxyType({})
    """The resolution after a refusal of the command; other refusals leave nothing to decide."""
