"""RunDebriefer: says what a run was, for the people who read its logbook."""

from collections.abc import Sequence
from uuid import UUID, uuid5

from beamkeep.contexts.run.logbook import AppendRunLogbookEntry, RunEntryKind
from beamkeep.kernel import Command
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import Envelope
from beamkeep.schemas import JsonObject

from .desk import ModelAgent
from .model_agent import Case, ModelReaction, ModelVerdict
from .models.output import plain
from .models.seam import LanguageModelOutputInvalidError
from .run_facts import ended_run, fitted

SHORTEST = 80


async def case(
    trigger: Envelope, history: Sequence[Envelope], read: Session, send_marked: bool
) -> Case:
    """Return what the model is asked about a run that has ended."""
    ended = await ended_run(trigger, history, read, send_marked)
    return Case(fitted(ended.facts), judged)


def judged(output: JsonObject) -> ModelVerdict:
    """Return the debrief in an answer. Ids are never taken from it."""
    narrative = plain(str(output["narrative"]))
    if len(narrative) < SHORTEST:
        raise LanguageModelOutputInvalidError("Without its links the narrative is too short.")
    return ModelVerdict(
        str(output["choice"]), reasoning=narrative, confidence=float(str(output["confidence"]))
    )


def debriefed(
    agent: ModelAgent, trigger: Envelope, decision_id: UUID, narrative: str
) -> Sequence[Command]:
    """Return the logbook entry of a debrief; its id makes a repeated entry the same one."""
    entry_id = uuid5(trigger.stream_id, f"debrief:{trigger.event_id}:{agent.id}")
    return [
        AppendRunLogbookEntry(
            run_id=trigger.stream_id,
            entry_id=entry_id,
            text=narrative,
            kind=RunEntryKind.DEBRIEF,
            decision_id=decision_id,
        )
    ]


RUN_DEBRIEFER = ModelReaction(
    kind="RunDebriefer",
    context="RunDebrief",
    deferred="DebriefDeferred",
    conflicted="DebriefConflicted",
    commands=("register_decision", "append_inferences", "append_run_logbook_entry"),
    case=case,
    effects=debriefed,
)
