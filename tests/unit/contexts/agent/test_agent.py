from uuid import UUID

import pytest

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.access.actor import ActorDeactivated, ActorRegistered
from beamkeep.contexts.access.profile import PROFILES, STANDINGS, Profile
from beamkeep.contexts.agent.agent import (
    AGENT_STANDINGS,
    OPERATIONS,
    Agent,
    AgentBudget,
    AgentBudgetUpdated,
    AgentCannotDeprecateError,
    AgentCannotGrantToolError,
    AgentCannotResumeError,
    AgentCannotRevokeToolError,
    AgentCannotSuspendError,
    AgentCannotUpdateBudgetError,
    AgentCannotVersionError,
    AgentCaps,
    AgentDefined,
    AgentDeprecated,
    AgentKindReservedError,
    AgentResumed,
    AgentStanding,
    AgentStatus,
    AgentSuspended,
    AgentToolGranted,
    AgentToolRevoked,
    AgentVersioned,
    DefineAgent,
    DeprecateAgent,
    GrantAgentTool,
    InvalidAgentBudgetError,
    InvalidAgentModelRefError,
    InvalidAgentPromptTemplateError,
    InvalidAgentToolsError,
    ModelRef,
    ResumeAgent,
    RevokeAgentTool,
    SuspendAgent,
    UpdateAgentBudget,
    VersionAgent,
    begin,
    shown,
)
from beamkeep.contexts.seams.installation import Readers
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.grants import POLICY_GRANTS, GrantExceedsOwnError
from beamkeep.contexts.trust.policy import PolicyDefined
from beamkeep.kernel import (
    ActorKind,
    DenialReason,
    Event,
    Grant,
    ObjectScope,
    SideWrite,
    Standing,
    SurfaceKind,
    replace,
)
from beamkeep.parts.agents.memory_records import MemoryAgentRecords
from beamkeep.testing.appends import CODEC
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ME, NEW, NOW, Past
from beamkeep.testing.scenario import Example, Scenario, matrix

ID = NEW
MODEL = ModelRef("local", "model-a", "model-a-20300131")
DEBRIEF, DRAFT = (UUID(f"00000000-0000-7000-8000-00000000006{n}") for n in (1, 2))
DEFINE = DefineAgent(
    kind=" Scheduler ",
    name=" Night ",
    version=" 2.1 ",
    model_ref=MODEL,
    tools=frozenset({"list_runs", "get_status"}),
)
defined = AgentDefined(
    NOW,
    ID,
    kind="Scheduler",
    name="Night",
    version="2.1",
    description=None,
    model_ref=MODEL,
    prompt_template_id=None,
    capabilities=(),
    tools=("get_status", "list_runs"),
    budget=None,
)
actor = ActorRegistered(NOW, ID, ActorKind.AGENT, identities=())
versioned, resumed = AgentVersioned(NOW, ID, "2.1"), AgentResumed(NOW, ID)
suspended, deprecated = AgentSuspended(NOW, ID, "It repeats"), AgentDeprecated(NOW, ID, "Replaced")
SUSPEND = SuspendAgent(agent_id=ID, reason=" It repeats ")
DEPRECATE = DeprecateAgent(agent_id=ID, reason=" Replaced ")
OVER = DenialReason.SUSPENDED_AGENT


def holding(*commands: str, scope: ObjectScope = ObjectScope.ALL) -> tuple[Event, SideWrite]:
    """A policy that permits the caller these commands on the HTTP surface."""
    http = seeded.SURFACES[SurfaceKind.HTTP]
    grant = Grant(UUID(int=40), ME, seeded.ENTRY, http, commands, scope)
    own = PolicyDefined.of(grant, occurred_at=NOW, name="Own", permitted_principal_ids=(ME,))
    return own, POLICY_GRANTS.insert(grant)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (actor, *holding("*"), *history))


def given_i_hold(commands: str, *history: Event | SideWrite) -> Scenario:
    held = holding(*commands.split(), scope=ObjectScope.OWN)
    return Scenario(OPERATIONS, (actor, *held, *history))


def standing(*tools: str, barred: DenialReason | None = None) -> SideWrite:
    row = AgentStanding(ID, barred, agent_kind="Scheduler", tools=tools)
    return AGENT_STANDINGS.replace(row)


def defining(**changes: object) -> DefineAgent:
    return DEFINE.model_copy(update=changes)


