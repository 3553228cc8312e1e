"""The agents that every deployment has, with their tools and what a policy permits them."""

from collections.abc import Iterator
from uuid import UUID

from beamkeep.contexts.access import profile
from beamkeep.contexts.seams.installation import TEMPLATES
from beamkeep.contexts.trust.bootstrap import CallFor, internal_policy
from beamkeep.kernel import Outcome, Record, replace

from .agent import (
    MODEL_KINDS,
    NO_MODEL,
    AgentCaps,
    AgentVersioned,
    DefineAgent,
    ModelRef,
    defined,
)

VERSION = "1.0.0"
DAILY_TOKENS = 200_000


class SeededAgent(Record):
    """An agent with its fixed ids and the only names that it may call."""

    id: UUID
    policy_id: UUID
    kind: str
    tools: tuple[str, ...]


def _policy_id(number: str) -> UUID:
    return UUID(f"00000000-0000-7000-8000-0000000000{number}")


# fmt: off
SEEDED_AGENTS = (
    SeededAgent(profile.RUN_DEBRIEFER, _policy_id("44"), kind="RunDebriefer", tools=(
        "register_decision", "append_inferences", "append_run_logbook_entry", "get_run")),
    SeededAgent(profile.CAUTION_DRAFTER, _policy_id("45"), kind="CautionDrafter", tools=(
        "register_decision", "append_inferences", "get_run", "list_cautions")),
    SeededAgent(profile.RUN_SUPERVISOR, _policy_id("46"), kind="RunSupervisor", tools=(
        "register_decision", "list_runs", "list_supplies", "hold_run", "stop_run")),
    SeededAgent(profile.CAUTION_PROMOTER, _policy_id("47"), kind="CautionPromoter", tools=(
        "register_decision", "list_cautions", "promote_caution_proposal")),
    SeededAgent(profile.CLEARANCE_EXPIRER, _policy_id("48"), kind="ClearanceExpirer", tools=(
        "register_decision", "list_clearances", "get_clearance", "expire_clearance")),
)
# fmt: on


def seeds(call: CallFor, model: ModelRef | None) -> Iterator[tuple[str, Outcome]]:
    """Return the agents, each with the key of its creation; those with a model if there is one."""
    for agent in SEEDED_AGENTS:
        if agent.kind not in MODEL_KINDS:
            yield _seed(agent, ModelRef(NO_MODEL, f"agent:{agent.kind}:v1"), call)
        elif model:
            yield _seed(agent, model, call)


def _seed(agent: SeededAgent, model: ModelRef, call: CallFor) -> tuple[str, Outcome]:
    kind, tools = agent.kind, frozenset(agent.tools)
    templates = {of: id for id, of in TEMPLATES.items()}
    command = DefineAgent(
        kind=kind,
        name=kind,
        version=VERSION,
        model_ref=model,
        tools=tools,
        prompt_template_id=templates.get(kind),
        budget=AgentCaps(None, DAILY_TOKENS) if kind in MODEL_KINDS else None,
    )
    begun = call(agent.id)
    versioned = AgentVersioned(begun.now, agent.id, VERSION)
    granted = internal_policy(kind, agent.id, tools, replace(begun, new_id=agent.policy_id))
    return f"agent-{kind}", [*defined(command, begun), versioned, *granted]
