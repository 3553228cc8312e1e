"""Decision: who chose what, from what and why, and what was written beside it."""

from datetime import timedelta
from uuid import UUID

from msgspec.structs import asdict

from beamkeep.contexts.access.actor import ActorDeactivated, ActorNotFoundError, ActorRegistered
from beamkeep.contexts.decision import OPERATIONS, QUESTIONS
from beamkeep.contexts.decision.decision import (
    AppendInferences,
    ConfidenceBand,
    ConfidenceSource,
    Decision,
    DecisionCannotAppendInferencesError,
    DecisionCannotRateError,
    DecisionCannotRegisterError,
    DecisionInferenceIdTakenError,
    DecisionNotFoundError,
    DecisionPromoted,
    DecisionRated,
    DecisionRating,
    DecisionRegistered,
    InvalidDecisionAlternativesError,
    InvalidDecisionChoiceError,
    InvalidDecisionConfidenceError,
    InvalidDecisionInferenceError,
    InvalidDecisionInputsError,
    InvalidDecisionOverrideKindError,
    OverrideKind,
    RateDecision,
    Rating,
    RegisterDecision,
    begin,
    evolve,
)
from beamkeep.contexts.decision.inference import INFERENCES, DecisionInference, InferenceEntry
from beamkeep.contexts.decision.logbook import (
    LOGBOOK,
    AppendDecisionLogbookEntry,
    DecisionLogbookEntry,
    DecisionLogbookEntryIdTakenError,
    LogbookEntryMade,
)
from beamkeep.contexts.decision.reserved import RESERVED
from beamkeep.contexts.decision.results import (
    AGENT_DECISIONS,
    RESULT_OVERRIDES,
    RESULT_RATINGS,
    AgentDecision,
    ResultOverride,
    ResultRating,
)
from beamkeep.contexts.trust.policy import PolicyDefined, PolicyNotFoundError
from beamkeep.kernel import (
    ActorKind,
    Entries,
    Event,
    Many,
    ObjectScope,
    Refusal,
    Rows,
    SideWrite,
    replace,
)
from beamkeep.schemas import Json, JsonObject
from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW
from beamkeep.testing.scenario import Scenario, misshapen

ID, PARENT, OTHER = NEW, UUID(int=5), UUID(int=6)
GRACE, ROBOT, OTHER_ROBOT = UUID(int=20), UUID(int=21), UUID(int=22)
POLICY, OTHER_POLICY, RUN = UUID(int=30), UUID(int=31), UUID(int=40)
INFERENCE, OTHER_INFERENCE, ENTRY = UUID(int=50), UUID(int=51), UUID(int=52)

GRACE_CALLS = replace(CALL, principal_id=GRACE)
ROBOT_CALLS = replace(CALL, principal_id=ROBOT, principal_kind=ActorKind.AGENT)
HUMAN_SOURCE = ConfidenceSource.HUMAN
INPUTS: JsonObject = {"run_id": str(RUN), "current": 180.5}


def policy(id: UUID) -> PolicyDefined:
    return PolicyDefined(NOW, id, "Team", UUID(int=32), None, (ME,), ("*",), ObjectScope.ALL)


AROUND = (
    ActorRegistered(NOW, ME, ActorKind.HUMAN),
    ActorRegistered(NOW, GRACE, ActorKind.SERVICE_ACCOUNT),
    ActorRegistered(NOW, ROBOT, ActorKind.AGENT),
    ActorRegistered(NOW, OTHER_ROBOT, ActorKind.AGENT),
    policy(POLICY),
    policy(OTHER_POLICY),
)
registered = DecisionRegistered(
    *(NOW, ID, ME, "RunHold", "Hold"), *(None, None, None, None, None, None, (), None, ())
)
full = DecisionRegistered(
    *(NOW, ID, GRACE, "RunHold", "Hold", PARENT, OverrideKind.APPEAL, "rule 7", "The beam drifts"),
    *(0.8, HUMAN_SOURCE, ("Wait", "Stop"), INPUTS, (POLICY, OTHER_POLICY)),
)
parent = replace(registered, decision_id=PARENT)
by_robot = replace(registered, actor_id=ROBOT)
rated = DecisionRated(NOW, ID, GRACE, Rating.USEFUL, "It saved the sample", None)

