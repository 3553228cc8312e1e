"""The DOI of a dataset: assigned or minted once, hidden when the dataset is retracted."""

from typing import Any
from uuid import UUID, uuid5

from tests.unit.contexts.data.test_edition import (
    ADA,
    HERE,
    KNOWN,
    NO_REGISTRY,
    ONE,
    WORKER,
    promoted,
    state,
)

from beamkeep.contexts.access.actor import ActorNotFoundError
from beamkeep.contexts.data.authorship import Contributor, ContributorRole
from beamkeep.contexts.data.dataset import (
    DatasetDemoted,
    DatasetDiscarded,
    DatasetExternalIdAssigned,
    DatasetExternalIdHidden,
    DatasetExternalIdRefused,
    DatasetExternalIdRequested,
)
from beamkeep.contexts.data.dataset_identifier import (
    OPERATIONS,
    AssignDatasetExternalId,
    DatasetCannotAssignExternalIdError,
    DatasetCannotHideExternalIdError,
    DatasetCannotMintExternalIdError,
    DatasetCannotSettleExternalIdError,
    HideDatasetExternalId,
    InvalidDatasetContributorsError,
    InvalidDatasetCreatorsError,
    InvalidDatasetExternalIdError,
    InvalidDatasetLicenseError,
    InvalidDatasetPublicationYearError,
    MintDatasetExternalId,
    SettleDatasetExternalId,
    claims_of,
)
from beamkeep.contexts.data.external_id import (
    MINTING,
    ExternalIdMinterUnavailableError,
    ExternalIdState,
    IdentifierWork,
    MintedId,
    claim_doi,
    free_doi,
)
from beamkeep.contexts.federation.facility import FacilityNotFoundError
from beamkeep.kernel import WORK, Event, Fenced, SideWrite, Work, replace
from beamkeep.testing.past import ABSENT, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

DOI, WORK_ID = f"10.5072/{ONE}", uuid5(ONE, MINTING)
requested = DatasetExternalIdRequested(
    occurred_at=NOW,
    dataset_id=ONE,
    external_id=DOI,
    creator_ids=(ADA,),
    contributors=(Contributor(ADA, ContributorRole.CONTACT_PERSON),),
    publisher_facility_code="aps",
    publication_year=2030,
    license="CC-BY-4.0",
)
assigned = DatasetExternalIdAssigned(NOW, ONE, DOI)
refused = DatasetExternalIdRefused(NOW, ONE, DOI, status=422)
hidden = DatasetExternalIdHidden(NOW, ONE, "wrong center")
demoted, discarded = DatasetDemoted(NOW, ONE, "blurred"), DatasetDiscarded(NOW, ONE, "blurred")
PRODUCTION = [*KNOWN, promoted(ONE)]
MINT = MintDatasetExternalId(
    dataset_id=ONE,
    creator_ids=(ADA,),
    contributors=requested.contributors,
    publisher_facility_code="aps",
    license="CC-BY-4.0",
)
HIDE = HideDatasetExternalId(dataset_id=ONE, reason="wrong center")
SETTLE = SettleDatasetExternalId(dataset_id=ONE, claim=3, owner=WORKER)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history, HERE)


def assign(doi: str = "10.1234/Fossil") -> AssignDatasetExternalId:
    return AssignDatasetExternalId(dataset_id=ONE, external_id=doi)


def minting(**changes: Any) -> MintDatasetExternalId:
    return MINT.model_copy(update=changes)


def test_a_doi_is_assigned_to_production_data_in_lower_case():
    claim = claim_doi("10.1234/fossil", ONE, DatasetCannotAssignExternalIdError)
    given(*PRODUCTION).when(assign()).then(
        DatasetExternalIdAssigned(NOW, ONE, "10.1234/fossil"), claim
    )
    given(*PRODUCTION).when(assign("10.1/2")).refused(InvalidDatasetExternalIdError)
    refusal = DatasetCannotAssignExternalIdError
    given(*KNOWN).when(assign()).refused(refusal, "Trial")
    given(*PRODUCTION, discarded).when(assign()).refused(refusal, "Discarded")
    given(*PRODUCTION, requested).when(assign()).refused(refusal, "being registered")
    given(*PRODUCTION, assigned).when(assign()).refused(refusal, "It has")
    of_an_edition = claim_doi("10.1234/fossil", UUID(int=77), refusal)
    given(*PRODUCTION, of_an_edition).when(assign()).refused(refusal)


