"""Edition: a package of datasets, sealed, published, withdrawn, and named by a DOI."""

from datetime import date, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid5

import rfc8785

from beamkeep.contexts.access.actor import ActorNotFoundError, ActorRegistered
from beamkeep.contexts.data.authorship import Contributor, ContributorRole
from beamkeep.contexts.data.custody import dataset_lock
from beamkeep.contexts.data.dataset import (
    STANDINGS,
    Dataset,
    DatasetDemoted,
    DatasetDiscarded,
    DatasetNotFoundError,
    DatasetPromoted,
    DatasetRegistered,
    DatasetReleasedFromEdition,
    DatasetSealedIntoEdition,
    datasets,
    standing_of,
)
from beamkeep.contexts.data.distribution import (
    COPIES,
    AccessProtocol,
    Distribution,
    DistributionRegistered,
    DistributionVerified,
    VerifiedBy,
    copy_of,
)
from beamkeep.contexts.data.edition import (
    MOST_MEMBERS,
    OPERATIONS,
    AddEditionDataset,
    AssignEditionExternalId,
    Edition,
    EditionCannotAddDatasetError,
    EditionCannotAssignExternalIdError,
    EditionCannotHideExternalIdError,
    EditionCannotMintExternalIdError,
    EditionCannotPublishError,
    EditionCannotRemoveDatasetError,
    EditionCannotSealError,
    EditionCannotSettleExternalIdError,
    EditionCannotWithdrawError,
    EditionDatasetAdded,
    EditionDatasetDiscardedError,
    EditionDatasetRemoved,
    EditionDatasetsNotProductionError,
    EditionDatasetsNotVerifiedError,
    EditionExternalIdAssigned,
    EditionExternalIdHidden,
    EditionExternalIdRefused,
    EditionExternalIdRequested,
    EditionKind,
    EditionLicenseRequiredError,
    EditionMembers,
    EditionPublished,
    EditionPublisherRequiredError,
    EditionRegistered,
    EditionSealed,
    EditionStatus,
    EditionWithdrawn,
    HideEditionExternalId,
    InvalidEditionContributorsError,
    InvalidEditionCreatorsError,
    InvalidEditionDatasetsError,
    InvalidEditionExternalIdError,
    InvalidEditionLicenseError,
    InvalidEditionPublicationYearError,
    MintEditionExternalId,
    PublishEdition,
    RegisterEdition,
    RemoveEditionDataset,
    SealEdition,
    SettleEditionExternalId,
    WithdrawEdition,
    begin,
    claims_of,
    content_hash,
    edges_of,
    evolve,
    findings,
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
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, Encoding
from beamkeep.contexts.federation.facility import (
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
)
from beamkeep.contexts.federation.facility import begin as facility_begin
from beamkeep.contexts.federation.facility import claims_of as facility_claims
from beamkeep.contexts.seams.custody_rules import ChecksumStrength
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, ProvenanceRelation
from beamkeep.contexts.seams.work import WORK_STATES, WORK_TURNS, WorkState, WorkTurn
from beamkeep.contexts.trust.belonging import TeamsDifferError
from beamkeep.kernel import WORK, ActorKind, Event, Fenced, SideWrite, Work, replace
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, NEW, NOW, Past
from beamkeep.testing.scenario import Example, Scenario, matrix, misshapen

ID, ADA, OTTO, WORKER = NEW, UUID(int=21), UUID(int=22), UUID(int=23)
ONE, TWO = UUID(int=31), UUID(int=32)
HERE = replace(FACTS, doi_prefix="10.5072")
NO_REGISTRY = replace(FACTS, doi_prefix=None)
DOI = f"10.5072/{ID}"
NXTOMO = "https://manual.nexusformat.org/classes/applications/NXtomo.html"


def dataset(id: UUID, **more: Any) -> DatasetRegistered:
    return replace(
        DatasetRegistered(
            occurred_at=NOW,
            dataset_id=id,
            name=f"Fossil {id.int}",
            checksum=Checksum(ChecksumAlgorithm.SHA256, f"{id.int:064x}"),
            byte_size=1_048_576,
            encoding=Encoding("application/x-hdf5", (NXTOMO,)),
            digests={},
            file_count=1,
            of_parts=False,
            producing_run_id=None,
            subject_id=None,
            derived_from=(),
            used_calibration_ids=(),
            retain_until=None,
            available_from=None,
        ),
        **more,
    )


def promoted(id: UUID) -> DatasetPromoted:
    return DatasetPromoted(NOW, id, "checked")


def state(*events: Any) -> Dataset:
    first, *rest = events
    found = datasets.begin(first)
    for event in rest:
        found = datasets.evolve(found, event)
    return found


def copy(id: UUID, **more: Any) -> list[Event | SideWrite]:
    """A verified copy of a dataset."""
    distribution_id, of = UUID(int=id.int + 100), dataset(id)
    registered = DistributionRegistered.of(
        of,
        distribution_id=distribution_id,
        supply_id=None,
        uri=f"https://data.lab.test/{id.int}.h5",
        access_protocol=AccessProtocol.HTTPS,
        of_parts=False,
    )
    registered = replace(registered, **more)
    verified = DistributionVerified(
        NOW,
        distribution_id,
        attestation_id=UUID(int=7),
        verified_by=VerifiedBy.SERVICE,
        strength=ChecksumStrength.CRYPTOGRAPHIC,
        checked_at=NOW,
    )
    made = Distribution.of(registered, id=distribution_id, created_at=NOW)
    return [registered, verified, COPIES.insert(copy_of(made))]


site = FacilityRegistered(
    NOW, UUID(int=41), "aps", name="APS", kind=FacilityKind.SITE, parent_id=None
)
KNOWN: list[Event | SideWrite] = [
    dataset(ONE),
    dataset(TWO),
    ActorRegistered(NOW, ADA, ActorKind.HUMAN, identities=()),
    ActorRegistered(NOW, OTTO, ActorKind.HUMAN, identities=()),
    site,
    *facility_claims(facility_begin(site)),
]
registered = EditionRegistered(
    occurred_at=NOW,
    edition_id=ID,
    title="Fossils of 2030",
    description=None,
    kind=EditionKind.RO_CRATE,
    dataset_ids=(ONE, TWO),
    creator_ids=(OTTO, ADA),
    contributors=(Contributor(ADA, ContributorRole.DATA_CURATOR),),
    publisher_facility_code="aps",
    publication_year=None,
    license="CC-BY-4.0",
    available_from=None,
)
SEALABLE = [*KNOWN, promoted(ONE), promoted(TWO), *copy(ONE), *copy(TWO)]
whole = replace(begin(registered), publication_year=2030)
MEMBERS = {id: state(dataset(id), promoted(id)) for id in (ONE, TWO)}
HASH = content_hash(whole, MEMBERS.values())
sealed = EditionSealed(
    occurred_at=NOW,
    edition_id=ID,
    dataset_ids=(ONE, TWO),
    publisher_facility_code="aps",
    publication_year=2030,
    license="CC-BY-4.0",
    available_from=None,
    content_hash=HASH,
)
published = EditionPublished(NOW, ID)
withdrawn = EditionWithdrawn(NOW, ID, "wrong sample")
requested = EditionExternalIdRequested(NOW, ID, DOI)
assigned = EditionExternalIdAssigned(NOW, ID, DOI)
hidden = EditionExternalIdHidden(NOW, ID, "wrong sample")
PUBLISHED = [registered, sealed, published]
NAMED = [*PUBLISHED, assigned, *[claim_doi(DOI, ID, EditionCannotAssignExternalIdError)]]
WORK_ID = uuid5(ID, MINTING)
KEPT_WORK = WORK_STATES.insert(
    WorkState(
        work_id=WORK_ID,
        claim=5,
        owner=None,
        due_at=NOW,
        idle_claims=5,
        stop=None,
        last_error="422",
        ended_at=None,
        overdue=timedelta(),
    )
)
REGISTER = RegisterEdition(
    title=" Fossils of 2030 ",
    kind=EditionKind.RO_CRATE,
    dataset_ids=frozenset({TWO, ONE}),
    creator_ids=(OTTO, ADA),
    contributors=(Contributor(ADA, ContributorRole.DATA_CURATOR),),
    publisher_facility_code="aps",
    license="CC-BY-4.0",
)
SEAL, PUBLISH = SealEdition(edition_id=ID), PublishEdition(edition_id=ID)
WITHDRAW = WithdrawEdition(edition_id=ID, reason="wrong sample")
MINT = MintEditionExternalId(edition_id=ID)
HIDE = HideEditionExternalId(edition_id=ID, reason="wrong sample")
SETTLE = SettleEditionExternalId(edition_id=ID, claim=3, owner=WORKER)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history, HERE)


