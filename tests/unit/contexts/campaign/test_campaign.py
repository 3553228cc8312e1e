"""Campaign: which runs belong together, and how their study fares."""

from uuid import UUID

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
from beamkeep.contexts.run import run
from beamkeep.contexts.run.run import begin as begin_run
from beamkeep.contexts.subject.subject import SubjectNotFoundError, SubjectRegistered
from beamkeep.contexts.trust.belonging import TeamsDifferError
from beamkeep.kernel import ActorKind, Event, Many, Refusal, replace
from beamkeep.schemas import JsonObject
from beamkeep.testing.past import ABSENT, ME, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, OTHER, SUBJECT = NEW, UUID(int=5), UUID(int=20)
RUN, OTHER_RUN, PLAN, METHOD = UUID(int=30), UUID(int=31), UUID(int=32), UUID(int=33)
NONE: JsonObject = {}

AROUND = (ActorRegistered(NOW, ME, ActorKind.HUMAN), SubjectRegistered(NOW, SUBJECT, "Sample 1"))
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
joined = run.RunAddedToCampaign(NOW, RUN, ID)
running = run.RunStarted(
    *(NOW, RUN, "Week 1", PLAN, None, METHOD, (), None, None, NONE, NONE, (), (), None)
)
removed = CampaignRunRemoved(NOW, ID, RUN, "wrong cell")
left = run.RunRemovedFromCampaign(NOW, RUN, ID, "wrong cell")

REGISTER = RegisterCampaign(name=" Ageing ", intent=CampaignIntent.SERIES, lead_actor_id=ME)
START = StartCampaign(campaign_id=ID)
HOLD = HoldCampaign(campaign_id=ID, reason=" no beam ")
RESUME = ResumeCampaign(campaign_id=ID)
CLOSE = CloseCampaign(campaign_id=ID)
ABANDON = AbandonCampaign(campaign_id=ID, reason=" no sample ")
ADD = AddRunToCampaign(campaign_id=ID, run_id=RUN)
REMOVE = RemoveRunFromCampaign(campaign_id=ID, run_id=RUN, reason=" wrong cell ")


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


def test_the_lead_may_be_another_than_the_caller_and_may_have_left():
    other = ActorRegistered(NOW, OTHER, ActorKind.HUMAN), ActorDeactivated(NOW, OTHER)
    given(*other).when(registering(lead_actor_id=OTHER)).then(
        replace(registered, lead_actor_id=OTHER)
    )


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


WRONG_REFS: list[tuple[dict[str, str], str]] = [
    ({" ": "1"}, "Enter at least one visible character."),
    ({"proposal": " "}, "Enter at least one visible character."),
    ({"cycle": "1", " cycle": "2"}, "The scheme cycle occurs twice; give each scheme once."),
    ({"doi": "doi:10.5281/42"}, "Remove the prefix doi: from the value."),
    ({"doi": " DOI:10.5281/42"}, "Remove the prefix doi: from the value."),
]


def test_an_outside_reference_has_a_scheme_of_its_own_and_a_value_without_it():
    for refs, saying in WRONG_REFS:
        given().when(registering(external_refs=refs)).refused(
            InvalidCampaignExternalRefsError, saying=saying
        )
    other = {"proposal": "doi:10.5281/42", "doi": "doi"}
    given().when(registering(external_refs=other)).then(replace(registered, external_refs=other))


def test_faults_of_a_campaign_are_reported_in_order():
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


def test_a_campaign_moves():
    given(registered).when(START).then(started)
    given(registered, started).when(HOLD).then(held)
    given(registered, started, held).when(RESUME).then(resumed)
    given(registered, started, held).when(CLOSE).then(closed)
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


def test_a_run_joins_a_campaign_on_both_sides_whether_it_is_over_or_was_in_it_before():
    for past in ((), (run.RunCompleted(NOW, RUN),), (added, joined, removed, left)):
        given(registered, running, *past).when(ADD).then(added, joined)