def test_minting_records_whom_to_cite_and_leaves_the_registry_to_a_worker():
    claim = claim_doi(DOI, ONE, DatasetCannotMintExternalIdError)
    work = WORK.insert(Work(WORK_ID, MINTING, ONE))
    given(*PRODUCTION).when(MINT).then(requested, claim, work, MintedId(DOI))


def test_minting_is_refused_for_what_is_wrong_unknown_or_not_production():
    for people in ((), (ADA, ADA)):
        given(*PRODUCTION).when(minting(creator_ids=people)).refused(InvalidDatasetCreatorsError)
    twice = minting(contributors=requested.contributors * 2)
    given(*PRODUCTION).when(twice).refused(InvalidDatasetContributorsError)
    given(*PRODUCTION).when(minting(license="?")).refused(InvalidDatasetLicenseError)
    late = minting(publication_year=2041)
    given(*PRODUCTION).when(late).refused(InvalidDatasetPublicationYearError)
    given(*PRODUCTION).when(minting(creator_ids=(ABSENT,))).refused(ActorNotFoundError)
    nowhere = minting(publisher_facility_code="nowhere")
    given(*PRODUCTION).when(nowhere).refused(FacilityNotFoundError)
    given(*KNOWN).when(MINT).refused(DatasetCannotMintExternalIdError, "Trial")
    given(*PRODUCTION, assigned).when(MINT).refused(DatasetCannotMintExternalIdError)
    without = Scenario(OPERATIONS, PRODUCTION, NO_REGISTRY)
    without.when(MINT).refused(ExternalIdMinterUnavailableError)


def test_the_answer_of_the_registry_settles_the_identifier():
    fence = Fenced(WORK_ID, 3, WORKER, ends=True)
    given(*PRODUCTION, requested).when(SETTLE).then(assigned, fence)
    refusing = SETTLE.model_copy(update={"status": 422})
    kept = replace(fence, ends=False)
    given(*PRODUCTION, requested).when(refusing).then(refused, free_doi(DOI), kept)
    given(*PRODUCTION).when(SETTLE).refused(DatasetCannotSettleExternalIdError)


def test_the_doi_of_retracted_or_discarded_data_is_hidden():
    work = WORK.insert(Work(WORK_ID, MINTING, ONE))
    for gone in (demoted, discarded):
        given(*PRODUCTION, assigned, gone).when(HIDE).then(hidden, work)
    foreign = replace(assigned, external_id="10.1234/fossil")
    given(*PRODUCTION, foreign, demoted).when(HIDE).then(hidden)
    refusal = DatasetCannotHideExternalIdError
    given(*PRODUCTION, assigned).when(HIDE).refused(refusal, "Production")
    given(*PRODUCTION, demoted).when(HIDE).refused(refusal, "none")
    given(*PRODUCTION, assigned, demoted, hidden).when(HIDE).refused(refusal, "Hidden")


STATES = {
    None: [],
    ExternalIdState.PENDING: [requested],
    ExternalIdState.FINDABLE: [requested, assigned],
    ExternalIdState.HIDDEN: [requested, assigned, hidden],
}


def test_every_move_of_the_identifier():
    work = IdentifierWork("10.5072", has_row=False)
    matrix(
        OPERATIONS,
        STATES,
        [Example(assign(), work), Example(MINT, work), Example(SETTLE)],
        lambda found: state(*KNOWN[:1], promoted(ONE), *STATES[found]),
        lambda dataset: dataset.external_id_state,
        """
                 assign_dataset_external_id  mint_dataset_external_id  settle_dataset_external_id
        None     Findable                    Pending                   -
        Pending  -                           -                         Findable
        Findable -                           -                         -
        Hidden   -                           -                         -
        """,
    )


def test_a_refused_request_leaves_no_claim():
    made = (KNOWN[0], promoted(ONE))
    assert claims_of(state(*made, requested, refused)) == ()
    (claim,) = claims_of(state(*made, requested))
    assert claim.row == claim_doi(DOI, ONE, DatasetCannotAssignExternalIdError).row