def part_of(id: UUID) -> SideWrite:
    return EDGES.insert(ProvenanceEdge(id, ProvenanceRelation.PART_OF, ID, source_id=ID))


def assign(doi: str = "10.1234/Fossils") -> AssignEditionExternalId:
    return AssignEditionExternalId(edition_id=ID, external_id=doi)


def registering(**changes: Any) -> RegisterEdition:
    return REGISTER.model_copy(update=changes)


def test_an_edition_of_datasets_is_registered_with_its_creators_in_order():
    given(*KNOWN).when(REGISTER).then(registered, part_of(ONE), part_of(TWO))
    assert [EDGES.insert(each) for each in edges_of(begin(registered))] == [
        part_of(ONE),
        part_of(TWO),
    ]


def test_an_edition_names_only_what_exists():
    for_nobody = registering(dataset_ids=frozenset({ONE, ABSENT}))
    given(*KNOWN).when(for_nobody).refused(DatasetNotFoundError)
    given(*KNOWN).when(registering(creator_ids=(ABSENT,))).refused(ActorNotFoundError)
    nowhere = registering(publisher_facility_code="nowhere")
    given(*KNOWN).when(nowhere).refused(FacilityNotFoundError)
    empty = registering(dataset_ids=frozenset())
    given(*KNOWN).when(empty).refused(InvalidEditionDatasetsError)
    discarded = DatasetDiscarded(NOW, TWO, "blurred")
    told = given(*KNOWN, discarded).when(REGISTER).refused(EditionDatasetDiscardedError)
    assert told.facts == {"dataset_id": TWO}


