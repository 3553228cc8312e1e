"""Practice: a method of one site, or of devices of some families."""

from typing import Any
from uuid import UUID

from tests.unit.contexts.recipe.test_method import AROUND as METHOD_AROUND
from tests.unit.contexts.recipe.test_method import CAMERAS, OLD, STAGES
from tests.unit.contexts.recipe.test_method import defined as method_defined

from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.equipment.family import FamilyNotFoundError
from beamkeep.contexts.federation.facility import (
    FacilityAlreadyExistsError,
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
)
from beamkeep.contexts.recipe.method import MethodDeprecated, MethodNotFoundError
from beamkeep.contexts.recipe.method import begin as begin_method
from beamkeep.contexts.recipe.practice import (
    OPERATIONS,
    DefinePractice,
    DeprecatePractice,
    InvalidPracticeScopeError,
    InvalidPracticeVersionTagError,
    Practice,
    PracticeBoundMethodDeprecatedError,
    PracticeCannotVersionError,
    PracticeDefined,
    PracticeDeprecated,
    PracticeFamilyDeprecatedError,
    PracticeReferences,
    PracticeVersioned,
    VersionPractice,
    begin,
    evolve,
)
from beamkeep.kernel import Event, SideWrite, claim, replace
from beamkeep.testing.past import ABSENT, NEW, NOW
from beamkeep.testing.scenario import Scenario

ID, METHOD, SITE = NEW, UUID(int=21), UUID(int=30)
method = replace(method_defined, method_id=METHOD)
discontinued = MethodDeprecated(NOW, METHOD)


def facility(
    id: UUID, code: str, parent_id: UUID | None = None
) -> tuple[FacilityRegistered, SideWrite]:
    kind = FacilityKind.AREA if parent_id else FacilityKind.SITE
    return (
        FacilityRegistered(NOW, id, code, code, kind, parent_id),
        claim("facility-code", code, holder=id, loser=FacilityAlreadyExistsError),
    )


AROUND = (*METHOD_AROUND, method, *facility(SITE, "ring"))

defined = PracticeDefined(
    NOW,
    ID,
    name="Fly scan here",
    method_id=METHOD,
    facility_code="ring",
    family_ids=(STAGES, CAMERAS),
)
versioned = PracticeVersioned(
    NOW, ID, version_tag="2", name="Fly scan", facility_code=None, family_ids=(STAGES,)
)
deprecated = PracticeDeprecated(NOW, ID)

DEFINE = DefinePractice(
    name="Fly scan here",
    method_id=METHOD,
    facility_code="ring",
    family_ids=frozenset({CAMERAS, STAGES}),
)
VERSION = VersionPractice(
    practice_id=ID,
    version_tag="2",
    name="Fly scan",
    facility_code=None,
    family_ids=frozenset({STAGES}),
)
DEPRECATE = DeprecatePractice(practice_id=ID)
BOUND: PracticeReferences = (begin_method(method), {})


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def defining(**changes: Any) -> DefinePractice:
    return DEFINE.model_copy(update=changes)


def versioning(**changes: Any) -> VersionPractice:
    return VERSION.model_copy(update=changes)


def refused_either_way(refusal: type[Any], saying: str = "", **changes: Any) -> None:
    """The same is refused in a new practice and in a new version."""
    given().when(defining(**changes)).refused(refusal, saying)
    given(defined).when(versioning(**changes)).refused(refusal, saying)


def test_a_practice_is_defined_with_its_families_sorted():
    given().when(DEFINE).then(defined)


def test_a_practice_is_of_a_site_or_of_some_families():
    here, stages = "Fly scan here", frozenset({STAGES})
    of_a_site = DefinePractice(name=here, method_id=METHOD, facility_code="ring")
    given().when(of_a_site).then(replace(defined, family_ids=()))
    of_stages = DefinePractice(name=here, method_id=METHOD, family_ids=stages)
    given().when(of_stages).then(replace(defined, facility_code=None, family_ids=(STAGES,)))


def test_a_practice_of_nothing_is_refused():
    nothing: dict[str, Any] = {"facility_code": None, "family_ids": frozenset()}
    refused_either_way(InvalidPracticeScopeError, **nothing)


def test_the_method_the_site_and_the_families_must_exist():
    given().when(defining(method_id=ABSENT)).refused(MethodNotFoundError)
    refused_either_way(FacilityNotFoundError, "There is no facility annex.", facility_code="annex")
    refused_either_way(FamilyNotFoundError, family_ids=frozenset({ABSENT}))


def test_a_deprecated_method_is_not_practised_again():
    told = f"Deprecated: Fly scan ({METHOD})."
    given(discontinued).when(DEFINE).refused(PracticeBoundMethodDeprecatedError, told)
    given(discontinued, defined).when(VERSION).refused(PracticeBoundMethodDeprecatedError, told)


def test_a_deprecated_family_has_no_new_practice():
    refused_either_way(
        PracticeFamilyDeprecatedError,
        f"Deprecated: Relays ({OLD}).",
        family_ids=frozenset({STAGES, OLD}),
    )


def test_faults_are_reported_in_order():
    wrong: dict[str, Any] = {
        "method_id": ABSENT,
        "facility_code": "annex",
        "family_ids": frozenset({ABSENT}),
    }
    steps: list[tuple[type[Any], dict[str, Any]]] = [
        (MethodNotFoundError, {"method_id": METHOD}),
        (FacilityNotFoundError, {"facility_code": None}),
        (FamilyNotFoundError, {"family_ids": frozenset[UUID]()}),
        (InvalidPracticeScopeError, {"family_ids": frozenset({OLD})}),
    ]
    tagged = given(discontinued, defined, versioned, deprecated)
    for refusal, mended in steps:
        given(discontinued).when(defining(**wrong)).refused(refusal)
        if refusal is not MethodNotFoundError:
            new = {name: value for name, value in wrong.items() if name != "method_id"}
            tagged.when(versioning(**new)).refused(refusal)
        wrong |= mended
    given(discontinued).when(defining(**wrong)).refused(PracticeBoundMethodDeprecatedError)
    tagged.when(VERSION).refused(InvalidPracticeVersionTagError)
    new = versioning(family_ids=frozenset({OLD}))
    given(discontinued, defined, deprecated).when(new).refused(PracticeCannotVersionError)
    given(discontinued, defined).when(new).refused(PracticeBoundMethodDeprecatedError)


def test_a_practice_is_what_its_events_say():
    practice = begin(defined)
    assert practice == Practice(
        ID,
        "Fly scan here",
        method_id=METHOD,
        facility_code="ring",
        family_ids=frozenset({STAGES, CAMERAS}),
        status=DeclarationStatus.DEFINED,
        version_tag=None,
    )
    practice = evolve(practice, versioned)
    assert (practice.name, practice.method_id) == ("Fly scan", METHOD)
    assert (practice.facility_code, practice.family_ids) == (None, {STAGES})
    assert (practice.status, practice.version_tag) == (DeclarationStatus.VERSIONED, "2")
    assert evolve(practice, deprecated) == replace(practice, status=DeclarationStatus.DEPRECATED)


FACETS = {"status=Defined", f"method_id={METHOD}", "facility_code=ring"}
"""What a list finds the declaration by."""
