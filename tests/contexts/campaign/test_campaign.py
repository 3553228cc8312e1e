"""Campaign: which runs belong together, and how their study fares."""

from uuid import UUID

from tests.support.spec import ABSENT, ME, NEW, NOW, Example, Scenario, matrix, misshapen

from beamkeep.contexts.access.actor import ActorDeactivated, ActorNotFoundError, ActorRegistered
from beamkeep.contexts.campaign.campaign import (
    OPERATIONS,
    QUESTIONS,
    AbandonCampaign,
    AddRunToCampaign,
    Campaign,
    CampaignAbandoned,
    CampaignCannotAbandonError,
    CampaignCannotAddRunError,
    CampaignCannotCloseError,
    CampaignCannotHoldError,
    CampaignCannotRemoveRunError,
    CampaignCannotResumeError,
    CampaignCannotStartError,
    CampaignClosed,
    CampaignCommandWithReason,
    CampaignHeld,
    CampaignIntent,
    CampaignMoved,
    CampaignNotFoundError,
    CampaignRegistered,
    CampaignResumed,
    CampaignRunAdded,
    CampaignRunAlreadyMemberError,
    CampaignRunNotMemberError,
    CampaignRunRemoved,
    CampaignStarted,
    CampaignStatus,
    CloseCampaign,
    HoldCampaign,
    InvalidCampaignExternalRefsError,
    InvalidCampaignTagsError,
    RegisterCampaign,
    RemoveRunFromCampaign,
    ResumeCampaign,
    RunAlreadyAssignedToCampaignError,
    StartCampaign,
    begin,
    evolve,
)
from beamkeep.contexts.run.run import (
    Run,
    RunAddedToCampaign,
    RunCompleted,
    RunNotFoundError,
    RunRemovedFromCampaign,
    RunStarted,
)
from beamkeep.contexts.run.run import begin as begin_run
from beamkeep.contexts.subject.subject import SubjectNotFoundError, SubjectRegistered
from beamkeep.kernel import ActorKind, Event, Many, Refusal, replace
from beamkeep.schemas import JsonObject

ID, OTHER, SUBJECT = NEW, UUID(int=5), UUID(int=20)
RUN, OTHER_RUN, PLAN, METHOD = UUID(int=30), UUID(int=31), UUID(int=32), UUID(int=33)
NONE: JsonObject = {}

AROUND = (
    ActorRegistered(NOW, ME, ActorKind.HUMAN),
    SubjectRegistered(NOW, SUBJECT, "Sample 1"),
)
registered = CampaignRegistered(NOW, ID, "Ageing", CampaignIntent.SERIES, ME, None, None, (), {})
full = CampaignRegistered(
    *(NOW, ID, "Ageing", CampaignIntent.SERIES, ME, SUBJECT, "Once a week"),
    *(("battery", "weekly"), {"proposal": "20300131", "cycle": "2"}),
)
started = CampaignStarted(NOW, ID)
held = CampaignHeld(NOW, ID, "no beam")
resumed = CampaignResumed(NOW, ID)
closed = CampaignClosed(NOW, ID)
abandoned = CampaignAbandoned(NOW, ID, "no sample")
added = CampaignRunAdded(NOW, ID, RUN)
joined = RunAddedToCampaign(NOW, RUN, ID)
running = RunStarted(
    *(NOW, RUN, "Week 1", PLAN, None, METHOD, (), None, None, NONE, NONE, (), (), None)
)
removed = CampaignRunRemoved(NOW, ID, RUN, "wrong cell")
left = RunRemovedFromCampaign(NOW, RUN, ID, "wrong cell")

REGISTER = RegisterCampaign(name=" Ageing ", intent=CampaignIntent.SERIES, lead_actor_id=ME)
START = StartCampaign(campaign_id=ID)
HOLD = HoldCampaign(campaign_id=ID, reason=" no beam ")
RESUME = ResumeCampaign(campaign_id=ID)
CLOSE = CloseCampaign(campaign_id=ID)
ABANDON = AbandonCampaign(campaign_id=ID, reason=" no sample ")
ADD = AddRunToCampaign(campaign_id=ID, run_id=RUN)
REMOVE = RemoveRunFromCampaign(campaign_id=ID, run_id=RUN, reason=" wrong cell ")
WITH_REASON: tuple[CampaignCommandWithReason, ...] = (HOLD, ABANDON, REMOVE)


