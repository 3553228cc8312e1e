"""Clearance: filled in, reviewed, in force for a time, and amended without a gap."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import to_builtins
from tests.unit.contexts.operation.procedures import PROCEDURE, a_procedure

from beamkeep.contexts.equipment.asset import (
    AssetDecommissioned,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.federation.facility import (
    FacilityAlreadyExistsError,
    FacilityDecommissioned,
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
)
from beamkeep.contexts.operation.procedure import ProcedureNotFoundError
from beamkeep.contexts.run.run import RunNotFoundError, RunStarted
from beamkeep.contexts.safety.clearance import (
    OPERATIONS,
    ActivateClearance,
    AmendClearance,
    AppendClearanceReviewStep,
    ApproveClearance,
    AssetBinding,
    Binding,
    Clearance,
    ClearanceActivated,
    ClearanceApproved,
    ClearanceCannotActivateError,
    ClearanceCannotAmendError,
    ClearanceCannotAppendReviewStepError,
    ClearanceCannotApproveError,
    ClearanceCannotExpireError,
    ClearanceCannotRejectError,
    ClearanceCannotStartReviewError,
    ClearanceCannotSubmitError,
    ClearanceChanged,
    ClearanceCommand,
    ClearanceExpired,
    ClearanceMade,
    ClearanceNotFoundError,
    ClearanceRegistered,
    ClearanceRejected,
    ClearanceReviewStarted,
    ClearanceReviewStepAppended,
    ClearanceStatus,
    ClearanceSubmitted,
    ClearanceSuperseded,
    ExpireClearance,
    ExternalBinding,
    Hazard,
    InvalidClearanceBindingsError,
    InvalidClearanceHazardsError,
    InvalidClearanceValidityError,
    ProcedureBinding,
    RegisterClearance,
    RejectClearance,
    ReviewDecision,
    ReviewStep,
    RiskBand,
    RunBinding,
    StartClearanceReview,
    SubjectBinding,
    SubmitClearance,
    begin,
    evolve,
)
from beamkeep.contexts.subject.subject import SubjectNotFoundError, SubjectRegistered
from beamkeep.kernel import Advice, Command, Event, Refusal, SideWrite, claim, replace
from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix, misshapen

ID, CHILD, SIBLING, SITE = NEW, UUID(int=2), UUID(int=3), UUID(int=20)
BEAMLINE, FOSSIL, SCAN, PLAN = UUID(int=30), UUID(int=31), UUID(int=32), UUID(int=33)
EARLIER = NOW - timedelta(days=1)
LATEST = LATER + timedelta(days=1)
AMENDING = replace(CALL, new_id=CHILD)

BINDINGS: tuple[Binding, ...] = (
    ExternalBinding("proposal", "P-1234"),
    SubjectBinding(FOSSIL),
    AssetBinding(BEAMLINE),
    RunBinding(SCAN),
)
AROUND: tuple[Event | SideWrite, ...] = (
    FacilityRegistered(NOW, SITE, "ring", "Ring", FacilityKind.SITE, None),
    claim("facility-code", "ring", holder=SITE, loser=FacilityAlreadyExistsError),
    AssetRegistered(NOW, BEAMLINE, "Beamline", AssetTier.UNIT, None, "ring", (), None, None, ()),
    SubjectRegistered(NOW, FOSSIL, "Fossil"),
    RunStarted(NOW, SCAN, "Scan", PLAN, None, PLAN, (), None, None, {}, {}, (), (), None),
)

HAZARDS = Hazard("ghs", "H301", "gloves"), Hazard("local", "alpha", None)
registered = ClearanceRegistered(
    *(NOW, ID, "radiation", "ring", "Uranyl salts", BINDINGS, HAZARDS),
    *(RiskBand.RED, EARLIER, LATEST, None),
)
submitted = ClearanceSubmitted(NOW, ID)
started = ClearanceReviewStarted(NOW, ID)
endorsed = ClearanceReviewStepAppended(
    NOW, ID, 0, "radiation officer", ReviewDecision.APPROVED, "seen in person", ME
)
approved = ClearanceApproved(NOW, ID, EARLIER, LATEST)
activated = ClearanceActivated(NOW, ID)
rejected = ClearanceRejected(NOW, ID, "no shielding")
expired = ClearanceExpired(NOW, ID, "sample sent back")
superseded = ClearanceSuperseded(NOW, ID, CHILD)
amendment = replace(registered, clearance_id=CHILD, parent_id=ID)

UNDER_REVIEW = (registered, submitted, started)
APPROVED = (*UNDER_REVIEW, endorsed, approved)
ACTIVE = (*APPROVED, activated)
APPROVED_CHILD = (
    amendment,
    ClearanceSubmitted(NOW, CHILD),
    ClearanceReviewStarted(NOW, CHILD),
    replace(endorsed, clearance_id=CHILD),
    replace(approved, clearance_id=CHILD),
)

FORM: dict[str, object] = {
    "title": " Uranyl salts ",
    "bindings": [
        {"kind": "External", "scheme": " proposal ", "value": " P-1234 "},
        {"kind": "Subject", "id": FOSSIL},
        {"kind": "Asset", "id": BEAMLINE},
        {"kind": "Run", "id": SCAN},
    ],
    "hazards": [
        {"scheme": " ghs ", "code": " H301 ", "mitigation": " gloves "},
        {"scheme": "local", "code": "alpha"},
    ],
    "risk_band": "Red",
    "valid_from": EARLIER,
    "valid_until": LATEST,
}
GOOD: dict[str, object] = {"kind": " radiation ", "facility_code": "ring"} | FORM
SUBMIT = SubmitClearance(clearance_id=ID)
START = StartClearanceReview(clearance_id=ID)
STEP = AppendClearanceReviewStep(
    clearance_id=ID,
    role=" radiation officer ",
    decision=ReviewDecision.APPROVED,
    notes=" seen in person ",
)
APPROVE = ApproveClearance(clearance_id=ID)
REJECT = RejectClearance(clearance_id=ID, reason=" no shielding ")
ACTIVATE = ActivateClearance(clearance_id=ID)
EXPIRE = ExpireClearance(clearance_id=ID, reason=" sample sent back ")
MOVES: list[tuple[ClearanceCommand, type[Refusal]]] = [
    (SUBMIT, ClearanceCannotSubmitError),
    (START, ClearanceCannotStartReviewError),
    (STEP, ClearanceCannotAppendReviewStepError),
    (APPROVE, ClearanceCannotApproveError),
    (REJECT, ClearanceCannotRejectError),
    (ACTIVATE, ClearanceCannotActivateError),
    (EXPIRE, ClearanceCannotExpireError),
]


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterClearance:
    return RegisterClearance.model_validate(GOOD | changes)


def amending(**changes: object) -> AmendClearance:
    return AmendClearance.model_validate({"clearance_id": ID} | FORM | changes)


def approving(**changes: object) -> ApproveClearance:
    return ApproveClearance.model_validate({"clearance_id": ID} | changes)


AMEND = amending()


def test_a_clearance_is_registered_with_its_texts_trimmed():
    given().when(registering()).then(registered)


def test_a_clearance_may_be_open_on_both_sides_or_over_and_say_nothing_of_hazards():
    for until in (None, EARLIER):
        times: dict[str, datetime | None] = {"valid_from": None, "valid_until": until}
        given().when(registering(hazards=[], risk_band=None, **times)).then(
            replace(registered, hazards=(), risk_band=None, **times)
        )


def test_the_facility_of_a_clearance_must_exist():
    for code in ("nowhere", "Ring", "ring "):
        given().when(registering(facility_code=code)).refused(FacilityNotFoundError)


ABSENT_BOUND: list[tuple[str, type[Refusal]]] = [
    ("Subject", SubjectNotFoundError),
    ("Asset", AssetNotFoundError),
    ("Run", RunNotFoundError),
    ("Procedure", ProcedureNotFoundError),
]


def test_what_a_clearance_is_bound_to_must_exist():
    for kind, refusal in ABSENT_BOUND:
        bindings = [{"kind": kind, "id": ABSENT}]
        given().when(registering(bindings=bindings)).refused(refusal)
        given(*ACTIVE).when(amending(bindings=bindings), call=AMENDING).refused(refusal)


def test_a_clearance_is_bound_to_a_procedure():
    bindings = [{"kind": "Procedure", "id": PROCEDURE}]
    outcome = given(a_procedure(PROCEDURE)).when(registering(bindings=bindings)).decided()
    assert outcome == [replace(registered, bindings=(ProcedureBinding(PROCEDURE),))]


def test_what_a_clearance_is_bound_to_is_missed_in_the_order_of_the_kinds():
    absent = [{"kind": kind, "id": ABSENT} for kind, _ in ABSENT_BOUND]
    for number, (_, refusal) in enumerate(ABSENT_BOUND):
        bindings = absent[number:][::-1]
        given().when(registering(bindings=bindings)).refused(refusal)


def test_what_is_out_of_use_may_be_cleared():
    closed = FacilityDecommissioned(NOW, SITE, "closed"), AssetDecommissioned(NOW, BEAMLINE)
    given(*closed).when(registering()).then(registered)


def test_what_stands_elsewhere_is_not_looked_for():
    outside = {"kind": "External", "scheme": "asset", "value": str(ABSENT)}
    given().when(registering(bindings=[outside])).then(
        replace(registered, bindings=(ExternalBinding("asset", str(ABSENT)),))
    )


def test_a_clearance_covers_something_and_names_nothing_twice():
    one = {"kind": "Subject", "id": FOSSIL}
    plain = {"kind": "External", "scheme": "proposal", "value": "7"}
    spaced = {"kind": "External", "scheme": " proposal", "value": "7 "}
    for bindings in ([], [one, one], [plain, spaced]):
        given().when(registering(bindings=bindings)).refused(InvalidClearanceBindingsError)
        given(*ACTIVE).when(amending(bindings=bindings)).refused(InvalidClearanceBindingsError)
    two = [plain, plain | {"scheme": "cycle"}]
    given().when(registering(bindings=two)).then(
        replace(
            registered, bindings=(ExternalBinding("proposal", "7"), ExternalBinding("cycle", "7"))
        )
    )


def test_a_binding_has_the_shape_of_its_kind():
    for wrong in (
        {"kind": "Asset"},
        {"kind": "Asset", "id": "stage"},
        {"kind": "Asset", "id": BEAMLINE, "scheme": "proposal"},
        {"kind": "External", "id": BEAMLINE},
        {"kind": "Person", "id": ME},
        {"id": BEAMLINE},
    ):
        misshapen(RegisterClearance, "bindings", **GOOD | {"bindings": [wrong]})


def test_a_clearance_has_at_most_50_hazards():
    hazard = {"scheme": "ghs", "code": "H301"}
    given().when(registering(hazards=[hazard] * 50)).then(
        replace(registered, hazards=(Hazard("ghs", "H301"),) * 50)
    )
    given().when(registering(hazards=[hazard] * 51)).refused(
        InvalidClearanceHazardsError, saying="There are 51 hazards."
    )


def test_a_clearance_begins_before_it_ends():
    for since, until in ((LATER, NOW), (LATER, LATER)):
        times = {"valid_from": since, "valid_until": until}
        given().when(registering(**times)).refused(InvalidClearanceValidityError)
        given(*ACTIVE).when(amending(**times)).refused(InvalidClearanceValidityError)
    given().when(registering(valid_from=LATER, valid_until=None)).then(
        replace(registered, valid_from=LATER, valid_until=None)
    )


WRONG_FORM: dict[str, object] = {
    "bindings": [{"kind": "Subject", "id": ABSENT}],
    "hazards": [{"scheme": "ghs", "code": "H301"}] * 51,
    "valid_from": LATER,
    "valid_until": NOW,
}
FORM_RIGHTS: list[tuple[dict[str, object], type[Refusal]]] = [
    ({"bindings": []}, SubjectNotFoundError),
    ({"bindings": FORM["bindings"]}, InvalidClearanceBindingsError),
    ({"hazards": []}, InvalidClearanceHazardsError),
    ({"valid_until": None}, InvalidClearanceValidityError),
]


def test_faults_of_a_registration_are_reported_in_order():
    wrong = {"facility_code": "nowhere"} | WRONG_FORM
    for right, refusal in [({"facility_code": "ring"}, FacilityNotFoundError), *FORM_RIGHTS]:
        given().when(registering(**wrong)).refused(refusal)
        wrong |= right
    given().when(registering(**wrong)).then(
        replace(registered, hazards=(), valid_from=LATER, valid_until=None)
    )


def test_faults_of_an_amendment_are_reported_in_order():
    wrong = dict(WRONG_FORM)
    for right, refusal in FORM_RIGHTS:
        given(registered).when(amending(**wrong)).refused(refusal)
        wrong |= right
    given(registered).when(amending(**wrong)).refused(ClearanceCannotAmendError)


def test_a_clearance_is_submitted_reviewed_and_put_into_force():
    given(registered).when(SUBMIT).then(submitted)
    given(registered, submitted).when(START).then(started)
    given(*APPROVED).when(ACTIVATE).then(activated)


def test_a_review_step_is_the_callers_and_is_numbered_from_0():
    given(*UNDER_REVIEW).when(STEP).then(endorsed)
    other = replace(CALL, principal_id=SIBLING, now=LATER)
    given(*UNDER_REVIEW, endorsed).when(STEP, call=other).then(
        replace(endorsed, occurred_at=LATER, step_index=1, decided_by=SIBLING)
    )


def test_a_review_step_may_go_without_notes():
    given(*UNDER_REVIEW).when(STEP.model_copy(update={"notes": None})).then(
        replace(endorsed, notes=None)
    )


def test_a_clearance_is_approved_for_the_time_it_was_registered_for():
    given(*UNDER_REVIEW, endorsed).when(APPROVE).then(approved)


def test_an_approval_changes_or_opens_either_side_and_keeps_the_other():
    for changes in (
        {"valid_from": NOW, "valid_until": LATER},
        {"valid_from": NOW},
        {"valid_until": LATER},
        {"valid_from": None},
        {"valid_until": None},
    ):
        event = replace(approved, **changes)
        given(*UNDER_REVIEW, endorsed).when(approving(**changes)).then(event)


def test_an_approved_clearance_begins_before_it_ends():
    for changes in ({"valid_from": LATEST}, {"valid_from": LATER, "valid_until": LATER}):
        given(*UNDER_REVIEW, endorsed).when(approving(**changes)).refused(
            InvalidClearanceValidityError
        )


def test_what_is_over_is_not_approved():
    for until in (NOW, NOW - timedelta(hours=1)):
        given(*UNDER_REVIEW, endorsed).when(approving(valid_until=until)).refused(
            InvalidClearanceValidityError, saying="has passed; give a later time."
        )
    late = replace(CALL, now=LATEST)
    given(*UNDER_REVIEW, endorsed).when(APPROVE, call=late).refused(InvalidClearanceValidityError)
    soon = NOW + timedelta(microseconds=1)
    given(*UNDER_REVIEW, endorsed).when(approving(valid_until=soon)).then(
        replace(approved, valid_until=soon)
    )


def test_what_nobody_decided_on_is_not_approved():
    given(*UNDER_REVIEW).when(APPROVE).refused(
        ClearanceCannotApproveError, saying="There is no review step yet."
    )


def test_only_the_last_review_step_counts():
    changes = replace(endorsed, step_index=1, decision=ReviewDecision.REQUESTED_CHANGES)
    given(*UNDER_REVIEW, endorsed, changes).when(APPROVE).refused(
        ClearanceCannotApproveError, saying="The last review step is RequestedChanges."
    )
    against = replace(changes, decision=ReviewDecision.REJECTED)
    given(*UNDER_REVIEW, endorsed, against).when(APPROVE).refused(
        ClearanceCannotApproveError, saying="The last review step is Rejected."
    )
    again = replace(endorsed, step_index=2)
    given(*UNDER_REVIEW, endorsed, against, again).when(APPROVE).then(approved)


def test_a_wrong_time_of_an_approval_is_reported_before_the_status():
    for history in ((registered,), UNDER_REVIEW, ACTIVE):
        given(*history).when(approving(valid_from=LATEST)).refused(InvalidClearanceValidityError)
        given(*history).when(approving(valid_until=NOW)).refused(InvalidClearanceValidityError)


def test_a_clearance_is_rejected():
    given(*UNDER_REVIEW).when(REJECT).then(rejected)
    given(*UNDER_REVIEW, endorsed).when(REJECT).then(rejected)


def test_a_clearance_may_be_put_into_force_before_it_begins():
    ahead = replace(approved, valid_from=LATER)
    given(*UNDER_REVIEW, endorsed, ahead).when(ACTIVATE).then(activated)


def test_what_is_over_is_not_put_into_force():
    for now in (LATEST, LATEST + timedelta(hours=1)):
        given(*APPROVED).when(ACTIVATE, call=replace(CALL, now=now)).refused(
            ClearanceCannotActivateError, saying="valid_until (2030-01-03"
        )
    just = replace(CALL, now=LATEST - timedelta(microseconds=1))
    given(*APPROVED).when(ACTIVATE, call=just).then(replace(activated, occurred_at=just.now))


def test_an_amendment_in_force_takes_the_place_of_what_it_amends():
    given(*ACTIVE, *APPROVED_CHILD).when(ActivateClearance(clearance_id=CHILD)).then(
        ClearanceActivated(NOW, CHILD), superseded
    )


def test_an_amendment_of_what_has_expired_is_put_into_force_alone():
    given(*ACTIVE, expired, *APPROVED_CHILD).when(ActivateClearance(clearance_id=CHILD)).then(
        ClearanceActivated(NOW, CHILD)
    )


AHEAD_CHILD = (*APPROVED_CHILD[:-1], replace(approved, clearance_id=CHILD, valid_from=LATER))


def test_an_amendment_does_not_end_what_it_amends_before_it_is_valid_itself():
    activate = ActivateClearance(clearance_id=CHILD)
    early = given(*ACTIVE, *AHEAD_CHILD).when(activate)
    refusal = early.refused(ClearanceCannotActivateError, f"valid_from ({LATER}) is in the future")
    assert refusal.facts == {"valid_from": LATER}
    given(*ACTIVE, *AHEAD_CHILD).when(activate, call=replace(CALL, now=LATER)).then(
        ClearanceActivated(LATER, CHILD), replace(superseded, occurred_at=LATER)
    )


def test_an_amendment_that_ends_nothing_may_be_put_into_force_before_it_begins():
    given(*ACTIVE, expired, *AHEAD_CHILD).when(ActivateClearance(clearance_id=CHILD)).then(
        ClearanceActivated(NOW, CHILD)
    )


def test_of_two_amendments_only_one_takes_the_place():
    gone = replace(superseded, superseded_by_clearance_id=SIBLING)
    second = given(*ACTIVE, gone, *APPROVED_CHILD).when(ActivateClearance(clearance_id=CHILD))
    refused = second.refused(ClearanceCannotActivateError, f"already superseded clearance {ID}")
    assert refused.facts == {"superseded_by_clearance_id": SIBLING}


def test_reasons_against_putting_a_clearance_into_force_are_reported_in_order():
    gone = replace(superseded, superseded_by_clearance_id=SIBLING)
    past = (*ACTIVE, gone, *APPROVED_CHILD)
    activate, late = ActivateClearance(clearance_id=CHILD), replace(CALL, now=LATEST)
    given(*past, ClearanceActivated(NOW, CHILD)).when(activate, call=late).refused(
        ClearanceCannotActivateError, saying="The status is Active; it must be Approved."
    )
    given(*past).when(activate, call=late).refused(
        ClearanceCannotActivateError, saying="valid_until ("
    )


def test_a_clearance_is_ended_whether_or_not_its_time_is_over():
    given(*ACTIVE).when(EXPIRE).then(expired)
    late = replace(CALL, now=LATEST)
    given(*ACTIVE).when(EXPIRE, call=late).then(replace(expired, occurred_at=LATEST))


def test_an_amendment_is_a_clearance_of_its_own_of_the_same_kind_and_facility():
    given(*ACTIVE).when(AMEND, call=AMENDING).then(amendment, ClearanceMade(CHILD))


def test_an_amendment_states_everything_again():
    outside = {"kind": "External", "scheme": "cycle", "value": "2030-1"}
    form = AmendClearance.model_validate(
        {"clearance_id": ID, "title": "Less", "bindings": [outside]}
    )
    given(*ACTIVE).when(form, call=AMENDING).then(
        ClearanceRegistered(
            *(NOW, CHILD, "radiation", "ring", "Less", (ExternalBinding("cycle", "2030-1"),)),
            *((), None, None, None, ID),
        ),
        ClearanceMade(CHILD),
        *(left_out(n, kind) for n, kind in enumerate(("External", "Subject", "Asset", "Run"))),
    )


def left_out(number: int, kind: str) -> Advice:
    """The warning that an amendment no longer covers what the clearance covered."""
    rule = "name what the clearance covers, unless its cover is to end"
    return Advice("$.bindings", f"{rule}: binding {number} of the clearance ({kind}) is left out")


def test_an_amendment_warns_of_each_binding_that_it_leaves_out():
    other = {"kind": "External", "scheme": "proposal", "value": "P-1235"}
    kept = [to_builtins(each) for each in BINDINGS[1:3]]
    events = given(*ACTIVE).when(amending(bindings=[*kept, other]), call=AMENDING).decided()
    warned = [each for each in events if isinstance(each, Advice)]
    assert warned == [left_out(0, "External"), left_out(3, "Run")]


def test_a_clearance_has_one_amendment_at_a_time():
    ahead = APPROVED_CHILD
    for length in range(1, len(ahead) + 1):
        again = given(*ACTIVE, *ahead[:length]).when(AMEND, call=replace(CALL, new_id=SIBLING))
        refused = again.refused(
            ClearanceCannotAmendError, f"Clearance {CHILD} is an open amendment"
        )
        assert refused.facts == {"clearance_ids": [CHILD]}


def test_a_clearance_is_amended_again_when_its_amendment_came_to_nothing():
    turned_down = (*APPROVED_CHILD[:3], replace(rejected, clearance_id=CHILD))
    given(*ACTIVE, *turned_down).when(AMEND, call=replace(CALL, new_id=SIBLING)).then(
        replace(amendment, clearance_id=SIBLING), ClearanceMade(SIBLING)
    )


def test_an_amendment_of_another_clearance_does_not_count():
    other = replace(amendment, parent_id=SIBLING)
    given(*ACTIVE, other).when(AMEND, call=replace(CALL, new_id=SIBLING)).then(
        replace(amendment, clearance_id=SIBLING), ClearanceMade(SIBLING)
    )


def test_only_an_active_clearance_is_amended():
    given(*APPROVED, amendment).when(AMEND).refused(
        ClearanceCannotAmendError, saying="The status is Approved; it must be Active."
    )
    for over in (expired, superseded):
        given(*ACTIVE, over).when(AMEND).refused(ClearanceCannotAmendError)


def test_a_clearance_that_does_not_exist_does_not_move():
    for command, _ in MOVES:
        given().when(command).refused(ClearanceNotFoundError)
    given().when(AMEND).refused(ClearanceNotFoundError)


def test_what_has_ended_stays_so():
    for ended in ((*UNDER_REVIEW, endorsed, rejected), (*ACTIVE, expired), (*ACTIVE, superseded)):
        for command, refusal in MOVES:
            given(*ended).when(command).refused(refusal, saying="The status is ")


def test_a_clearance_is_what_its_first_event_says():
    assert begin(amendment) == Clearance(
        *(CHILD, "radiation", "ring", "Uranyl salts", BINDINGS, HAZARDS, RiskBand.RED),
        *(EARLIER, LATEST, ID, ClearanceStatus.DEFINED, (), None, None),
    )


def test_a_clearance_keeps_its_review_steps():
    first = begin(registered)
    step = ReviewStep(0, "radiation officer", ReviewDecision.APPROVED, "seen in person", ME)
    once = evolve(evolve(first, started), endorsed)
    assert once == replace(first, status=ClearanceStatus.UNDER_REVIEW, review_steps=(step,))
    twice = evolve(once, replace(endorsed, step_index=1))
    assert twice.review_steps == (step, replace(step, step_index=1))


def test_a_clearance_takes_the_times_of_its_approval():
    first = begin(registered)
    assert evolve(first, replace(approved, valid_from=None, valid_until=LATER)) == replace(
        first, status=ClearanceStatus.APPROVED, valid_from=None, valid_until=LATER
    )


def test_a_clearance_keeps_why_it_ended_and_what_took_its_place():
    first = begin(registered)
    ends: list[tuple[ClearanceChanged, dict[str, object]]] = [
        (rejected, {"status": "Rejected", "last_status_reason": "no shielding"}),
        (expired, {"status": "Expired", "last_status_reason": "sample sent back"}),
        (superseded, {"status": "Superseded", "superseded_by_clearance_id": CHILD}),
    ]
    for event, changes in ends:
        assert evolve(first, event) == replace(first, **changes)


def test_a_binding_knows_its_kind():
    known = [each.kind for each in (*BINDINGS, ProcedureBinding(ABSENT))]
    assert known == ["External", "Subject", "Asset", "Run", "Procedure"]


def in_status(status: ClearanceStatus) -> Clearance:
    """One that was endorsed, so that its status alone decides."""
    step = ReviewStep(0, "safety", ReviewDecision.APPROVED, None, ME)
    return replace(begin(registered), status=status, review_steps=(step,))


STATUS = """
             submit_clearance  start_clearance_review  append_clearance_review_step  approve_clearance  reject_clearance  activate_clearance  expire_clearance  amend_clearance
Defined      Submitted         -                       -                             -                  -                 -                   -                 -
Submitted    -                 UnderReview             -                             -                  -                 -                   -                 -
UnderReview  -                 -                       UnderReview                   Approved           Rejected          -                   -                 -
Approved     -                 -                       -                             -                  -                 Active              -                 -
Active       -                 -                       -                             -                  -                 -                   Expired           Active
Rejected     -                 -                       -                             -                  -                 -                   -                 -
Expired      -                 -                       -                             -                  -                 -                   -                 -
Superseded   -                 -                       -                             -                  -                 -                   -                 -
"""  # noqa: E501


def examples() -> list[Example]:
    moves = [Example(command) for command, _ in MOVES]
    return [*moves, Example(AMEND, given=[], call=AMENDING)]


def test_every_move_from_every_status():
    matrix(OPERATIONS, ClearanceStatus, examples(), in_status, lambda it: it.status, STATUS)


def test_every_command_is_tried_in_the_matrix():
    tried: set[type[Command]] = {type(example.command) for example in examples()}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
