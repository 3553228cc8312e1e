"""Caution: written down, superseded as a whole, retired."""

from datetime import timedelta
from uuid import UUID

from tests.unit.contexts.operation.procedures import PROCEDURE, a_procedure

from beamkeep.contexts.caution.caution import (
    OPERATIONS,
    Caution,
    CautionCannotRetireError,
    CautionCannotSupersedeError,
    CautionCategory,
    CautionMade,
    CautionNotFoundError,
    CautionRegistered,
    CautionRetired,
    CautionSeverity,
    CautionStatus,
    CautionSuperseded,
    InvalidCautionExpiresAtError,
    InvalidCautionPropagateToChildrenError,
    InvalidCautionTagsError,
    RegisterCaution,
    RetireCaution,
    RetireReason,
    SupersedeCaution,
    Target,
    TargetKind,
    begin,
    evolve,
)
from beamkeep.contexts.equipment.asset import (
    AssetDecommissioned,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.operation.procedure import ProcedureNotFoundError
from beamkeep.kernel import Event, Refusal, SideWrite, replace
from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix, misshapen

ID, NEXT, DECISION, STAGE = NEW, UUID(int=2), UUID(int=3), UUID(int=30)
SOMEONE = UUID(int=8)
SUPERSEDING = replace(CALL, new_id=NEXT, principal_id=SOMEONE, now=LATER)
LATEST = LATER + timedelta(days=1)
ON_STAGE = Target(TargetKind.ASSET, STAGE)
ON_PROCEDURE = Target(TargetKind.PROCEDURE, ABSENT)
FOUND = "the target"
"""Given in place of a look-up, where no target of that kind can be there yet."""

AROUND = (AssetRegistered(NOW, STAGE, "Stage", AssetTier.DEVICE, None, "ring", (), None, None, ()),)
registered = CautionRegistered(
    *(NOW, ID, ON_STAGE, CautionCategory.OPERATIONAL_WINDOW, CautionSeverity.CAUTION),
    *("It stalls after a soak.", "Wait ten minutes.", ("slow", "thermal")),
    *(LATEST, True, ME, None, None),
)
next_one = replace(
    registered, occurred_at=LATER, caution_id=NEXT, authored_by=SOMEONE, parent_id=ID
)
superseded = CautionSuperseded(LATER, ID, NEXT)
retired = CautionRetired(NOW, ID, RetireReason.RESOLVED)

WORDING: dict[str, object] = {
    "category": "OperationalWindow",
    "severity": "Caution",
    "text": " It stalls after a soak. ",
    "workaround": " Wait ten minutes. ",
    "tags": ["thermal", " slow ", "thermal "],
    "expires_at": LATEST,
    "propagate_to_children": True,
}
RETIRE = RetireCaution(caution_id=ID, retire_reason=RetireReason.RESOLVED)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def about(kind: str, id: UUID) -> dict[str, object]:
    return {"kind": kind, "id": id}


def registering(**changes: object) -> RegisterCaution:
    return RegisterCaution.model_validate({"target": about("Asset", STAGE)} | WORDING | changes)


def superseding(**changes: object) -> SupersedeCaution:
    return SupersedeCaution.model_validate({"caution_id": ID} | WORDING | changes)


SUPERSEDE = superseding()


def test_a_caution_is_registered_by_the_caller_with_its_texts_trimmed_and_its_tags_sorted():
    given().when(registering()).then(registered)


def test_a_caution_need_not_end_nor_have_tags_nor_reach_further():
    command = RegisterCaution.model_validate(
        {"target": about("Asset", STAGE)}
        | {n: WORDING[n] for n in ("category", "severity", "text", "workaround")}
    )
    given().when(command).then(
        replace(registered, tags=(), expires_at=None, propagate_to_children=False)
    )


def test_what_a_caution_is_about_must_exist():
    given().when(registering(target=about("Asset", ABSENT))).refused(AssetNotFoundError)
    on_procedure = registering(target=about("Procedure", PROCEDURE), propagate_to_children=False)
    given().when(on_procedure).refused(ProcedureNotFoundError)
    outcome = given(a_procedure(PROCEDURE)).when(on_procedure).decided()
    assert outcome[0] == replace(
        registered, target=Target(TargetKind.PROCEDURE, PROCEDURE), propagate_to_children=False
    )


def test_what_is_out_of_use_may_have_cautions():
    given(AssetDecommissioned(NOW, STAGE)).when(registering()).then(registered)


def test_a_caution_has_at_most_20_tags():
    given().when(registering(tags=[*TAGS[:20], " 00"])).then(
        replace(registered, tags=tuple(TAGS[:20]))
    )
    given().when(registering(tags=TAGS)).refused(
        InvalidCautionTagsError, saying="There are 21 tags."
    )


def test_a_caution_ends_later_than_now():
    for over in (NOW, NOW - timedelta(hours=1)):
        given().when(registering(expires_at=over)).refused(InvalidCautionExpiresAtError)
        given(registered).when(superseding(expires_at=over)).refused(InvalidCautionExpiresAtError)
    soon = NOW + timedelta(microseconds=1)
    given().when(registering(expires_at=soon)).then(replace(registered, expires_at=soon))


def test_nothing_stands_under_a_procedure():
    on_procedure = about("Procedure", ABSENT)
    given().when(registering(target=on_procedure), given=FOUND).refused(
        InvalidCautionPropagateToChildrenError
    )
    given().when(registering(target=on_procedure, propagate_to_children=False), given=FOUND).then(
        replace(registered, target=ON_PROCEDURE, propagate_to_children=False)
    )
    given(replace(registered, target=ON_PROCEDURE)).when(SUPERSEDE).refused(
        InvalidCautionPropagateToChildrenError
    )


TAGS = [f"{number:02}" for number in range(21)]
WRONG: dict[str, object] = {"tags": TAGS, "expires_at": NOW}
RIGHTS: list[tuple[dict[str, object], type[Refusal]]] = [
    ({"tags": []}, InvalidCautionTagsError),
    ({"expires_at": None}, InvalidCautionExpiresAtError),
    ({"propagate_to_children": False}, InvalidCautionPropagateToChildrenError),
]


def test_faults_of_a_caution_are_reported_in_order():
    nowhere, on_procedure = about("Asset", ABSENT), about("Procedure", ABSENT)
    given().when(registering(**WRONG | {"target": nowhere})).refused(AssetNotFoundError)
    past, wrong = (replace(registered, target=ON_PROCEDURE), retired), dict(WRONG)
    for right, refusal in RIGHTS:
        given().when(registering(**wrong, target=on_procedure), given=FOUND).refused(refusal)
        given(*past).when(superseding(**wrong)).refused(refusal)
        wrong |= right
    given(*past).when(superseding(**wrong)).refused(CautionCannotSupersedeError)


def test_a_target_is_an_asset_or_a_procedure():
    good: dict[str, object] = {"target": about("Asset", STAGE)} | WORDING
    for wrong in (about("Run", STAGE), {"kind": "Asset"}, {"id": STAGE}):
        misshapen(RegisterCaution, "target", **good | {"target": wrong})


def test_a_caution_is_superseded_by_a_new_one_about_the_same_thing():
    given(registered).when(SUPERSEDE, call=SUPERSEDING).then(
        superseded, next_one, CautionMade(NEXT)
    )


def test_nothing_but_the_target_is_inherited():
    least = {"category": "Wear", "severity": "Notice", "text": "a", "workaround": "b"}
    short = SupersedeCaution.model_validate({"caution_id": ID} | least)
    new = CautionRegistered(
        *(LATER, NEXT, ON_STAGE, CautionCategory.WEAR, CautionSeverity.NOTICE, "a", "b"),
        *((), None, False, SOMEONE, ID, None),
    )
    given(registered).when(short, call=SUPERSEDING).then(superseded, new, CautionMade(NEXT))


def test_what_a_superseded_caution_is_about_need_not_be_looked_for():
    gone = replace(registered, target=Target(TargetKind.ASSET, ABSENT))
    given(gone).when(SUPERSEDE, call=SUPERSEDING).then(
        superseded, replace(next_one, target=gone.target), CautionMade(NEXT)
    )


def test_a_caution_is_retired():
    for reason in RetireReason:
        given(registered).when(RetireCaution(caution_id=ID, retire_reason=reason)).then(
            replace(retired, retire_reason=reason)
        )


def test_a_caution_whose_time_is_over_may_still_be_superseded_or_retired():
    late = replace(SUPERSEDING, now=LATEST)
    given(registered).when(superseding(expires_at=None), call=late).then(
        replace(superseded, occurred_at=LATEST),
        replace(next_one, occurred_at=LATEST, expires_at=None),
        CautionMade(NEXT),
    )
    given(registered).when(RETIRE, call=late).then(replace(retired, occurred_at=LATEST))


def test_what_has_ended_stays_so():
    for ended in (superseded, retired):
        given(registered, ended).when(SUPERSEDE).refused(
            CautionCannotSupersedeError, saying="The status is "
        )
        given(registered, ended).when(RETIRE).refused(
            CautionCannotRetireError, saying="The status is "
        )


def test_a_caution_that_does_not_exist_does_not_end():
    given().when(SUPERSEDE).refused(CautionNotFoundError)
    given().when(RETIRE).refused(CautionNotFoundError)


def test_a_caution_is_what_its_first_event_says():
    assert begin(replace(next_one, promoted_from_decision_id=DECISION)) == Caution(
        *(NEXT, ON_STAGE, CautionCategory.OPERATIONAL_WINDOW, CautionSeverity.CAUTION),
        *("It stalls after a soak.", "Wait ten minutes.", ("slow", "thermal"), LATEST),
        *(True, SOMEONE, ID, DECISION, None, CautionStatus.ACTIVE, None),
    )


def test_a_caution_keeps_how_it_ended():
    first = begin(registered)
    assert evolve(first, superseded) == replace(
        first, status=CautionStatus.SUPERSEDED, superseded_by_caution_id=NEXT
    )
    assert evolve(first, retired) == replace(
        first, status=CautionStatus.RETIRED, retire_reason=RetireReason.RESOLVED
    )


STATUS = """
            supersede_caution  retire_caution
Active      Superseded         Retired
Superseded  -                  -
Retired     -                  -
"""


def in_status(status: CautionStatus) -> Caution:
    return replace(begin(registered), status=status)


ENDS = [Example(SUPERSEDE, call=SUPERSEDING), Example(RETIRE)]


def test_every_end_from_every_status():
    matrix(OPERATIONS, CautionStatus, ENDS, in_status, lambda it: it.status, STATUS)


def test_every_command_is_tried_in_the_matrix():
    tried = {type(example.command) for example in ENDS}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