def given(*history: Event) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterCampaign:
    return REGISTER.model_copy(update=changes)


def test_a_campaign_needs_a_name_an_intent_and_a_lead():
    given().when(REGISTER).then(registered)
    for intent in CampaignIntent:
        given().when(registering(intent=intent)).then(replace(registered, intent=intent))


def test_a_campaign_is_registered_with_its_texts_trimmed_and_its_tags_sorted():
    given().when(
        registering(
            subject_id=SUBJECT,
            description=" Once a week ",
            tags=frozenset({" weekly ", "battery", "weekly"}),
            external_refs={" proposal ": " 20300131 ", "cycle": "2"},
        )
    ).then(full)


def test_the_lead_must_exist_and_may_have_left():
    given().when(registering(lead_actor_id=ABSENT)).refused(ActorNotFoundError)
    given(ActorDeactivated(NOW, ME)).when(REGISTER).then(registered)


def test_the_lead_may_be_another_than_the_caller():
    other = ActorRegistered(NOW, OTHER, ActorKind.HUMAN)
    given(other).when(registering(lead_actor_id=OTHER)).then(
        replace(registered, lead_actor_id=OTHER)
    )


def test_the_subject_must_exist():
    given().when(registering(subject_id=ABSENT)).refused(SubjectNotFoundError)


def test_a_reference_without_a_scheme_or_a_value_is_refused():
    for refs in ({" ": "1"}, {"proposal": " "}):
        given().when(registering(external_refs=refs)).refused(InvalidCampaignExternalRefsError)


def test_a_campaign_has_at_most_20_tags():
    most = [f"tag {n:02}" for n in range(20)]
    given().when(registering(tags=frozenset(most))).then(replace(registered, tags=tuple(most)))
    given().when(registering(tags=frozenset({*most, "tag 20"}))).refused(
        InvalidCampaignTagsError, saying="There are 21 tags."
    )


def test_a_campaign_has_at_most_20_outside_references():
    most = {f"scheme {n}": "1" for n in range(20)}
    given().when(registering(external_refs=most)).then(replace(registered, external_refs=most))
    given().when(registering(external_refs={**most, "scheme 20": "1"})).refused(
        InvalidCampaignExternalRefsError, saying="At most 20 references are allowed; there are 21."
    )


def test_a_scheme_is_named_once():
    given().when(registering(external_refs={"cycle": "1", " cycle": "2"})).refused(
        InvalidCampaignExternalRefsError,
        saying="The scheme cycle occurs twice; give each scheme once.",
    )


def test_a_value_does_not_repeat_its_scheme():
    for value in ("doi:10.5281/42", " DOI:10.5281/42"):
        given().when(registering(external_refs={"doi": value})).refused(
            InvalidCampaignExternalRefsError, saying="Remove the prefix doi: from the value."
        )
    other = {"proposal": "doi:10.5281/42", "doi": "doi"}
    given().when(registering(external_refs=other)).then(replace(registered, external_refs=other))


def test_what_is_wrong_with_a_campaign_is_told_in_order():
    wrong: dict[str, object] = {
        "lead_actor_id": ABSENT,
        "subject_id": ABSENT,
        "external_refs": {"proposal": " "},
    }
    rights: list[tuple[dict[str, object], type[Refusal]]] = [
        ({"lead_actor_id": ME}, ActorNotFoundError),
        ({"subject_id": None}, SubjectNotFoundError),
        ({"external_refs": {}}, InvalidCampaignExternalRefsError),
    ]
    for right, refusal in rights:
        given().when(registering(**wrong)).refused(refusal)
        wrong |= right
    given().when(registering(**wrong)).then(registered)