FINE = RESULT_RATINGS.replace(ResultRating(ID, False))

REGISTER = RegisterDecision(context=" RunHold ", choice=" Hold ")
REGISTER_ALL = RegisterDecision(
    actor_id=GRACE,
    context=" RunHold ",
    choice=" Hold ",
    parent_id=PARENT,
    override_kind=OverrideKind.APPEAL,
    rule=" rule 7 ",
    reasoning=" The beam drifts ",
    confidence=0.8,
    confidence_source=HUMAN_SOURCE,
    alternatives=(" Wait ", " Stop "),
    inputs=INPUTS,
    determining_policy_ids=frozenset({OTHER_POLICY, POLICY}),
)
RATE = RateDecision(decision_id=ID, rating=Rating.USEFUL, comment=" It saved the sample ")
CALLED = InferenceEntry(INFERENCE, NOW, "chat", "local", "model-a", messages={"prompt": "Why?"})
APPEND = AppendInferences.model_validate({"decision_id": ID, "entries": [asdict(CALLED)]})
WRITE = AppendDecisionLogbookEntry(decision_id=ID, text=" We waited. ", entry_id=ENTRY)
written = DecisionLogbookEntry(
    ENTRY, "We waited.", ME, NOW, CALL.surface_id, CALL.correlation_id, decision_id=ID
)


def given(*history: Event | SideWrite | Rows) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterDecision:
    return REGISTER.model_copy(update=changes)


def appending(*entries: InferenceEntry) -> AppendInferences:
    return APPEND.model_copy(update={"entries": entries})


def writing(**changes: object) -> AppendDecisionLogbookEntry:
    return WRITE.model_copy(update=changes)


def row(entry: InferenceEntry, **changes: object) -> DecisionInference:
    """The row of an entry that whoever calls decided by."""
    kept = DecisionInference(
        **asdict(entry),
        decision_id=ID,
        agent_id=None,
        principal_id=ME,
        surface_id=CALL.surface_id,
        correlation_id=CALL.correlation_id,
        recorded_at=NOW,
    )
    return replace(kept, **changes)


def appended(*rows: DecisionInference) -> Rows:
    return INFERENCES.append(list(rows), under="decision_id", taken=DecisionInferenceIdTakenError)


def test_a_decision_of_the_caller_needs_a_context_and_a_choice():
    given().when(REGISTER).then(registered)


def test_a_decision_is_recorded_with_all_that_led_to_it_and_its_texts_trimmed():
    given(parent).when(REGISTER_ALL).then(full)


def test_who_decided_may_be_another_than_who_records_it_and_may_have_left():
    by_grace = replace(registered, actor_id=GRACE)
    for past in ((), (ActorDeactivated(NOW, GRACE),)):
        for call in (CALL, GRACE_CALLS, ROBOT_CALLS):
            given(*past).when(registering(actor_id=GRACE), call=call).then(by_grace)


def test_any_decision_may_be_followed_by_several():
    sibling = replace(registered, decision_id=OTHER, parent_id=PARENT)
    given(parent, sibling).when(registering(parent_id=PARENT)).then(
        replace(registered, parent_id=PARENT)
    )


def test_nobody_records_in_the_name_of_an_agent():
    for call in (CALL, GRACE_CALLS, replace(ROBOT_CALLS, principal_id=OTHER_ROBOT)):
        given().when(registering(actor_id=ROBOT), call=call).refused(
            DecisionCannotRegisterError, saying="Only the agent itself"
        )


def test_an_agent_records_what_it_decided_itself():
    result = AGENT_DECISIONS.insert(AgentDecision(ID, ROBOT, CALL.correlation_id, NOW))
    given().when(registering(actor_id=ROBOT), call=ROBOT_CALLS).then(by_robot, result)
    given().when(REGISTER, call=ROBOT_CALLS).then(by_robot, result)


def test_what_an_agent_records_of_another_is_no_result_of_the_agent():
    of_grace = registering(actor_id=GRACE)
    given().when(of_grace, call=ROBOT_CALLS).then(replace(registered, actor_id=GRACE))