def test_creators_contributors_license_and_year_are_checked():
    for people in ((), (ADA, ADA)):
        refused = given(*KNOWN).when(registering(creator_ids=people))
        refused.refused(InvalidEditionCreatorsError)
    twice = registering(contributors=(*REGISTER.contributors, *REGISTER.contributors))
    given(*KNOWN).when(twice).refused(InvalidEditionContributorsError)
    given(*KNOWN).when(registering(license="© me")).refused(InvalidEditionLicenseError)
    for year in (1899, 2041):
        wrong = given(*KNOWN).when(registering(publication_year=year))
        wrong.refused(InvalidEditionPublicationYearError)
    members = {"kind": "ROCrate", "dataset_ids": [ONE], "creator_ids": [ADA]}
    misshapen(RegisterEdition, "title", title="x" * 501, **members)


def test_datasets_are_added_and_removed_until_the_edition_is_sealed():
    add, remove = (
        each(edition_id=ID, dataset_id=TWO) for each in (AddEditionDataset, RemoveEditionDataset)
    )
    alone = replace(registered, dataset_ids=(ONE,))
    given(*KNOWN, alone).when(add).then(EditionDatasetAdded(NOW, ID, TWO), part_of(TWO))
    key = (TWO, ProvenanceRelation.PART_OF, ID, ID)
    given(*KNOWN, registered).when(remove).then(
        EditionDatasetRemoved(NOW, ID, TWO), EDGES.delete(*key)
    )
    given(*KNOWN, registered).when(add).refused(EditionCannotAddDatasetError, "already")
    full = replace(
        registered, dataset_ids=tuple(UUID(int=n) for n in range(1000, 1000 + MOST_MEMBERS))
    )
    given(*KNOWN, full).when(add).refused(EditionCannotAddDatasetError, "256")
    given(*KNOWN, registered, sealed).when(add).refused(EditionCannotAddDatasetError)
    gone = DatasetDiscarded(NOW, TWO, "blurred")
    given(*KNOWN, gone, alone).when(add).refused(EditionDatasetDiscardedError)
    absent = AddEditionDataset(edition_id=ID, dataset_id=ABSENT)
    given(*KNOWN, alone).when(absent).refused(DatasetNotFoundError)
    given(*KNOWN, alone).when(remove).refused(EditionCannotRemoveDatasetError, "not in it")
    last = RemoveEditionDataset(edition_id=ID, dataset_id=ONE)
    given(*KNOWN, alone).when(last).refused(EditionCannotRemoveDatasetError, "only one")
    given(*KNOWN, registered, sealed).when(remove).refused(EditionCannotRemoveDatasetError)


