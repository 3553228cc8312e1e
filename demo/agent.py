"""A campaign in which an agent over MCP proposes each run, and a person approves it."""

from collections.abc import Mapping
from typing import Any

from beamkeep.contexts.trust import seeded
from demo.acting import ADMINISTRATOR, AGENT, OPERATOR, Day

SETTINGS: Mapping[str, str] = {
    "RUN_SUPERVISOR_ENABLED": "true",
    "RUN_SUPERVISOR_TICK_SECONDS": "1",
    "RUN_SUPERVISOR_SETTLE_SECONDS": "0",
    "CLEARANCE_EXPIRER_TICK_SECONDS": "1",
}
"""The settings of the agents that are part of the service."""
SAMPLES = 40
READS = ("get_run", "get_proposal", "get_self")
PROPOSES = ("start_run", "adjust_run")
TOOLS = (*READS, *PROPOSES, "register_decision", "withdraw_proposal")
# fmt: off
PREPARED = ("SubjectRegistered", "SubjectMounted")
DECIDED = ("DecisionRegistered", "ProposalRegistered")
APPROVED = ("RunStarted", "RunAddedToCampaign", "CampaignRunAdded", "ProposalApproved")
DONE = ("RunCompleted", "SubjectMeasured", "SubjectRemoved")
SAMPLE = (*PREPARED, *DECIDED, *APPROVED, *DONE)
"""The events of one sample."""
LOST, BACK = ("SupplyMarkedUnavailable",), ("SupplyMarkedRecovering", "SupplyRestored")
LAST = (*PREPARED, *DECIDED, *LOST, *BACK, *APPROVED, *DONE)
"""Those of the last one, before whose start the beam goes."""
# fmt: on


async def let_in(day: Day) -> None:
    """The agent gets tools, a login of its own, and a policy that lets it propose."""
    defined = {
        "kind": "Sweeper",
        "name": "Exposure sweeper",
        "version": "1",
        "model_ref": {"provider": "deterministic", "model": "one step longer"},
        "tools": TOOLS,
    }
    about = await day.do("define_agent", defined, as_=ADMINISTRATOR)
    day.ids[AGENT] = about["agent_id"]
    await day.do("version_agent", about, as_=ADMINISTRATOR)
    login = {"actor_id": day.ids[AGENT], "issuer": day.issuer, "subject": AGENT}
    await day.do("bind_actor_identity", login, as_=ADMINISTRATOR)
    policy = {
        "name": "The sweeper at the beamline",
        "conduit_id": str(seeded.ENTRY),
        "surface_id": day.mcp.surface_id,
        "permitted_principal_ids": [day.ids[AGENT]],
        # It would permit an abort; that this is not among the agent's tools forbids it.
        "permitted_commands": [*READS, "register_decision", "withdraw_proposal", "abort_run"],
        "proposable_commands": PROPOSES,
        "object_scope": "All",
    }
    await day.do("define_policy", policy, as_=ADMINISTRATOR)


async def campaign(day: Day) -> None:
    """A sweep over many samples; each run is proposed by the agent and started by a person."""
    sweep = {"name": "Sweep", "intent": "Sweep", "lead_actor_id": day.ids[OPERATOR]}
    about = await day.do("register_campaign", sweep)
    day.ids["campaign"] = about["campaign_id"]
    await day.do("start_campaign", about)
    last_run = day.ids["run 1"]
    for number in range(1, SAMPLES + 1):
        subject = await mounted(day, number)
        start = await decided(day, last_run, number, **subject, **about)
        if number == 1:
            await forbidden(day, start, last_run)
        proposal = await proposed(day, start)
        if number == SAMPLES:
            await without_beam(day, proposal)
        last_run = await approved(day, proposal, start)
        if number == 1:
            await day.refused("ProposalCannotApproveError", "approve_proposal", proposal)
            await explained(day, start, read=day.ids["run 1"])
        await day.do("complete_run", {"run_id": last_run})
        await day.do("measure_subject", subject)
        await day.do("remove_subject", subject)


async def mounted(day: Day, number: int) -> Mapping[str, str]:
    """The next sample is put on the hexapod."""
    subject = await day.do("register_subject", {"name": f"Sample {number}"})
    mount = {"asset_id": day.ids["sample.hexapod"], "reason": "Next of the sweep"}
    await day.do("mount_subject", {**subject, **mount})
    return subject


async def waiting(day: Day) -> str:
    """The agent proposes a longer exposure of the first run; return the id of the proposal."""
    exposure, decision_id = await reasoned(day, day.ids["run 1"])
    adjust = {
        "run_id": day.ids["run 1"],
        "parameters_patch": {"exposure": exposure},
        "reason": "The projections are dark",
        "decided_by_decision_id": decision_id,
    }
    proposal = await asked(day, "adjust_run", adjust)
    return proposal["proposal_id"]