AGENT_KINDS = {
    "RunDebrief": "RunDebriefer",
    "CautionProposal": "CautionDrafter",
    "RunSupervision": "RunSupervisor",
    "CautionPromotion": "CautionPromoter",
    "ClearanceExpiry": "ClearanceExpirer",
}
CHOICES = {
    "RunDebrief": "NominalCompletion DegradedCompletion OperatorAbort EquipmentAbort DataSuspect"
    " DebriefDeferred DebriefConflicted",
    "CautionProposal": "NoAction ProposeNotice ProposeCaution ProposeWarning ProposeSupersede"
    " CautionDraftConflicted",
    "RunSupervision": "Hold Stop SupervisionDeferred",
    "CautionPromotion": "Promote PromotionDeferred PromotionConflicted",
    "ClearanceExpiry": "Expire ExpiryDeferred",
}


def test_every_reserved_context_names_its_agent_and_its_choices():
    assert {name: each.agent_kind for name, each in RESERVED.items()} == AGENT_KINDS
    assert {name: " ".join(each.choices) for name, each in RESERVED.items()} == CHOICES


def test_the_records_of_agents_have_the_names_of_the_specification():
    assert {name: each.record for name, each in RESERVED.items()} == {
        "RunDebrief": "RunDebriefDecision",
        "CautionProposal": "CautionProposal",
        "RunSupervision": "RunSupervisionDecision",
        "CautionPromotion": "CautionPromotionDecision",
        "ClearanceExpiry": "ClearanceExpiryDecision",
    }


def test_a_reserved_context_is_left_to_its_agent():
    for context, kind in AGENT_KINDS.items():
        for choice in CHOICES[context].split():
            refused = (
                given()
                .when(registering(context=f" {context} ", choice=f" {choice} "))
                .refused(DecisionCannotRegisterError, saying=f"Only an agent of kind {kind}")
            )
            assert refused.facts == {"agent_kind": kind}


def test_an_agent_of_the_kind_decides_in_its_reserved_context():
    for context, kind in AGENT_KINDS.items():
        agent = replace(ROBOT_CALLS, agent_kind=kind)
        for choice in CHOICES[context].split():
            command = registering(context=context, choice=choice)
            first, *_ = given().when(command, call=agent).decided()
            assert first == replace(by_robot, context=context, choice=choice)
            other = replace(agent, agent_kind="Scheduler")
            given().when(command, call=other).refused(DecisionCannotRegisterError)
            of_grace = command.model_copy(update={"actor_id": GRACE})
            given().when(of_grace, call=agent).refused(DecisionCannotRegisterError)


def test_a_reserved_context_knows_only_its_own_choices():
    for context in RESERVED:
        given().when(registering(context=context, choice="Wait")).refused(
            InvalidDecisionChoiceError, saying=CHOICES[context].replace(" ", ", ")
        )
    given().when(registering(context="RunSupervision", choice="hold")).refused(
        InvalidDecisionChoiceError
    )


def test_a_context_spelled_otherwise_is_not_reserved():
    given().when(registering(context="runsupervision", choice="Wait")).then(
        replace(registered, context="runsupervision", choice="Wait")
    )


def test_a_confidence_lies_between_0_and_1():
    for confidence in (0.0, 0.5, 1.0):
        sure = {"confidence": confidence, "confidence_source": HUMAN_SOURCE}
        given().when(registering(**sure)).then(replace(registered, **sure))
    for confidence in (-0.001, 1.001, float("nan"), float("inf")):
        sure = {"confidence": confidence, "confidence_source": HUMAN_SOURCE}
        given().when(registering(**sure)).refused(
            InvalidDecisionConfidenceError, saying="The confidence is "
        )


def test_a_confidence_and_its_source_come_together():
    given().when(registering(confidence=0.0)).refused(
        InvalidDecisionConfidenceError, saying="confidence_source is missing"
    )
    given().when(registering(confidence_source=HUMAN_SOURCE)).refused(
        InvalidDecisionConfidenceError, saying="confidence is missing"
    )


def test_only_what_follows_another_decision_overrides_it():
    given().when(registering(override_kind=OverrideKind.CORRECTION)).refused(
        InvalidDecisionOverrideKindError
    )
    overridden = [RESULT_OVERRIDES.replace(ResultOverride(PARENT))]
    reversed_by = {"correction": overridden, "invalidation": overridden}
    for kind in OverrideKind:
        given(parent).when(registering(parent_id=PARENT, override_kind=kind)).then(
            replace(registered, parent_id=PARENT, override_kind=kind), *reversed_by.get(kind, [])
        )