def test_an_edition_takes_no_dataset_of_another_team():
    ours, theirs = UUID(int=41), UUID(int=42)
    add = AddEditionDataset(edition_id=ID, dataset_id=TWO)
    around = [each for each in KNOWN if each != dataset(TWO)]
    for team_id, of_dataset, fits in (
        *((ours, theirs, False), (ours, ours, True)),
        *((None, theirs, True), (ours, None, True), (None, None, True)),
    ):
        edition = replace(registered, dataset_ids=(ONE,), team_id=team_id)
        scenario = given(*around, dataset(TWO, team_id=of_dataset), edition).when(add)
        if fits:
            scenario.then(EditionDatasetAdded(NOW, ID, TWO), part_of(TWO))
        else:
            scenario.refused(TeamsDifferError)


def held(event: DatasetSealedIntoEdition | DatasetReleasedFromEdition, *before: Event) -> list[Any]:
    after = datasets.evolve(state(*before), event)
    return [event, STANDINGS.upsert(standing_of(after))]


def test_sealing_holds_every_dataset_under_its_lock():
    given(*SEALABLE, registered).when(SEAL).then(
        dataset_lock(ONE),
        dataset_lock(TWO),
        sealed,
        *held(DatasetSealedIntoEdition(NOW, ONE, ID), dataset(ONE), promoted(ONE)),
        *held(DatasetSealedIntoEdition(NOW, TWO, ID), dataset(TWO), promoted(TWO)),
    )


def test_sealing_needs_publisher_license_production_data_and_verified_copies():
    bare = replace(registered, publisher_facility_code=None, license=None)
    given(*SEALABLE, bare).when(SEAL).refused(EditionLicenseRequiredError)
    licensed = SealEdition(edition_id=ID, license="CC0-1.0")
    given(*SEALABLE, bare).when(licensed).refused(EditionPublisherRequiredError)
    nowhere = SealEdition(edition_id=ID, publisher_facility_code="nowhere")
    given(*SEALABLE, bare).when(nowhere).refused(FacilityNotFoundError)
    wrong = SealEdition(edition_id=ID, license="©")
    given(*SEALABLE, registered).when(wrong).refused(InvalidEditionLicenseError)
    early = SealEdition(edition_id=ID, publication_year=1500)
    given(*SEALABLE, registered).when(early).refused(InvalidEditionPublicationYearError)
    demoted = DatasetDemoted(NOW, TWO, "wrong center")
    told = given(*SEALABLE, demoted, registered).when(SEAL)
    assert told.refused(EditionDatasetsNotProductionError).facts == {"dataset_ids": [TWO]}
    uncovered = [*KNOWN, promoted(ONE), promoted(TWO), *copy(ONE)]
    told = given(*uncovered, registered).when(SEAL)
    assert told.refused(EditionDatasetsNotVerifiedError).facts == {"dataset_ids": [TWO]}
    gone = DatasetDiscarded(NOW, TWO, "blurred")
    given(*SEALABLE, gone, registered).when(SEAL).refused(EditionDatasetDiscardedError)
    given(*SEALABLE, registered, sealed).when(SEAL).refused(EditionCannotSealError)


def test_sealing_takes_the_latest_embargo_and_publishes_in_its_year():
    embargoed = [
        dataset(TWO, available_from=date(2033, 5, 1)),
        *[e for e in SEALABLE if e != dataset(TWO)],
    ]
    found = given(*embargoed, replace(registered, available_from=date(2031, 1, 1))).when(SEAL)
    (event,) = [each for each in found.decided() if isinstance(each, EditionSealed)]
    assert (event.available_from, event.publication_year) == (date(2033, 5, 1), 2033)
    chosen = SealEdition(edition_id=ID, publication_year=2031, license="CC0-1.0")
    found = given(*embargoed, registered).when(chosen).decided()
    (event,) = [each for each in found if isinstance(each, EditionSealed)]
    assert (event.publication_year, event.license) == (2031, "CC0-1.0")


def test_a_sealed_edition_is_published_and_withdrawn_with_its_datasets_released():
    given(registered, sealed).when(PUBLISH).then(published)
    given(registered).when(PUBLISH).refused(EditionCannotPublishError)
    given(*KNOWN, registered).when(WITHDRAW).then(withdrawn)
    holds = [DatasetSealedIntoEdition(NOW, id, ID) for id in (ONE, TWO)]
    given(*KNOWN, *holds, *PUBLISHED).when(WITHDRAW).then(
        withdrawn,
        *held(DatasetReleasedFromEdition(NOW, ONE, ID), dataset(ONE), holds[0]),
        *held(DatasetReleasedFromEdition(NOW, TWO, ID), dataset(TWO), holds[1]),
    )
    given(*KNOWN, registered, withdrawn).when(WITHDRAW).refused(EditionCannotWithdrawError)


