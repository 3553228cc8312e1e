"""Agents that call a language model when a run has ended: two rivals, and one that proposes."""

from collections.abc import Mapping, Sequence
from typing import Any

from beamkeep.contexts.agent.agent import MODEL_KINDS
from beamkeep.contexts.agent.seeded import SEEDED_AGENTS
from beamkeep.contexts.trust import seeded
from beamkeep.parts.agents.models.templates import TEMPLATES
from beamkeep.testing.waiting import until
from demo.acting import ADMINISTRATOR, Day
from demo.model_server import MODEL, NARRATIVE, NOTICE

DEBRIEFER, DRAFTER = "RunDebriefer", "CautionDrafter"
RIVALS = {"first debriefer": DEBRIEFER, "second debriefer": DEBRIEFER, "drafter": DRAFTER}
RELEASED = ("AgentDefined", "ActorRegistered", "AgentVersioned", "PolicyDefined")
ENGAGED = RELEASED * len(RIVALS)
UNPAID, UNPAID_RUNS = "debriefer without budget", 6
# fmt: off
ENDED = ("RunCompleted", "SubjectMeasured",
    # One lease for each kind, and one decision of each agent.
    *["DecisionDebriefRequested"] * 2, *["DecisionRegistered"] * 3,
    "CautionRegistered", "DecisionPromoted", *["AgentSuspended"] * 3)
# It takes no lease.
DEFERRED = (*RELEASED, *["RunStarted", "RunCompleted", "DecisionRegistered"] * UNPAID_RUNS,
    "AgentSuspended")
# fmt: on


async def suspended(day: Day) -> None:
    """The agents that come with the service and call a model have no part in the day."""
    # The policies of the others name this conduit, which no step changes.
    day.touch({"conduit_id": str(seeded.INTERNAL)})
    for agent in await day.listed("list_agents", status="Versioned"):
        if agent["kind"] in MODEL_KINDS:
            about = {"agent_id": agent["agent_id"], "reason": "Others try it today"}
            await day.do("suspend_agent", about, as_=ADMINISTRATOR)


async def engaged(day: Day) -> None:
    """Two agents that debrief runs, and one that drafts cautions, are released."""
    for name, kind in RIVALS.items():
        await released(day, name, kind, daily_token_cap=100_000)


async def released(day: Day, name: str, kind: str, daily_token_cap: int) -> None:
    """An agent that calls a model is released, with a policy of its own."""
    (template_id,) = [str(each.id) for each in TEMPLATES.values() if each.kind == kind]
    (tools,) = [each.tools for each in SEEDED_AGENTS if each.kind == kind]
    defined = {
        "kind": kind,
        "name": name,
        "version": "1",
        "model_ref": {"provider": "openai_compatible", "model": MODEL},
        "prompt_template_id": template_id,
        "tools": tools,
        "budget": {"daily_token_cap": daily_token_cap},
    }
    about = await day.do("define_agent", defined, as_=ADMINISTRATOR)
    day.ids[name] = about["agent_id"]
    day.touch({"actor_id": about["agent_id"]})
    await day.do("version_agent", about, as_=ADMINISTRATOR)
    policy = {
        "name": f"The {name}",
        "conduit_id": str(seeded.INTERNAL),
        "surface_id": None,
        "permitted_principal_ids": [about["agent_id"]],
        "permitted_commands": tools,
        "object_scope": "All",
    }
    await day.do("define_policy", policy, as_=ADMINISTRATOR)


async def ended(day: Day) -> None:
    """The run is over: one agent debriefs it, its rival stands aside, and a notice is proposed."""
    about = {"run_id": day.ids["run 1"]}
    await day.do("complete_run", about)
    await day.do("measure_subject", {"subject_id": day.ids["fossil"]})
    decisions = {name: await decided(day, name) for name in RIVALS}
    rivals = [decisions[name] for name, kind in RIVALS.items() if kind == DEBRIEFER]
    winner, loser = sorted(rivals, key=lambda each: each["choice"] == "DebriefConflicted")
    assert (winner["choice"], winner["reasoning"]) == ("DegradedCompletion", NARRATIVE)
    assert loser["choice"] == "DebriefConflicted"
    assert loser["inputs"]["winning_agent_id"] == winner["actor_id"]
    entries = (await day.do("list_run_logbook_entries", about, as_=ADMINISTRATOR))["items"]
    shown = [(each["kind"], each["text"], each["decision_id"]) for each in entries]
    assert shown == [("Debrief", NARRATIVE, winner["decision_id"])]
    spent = [await tokens(day, each["actor_id"]) for each in (winner, loser)]
    assert spent[0] > spent[1] == 0
    await promoted(day, decisions["drafter"])
    for name in RIVALS:
        over = {"agent_id": day.ids[name], "reason": "The trial is over"}
        await day.do("suspend_agent", over, as_=ADMINISTRATOR)


async def without_budget(day: Day) -> None:
    """An agent whose budget pays for no call records of each run that it was not debriefed."""
    await released(day, UNPAID, DEBRIEFER, daily_token_cap=1)
    start = {"plan_id": day.ids["plan of the day"], "subject_id": day.ids["fossil"]}
    for number in range(1, UNPAID_RUNS + 1):
        started = await day.do("start_run", {**start, "name": f"Flat field {number}"})
        run = {"run_id": started["run_id"]}
        await day.do("complete_run", run)
        decision = await decided(day, UNPAID, number)
        assert decision["choice"] == "DebriefDeferred"
        assert decision["inputs"]["run_id"] == run["run_id"]
        assert decision["inputs"]["failure"] == "LanguageModelBudgetExceededError"
        entries = await day.do("list_run_logbook_entries", run, as_=ADMINISTRATOR)
        assert not entries["items"]
    assert await tokens(day, day.ids[UNPAID]) == 0
    over = {"agent_id": day.ids[UNPAID], "reason": "Nothing is left for it to spend"}
    await day.do("suspend_agent", over, as_=ADMINISTRATOR)


async def decided(day: Day, name: str, number: int = 1) -> Mapping[str, Any]:
    """Wait until an agent has made so many decisions, and return the last one."""

    async def recorded() -> Sequence[Mapping[str, Any]]:
        rows = await day.listed("list_decisions", actor_id=day.ids[name])
        return rows if len(rows) == number else []

    rows = await until(recorded, f"the {name} has decided")
    about = {"decision_id": max(row["decision_id"] for row in rows)}
    day.touch(about)
    return await day.do("get_decision", about)


async def tokens(day: Day, agent_id: str) -> int:
    """What an agent has spent today."""
    agent = await day.do("get_agent", {"agent_id": agent_id}, as_=ADMINISTRATOR)
    return agent["tokens_today"]


async def promoted(day: Day, proposal: Mapping[str, Any]) -> None:
    """The operator makes a caution of the proposal, once."""
    assert proposal["choice"] == "ProposeNotice"
    about = {"decision_id": proposal["decision_id"]}
    made = await day.do("promote_caution_proposal", about)
    caution = await day.do("get_caution", made, as_=ADMINISTRATOR)
    assert (caution["severity"], caution["text"]) == ("Notice", NOTICE)
    taken = "CautionProposalAlreadyPromotedError"
    await day.refused(taken, "promote_caution_proposal", about, over=day.mcp)