def test_inputs_have_at_most_64_names():
    most: JsonObject = {str(n): n for n in range(64)}
    given().when(registering(inputs=most)).then(replace(registered, inputs=most))
    given().when(registering(inputs={**most, "64": 64})).refused(
        InvalidDecisionInputsError, saying="There are 65 entries."
    )


def test_inputs_have_at_most_64_kibibytes():
    text = "x" * (65_536 - len('{"a":""}'))
    given().when(registering(inputs={"a": text})).then(replace(registered, inputs={"a": text}))
    given().when(registering(inputs={"a": text + "x"})).refused(
        InvalidDecisionInputsError, saying="65,536 bytes"
    )


def test_inputs_left_out_are_not_inputs_left_empty():
    given().when(registering(inputs={})).then(replace(registered, inputs={}))
    given().when(registering(inputs=None)).then(registered)


def test_there_are_at_most_32_alternatives():
    most = tuple(f"Option {n}" for n in range(32))
    given().when(registering(alternatives=most)).then(replace(registered, alternatives=most))
    given().when(registering(alternatives=(*most, "Wait"))).refused(
        InvalidDecisionAlternativesError, saying="There are 33 alternatives."
    )


def test_faults_of_a_decision_are_reported_in_order():
    wrong: dict[str, object] = {
        "actor_id": ABSENT,
        "parent_id": ABSENT,
        "determining_policy_ids": frozenset({POLICY, ABSENT}),
        "context": "RunSupervision",
        "choice": "Wait",
        "confidence": 2.0,
        "override_kind": OverrideKind.APPEAL,
        "inputs": {"a": "x" * 65_536},
        "alternatives": ("Wait",) * 33,
    }
    rights: list[tuple[dict[str, object], type[Refusal]]] = [
        ({"actor_id": ROBOT}, ActorNotFoundError),
        ({"parent_id": None}, DecisionNotFoundError),
        ({"determining_policy_ids": frozenset[UUID]()}, PolicyNotFoundError),
        ({"choice": "Hold"}, InvalidDecisionChoiceError),
        ({"confidence": None}, InvalidDecisionConfidenceError),
        ({"override_kind": None}, InvalidDecisionOverrideKindError),
        ({"inputs": None}, InvalidDecisionInputsError),
        ({"alternatives": ()}, InvalidDecisionAlternativesError),
    ]
    for right, refusal in rights:
        given().when(registering(**wrong)).refused(refusal)
        wrong |= right
    given().when(registering(**wrong)).refused(
        DecisionCannotRegisterError, saying="Only the agent itself"
    )
    given().when(registering(**wrong), call=ROBOT_CALLS).refused(
        DecisionCannotRegisterError, saying="RunSupervisor"
    )


def test_a_decision_is_rated_with_the_confidence_it_had():
    given(registered).when(RATE, call=GRACE_CALLS).then(rated, FINE)
    sure = replace(registered, confidence=0.8, confidence_source=HUMAN_SOURCE)
    given(sure).when(RATE, call=GRACE_CALLS).then(replace(rated, confidence_at_rating=0.8), FINE)


def test_a_rating_needs_no_comment():
    plain = RateDecision(decision_id=ID, rating=Rating.IGNORED)
    given(registered).when(plain, call=GRACE_CALLS).then(
        replace(rated, rating=Rating.IGNORED, comment=None), FINE
    )


def test_nobody_rates_a_decision_of_their_own():
    given(registered).when(RATE).refused(
        DecisionCannotRateError, saying="The caller made this decision."
    )
    given(replace(registered, actor_id=GRACE)).when(RATE, call=GRACE_CALLS).refused(
        DecisionCannotRateError
    )


def test_the_recorder_of_anothers_decision_may_rate_it():
    given(replace(registered, actor_id=GRACE)).when(RATE).then(replace(rated, actor_id=ME), FINE)


def test_a_rating_is_not_repeated():
    given(registered, rated).when(RATE, call=GRACE_CALLS).refused(
        DecisionCannotRateError, saying="already"
    )


