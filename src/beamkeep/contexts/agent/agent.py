"""Agent: the configuration of a software agent, which is a principal with an actor of its id."""

from collections.abc import Mapping, Sequence, Set
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, MaxLen, MinLen
from pydantic import AllowInfNan, Strict

from beamkeep.contexts.access import actor
from beamkeep.contexts.access.actor import Actor, ActorRegistered, actors
from beamkeep.contexts.access.profile import PROFILES, STANDINGS, Profile
from beamkeep.contexts.seams.agent_records import AgentUse
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.trust.grants import GrantExceedsOwnError, require_tools_held
from beamkeep.contexts.trust.policy import own_grants
from beamkeep.kernel import (
    ActorKind,
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DenialReason,
    DirectoryEntry,
    Event,
    Grant,
    Invalid,
    Listing,
    NotFound,
    Record,
    SideWrite,
    Standing,
    Table,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Reason, Trimmed

MOST_TOOLS = 32
NO_MODEL = "deterministic"
"""The provider of an agent that calls no model."""
MODEL_KINDS = frozenset({"RunDebriefer", "CautionDrafter"})
"""The kinds with a runtime that calls a model; others may be defined next to the seeded one."""
RESERVED_KINDS = frozenset({"RunSupervisor", "CautionPromoter", "ClearanceExpirer"})


class AgentStatus(StrEnum):
    DEFINED = "Defined"
    VERSIONED = "Versioned"
    SUSPENDED = "Suspended"
    DEPRECATED = "Deprecated"


class InvalidAgentModelRefError(Invalid):
    """Model must have a provider and a name that are not blank, and must suit the kind of agent."""


type AgentText = Annotated[str, MinLen(1), MaxLen(100)]
type ModelName = Annotated[str, MinLen(1), MaxLen(200)]
type UsdCap = Annotated[float, Strict(), Ge(0), AllowInfNan(False)]
type DailyCap = Annotated[int, Strict(), Ge(0)]


class ModelRef(Record):
    """A language model at its provider; provider `deterministic` means that none is called."""

    provider: Annotated[AgentText, Trimmed(InvalidAgentModelRefError)]
    model: Annotated[ModelName, Trimmed(InvalidAgentModelRefError)]
    snapshot_pin: Annotated[AgentText, Trimmed(InvalidAgentModelRefError)] | None = None

    @property
    def requested(self) -> str:
        """The name that is sent to the provider."""
        return self.snapshot_pin or self.model


class AgentBudget(Record):
    """The most that an agent may spend on calls of models, and how much it may change in a day."""

    monthly_usd_cap: float | None = None
    daily_token_cap: int | None = None
    daily_action_cap: int | None = None


# Events are stored for ever: add a field with a default; never rename or drop one.
class AgentEvent(Event):
    agent_id: UUID


class AgentDefined(AgentEvent):
    kind: str
    name: str
    version: str
    description: FreeText | None
    model_ref: ModelRef
    prompt_template_id: UUID | None
    capabilities: tuple[FreeText, ...]
    tools: tuple[str, ...]
    budget: AgentBudget | None


class AgentVersioned(AgentEvent):
    version: str


class AgentSuspended(AgentEvent):
    reason: FreeText


class AgentResumed(AgentEvent): ...


class AgentDeprecated(AgentEvent):
    reason: FreeText


class AgentToolEvent(AgentEvent):
    tool_name: str


class AgentToolGranted(AgentToolEvent): ...


class AgentToolRevoked(AgentToolEvent): ...


class AgentBudgetUpdated(AgentEvent):
    budget: AgentBudget | None


type AgentMoved = AgentVersioned | AgentSuspended | AgentResumed | AgentDeprecated
type AgentChanged = AgentMoved | AgentToolGranted | AgentToolRevoked | AgentBudgetUpdated


class AgentNotFoundError(NotFound): ...


class InvalidAgentKindError(Blank): ...


class InvalidAgentNameError(Blank): ...


class InvalidAgentVersionError(Blank): ...


class InvalidAgentDescriptionError(Blank): ...


class InvalidAgentCapabilitiesError(Blank): ...


class InvalidAgentReasonError(Blank): ...


class InvalidAgentPromptTemplateError(Invalid):
    """Prompt template must be one of this release for the kind of agent."""


class InvalidAgentToolsError(Invalid):
    """Tools must be names of commands and queries."""


class InvalidAgentBudgetError(Invalid):
    """Budget must have at least one cap."""


class AgentKindReservedError(Cannot):
    """This kind of agent is seeded and cannot be defined; choose another kind."""


class AgentCannotVersionError(Cannot):
    """Only an agent in Defined can be versioned."""


class AgentCannotSuspendError(Cannot):
    """Only an agent in Versioned can be suspended."""


class AgentCannotResumeError(Cannot):
    """Only an agent in Suspended whose actor is active can be resumed."""


class AgentCannotDeprecateError(Cannot):
    """An agent can be deprecated only once."""


class AgentCannotGrantToolError(Cannot):
    """A tool can be granted once, to an agent that is not deprecated and has fewer than 32."""


class AgentCannotRevokeToolError(Cannot):
    """Only a tool that an agent has can be revoked, and the agent must not be deprecated."""


class AgentCannotUpdateBudgetError(Cannot):
    """Budget can only be changed to another one, for an agent that is not deprecated."""


_ENDABLE = {AgentStatus.DEFINED, AgentStatus.VERSIONED, AgentStatus.SUSPENDED}
# fmt: off
STATUS: Axis[AgentStatus, AgentMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (AgentVersioned, {AgentStatus.DEFINED}, AgentStatus.VERSIONED, AgentCannotVersionError),
    (AgentSuspended, {AgentStatus.VERSIONED}, AgentStatus.SUSPENDED, AgentCannotSuspendError),
    (AgentResumed, {AgentStatus.SUSPENDED}, AgentStatus.VERSIONED, AgentCannotResumeError),
    (AgentDeprecated, _ENDABLE, AgentStatus.DEPRECATED, AgentCannotDeprecateError),
)
# fmt: on


class Agent(Record):
    id: UUID
    kind: str
    name: str
    version: str
    description: str | None
    model_ref: ModelRef
    prompt_template_id: UUID | None
    capabilities: frozenset[str]
    tools: frozenset[str]
    budget: AgentBudget | None
    status: AgentStatus = AgentStatus.DEFINED


def begin(event: AgentDefined) -> Agent:
    held = {"capabilities": frozenset(event.capabilities), "tools": frozenset(event.tools)}
    return Agent.of(event, id=event.agent_id, **held)


def evolve(agent: Agent, event: AgentChanged) -> Agent:
    match event:
        case AgentToolGranted(tool_name=name):
            return replace(agent, tools=agent.tools | {name})
        case AgentToolRevoked(tool_name=name):
            return replace(agent, tools=agent.tools - {name})
        case AgentBudgetUpdated(budget=budget):
            return replace(agent, budget=budget)
        case _:
            return replace(agent, status=STATUS.after(event))


class AgentStanding(Record):
    """The columns of a principal's standing that the events of its agent write."""

    principal_id: UUID
    agent_barred: DenialReason | None
    agent_kind: str | None
    tools: tuple[str, ...]


AGENT_STANDINGS = Table("principal_standing", AgentStanding, key=("principal_id",))


def standing_of(agent: Agent) -> AgentStanding:
    """Return the row that says whether the agent may act, and what it may call over MCP."""
    over = agent.status in {AgentStatus.SUSPENDED, AgentStatus.DEPRECATED}
    barred = DenialReason.SUSPENDED_AGENT if over else None
    return AgentStanding(agent.id, barred, agent_kind=agent.kind, tools=tuple(sorted(agent.tools)))


class ShownAgent(AgentUse):
    enabled: bool | None = None
    """Whether the settings let the runtime of its kind work; null for kinds without one."""
    idle_because: str | None = None
    """Why its runtime does nothing, if the settings are the reason."""


class AgentCaps(Record):
    """A budget as it is sent: at least one cap."""

    monthly_usd_cap: UsdCap | None = None
    daily_token_cap: DailyCap | None = None
    daily_action_cap: DailyCap | None = None


class DefineAgent(Command):
    kind: Annotated[AgentText, Trimmed(InvalidAgentKindError)]
    name: Annotated[AgentText, Trimmed(InvalidAgentNameError)]
    version: Annotated[str, MinLen(1), MaxLen(50), Trimmed(InvalidAgentVersionError)]
    """The version of the agent's program, in any form."""
    model_ref: ModelRef
    """The model that the agent calls; it cannot be changed later."""
    description: (
        Annotated[str, MinLen(1), MaxLen(2000), Trimmed(InvalidAgentDescriptionError)] | None
    ) = None
    prompt_template_id: UUID | None = None
    """Required for kinds RunDebriefer and CautionDrafter."""
    capabilities: Annotated[
        frozenset[Annotated[AgentText, Trimmed(InvalidAgentCapabilitiesError)]], MaxLen(32)
    ] = frozenset()
    """What the agent can do, in words; it permits nothing."""
    tools: Annotated[frozenset[AgentText], MaxLen(MOST_TOOLS)] = frozenset()
    """Commands and queries that the agent may call over MCP, if a policy permits them too."""
    budget: AgentCaps | None = None
    """The most that its calls of models may cost in a month and use in a day, and how many calls
    may change something in a day."""


class AgentCommand(Command):
    agent_id: UUID


class VersionAgent(AgentCommand): ...


class AgentReasonCommand(AgentCommand):
    reason: Annotated[Reason, Trimmed(InvalidAgentReasonError)]


class SuspendAgent(AgentReasonCommand): ...


class ResumeAgent(AgentCommand): ...


class DeprecateAgent(AgentReasonCommand): ...


class AgentToolCommand(AgentCommand):
    tool_name: AgentText
    """The name of a command or a query."""


class GrantAgentTool(AgentToolCommand): ...


class RevokeAgentTool(AgentToolCommand): ...


class UpdateAgentBudget(AgentCommand):
    """A cap that is left out stays as it is. Without any cap, the budget is removed."""

    monthly_usd_cap: UsdCap | None = None
    """The most that calls of models may cost in a month in UTC; null for no cap."""
    daily_token_cap: DailyCap | None = None
    """The most tokens that calls of models may use on a day in UTC; null for no cap."""
    daily_action_cap: DailyCap | None = None
    """How many calls of the agent may change something on a day in UTC; null for no cap."""


class Release(Record):
    """What an agent may refer to in this release, and the grants of the caller."""

    operation_names: Set[str]
    own: tuple[Grant, ...]
    templates: Mapping[UUID, str] = {}
    """The kind of agent that each prompt template is for."""


async def release(command: DefineAgent, read: Reader) -> Release:
    own = await own_grants(read) if command.tools else ()
    return Release(read.operation_names, own, read.facts.prompt_templates)


async def tool_grantor(agent: Agent, command: GrantAgentTool, read: Reader) -> Release:
    return Release(read.operation_names, await own_grants(read))


async def actor_of(agent: Agent, command: ResumeAgent, read: Reader) -> Actor:
    return await read.one(actors, agent.id)


def define_agent(
    command: DefineAgent, given: Release, call: Call
) -> list[AgentDefined | ActorRegistered | SideWrite]:
    """Define a software agent, and register the actor as which it acts."""
    kind, provider = command.kind, command.model_ref.provider
    if kind in MODEL_KINDS and provider == NO_MODEL:
        raise InvalidAgentModelRefError(f"An agent of kind {kind} calls a model.")
    template = command.prompt_template_id
    if (template or kind in MODEL_KINDS) and (
        not template or given.templates.get(template) != kind
    ):
        raise InvalidAgentPromptTemplateError(f"Template {template} is not for kind {kind}.")
    _require_grantable(command.tools, given)
    if command.budget == AgentCaps():
        raise InvalidAgentBudgetError("Leave out the budget to set no cap.")
    if kind in RESERVED_KINDS:
        raise AgentKindReservedError(f"The kind is {kind}.")
    return defined(command, call)


def defined(command: DefineAgent, call: Call) -> list[AgentDefined | ActorRegistered | SideWrite]:
    """Return the first events of an agent and of its actor, with the rows of the actor."""
    id, held = call.new_id, {"tools": command.tools, "capabilities": command.capabilities}
    ordered = {name: tuple(sorted(texts)) for name, texts in held.items()}
    budget = command.budget and AgentBudget.of(command.budget)
    new = AgentDefined.of(command, occurred_at=call.now, agent_id=id, budget=budget, **ordered)
    registered = ActorRegistered(call.now, id, kind=ActorKind.AGENT, identities=())
    profile = Profile(command.name, actor_id=id, created_at=call.now, updated_at=call.now)
    mine = standing_of(begin(new))
    acting = actor.standing_of(actor.begin(registered))
    standing = Standing.of(acting, agent_kind=mine.agent_kind, tools=mine.tools)
    return [new, registered, STANDINGS.insert(standing), PROFILES.insert(profile)]


def version_agent(agent: Agent, command: VersionAgent, call: Call) -> list[AgentVersioned]:
    """Release an agent for work; its runtime takes it up."""
    STATUS.require(agent.status, AgentVersioned)
    return [AgentVersioned(call.now, agent.id, agent.version)]


def suspend_agent(
    agent: Agent, command: SuspendAgent, call: Call
) -> list[AgentSuspended | SideWrite]:
    """Suspend an agent; every later call of the agent is denied until it is resumed."""
    STATUS.require(agent.status, AgentSuspended)
    suspended = AgentSuspended.of(command, occurred_at=call.now)
    return [suspended, _standing_after(agent, suspended)]


def resume_agent(
    agent: Agent, command: ResumeAgent, given: Actor, call: Call
) -> list[AgentResumed | SideWrite]:
    """Resume a suspended agent."""
    STATUS.require(agent.status, AgentResumed)
    if not given.active:
        raise AgentCannotResumeError("The actor was deactivated; define another agent.")
    resumed = AgentResumed(call.now, agent.id)
    return [resumed, _standing_after(agent, resumed)]


def deprecate_agent(
    agent: Agent, command: DeprecateAgent, call: Call
) -> list[AgentDeprecated | SideWrite]:
    """Deprecate an agent permanently; every later call of the agent is denied."""
    STATUS.require(agent.status, AgentDeprecated)
    deprecated = AgentDeprecated.of(command, occurred_at=call.now)
    return [deprecated, _standing_after(agent, deprecated)]


def grant_agent_tool(
    agent: Agent, command: GrantAgentTool, given: Release, call: Call
) -> list[AgentToolGranted | SideWrite]:
    """Grant an agent a command or query that it may call over MCP, if a policy permits it too."""
    name = command.tool_name
    _require_grantable({name}, given)
    if agent.status is AgentStatus.DEPRECATED:
        raise AgentCannotGrantToolError("The agent is Deprecated.")
    if name in agent.tools:
        raise AgentCannotGrantToolError(f"The agent has {name} already.")
    if len(agent.tools) >= MOST_TOOLS:
        raise AgentCannotGrantToolError(f"The agent has {MOST_TOOLS} tools; revoke one first.")
    granted = AgentToolGranted(call.now, agent.id, name)
    return [granted, _standing_after(agent, granted)]


def revoke_agent_tool(
    agent: Agent, command: RevokeAgentTool, call: Call
) -> list[AgentToolRevoked | SideWrite]:
    """Revoke a tool of an agent, with effect from the next call of the agent over MCP."""
    name = command.tool_name
    if agent.status is AgentStatus.DEPRECATED:
        raise AgentCannotRevokeToolError("The agent is Deprecated.")
    if name not in agent.tools:
        raise AgentCannotRevokeToolError(f"The agent does not have {name}.")
    revoked = AgentToolRevoked(call.now, agent.id, name)
    return [revoked, _standing_after(agent, revoked)]


def update_agent_budget(
    agent: Agent, command: UpdateAgentBudget, call: Call
) -> list[AgentBudgetUpdated]:
    """Change some caps of the budget of an agent."""
    given = {name: getattr(command, name) for name in command.model_fields_set - {"agent_id"}}
    caps = replace(agent.budget or AgentBudget(), **given)
    budget = None if caps == AgentBudget() else caps
    if agent.status is AgentStatus.DEPRECATED:
        raise AgentCannotUpdateBudgetError("The agent is Deprecated.")
    if budget == agent.budget:
        raise AgentCannotUpdateBudgetError("The agent has this budget already.")
    return [AgentBudgetUpdated(call.now, agent.id, budget)]


def _standing_after(agent: Agent, event: AgentChanged) -> SideWrite:
    return AGENT_STANDINGS.replace(standing_of(evolve(agent, event)))


def _require_grantable(tools: Set[str], given: Release) -> None:
    if unknown := tools - given.operation_names:
        raise InvalidAgentToolsError(f"Unknown: {', '.join(sorted(unknown))}.")
    require_tools_held(sorted(tools), given.own)


agents = Aggregate(
    "Agent", begin, evolve, absent=AgentNotFoundError, self_owned=True, axes=(STATUS,)
)

# fmt: off
OPERATIONS = (
    agents.creates("POST /agents", DefineAgent, define_agent, InvalidAgentPromptTemplateError,
        InvalidAgentToolsError, InvalidAgentBudgetError, AgentKindReservedError,
        GrantExceedsOwnError, given=release),
    agents.changes("POST /agents/{agent_id}/version", VersionAgent, version_agent,
        AgentCannotVersionError),
    agents.changes("POST /agents/{agent_id}/suspend", SuspendAgent, suspend_agent,
        AgentCannotSuspendError),
    agents.changes("POST /agents/{agent_id}/resume", ResumeAgent, resume_agent,
        AgentCannotResumeError, given=actor_of),
    agents.changes("POST /agents/{agent_id}/deprecate", DeprecateAgent, deprecate_agent,
        AgentCannotDeprecateError, destructive=True),
    agents.changes("POST /agents/{agent_id}/tools/grant", GrantAgentTool, grant_agent_tool,
        InvalidAgentToolsError, AgentCannotGrantToolError, GrantExceedsOwnError,
        given=tool_grantor),
    agents.changes("POST /agents/{agent_id}/tools/revoke", RevokeAgentTool, revoke_agent_tool,
        AgentCannotRevokeToolError, destructive=True),
    agents.changes("POST /agents/{agent_id}/update-budget", UpdateAgentBudget,
        update_agent_budget, AgentCannotUpdateBudgetError),
)
# fmt: on


class ListAgents(Listing):
    """List agents, newest first."""

    kind: AgentText | None = None
    status: frozenset[AgentStatus] | None = None


async def shown(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownAgent]:
    """Return what each agent has used of its budget, and whether its runtime is switched on."""
    used = await present(read.readers.agent_records).use(ids, read.now)
    here, found = read.facts, dict[UUID, ShownAgent]()
    for id, agent in (await read.many(agents, ids)).items():
        enabled, provider = here.agent_runtimes.get(agent.kind), agent.model_ref.provider
        why = None if enabled is not False else f"The settings switch off {agent.kind}."
        if enabled and agent.kind in MODEL_KINDS and provider not in here.model_providers:
            enabled, why = False, f"Provider {provider} is not configured."
        found[id] = ShownAgent.of(used.get(id, AgentUse()), enabled=enabled, idle_because=why)
    return found


QUESTIONS = reads(
    "/agents",
    agents,
    ListAgents,
    version=2,
    milestones={
        "versioned_at": (AgentVersioned,),
        "suspended_at": (AgentSuspended,),
        "deprecated_at": (AgentDeprecated,),
    },
    shown_with=shown,
    composed_of=("Decision", "Proposal"),
    directory=DirectoryEntry(
        lambda it: it.name, status=lambda it: it.status, keywords=lambda it: (it.kind,)
    ),
)