def test_the_content_hash_is_of_canonical_json_and_knows_no_names_or_places():
    told = {
        "edition_id": str(ID),
        "title": "Fossils of 2030",
        "kind": "ROCrate",
        "creator_ids": [str(OTTO), str(ADA)],
        "contributors": [{"actor_id": str(ADA), "role": "DataCurator"}],
        "publisher_facility_code": "aps",
        "publication_year": 2030,
        "license": "CC-BY-4.0",
        "available_from": None,
        "datasets": [
            {
                "dataset_id": str(id),
                "checksum": {"algorithm": "sha256", "value": f"{id.int:064x}"},
                "byte_size": 1_048_576,
                "encoding": {"media_type": "application/x-hdf5", "conforms_to": [NXTOMO]},
            }
            for id in (ONE, TWO)
        ],
    }
    assert sha256(rfc8785.dumps(told)).hexdigest() == HASH
    named = replace(whole, external_id=DOI, description="more words", status=EditionStatus.SEALED)
    renamed = [replace(each, name="other", external_id="10.1/2") for each in MEMBERS.values()]
    assert content_hash(named, reversed(renamed)) == HASH
    assert content_hash(replace(whole, title="Other"), MEMBERS.values()) != HASH


def test_a_doi_from_elsewhere_is_assigned_once_over_all_objects():
    claim = claim_doi("10.1234/fossils", ID, EditionCannotAssignExternalIdError)
    assigned = EditionExternalIdAssigned(NOW, ID, "10.1234/fossils")
    given(*PUBLISHED).when(assign()).then(assigned, claim)
    ended = WORK_TURNS.replace(WorkTurn(WORK_ID, NOW, NOW))
    given(*PUBLISHED, KEPT_WORK).when(assign()).then(assigned, claim, ended)
    for wrong in ("doi:10.1234/x", "https://doi.org/10.1234/x", "10.12/x", "10.1234/"):
        given(*PUBLISHED).when(assign(wrong)).refused(InvalidEditionExternalIdError)
    given(*NAMED).when(assign()).refused(EditionCannotAssignExternalIdError, "It has")
    taken = claim_doi("10.1234/fossils", TWO, EditionCannotAssignExternalIdError)
    given(*PUBLISHED, taken).when(assign()).refused(EditionCannotAssignExternalIdError)
    pending = given(*PUBLISHED, requested).when(assign())
    pending.refused(EditionCannotAssignExternalIdError, "being registered")


def test_minting_claims_the_doi_and_leaves_the_registry_to_a_worker():
    claim = claim_doi(DOI, ID, EditionCannotMintExternalIdError)
    work = WORK.insert(Work(WORK_ID, MINTING, ID))
    given(*PUBLISHED).when(MINT).then(requested, claim, work, MintedId(DOI))
    again = WORK_TURNS.replace(WorkTurn(WORK_ID, None, NOW))
    refused = EditionExternalIdRefused(NOW, ID, DOI, status=422)
    anew = given(*PUBLISHED, requested, refused, KEPT_WORK).when(MINT)
    anew.then(requested, claim, again, MintedId(DOI))
    given(registered, sealed).when(MINT).refused(EditionCannotMintExternalIdError)
    given(*NAMED).when(MINT).refused(EditionCannotMintExternalIdError)
    nowhere = Scenario(OPERATIONS, PUBLISHED, NO_REGISTRY)
    nowhere.when(MINT).refused(ExternalIdMinterUnavailableError)


def test_the_answer_of_the_registry_is_recorded_while_the_claim_of_the_worker_holds():
    fence = Fenced(WORK_ID, 3, WORKER, ends=True)
    given(*PUBLISHED, requested).when(SETTLE).then(assigned, fence)
    refusing = SETTLE.model_copy(update={"status": 422})
    refused = EditionExternalIdRefused(NOW, ID, DOI, status=422)
    kept = replace(fence, ends=False)
    given(*PUBLISHED, requested).when(refusing).then(refused, free_doi(DOI), kept)
    given(*PUBLISHED).when(SETTLE).refused(EditionCannotSettleExternalIdError)


