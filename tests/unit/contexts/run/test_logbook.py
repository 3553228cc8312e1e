"""The logbook of a run: who may write what, and that it is written once."""

from typing import Any
from uuid import UUID, uuid5

from tests.unit.contexts.run.test_run import DECISION, ENDS, ID, decision, held, started

from beamkeep.contexts.decision.decision import DecisionNotFoundError
from beamkeep.contexts.decision.logbook import MIRRORING, LogbookEntryMade
from beamkeep.contexts.run.logbook import (
    OPERATIONS,
    QUESTIONS,
    RUN_LOGBOOK,
    AppendRunLogbookEntry,
    InvalidRunLogbookDecisionIdError,
    RunEntryKind,
    RunLogbookAuthorNotAgentError,
    RunLogbookEntry,
    RunLogbookEntryIdTakenError,
)
from beamkeep.contexts.run.run import RunNotFoundError
from beamkeep.kernel import WORK, ActorKind, Entries, Event, SideWrite, Work, replace
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Scenario

ENTRY, OTHER_RUN, SURFACE, CORRELATION = UUID(int=60), UUID(int=2), UUID(int=70), UUID(int=71)
CALLED = replace(CALL, surface_id=SURFACE, correlation_id=CORRELATION)
AGENT = replace(CALLED, principal_kind=ActorKind.AGENT)
MACHINE = replace(CALLED, principal_kind=ActorKind.SERVICE_ACCOUNT)

NOTE = AppendRunLogbookEntry(run_id=ID, text=" The ring was refilled. ", entry_id=ENTRY)
DEBRIEF = NOTE.model_copy(update={"kind": RunEntryKind.DEBRIEF, "decision_id": DECISION})
note = RunLogbookEntry(
    *(ENTRY, "The ring was refilled.", CALL.principal_id, NOW, SURFACE, CORRELATION),
    run_id=ID,
    kind=RunEntryKind.NOTE,
    decision_id=None,
)
debrief = replace(note, kind=RunEntryKind.DEBRIEF, decision_id=DECISION)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (decision, *history))


def writing(command: AppendRunLogbookEntry = NOTE, **changes: Any) -> AppendRunLogbookEntry:
    return command.model_copy(update=changes)


def written(entry: RunLogbookEntry) -> SideWrite:
    return RUN_LOGBOOK.insert(entry)


def test_anybody_writes_a_note_with_its_text_trimmed():
    for call in (CALLED, AGENT, MACHINE):
        given(started).when(NOTE, call=call).then(written(note), LogbookEntryMade(ENTRY))


def test_an_entry_without_an_id_is_given_one():
    given(started).when(writing(entry_id=None), call=CALLED).then(
        written(replace(note, entry_id=NEW)), LogbookEntryMade(NEW)
    )


def test_a_note_may_name_a_decision():
    given(started).when(writing(decision_id=DECISION), call=CALLED).then(
        written(replace(note, decision_id=DECISION)), LogbookEntryMade(ENTRY)
    )


def test_an_agent_writes_the_debrief_of_a_decision():
    given(started).when(DEBRIEF, call=AGENT).then(written(debrief), LogbookEntryMade(ENTRY))


def test_nobody_but_an_agent_writes_a_debrief():
    for call in (CALLED, MACHINE):
        given(started).when(DEBRIEF, call=call).refused(RunLogbookAuthorNotAgentError)


def test_a_debrief_names_its_decision():
    given(started).when(writing(DEBRIEF, decision_id=None), call=AGENT).refused(
        InvalidRunLogbookDecisionIdError
    )


def test_a_decision_that_is_named_is_on_record():
    for command in (NOTE, DEBRIEF):
        given(started).when(writing(command, decision_id=ABSENT), call=AGENT).refused(
            DecisionNotFoundError
        )


def test_a_logbook_is_never_closed():
    for past in ((started, held), *((started, end) for end in ENDS)):
        given(*past).when(NOTE, call=CALLED).then(written(note), LogbookEntryMade(ENTRY))


def test_nothing_is_written_about_a_run_that_does_not_exist():
    given().when(writing(decision_id=ABSENT)).refused(RunNotFoundError)


def test_an_entry_that_is_mirrored_is_written_with_its_work():
    work = WORK.insert(Work(uuid5(ENTRY, "logbook-mirror:run_logbook_entry"), MIRRORING, ENTRY))
    mirroring = replace(FACTS, mirrors_logbooks=True)
    Scenario(OPERATIONS, (decision, started), mirroring).when(NOTE, call=CALLED).then(
        written(note), work, LogbookEntryMade(ENTRY)
    )
    Scenario(OPERATIONS, (started, written(note)), mirroring).when(NOTE, call=CALLED).then(
        LogbookEntryMade(ENTRY)
    )


def test_an_entry_sent_again_is_answered_alike_and_not_written_again():
    later = replace(CALLED, now=LATER)
    for text in ("The ring was refilled.", " The ring was refilled. "):
        given(started, written(note)).when(writing(text=text), call=later).then(
            LogbookEntryMade(ENTRY)
        )


def test_an_id_stands_for_one_text_in_one_logbook():
    given(started, written(note)).when(writing(text="The ring was not.")).refused(
        RunLogbookEntryIdTakenError
    )
    given(started, written(replace(note, run_id=OTHER_RUN))).when(NOTE).refused(
        RunLogbookEntryIdTakenError
    )


def test_faults_are_reported_in_order():
    taken = written(replace(note, text="Something else."))
    wrong: dict[str, Any] = {"decision_id": ABSENT, "kind": RunEntryKind.DEBRIEF}
    given(started, taken).when(writing(**wrong)).refused(DecisionNotFoundError)
    wrong["decision_id"] = None
    given(started, taken).when(writing(**wrong)).refused(InvalidRunLogbookDecisionIdError)
    wrong["decision_id"] = DECISION
    given(started, taken).when(writing(**wrong)).refused(RunLogbookAuthorNotAgentError)
    given(started, taken).when(writing(**wrong), call=AGENT).refused(RunLogbookEntryIdTakenError)


def test_a_logbook_is_listed_in_the_order_it_was_written():
    source = QUESTIONS[0].source
    assert isinstance(source, Entries)
    assert source.by == ("recorded_at", "entry_id")