def test_an_agent_is_defined_together_with_its_actor():
    profile = Profile("Night", actor_id=ID, created_at=NOW, updated_at=NOW)
    mine = Standing(ID, ActorKind.AGENT, agent_kind="Scheduler", tools=("get_status", "list_runs"))
    Scenario(OPERATIONS, holding("*")).when(DEFINE).then(
        defined, actor, STANDINGS.insert(mine), PROFILES.insert(profile)
    )


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kind", "is_on", "provider", "told"),
    [
        ("Scheduler", None, "openai", (None, None)),
        ("Scheduler", True, "openai", (True, None)),
        ("Scheduler", False, "local", (False, "The settings switch off Scheduler.")),
        ("RunDebriefer", False, "local", (False, "The settings switch off RunDebriefer.")),
        ("RunDebriefer", True, "openai", (False, "Provider local is not configured.")),
        ("RunDebriefer", True, "local", (True, None)),
    ],
)
async def test_an_agent_shows_why_the_settings_let_it_do_nothing(
    kind: str, is_on: bool | None, provider: str, told: tuple[bool | None, str | None]
):
    here = replace(
        FACTS,
        agent_runtimes={} if is_on is None else {kind: is_on},
        model_providers=frozenset({provider}),
    )
    readers = Readers(agent_records=MemoryAgentRecords(MemoryStore(CODEC)))
    found = (await shown([ID], Past([replace(defined, kind=kind)], here, readers)))[ID]
    assert (found.enabled, found.idle_because) == told


def test_seeded_kinds_are_reserved():
    for kind in ("RunSupervisor", "CautionPromoter", "ClearanceExpirer"):
        given().when(defining(kind=kind)).refused(AgentKindReservedError, saying=kind)


def test_a_kind_that_calls_a_model_needs_a_model_and_its_own_template():
    for kind, own, other in (("RunDebriefer", DEBRIEF, DRAFT), ("CautionDrafter", DRAFT, DEBRIEF)):
        good = defining(kind=kind, prompt_template_id=own)
        assert given().when(good).decided()
        for template in (None, other, UUID(int=9)):
            given().when(defining(kind=kind, prompt_template_id=template)).refused(
                InvalidAgentPromptTemplateError
            )
        given().when(good.model_copy(update={"model_ref": ModelRef("deterministic", "x")})).refused(
            InvalidAgentModelRefError
        )
    given().when(defining(prompt_template_id=DEBRIEF)).refused(InvalidAgentPromptTemplateError)
    blank = defining(model_ref={"provider": " ", "model": "m", "snapshot_pin": None})
    given().when(blank).refused(InvalidAgentModelRefError)


def test_tools_are_names_of_commands_and_queries():
    given().when(defining(tools=frozenset({"open_pod_bay_doors"}))).refused(
        InvalidAgentToolsError, saying="open_pod_bay_doors"
    )
    given(defined).when(GrantAgentTool(agent_id=ID, tool_name="find_operation")).refused(
        InvalidAgentToolsError
    )


def test_nobody_gives_an_agent_a_tool_that_they_may_not_call():
    grant = GrantAgentTool(agent_id=ID, tool_name="get_run")
    less = given_i_hold("define_agent grant_agent_tool get_status", defined)
    less.when(grant).refused(GrantExceedsOwnError, saying="The caller lacks: get_run.")
    less.when(DEFINE).refused(GrantExceedsOwnError, saying="The caller lacks: list_runs.")
    assert less.when(defining(tools=frozenset({"get_status"}))).decided()
    assert less.when(defining(tools=frozenset[str]())).decided()
    assert given_i_hold("get_run", defined).when(grant).decided()
    assert given_i_hold("*", defined).when(grant).decided()


def test_a_budget_has_a_cap():
    given().when(defining(budget=AgentCaps())).refused(InvalidAgentBudgetError)
    first, *_ = given().when(defining(budget=AgentCaps(0.0, None))).decided()
    assert first == replace(defined, budget=AgentBudget(0.0, None))


def test_an_agent_is_released_for_work_with_its_version():
    given(defined).when(VersionAgent(agent_id=ID)).then(versioned)


def test_a_suspended_agent_is_barred_until_it_is_resumed():
    held = "get_status", "list_runs"
    given(defined, versioned).when(SUSPEND).then(suspended, standing(*held, barred=OVER))
    given(defined, versioned, suspended).when(ResumeAgent(agent_id=ID)).then(
        resumed, standing(*held)
    )
    given(defined, versioned).when(DEPRECATE).then(deprecated, standing(*held, barred=OVER))