def test_the_shape_of_a_campaign_has_bounds():
    good = REGISTER.model_dump()
    for field, longest in (("name", 200), ("description", 2000)):
        RegisterCampaign.model_validate(good | {field: "x" * longest})
        misshapen(RegisterCampaign, field, **good | {field: "x" * (longest + 1)})
        misshapen(RegisterCampaign, field, **good | {field: ""})
    for field in ("name", "intent", "lead_actor_id"):
        misshapen(RegisterCampaign, field, **{n: v for n, v in good.items() if n != field})
    for tag in ("", "x" * 51):
        misshapen(RegisterCampaign, "tags", **good | {"tags": [tag]})
    for scheme, value in (("", "1"), ("x" * 51, "1"), ("cycle", ""), ("cycle", "x" * 201)):
        misshapen(RegisterCampaign, "external_refs", **good | {"external_refs": {scheme: value}})
    RegisterCampaign.model_validate(
        good | {"tags": ["x" * 50], "external_refs": {"x" * 50: "x" * 200}}
    )
    for field, other in (("intent", "Whim"), ("status", "Active"), ("run_ids", "none")):
        misshapen(RegisterCampaign, field, **good | {field: other})


def test_a_planned_campaign_is_started():
    given(registered).when(START).then(started)


def test_an_active_campaign_is_held():
    given(registered, started).when(HOLD).then(held)


def test_a_held_campaign_is_resumed():
    given(registered, started, held).when(RESUME).then(resumed)


def test_a_campaign_is_closed_whether_it_is_held_or_not():
    given(registered, started).when(CLOSE).then(closed)
    given(registered, started, held).when(CLOSE).then(closed)


def test_a_campaign_is_abandoned_before_it_started():
    given(registered).when(ABANDON).then(abandoned)


def test_a_move_that_does_not_fit_the_status_has_a_refusal_of_its_own():
    given(registered, started).when(START).refused(CampaignCannotStartError)
    given(registered).when(HOLD).refused(CampaignCannotHoldError)
    given(registered).when(RESUME).refused(CampaignCannotResumeError)
    given(registered).when(CLOSE).refused(
        CampaignCannotCloseError, saying="The status is Planned; it must be Active or Held."
    )
    given(registered, abandoned).when(ABANDON).refused(CampaignCannotAbandonError)


def test_nothing_happens_to_a_campaign_that_does_not_exist():
    for command in (START, HOLD, RESUME, CLOSE, ABANDON, ADD, REMOVE):
        given().when(command).refused(CampaignNotFoundError)


def test_a_run_joins_a_campaign_on_both_sides():
    given(registered, running).when(ADD).then(added, joined)


def test_a_run_that_is_over_may_still_join():
    given(registered, running, RunCompleted(NOW, RUN)).when(ADD).then(added, joined)


def test_a_run_leaves_a_campaign_on_both_sides():
    given(registered, running, added, joined).when(REMOVE).then(removed, left)


def test_a_run_that_left_joins_again():
    given(registered, running, added, joined, removed, left).when(ADD).then(added, joined)


def test_a_run_joins_a_campaign_once():
    given(registered, running, added, joined).when(ADD).refused(CampaignRunAlreadyMemberError)


def test_a_run_is_in_no_two_campaigns():
    elsewhere = RunAddedToCampaign(NOW, RUN, OTHER)
    refused = (
        given(registered, running, elsewhere)
        .when(ADD)
        .refused(RunAlreadyAssignedToCampaignError, saying=f"The run is in campaign {OTHER}.")
    )
    assert refused.facts == {"campaign_id": OTHER}


def test_a_run_of_another_campaign_or_of_none_is_no_member():
    for past in ((), (RunAddedToCampaign(NOW, RUN, OTHER),)):
        given(registered, running, *past).when(REMOVE).refused(CampaignRunNotMemberError)


def test_what_the_run_says_of_its_campaign_decides():
    given(registered, running, joined).when(ADD).refused(CampaignRunAlreadyMemberError)
    given(registered, running, joined).when(REMOVE).then(removed, left)
    given(registered, running, added).when(ADD).then(added, joined)


def test_a_campaign_that_is_over_keeps_its_members():
    for past in ((started, closed), (abandoned,)):
        given(registered, *past, running).when(ADD).refused(CampaignCannotAddRunError)
        given(registered, running, added, joined, *past).when(REMOVE).refused(
            CampaignCannotRemoveRunError
        )