def test_a_run_leaves_a_campaign_on_both_sides():
    given(registered, running, added, joined).when(REMOVE).then(removed, left)


def test_a_run_is_in_no_two_campaigns():
    elsewhere = run.RunAddedToCampaign(NOW, RUN, OTHER)
    refused = (
        given(registered, running, elsewhere)
        .when(ADD)
        .refused(RunAlreadyAssignedToCampaignError, saying=f"The run is in campaign {OTHER}.")
    )
    assert refused.facts == {"campaign_id": OTHER}


def test_a_run_of_another_campaign_or_of_none_is_no_member():
    for past in ((), (run.RunAddedToCampaign(NOW, RUN, OTHER),)):
        given(registered, running, *past).when(REMOVE).refused(CampaignRunNotMemberError)


def test_what_the_run_says_of_its_campaign_decides():
    given(registered, running, joined).when(ADD).refused(CampaignRunAlreadyMemberError)
    given(registered, running, joined).when(REMOVE).then(removed, left)
    given(registered, running, added).when(ADD).then(added, joined)


def test_a_run_joins_no_campaign_of_another_team():
    ours, theirs = UUID(int=41), UUID(int=42)
    of_ours, of_theirs = replace(registered, team_id=ours), replace(running, team_id=theirs)
    refused = given(of_ours, of_theirs).when(ADD).refused(TeamsDifferError)
    assert str(ours) in str(refused)
    assert str(theirs) in str(refused)
    for past in (
        (of_ours, running),
        (registered, of_theirs),
        (of_ours, replace(running, team_id=ours)),
    ):
        given(*past).when(ADD).then(added, joined)


def test_a_campaign_that_is_over_keeps_its_members():
    for past in ((started, closed), (abandoned,)):
        given(registered, *past, running).when(ADD).refused(CampaignCannotAddRunError)
        given(registered, running, added, joined, *past).when(REMOVE).refused(
            CampaignCannotRemoveRunError
        )


def test_faults_of_a_membership_are_reported_in_order():
    for command in (ADD, REMOVE):
        given(registered, abandoned).when(command).refused(run.RunNotFoundError)
    given(registered, abandoned, running).when(REMOVE).refused(CampaignCannotRemoveRunError)
    given(registered, abandoned, running, joined).when(ADD).refused(CampaignCannotAddRunError)
    ours, theirs = replace(registered, team_id=ME), replace(running, team_id=OTHER)
    given(ours, theirs, joined).when(ADD).refused(CampaignRunAlreadyMemberError)


def test_a_campaign_is_what_its_first_event_says():
    assert begin(full) == Campaign(
        *(ID, "Ageing", CampaignIntent.SERIES, ME, SUBJECT, "Once a week"),
        *(frozenset({"battery", "weekly"}), {"proposal": "20300131", "cycle": "2"}),
        *(frozenset[UUID](), 0, CampaignStatus.PLANNED, None),
    )


def test_a_campaign_keeps_why_it_was_held_until_it_is_held_again_or_abandoned():
    campaign, reasons = begin(registered), list[str | None]()
    again = replace(held, reason="leak")
    moves: list[CampaignMoved] = [started, held, resumed, closed, again, abandoned]
    for event in moves:
        campaign = evolve(campaign, event)
        reasons.append(campaign.last_status_reason)
    assert reasons == [None, "no beam", "no beam", "no beam", "leak", "no sample"]


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
    member: run.Run = replace(begin_run(running), campaign_id=ID)
    members = [Example(ADD, given=begin_run(running)), Example(REMOVE, given=member)]
    matrix(OPERATIONS, CampaignStatus, members, in_status, lambda it: it.status, MEMBERS)


def test_every_command_is_tried_in_some_matrix():
    tried = {type(command) for command in (*MOVES, ADD, REMOVE)}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