def test_an_agent_whose_actor_is_not_active_is_not_resumed():
    gone = ActorDeactivated(NOW, ID)
    given(gone, defined, versioned, suspended).when(ResumeAgent(agent_id=ID)).refused(
        AgentCannotResumeError, saying="deactivated"
    )


def test_a_tool_is_granted_once_and_revoked_once():
    grant = GrantAgentTool(agent_id=ID, tool_name="get_run")
    granted, revoked = AgentToolGranted(NOW, ID, "get_run"), AgentToolRevoked(NOW, ID, "get_run")
    given(defined).when(grant).then(granted, standing("get_run", "get_status", "list_runs"))
    given(defined, granted).when(grant).refused(AgentCannotGrantToolError, saying="already")
    revoke = RevokeAgentTool(agent_id=ID, tool_name="get_run")
    given(defined, granted).when(revoke).then(revoked, standing("get_status", "list_runs"))
    given(defined).when(revoke).refused(AgentCannotRevokeToolError, saying="does not have")
    suspended_too = given(defined, versioned, suspended).when(grant).decided()
    assert suspended_too[1] == standing("get_run", "get_status", "list_runs", barred=OVER)


def test_an_agent_has_at_most_32_tools():
    full = replace(defined, tools=tuple(sorted(f"tool_{n}" for n in range(32))))
    given(full).when(GrantAgentTool(agent_id=ID, tool_name="get_run")).refused(
        AgentCannotGrantToolError, saying="32"
    )


def test_a_budget_is_changed_to_another_one():
    caps = UpdateAgentBudget(agent_id=ID, monthly_usd_cap=None, daily_token_cap=5)
    updated = AgentBudgetUpdated(NOW, ID, AgentBudget(None, 5))
    given(defined).when(caps).then(updated)
    given(defined, updated).when(caps).refused(AgentCannotUpdateBudgetError, saying="already")
    none = UpdateAgentBudget(agent_id=ID, monthly_usd_cap=None, daily_token_cap=None)
    given(defined, updated).when(none).then(AgentBudgetUpdated(NOW, ID, None))
    given(defined).when(none).refused(AgentCannotUpdateBudgetError)


def test_one_cap_is_changed_without_the_others():
    dollars = replace(defined, budget=AgentBudget(20.0, 5000))
    actions = UpdateAgentBudget(agent_id=ID, daily_action_cap=0)
    updated = AgentBudgetUpdated(NOW, ID, AgentBudget(20.0, 5000, 0))
    given(dollars).when(actions).then(updated)
    given(defined).when(actions).then(AgentBudgetUpdated(NOW, ID, AgentBudget(None, None, 0)))
    given(dollars, updated).when(UpdateAgentBudget(agent_id=ID, daily_token_cap=None)).then(
        AgentBudgetUpdated(NOW, ID, AgentBudget(20.0, None, 0))
    )
    given(dollars).when(UpdateAgentBudget(agent_id=ID)).refused(AgentCannotUpdateBudgetError)


def test_a_deprecated_agent_stays_as_it_is():
    budget = UpdateAgentBudget(agent_id=ID, monthly_usd_cap=1.0, daily_token_cap=None)
    for command, refusal in (
        (VersionAgent(agent_id=ID), AgentCannotVersionError),
        (SUSPEND, AgentCannotSuspendError),
        (ResumeAgent(agent_id=ID), AgentCannotResumeError),
        (DEPRECATE, AgentCannotDeprecateError),
        (GrantAgentTool(agent_id=ID, tool_name="get_run"), AgentCannotGrantToolError),
        (RevokeAgentTool(agent_id=ID, tool_name="list_runs"), AgentCannotRevokeToolError),
        (budget, AgentCannotUpdateBudgetError),
    ):
        given(defined, deprecated).when(command).refused(refusal)


STATUS = """
            version_agent  suspend_agent  resume_agent  deprecate_agent
Defined     Versioned      -              -             Deprecated
Versioned   -              Suspended      -             Deprecated
Suspended   -              -              Versioned     Deprecated
Deprecated  -              -              -             -
"""


def in_status(status: AgentStatus) -> Agent:
    return replace(begin(defined), status=status)


def test_the_status_moves_as_the_table_says():
    from beamkeep.contexts.access.actor import begin as registered

    examples = [
        Example(VersionAgent(agent_id=ID)),
        Example(SUSPEND),
        Example(ResumeAgent(agent_id=ID), registered(actor)),
        Example(DEPRECATE),
    ]
    matrix(OPERATIONS, AgentStatus, examples, in_status, lambda it: it.status, STATUS)