def test_the_run_must_exist():
    given(registered).when(ADD).refused(RunNotFoundError)
    given(registered).when(REMOVE).refused(RunNotFoundError)


def test_what_is_wrong_with_a_membership_is_told_in_order():
    given(registered, abandoned).when(ADD).refused(RunNotFoundError)
    given(registered, abandoned, running).when(REMOVE).refused(CampaignCannotRemoveRunError)
    given(registered, abandoned, running, joined).when(ADD).refused(CampaignCannotAddRunError)


def test_a_campaign_is_what_its_first_event_says():
    assert begin(full) == Campaign(
        id=ID,
        name="Ageing",
        intent=CampaignIntent.SERIES,
        lead_actor_id=ME,
        subject_id=SUBJECT,
        description="Once a week",
        tags=frozenset({"battery", "weekly"}),
        external_refs={"proposal": "20300131", "cycle": "2"},
        run_ids=frozenset(),
        run_count=0,
        status=CampaignStatus.PLANNED,
        last_status_reason=None,
    )


def test_a_campaign_keeps_why_it_was_held_until_it_is_held_again_or_abandoned():
    campaign, reasons = begin(registered), list[str | None]()
    moves: list[CampaignMoved] = [started, held, resumed, replace(held, reason="leak"), abandoned]
    for event in moves:
        campaign = evolve(campaign, event)
        reasons.append(campaign.last_status_reason)
    assert reasons == [None, "no beam", "no beam", "leak", "no sample"]


def test_a_closed_campaign_keeps_why_it_was_held():
    campaign = begin(registered)
    moves: list[CampaignMoved] = [started, held, closed]
    for event in moves:
        campaign = evolve(campaign, event)
    assert campaign.last_status_reason == "no beam"


def test_a_campaign_knows_its_members_and_how_many_they_are():
    one = evolve(begin(registered), added)
    two = evolve(one, replace(added, run_id=OTHER_RUN))
    assert (two.run_ids, two.run_count) == (frozenset({RUN, OTHER_RUN}), 2)
    back = evolve(two, removed)
    assert (back.run_ids, back.run_count) == (frozenset({OTHER_RUN}), 1)


def test_a_list_shows_when_a_campaign_started_and_last_moved():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert {name: set(events) for name, events in source.view.milestones.items()} == {
        "started_at": {CampaignStarted},
        "last_status_changed_at": {
            CampaignStarted,
            CampaignHeld,
            CampaignResumed,
            CampaignClosed,
            CampaignAbandoned,
        },
    }
    assert {"tag=battery", "tag=weekly"} <= set(source.view.facets_of(begin(full)))


def in_status(status: CampaignStatus) -> Campaign:
    return replace(begin(registered), status=status)


STATUS = """
           start_campaign  hold_campaign  resume_campaign  close_campaign  abandon_campaign
Planned    Active          -              -                -               Abandoned
Active     -               Held           -                Closed          Abandoned
Held       -               -              Active           Closed          Abandoned
Closed     -               -              -                -               -
Abandoned  -               -              -                -               -
"""

# Whether a run joins or leaves: the status stays.
MEMBERS = """
           add_run_to_campaign  remove_run_from_campaign
Planned    Planned              Planned
Active     Active               Active
Held       Held                 Held
Closed     -                    -
Abandoned  -                    -
"""

MOVES = (START, HOLD, RESUME, CLOSE, ABANDON)


def test_every_move_from_every_status():
    moves = [Example(command) for command in MOVES]
    matrix(OPERATIONS, CampaignStatus, moves, in_status, lambda it: it.status, STATUS)


def test_members_change_in_every_status_but_the_last():
    member: Run = replace(begin_run(running), campaign_id=ID)
    members = [Example(ADD, given=begin_run(running)), Example(REMOVE, given=member)]
    matrix(OPERATIONS, CampaignStatus, members, in_status, lambda it: it.status, MEMBERS)


def test_every_command_is_tried_in_some_matrix():
    tried = {type(command) for command in (*MOVES, ADD, REMOVE)}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