async def decided(day: Day, last_run: str, number: int, **about: str) -> Mapping[str, Any]:
    """The start of the next run, as the agent wants it."""
    exposure, decision_id = await reasoned(day, last_run)
    return {
        "name": f"Sweep {number}",
        "plan_id": day.ids["plan of the day"],
        "override_parameters": {"exposure": exposure},
        "decided_by_decision_id": decision_id,
        **about,
    }


async def reasoned(day: Day, last_run: str) -> tuple[float, str]:
    """The agent reads the last run and records which exposure it wants, and why."""
    run = await asked(day, "get_run", {"run_id": last_run})
    exposure = round(run["effective_parameters"]["exposure"] + 0.01, 2)
    reasons = {
        "context": "Exposure",
        "choice": "ExposeLonger",
        "reasoning": f"The last run was exposed for {exposure - 0.01:.2f} s. Take one step more.",
        "confidence": 0.8,
        "confidence_source": "self_reported",
        "inputs": {"run_id": last_run, "exposure": exposure},
    }
    decision = await asked(day, "register_decision", reasons)
    return exposure, decision["decision_id"]


async def proposed(day: Day, start: Mapping[str, Any]) -> Mapping[str, str]:
    """The agent asks for a start, and is answered that it has proposed one."""
    proposal = await asked(day, "start_run", start)
    assert proposal.keys() == {"proposal_id"}, proposal
    return proposal


async def approved(day: Day, proposal: Mapping[str, str], start: Mapping[str, Any]) -> str:
    """A person sees what would be written and why, approves it, and answers for the run."""
    shown = await day.do("get_proposal", proposal)
    assert (shown["arguments"], shown["decision_by_proposer"]) == (start, True)
    decision = await day.do("get_decision", {"decision_id": shown["decision_id"]})
    assert decision["reasoning"].endswith("Take one step more.")
    while True:
        assert shown["now"]["events"][0]["event_type"] == "RunStarted"
        basis = {**proposal, "basis": shown["now"]["basis"]}
        answer = await day.send("approve_proposal", basis)
        if answer.status != 412:
            break
        # Another agent has written meanwhile what the start rests on: look again.
        shown = await day.do("get_proposal", proposal)
    assert answer.ok, answer
    assert answer.body["status"] == 201
    return answer.body["answer"]["run_id"]


async def forbidden(day: Day, start: Mapping[str, Any], run_id: str) -> None:
    """What the recipe does not know is not even proposed, and no other tool can be called."""
    wrong = {**start, "override_parameters": {"energy": 60.0}}
    problem = await day.refused(
        "InvalidRunParametersError", "start_run", wrong, as_=AGENT, over=day.mcp
    )
    assert problem["status"] == 400
    abort = {"run_id": run_id, "reason": "I can do better"}
    await day.refused("UnauthorizedError", "abort_run", abort, as_=AGENT, over=day.mcp)
    of = {"conduit_id": str(seeded.ENTRY)}
    denials = await day.do("list_conduit_denials", of, as_=ADMINISTRATOR)
    denied = denials["items"][0]
    assert (denied["command_name"], denied["reason_code"]) == ("abort_run", "tool_not_granted")
    assert denied["principal_id"] == day.ids[AGENT]


async def without_beam(day: Day, proposal: Mapping[str, str]) -> None:
    """The beam goes before the approval, which is refused; the proposal stays open."""
    await day.beam("Unavailable")
    await day.refused("RunRequiresAvailableSupplyError", "approve_proposal", proposal)
    shown = await day.do("get_proposal", proposal)
    assert (shown["status"], shown["open"]) == ("Open", True)
    assert shown["now"]["refusal"]["code"] == "RunRequiresAvailableSupplyError"
    await day.beam("Recovering")
    await day.restore_beam()


async def explained(day: Day, start: Mapping[str, Any], read: str) -> None:
    """The evidence of a decision of the agent lists the run that it had read."""
    about = {"decision_id": start["decided_by_decision_id"]}
    rows = (await day.do("list_decision_evidence", about))["items"]
    assert [row["question"] for row in rows] == ["get_run"]
    (seen,) = rows[0]["seen"]
    assert (seen["stream_type"], seen["stream_id"]) == ("Run", read)


async def asked(day: Day, name: str, arguments: Mapping[str, Any]) -> Any:
    """The agent makes one call over MCP that must succeed."""
    return await day.do(name, arguments, as_=AGENT, over=day.mcp)