def test_another_rating_comment_or_actor_is_another_rating():
    worse = RATE.model_copy(update={"rating": Rating.MISLEADING})
    given(registered, rated).when(worse, call=GRACE_CALLS).then(
        replace(rated, rating=Rating.MISLEADING), replace(FINE, row=ResultRating(ID, True))
    )
    silent = RATE.model_copy(update={"comment": None})
    given(registered, rated).when(silent, call=GRACE_CALLS).then(replace(rated, comment=None), FINE)
    given(registered, rated).when(RATE, call=ROBOT_CALLS).then(replace(rated, actor_id=ROBOT), FINE)


def test_a_rating_that_was_changed_may_be_given_again():
    worse = replace(rated, rating=Rating.MISLEADING)
    given(registered, rated, worse).when(RATE, call=GRACE_CALLS).then(rated, FINE)
    others = replace(worse, actor_id=ROBOT)
    given(registered, others).when(RATE, call=GRACE_CALLS).then(
        rated, replace(FINE, row=ResultRating(ID, True))
    )


def test_inferences_are_stored_without_their_messages():
    given(registered).when(APPEND).then(appended(row(CALLED, messages=None)))


def test_messages_are_stored_where_the_installation_says_so():
    given(registered).when(APPEND, given=True).then(appended(row(CALLED)))


def test_the_inferences_of_an_agent_carry_its_id():
    given(by_robot).when(APPEND, call=ROBOT_CALLS).then(
        appended(row(CALLED, messages=None, agent_id=ROBOT, principal_id=ROBOT))
    )


def test_inferences_are_stored_in_the_order_they_are_sent():
    another = replace(CALLED, inference_id=OTHER_INFERENCE, occurred_at=LATER, messages=None)
    given(registered).when(appending(another, CALLED)).then(
        appended(row(another), row(CALLED, messages=None))
    )


def test_only_who_decided_says_by_which_inferences():
    given(registered).when(APPEND, call=GRACE_CALLS).refused(DecisionCannotAppendInferencesError)
    given(by_robot).when(APPEND).refused(DecisionCannotAppendInferencesError)


def test_an_inference_named_twice_is_reported_before_a_missing_permission():
    for call in (CALL, GRACE_CALLS):
        given(registered).when(appending(CALLED, CALLED), call=call).refused(
            InvalidDecisionInferenceError
        )


def test_an_inference_of_another_decision_is_refused():
    elsewhere = INFERENCES.insert(row(CALLED, decision_id=OTHER))
    given(registered, elsewhere).when(APPEND).refused(DecisionInferenceIdTakenError)


def test_an_inference_known_already_is_sent_again_as_it_is():
    given(registered, appended(row(CALLED))).when(APPEND).then(appended(row(CALLED, messages=None)))


def test_nothing_is_appended_to_a_decision_that_does_not_exist():
    given().when(APPEND).refused(DecisionNotFoundError)
    given().when(WRITE).refused(DecisionNotFoundError)


def sent(**changes: object) -> dict[str, object]:
    """An inference as it arrives."""
    least = {
        "inference_id": str(INFERENCE),
        "occurred_at": "2030-01-01T00:00:00Z",
        "operation_name": "chat",
        "provider_name": "local",
        "request_model": "model-a",
    }
    return {**least, **changes}


COUNTS = ("duration_ms", "input_tokens", "output_tokens")
NOT_COUNTS = ("1", True, 1.0, 0.5)
NOT_NUMBERS = ("1", True, float("nan"), float("inf"))
# A number of an inference, with something it may hold and something it may not.
BOUNDS: list[tuple[str, object, object]] = [
    *((name, 1, wrong) for name in (*COUNTS, "request_max_tokens") for wrong in NOT_COUNTS),
    ("cost_usd", 0, -0.01),
    *(("cost_usd", 0.5, wrong) for wrong in NOT_NUMBERS),
    *(("request_temperature", 0.7, wrong) for wrong in NOT_NUMBERS),
]


def test_the_numbers_of_an_inference_are_numbers_and_nothing_else_is_asked():
    for field, right, wrong in BOUNDS:
        AppendInferences.model_validate({"decision_id": ID, "entries": [sent(**{field: right})]})
        misshapen(AppendInferences, "entries", decision_id=ID, entries=[sent(**{field: wrong})])
    for unasked in ("decision_id", "agent_id", "principal_id", "surface_id", "recorded_at"):
        misshapen(AppendInferences, "entries", decision_id=ID, entries=[sent(**{unasked: str(ID)})])


