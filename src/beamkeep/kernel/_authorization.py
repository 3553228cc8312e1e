"""Authorization: a pure function of a principal's standing and its grants."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from ._record import Record
from ._table import Table

EVERY_COMMAND = "*"


class ActorKind(StrEnum):
    """What sort of principal acts."""

    HUMAN = "human"
    AGENT = "agent"
    SERVICE_ACCOUNT = "service_account"


class ObjectScope(StrEnum):
    """Which objects a permitted read may show, and a permitted command may change."""

    ALL = "All"
    TEAM = "Team"
    """The own objects, and those of the teams of which the caller is a member now."""
    OWN = "Own"

    @property
    def breadth(self) -> int:
        """A number that is greater the more objects the scope reaches."""
        return (ObjectScope.OWN, ObjectScope.TEAM, ObjectScope.ALL).index(self)

    def covers(self, other: "ObjectScope") -> bool:
        """Return whether it reaches all that another scope reaches."""
        return self.breadth >= other.breadth


class Sight(Record):
    """Whose objects a call reaches: those of one principal, and with `teams` of its teams."""

    principal_id: UUID
    teams: bool = False


class DenialReason(StrEnum):
    """Why a call was denied. The reason is recorded, and only an agent is shown its own."""

    UNKNOWN_PRINCIPAL = "unknown_principal"
    INACTIVE_PRINCIPAL = "inactive_principal"
    SUSPENDED_AGENT = "suspended_agent"
    NO_MATCHING_POLICY = "no_matching_policy"
    TOOL_NOT_GRANTED = "tool_not_granted"


class SurfaceKind(StrEnum):
    """The transport a call arrives by."""

    HTTP = "HTTP"
    MCP_STDIO = "MCP_STDIO"
    MCP_STREAMABLE_HTTP = "MCP_STREAMABLE_HTTP"


MCP = frozenset({SurfaceKind.MCP_STDIO, SurfaceKind.MCP_STREAMABLE_HTTP})


class Standing(Record):
    """Whether a principal may act at all."""

    principal_id: UUID
    kind: ActorKind
    barred: DenialReason | None = None
    agent_barred: DenialReason | None = None
    """Why an agent may not act although its actor may."""
    agent_kind: str | None = None
    tools: tuple[str, ...] = ()
    """The names that an agent may call over MCP."""

    @property
    def bar(self) -> DenialReason | None:
        """Why the principal may not act; None if it may."""
        return self.barred or self.agent_barred


class Grant(Record):
    """One policy's permission for one principal on one conduit and surface."""

    policy_id: UUID
    principal_id: UUID
    conduit_id: UUID
    surface_id: UUID | None
    permitted_commands: tuple[str, ...]
    object_scope: ObjectScope
    proposable_commands: tuple[str, ...] = ()

    @property
    def unrestricted(self) -> bool:
        """Whether the grant permits every command and shows every object."""
        return self.permitted_commands == (EVERY_COMMAND,) and self.object_scope is ObjectScope.ALL

    def permits(
        self, name: str, conduit_id: UUID, surface_id: UUID | None, proposing: bool = False
    ) -> bool:
        """Return whether it permits, or lets propose, this call here. None equals only None."""
        here = (self.conduit_id, self.surface_id) == (conduit_id, surface_id)
        named = self.proposable_commands if proposing else self.permitted_commands
        return here and (name in named or EVERY_COMMAND in named)


class Denial(Record):
    """A call that was denied, recorded for those who maintain the policies."""

    denial_id: UUID
    conduit_id: UUID
    surface_id: UUID | None
    principal_id: UUID
    command_name: str
    reason_code: DenialReason
    correlation_id: UUID
    occurred_at: datetime


DENIALS = Table("authorization_denials", Denial, key=("denial_id",))


class Allow(Record):
    determining_policies: tuple[UUID, ...]
    object_scope: ObjectScope


class Propose(Record):
    """The principal may not make the call, but may ask somebody else to approve it."""

    determining_policies: tuple[UUID, ...]
    object_scope: ObjectScope


class Deny(Record):
    reason_code: DenialReason


type AuthzResult = Allow | Propose | Deny


def authorize(
    standing: Standing | None,
    grants: Sequence[Grant],
    command_name: str,
    conduit_id: UUID,
    surface_id: UUID | None,
    over: SurfaceKind | None = None,
    proposable: bool = False,
) -> AuthzResult:
    """Return Allow when a grant for this conduit and surface permits the command.

    If none does, the command is proposable, and a grant lets it be proposed, return Propose.
    Over MCP an agent also needs the command among its tools.
    """
    if standing is None:
        return Deny(DenialReason.UNKNOWN_PRINCIPAL)
    if standing.bar is not None:
        return Deny(standing.bar)
    if standing.kind is ActorKind.AGENT and over in MCP and command_name not in standing.tools:
        return Deny(DenialReason.TOOL_NOT_GRANTED)
    me, here = standing.principal_id, (command_name, conduit_id, surface_id)
    own, verdict = [grant for grant in grants if grant.principal_id == me], Allow
    determining = [grant for grant in own if grant.permits(*here)]
    if not determining and proposable:
        verdict = Propose
        determining = [grant for grant in own if grant.permits(*here, proposing=True)]
    if not determining:
        return Deny(DenialReason.NO_MATCHING_POLICY)
    if len(determining) == 1:
        return verdict((determining[0].policy_id,), determining[0].object_scope)
    scope = max([grant.object_scope for grant in determining], key=lambda each: each.breadth)
    return verdict(tuple(sorted([grant.policy_id for grant in determining])), scope)