def test_the_doi_of_a_withdrawn_edition_is_hidden_by_a_worker_if_it_is_ours():
    work = WORK.insert(Work(WORK_ID, MINTING, ID))
    given(*NAMED, withdrawn).when(HIDE).then(hidden, work)
    foreign = replace(assigned, external_id="10.1234/fossils")
    given(*PUBLISHED, foreign, withdrawn).when(HIDE).then(hidden)
    given(*NAMED).when(HIDE).refused(EditionCannotHideExternalIdError, "Published")
    given(*PUBLISHED, withdrawn).when(HIDE).refused(EditionCannotHideExternalIdError, "none")
    given(*NAMED, withdrawn, hidden).when(HIDE).refused(EditionCannotHideExternalIdError, "Hidden")


def folded(*events: Any) -> Edition:
    edition = begin(registered)
    for event in events:
        edition = evolve(edition, event)
    return edition


def test_the_state_tells_the_identifier_and_its_claim():
    assert claims_of(folded()) == ()
    pending, named = folded(requested), folded(requested, assigned)
    assert (pending.external_id, pending.external_id_state) == (None, ExternalIdState.PENDING)
    assert (named.external_id, named.external_id_state) == (DOI, ExternalIdState.FINDABLE)
    assert [each.row for each in claims_of(pending)] == [each.row for each in claims_of(named)]
    refused = EditionExternalIdRefused(NOW, ID, DOI, status=422)
    assert folded(requested, refused) == folded()
    assert folded(assigned, hidden).external_id_state is ExternalIdState.HIDDEN


def test_an_edition_tells_which_members_were_retracted_or_lost_their_copies():
    history = [*KNOWN, promoted(ONE), promoted(TWO), *copy(ONE), registered, sealed]
    past = Past([*history, DatasetDemoted(NOW, ONE, "wrong center")], HERE)
    try:
        findings([ID], past).send(None)
    except StopIteration as found:
        (told,) = found.value.values()
        assert told.retracted_dataset_ids == (ONE,)
        assert told.uncovered_dataset_ids == (TWO,)


STATES = {
    EditionStatus.REGISTERED: [],
    EditionStatus.SEALED: [sealed],
    EditionStatus.PUBLISHED: [sealed, published],
    EditionStatus.WITHDRAWN: [sealed, withdrawn],
}


MORE = UUID(int=33)


def test_every_move_from_every_status():
    members = EditionMembers(MEMBERS, frozenset(MEMBERS))
    matrix(
        OPERATIONS,
        EditionStatus,
        [Example(SEAL, members), Example(PUBLISH), Example(WITHDRAW, members)],
        lambda status: folded(*STATES[status]),
        lambda edition: edition.status,
        """
                   seal_edition  publish_edition  withdraw_edition
        Registered Sealed        -                Withdrawn
        Sealed     -             Published        Withdrawn
        Published  -             -                Withdrawn
        Withdrawn  -             -                -
        """,
    )


def test_members_change_only_while_the_edition_is_registered():
    added = AddEditionDataset(edition_id=ID, dataset_id=MORE)
    matrix(
        OPERATIONS,
        EditionStatus,
        [
            Example(added, state(dataset(MORE))),
            Example(RemoveEditionDataset(edition_id=ID, dataset_id=ONE)),
        ],
        lambda status: folded(*STATES[status]),
        lambda edition: len(edition.dataset_ids),
        """
                   add_edition_dataset  remove_edition_dataset
        Registered 3                    1
        Sealed     -                    -
        Published  -                    -
        Withdrawn  -                    -
        """,
    )


NAMES = {
    None: [],
    ExternalIdState.PENDING: [requested],
    ExternalIdState.FINDABLE: [assigned],
    ExternalIdState.HIDDEN: [assigned, hidden],
}


def test_every_move_of_the_identifier_of_a_published_edition():
    work = IdentifierWork("10.5072", has_row=False)
    matrix(
        OPERATIONS,
        NAMES,
        [Example(assign(), work), Example(MINT, work), Example(SETTLE)],
        lambda found: folded(sealed, published, *NAMES[found]),
        lambda edition: edition.external_id_state,
        """
                 assign_edition_external_id  mint_edition_external_id  settle_edition_external_id
        None     Findable                    Pending                   -
        Pending  -                           -                         Findable
        Findable -                           -                         -
        Hidden   -                           -                         -
        """,
    )