def test_anybody_writes_into_the_logbook_of_a_decision():
    for call in (CALL, GRACE_CALLS):
        row = LOGBOOK.insert(replace(written, author_id=call.principal_id))
        given(registered).when(WRITE, call=call).then(row, LogbookEntryMade(ENTRY))


def test_a_logbook_entry_without_an_id_gets_one():
    given(registered).when(writing(entry_id=None)).then(
        LOGBOOK.insert(replace(written, entry_id=NEW)), LogbookEntryMade(NEW)
    )


def test_a_repeated_logbook_entry_is_stored_once():
    earlier = LOGBOOK.insert(replace(written, recorded_at=NOW - timedelta(days=1)))
    given(registered, earlier).when(WRITE).then(LogbookEntryMade(ENTRY))


def test_the_id_of_a_logbook_entry_is_taken_by_another_text_or_decision():
    for other in (replace(written, text="We stopped."), replace(written, decision_id=OTHER)):
        given(registered, LOGBOOK.insert(other)).when(WRITE).refused(
            DecisionLogbookEntryIdTakenError
        )


def test_a_decision_is_what_its_first_event_says():
    assert begin(full) == Decision(
        *(ID, GRACE, "RunHold", "Hold", PARENT, OverrideKind.APPEAL, "rule 7", "The beam drifts"),
        *(0.8, HUMAN_SOURCE, ("Wait", "Stop"), INPUTS, frozenset({POLICY, OTHER_POLICY})),
        *(ConfidenceBand.HIGH, NOW, dict[UUID, DecisionRating]()),
    )


def test_a_confidence_falls_into_a_band():
    bands = {
        None: None,
        0.0: ConfidenceBand.LOW,
        0.299: ConfidenceBand.LOW,
        0.3: ConfidenceBand.MEDIUM,
        0.699: ConfidenceBand.MEDIUM,
        0.7: ConfidenceBand.HIGH,
        0.949: ConfidenceBand.HIGH,
        0.95: ConfidenceBand.CERTAIN,
        1.0: ConfidenceBand.CERTAIN,
    }
    found = {sure: begin(replace(registered, confidence=sure)).confidence_band for sure in bands}
    assert found == bands


def test_the_latest_rating_of_each_actor_counts():
    decision = begin(registered)
    for event in (
        rated,
        replace(rated, actor_id=ROBOT, comment=None),
        replace(rated, rating=Rating.IGNORED),
    ):
        decision = evolve(decision, event)
    assert decision.ratings == {
        GRACE: DecisionRating(Rating.IGNORED, "It saved the sample"),
        ROBOT: DecisionRating(Rating.USEFUL, None),
    }


def found_by(decision: Decision) -> set[str]:
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    return set(source.view.facets_of(decision))


def test_a_list_finds_a_decision_by_its_run_and_its_ratings():
    facets = found_by(evolve(evolve(begin(full), rated), replace(rated, actor_id=ME)))
    assert {f"run_id={RUN}", "rating=useful", "confidence_band=High", "choice=Hold"} <= facets


def test_a_list_finds_a_decision_by_whether_a_caution_came_of_it():
    promoted = evolve(begin(full), DecisionPromoted(NOW, ID, RUN))
    assert promoted.promoted_caution_id == RUN
    assert "promoted=true" in found_by(promoted)
    assert "promoted=false" in found_by(begin(full))


def test_a_list_finds_a_run_however_its_id_is_spelled_and_nothing_that_is_no_id():
    spelled = replace(full, inputs={"run_id": RUN.hex.upper()})
    assert f"run_id={RUN}" in found_by(begin(spelled))
    no_ids: list[Json] = [None, "x" * 60_000, [str(RUN)]]
    for inputs in (None, {}, *({"run_id": value} for value in no_ids)):
        facets = found_by(begin(replace(full, inputs=inputs)))
        assert not [facet for facet in facets if facet.startswith("run_id=")]


def test_inferences_are_listed_as_they_happened_and_the_logbook_as_it_was_written():
    inferences, logbook = (question.source for question in QUESTIONS[3:5])
    assert isinstance(inferences, Entries)
    assert isinstance(logbook, Entries)
    assert (inferences.by, logbook.by) == (
        ("occurred_at", "inference_id"),
        ("recorded_at", "entry_id"),
    )
