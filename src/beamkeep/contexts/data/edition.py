"""Edition: a package of datasets that is frozen, published and cited."""

from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.access.actor import ActorNotFoundError
from beamkeep.contexts.federation.facility import (
    FacilityCode,
    FacilityNotFoundError,
    facility_by_code,
)
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, edges_from, inserted, key_of
from beamkeep.contexts.seams.lineage import ProvenanceRelation as Relation
from beamkeep.contexts.trust.belonging import OF_TEAM, TeamsDifferError, require_one_team
from beamkeep.kernel import (
    INTERNAL,
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Fenced,
    Insert,
    Invalid,
    Listing,
    NotFound,
    Record,
    SideWrite,
    Sources,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Reason, Trimmed
from beamkeep.schemas import Json, canonical_text

from . import dataset, external_id
from .authorship import (
    Contributor,
    Contributors,
    CreatorIds,
    LicenseText,
    Year,
    require_actors,
    require_contributors,
    require_creators,
    require_license,
    require_year,
)
from .custody import custodies_of, dataset_lock
from .dataset import (
    Dataset,
    DatasetHeld,
    DatasetIntent,
    DatasetNotFoundError,
    DatasetReleasedFromEdition,
    DatasetSealedIntoEdition,
    DatasetStatus,
    datasets,
)
from .external_id import (
    DoiNamespace,
    DoiText,
    ExternalIdMinterUnavailableError,
    ExternalIdState,
    IdentifierWork,
    MintedId,
    SettleExternalId,
    claim_doi,
    free_doi,
    identifier_work,
    require_doi,
)
from .shapes import Day

MOST_MEMBERS = 256


class EditionKind(StrEnum):
    """The form of the manifest."""

    RO_CRATE = "ROCrate"
    DATACITE = "DataCite"


class EditionStatus(StrEnum):
    REGISTERED = "Registered"
    SEALED = "Sealed"
    PUBLISHED = "Published"
    WITHDRAWN = "Withdrawn"


# Events are stored for ever: add a field with a default; never rename or drop one.
class EditionEvent(Event):
    edition_id: UUID


class EditionRegistered(EditionEvent):
    title: FreeText
    description: FreeText | None
    kind: EditionKind
    dataset_ids: tuple[UUID, ...]
    creator_ids: tuple[UUID, ...]
    contributors: tuple[Contributor, ...]
    publisher_facility_code: str | None
    publication_year: int | None
    license: str | None
    available_from: date | None
    team_id: UUID | None = None
    visit_id: UUID | None = None


class EditionDatasetAdded(EditionEvent):
    dataset_id: UUID


class EditionDatasetRemoved(EditionEvent):
    dataset_id: UUID


class EditionSealed(EditionEvent):
    dataset_ids: tuple[UUID, ...]
    publisher_facility_code: str
    publication_year: int
    license: str
    available_from: date | None
    content_hash: str


class EditionPublished(EditionEvent): ...


class EditionWithdrawn(EditionEvent):
    reason: FreeText


class EditionIdentifierEvent(EditionEvent):
    external_id: str
    external_id_namespace: DoiNamespace = DoiNamespace.DOI


class EditionExternalIdRequested(EditionIdentifierEvent): ...


class EditionExternalIdAssigned(EditionIdentifierEvent): ...


class EditionExternalIdRefused(EditionEvent):
    """External id refused by the registry."""

    external_id: str
    status: int
    """The status of the registry's answer."""


class EditionExternalIdHidden(EditionEvent):
    reason: FreeText


type EditionMoved = EditionSealed | EditionPublished | EditionWithdrawn
type EditionMembersChanged = EditionDatasetAdded | EditionDatasetRemoved
type EditionIdentified = (
    EditionExternalIdRequested
    | EditionExternalIdAssigned
    | EditionExternalIdRefused
    | EditionExternalIdHidden
)
type EditionChanged = EditionMoved | EditionMembersChanged | EditionIdentified


class EditionNotFoundError(NotFound): ...


class InvalidEditionTitleError(Blank): ...


class InvalidEditionDescriptionError(Blank): ...


class InvalidEditionReasonError(Blank): ...


class InvalidEditionDatasetsError(Invalid):
    """An edition must contain at least one dataset."""


class InvalidEditionCreatorsError(Invalid):
    """Creators must be 1 to 100 actors, each named once."""


class InvalidEditionContributorsError(Invalid):
    """Contributors must be at most 100 actors, each named once in a role."""


class InvalidEditionLicenseError(Invalid):
    """License must be an SPDX identifier, such as CC-BY-4.0."""


class InvalidEditionPublicationYearError(Invalid):
    """Year of publication must be from 1900 to ten years ahead."""


class InvalidEditionExternalIdError(Invalid):
    """External identifier must be a DOI without a prefix, such as 10.5072/example."""


class EditionDatasetDiscardedError(Cannot):
    """An edition cannot contain a discarded dataset."""


class EditionCannotAddDatasetError(Cannot):
    """A dataset can be added once, while the edition is Registered and has fewer than 256."""


class EditionCannotRemoveDatasetError(Cannot):
    """A dataset can be removed while the edition is Registered; one must remain."""


class EditionCannotSealError(Cannot):
    """Only a registered edition can be sealed."""


class EditionDatasetsNotProductionError(Cannot):
    """Every dataset of a sealed edition must have the intent Production; promote the others."""


class EditionDatasetsNotVerifiedError(Cannot):
    """Every dataset of a sealed edition must have a verified copy; verify a copy of the others."""


class EditionLicenseRequiredError(Cannot):
    """A license is required to seal an edition."""


class EditionPublisherRequiredError(Cannot):
    """A publisher is required to seal an edition; enter publisher_facility_code."""


class EditionCannotPublishError(Cannot):
    """Only a sealed edition can be published."""


class EditionCannotWithdrawError(Cannot):
    """A withdrawn edition cannot be withdrawn again."""


class EditionCannotAssignExternalIdError(Cannot):
    """Only a published edition without an external identifier can get one."""


class EditionCannotMintExternalIdError(Cannot):
    """Only a published edition without an external identifier can get a new one."""


class EditionCannotHideExternalIdError(Cannot):
    """Only the findable external identifier of a withdrawn edition can be hidden."""


class EditionCannotSettleExternalIdError(Cannot):
    """No external identifier of the edition is pending."""


S = EditionStatus

STATUS: Axis[EditionStatus, EditionMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (EditionSealed, {S.REGISTERED}, S.SEALED, EditionCannotSealError),
    (EditionPublished, {S.SEALED}, S.PUBLISHED, EditionCannotPublishError),
    (
        EditionWithdrawn,
        {S.REGISTERED, S.SEALED, S.PUBLISHED},
        S.WITHDRAWN,
        EditionCannotWithdrawError,
    ),
)


class Edition(Record):
    id: UUID
    title: str
    description: str | None
    kind: EditionKind
    dataset_ids: tuple[UUID, ...]
    creator_ids: tuple[UUID, ...]
    contributors: tuple[Contributor, ...]
    publisher_facility_code: str | None
    publication_year: int | None
    license: str | None
    available_from: date | None
    created_at: datetime
    content_hash: str | None = None
    """SHA-256 of what was sealed; it does not change when copies move or names change."""
    status: EditionStatus = EditionStatus.REGISTERED
    external_id: str | None = None
    external_id_namespace: DoiNamespace | None = None
    external_id_state: ExternalIdState | None = None
    pending_external_id: str | None = None
    """The identifier that is being registered."""
    sealed_at: datetime | None = None
    published_at: datetime | None = None
    withdrawn_at: datetime | None = None
    withdrawn_reason: str | None = None
    team_id: UUID | None = None
    visit_id: UUID | None = None

    @property
    def was_published(self) -> bool:
        """Whether anybody may know that the edition exists."""
        return self.published_at is not None


def begin(event: EditionRegistered) -> Edition:
    return Edition.of(event, id=event.edition_id, created_at=event.occurred_at)


def evolve(edition: Edition, event: EditionChanged) -> Edition:
    now = event.occurred_at
    match event:
        case EditionDatasetAdded():
            members = tuple(sorted({*edition.dataset_ids, event.dataset_id}))
            return replace(edition, dataset_ids=members)
        case EditionDatasetRemoved():
            members = tuple(id for id in edition.dataset_ids if id != event.dataset_id)
            return replace(edition, dataset_ids=members)
        case EditionSealed():
            sealed = replace(edition, status=STATUS.after(event), sealed_at=now)
            return replace(
                sealed,
                publisher_facility_code=event.publisher_facility_code,
                publication_year=event.publication_year,
                license=event.license,
                available_from=event.available_from,
                content_hash=event.content_hash,
            )
        case EditionPublished():
            return replace(edition, status=STATUS.after(event), published_at=now)
        case EditionWithdrawn():
            ended = replace(edition, status=STATUS.after(event), withdrawn_at=now)
            return replace(ended, withdrawn_reason=event.reason)
        case EditionExternalIdRequested():
            return external_id.requested(edition, event.external_id)
        case EditionExternalIdRefused():
            return external_id.refused(edition)
        case EditionExternalIdAssigned():
            return external_id.assigned(edition, event.external_id, event.external_id_namespace)
        case EditionExternalIdHidden():
            return external_id.hidden(edition)


def edges_of(edition: Edition) -> tuple[ProvenanceEdge, ...]:
    """Return which datasets are part of an edition."""
    return tuple(edge for id in edition.dataset_ids for edge in _edges(edition, id))


def _edges(edition: Edition, dataset_id: UUID) -> tuple[ProvenanceEdge, ...]:
    return edges_from(dataset_id, Relation.PART_OF, edition.id, source_id=edition.id)


def claims_of(edition: Edition) -> tuple[Insert, ...]:
    """Return the claim of the DOI that an edition has or waits for."""
    return external_id.claims_of(edition, EditionCannotAssignExternalIdError)


def content_hash(edition: Edition, members: Iterable[Dataset]) -> str:
    """Return the SHA-256 of what is sealed, as canonical JSON (RFC 8785).

    It holds the identity of bytes and no place, name of a person or external id. Moving a copy,
    forgetting an actor or minting a DOI never changes it.
    """
    sealed: dict[str, Json] = {
        "edition_id": str(edition.id),
        "title": edition.title,
        "kind": edition.kind,
        "creator_ids": [str(id) for id in edition.creator_ids],
        "contributors": [
            {"actor_id": str(each.actor_id), "role": each.role} for each in edition.contributors
        ],
        "publisher_facility_code": edition.publisher_facility_code,
        "publication_year": edition.publication_year,
        "license": edition.license,
        "available_from": edition.available_from and edition.available_from.isoformat(),
        "datasets": [
            {
                "dataset_id": str(each.id),
                "checksum": {
                    "algorithm": each.checksum.algorithm,
                    "value": each.checksum.value,
                },
                "byte_size": each.byte_size,
                "encoding": {
                    "media_type": each.encoding.media_type,
                    "conforms_to": [*each.encoding.conforms_to],
                },
            }
            for each in sorted(members, key=lambda member: member.id)
        ],
    }
    return sha256(canonical_text(sealed).encode()).hexdigest()


type EditionTitle = Annotated[str, MinLen(1), MaxLen(500)]
type EditionText = Annotated[str, MinLen(1), MaxLen(5000)]


class RegisterEdition(GivenTeam):
    title: Annotated[EditionTitle, Trimmed(InvalidEditionTitleError)]
    """The title under which the edition is cited."""
    description: Annotated[EditionText, Trimmed(InvalidEditionDescriptionError)] | None = None
    """What the edition contains, as an abstract."""
    kind: EditionKind
    """Form of the manifest: an RO-Crate, or metadata of DataCite."""
    dataset_ids: Annotated[frozenset[UUID], MaxLen(MOST_MEMBERS)]
    creator_ids: CreatorIds
    """The people who are cited, in this order."""
    contributors: Contributors = ()
    """Further people, each with a role, in this order."""
    publisher_facility_code: FacilityCode | None = None
    """The facility that publishes; it is required at the latest to seal the edition."""
    publication_year: Year | None = None
    """The year of publication (default: chosen when the edition is sealed)."""
    license: LicenseText | None = None
    """SPDX identifier, such as CC-BY-4.0; it is required at the latest to seal the edition."""
    available_from: Day | None = None
    """The day on which an embargo ends."""


class EditionCommand(Command):
    edition_id: UUID


class EditionDatasetCommand(EditionCommand):
    dataset_id: UUID


class AddEditionDataset(EditionDatasetCommand): ...


class RemoveEditionDataset(EditionDatasetCommand): ...


class SealEdition(EditionCommand):
    publisher_facility_code: FacilityCode | None = None
    """The facility that publishes (default: the one registered)."""
    publication_year: Year | None = None
    """The year of publication (default: the one registered, else the year of availability)."""
    license: LicenseText | None = None
    """SPDX identifier (default: the one registered)."""


class PublishEdition(EditionCommand): ...


class EditionCommandWithReason(EditionCommand):
    reason: Annotated[Reason, Trimmed(InvalidEditionReasonError)]


class WithdrawEdition(EditionCommandWithReason): ...


class AssignEditionExternalId(EditionCommand):
    external_id: DoiText
    """A DOI without a prefix, such as 10.5072/example."""
    external_id_namespace: DoiNamespace = DoiNamespace.DOI


class MintEditionExternalId(EditionCommand): ...


class HideEditionExternalId(EditionCommandWithReason): ...


class SettleEditionExternalId(SettleExternalId):
    edition_id: UUID


class EditionMembers(Record):
    """The datasets of an edition, and which of them have a copy that counts."""

    datasets: Mapping[UUID, Dataset]
    covered: frozenset[UUID] = frozenset()


async def registered_members(command: RegisterEdition, read: Reader) -> EditionMembers:
    found = await read.many(datasets, sorted(command.dataset_ids), to_show=True)
    await require_actors(command.creator_ids, command.contributors, read)
    if command.publisher_facility_code:
        await facility_by_code(command.publisher_facility_code, read)
    return EditionMembers(found)


async def added_dataset(edition: Edition, command: AddEditionDataset, read: Reader) -> Dataset:
    return await read.one(datasets, command.dataset_id, to_show=True)


async def sealed_members(edition: Edition, command: SealEdition, read: Reader) -> EditionMembers:
    code = command.publisher_facility_code or edition.publisher_facility_code
    if code:
        await facility_by_code(code, read)
    found = await read.many(datasets, edition.dataset_ids, to_show=True)
    return EditionMembers(found, await covered_datasets(found.keys(), read))


async def covered_datasets(ids: Collection[UUID], read: Reader) -> frozenset[UUID]:
    """Return those of the datasets that have a copy which counts now."""
    return frozenset(it.dataset.id for it in await custodies_of(ids, read) if it.is_covered)


async def members_held(edition: Edition, command: WithdrawEdition, read: Reader) -> EditionMembers:
    return EditionMembers(await read.many(datasets, edition.dataset_ids))


async def edition_identifier(edition: Edition, command: Command, read: Reader) -> IdentifierWork:
    return await identifier_work(edition.id, read)


def register_edition(
    command: RegisterEdition, given: EditionMembers, call: Call
) -> list[EditionRegistered | SideWrite]:
    """Register an edition of datasets; its members can change until it is sealed."""
    if not command.dataset_ids:
        raise InvalidEditionDatasetsError
    registered = EditionRegistered.of(
        command,
        occurred_at=call.now,
        edition_id=call.new_id,
        dataset_ids=tuple(sorted(command.dataset_ids)),
        creator_ids=require_creators(command.creator_ids, InvalidEditionCreatorsError),
        contributors=require_contributors(command.contributors, InvalidEditionContributorsError),
        publication_year=_year(command.publication_year, call),
        license=require_license(command.license, InvalidEditionLicenseError),
    )
    for each in given.datasets.values():
        _require_present(each)
    return [registered, *inserted(edges_of(begin(registered)))]


def add_edition_dataset(
    edition: Edition, command: AddEditionDataset, given: Dataset, call: Call
) -> list[EditionDatasetAdded | SideWrite]:
    """Add a dataset to an edition that is not sealed."""
    refusal = EditionCannotAddDatasetError
    _require_open(edition, refusal)
    if given.id in edition.dataset_ids:
        raise refusal(f"Dataset {given.id} is in it already.")
    if len(edition.dataset_ids) >= MOST_MEMBERS:
        raise refusal(f"It has {MOST_MEMBERS}.")
    _require_present(given)
    require_one_team(edition, given)
    added = EditionDatasetAdded(call.now, edition.id, given.id)
    return [added, *inserted(_edges(edition, given.id))]


def remove_edition_dataset(
    edition: Edition, command: RemoveEditionDataset, call: Call
) -> list[EditionDatasetRemoved | SideWrite]:
    """Remove a dataset from an edition that is not sealed."""
    refusal, id = EditionCannotRemoveDatasetError, command.dataset_id
    _require_open(edition, refusal)
    if id not in edition.dataset_ids:
        raise refusal(f"Dataset {id} is not in it.")
    if len(edition.dataset_ids) == 1:
        raise refusal(f"Dataset {id} is the only one.")
    removed = EditionDatasetRemoved(call.now, edition.id, id)
    return [removed, *(EDGES.delete(*key_of(edge)) for edge in _edges(edition, id))]


def seal_edition(
    edition: Edition, command: SealEdition, given: EditionMembers, call: Call
) -> list[EditionSealed | DatasetSealedIntoEdition | SideWrite]:
    """Freeze an edition; its datasets cannot be discarded until it is withdrawn."""
    STATUS.require(edition.status, EditionSealed)
    license = require_license(command.license, InvalidEditionLicenseError) or edition.license
    code = command.publisher_facility_code or edition.publisher_facility_code
    year = _year(command.publication_year, call) or edition.publication_year
    members = [given.datasets[id] for id in edition.dataset_ids]
    if license is None:
        raise EditionLicenseRequiredError
    if code is None:
        raise EditionPublisherRequiredError
    for each in members:
        _require_present(each)
    if wrong := [it.id for it in members if it.intent is not DatasetIntent.PRODUCTION]:
        raise EditionDatasetsNotProductionError(_listed(wrong), dataset_ids=wrong)
    if wrong := [it.id for it in members if it.id not in given.covered]:
        raise EditionDatasetsNotVerifiedError(_listed(wrong), dataset_ids=wrong)
    days = [edition.available_from, *(each.available_from for each in members)]
    available_from = max((day for day in days if day), default=None)
    whole = replace(
        edition,
        publisher_facility_code=code,
        license=license,
        available_from=available_from,
        publication_year=year or max(call.now.year, available_from.year if available_from else 0),
    )
    sealed = EditionSealed.of(
        whole,
        occurred_at=call.now,
        edition_id=edition.id,
        content_hash=content_hash(whole, members),
    )
    # A command that discards a copy of a member meanwhile holds the same lock, and decides again.
    locks = [dataset_lock(id) for id in edition.dataset_ids]
    held = [DatasetSealedIntoEdition(call.now, id, edition.id) for id in edition.dataset_ids]
    return [*locks, sealed, *_held(held, given)]


def publish_edition(
    edition: Edition, command: PublishEdition, call: Call
) -> list[EditionPublished]:
    """Publish a sealed edition; from now on everybody can read its page."""
    return [STATUS.allow(edition.status, EditionPublished(call.now, edition.id))]


def withdraw_edition(
    edition: Edition, command: WithdrawEdition, given: EditionMembers, call: Call
) -> list[EditionWithdrawn | DatasetReleasedFromEdition | SideWrite]:
    """Withdraw an edition for good; the page of a published one says so."""
    withdrawn = STATUS.allow(edition.status, EditionWithdrawn(call.now, edition.id, command.reason))
    if edition.status is S.REGISTERED:
        return [withdrawn]
    freed = [DatasetReleasedFromEdition(call.now, id, edition.id) for id in edition.dataset_ids]
    return [withdrawn, *_held(freed, given)]


def assign_edition_external_id(
    edition: Edition, command: AssignEditionExternalId, given: IdentifierWork, call: Call
) -> list[EditionExternalIdAssigned | SideWrite]:
    """Assign a DOI that was registered elsewhere to a published edition."""
    doi = require_doi(command.external_id, InvalidEditionExternalIdError)
    refusal = EditionCannotAssignExternalIdError
    _require_nameless(edition, refusal)
    assigned = EditionExternalIdAssigned(call.now, edition.id, doi)
    return [assigned, claim_doi(doi, edition.id, refusal), *given.settled(edition.id, call)]


def mint_edition_external_id(
    edition: Edition, command: MintEditionExternalId, given: IdentifierWork, call: Call
) -> list[EditionExternalIdRequested | SideWrite | MintedId]:
    """Have a DOI registered for a published edition; a worker calls the registry."""
    refusal = EditionCannotMintExternalIdError
    _require_nameless(edition, refusal)
    doi = given.doi(edition.id)
    requested = EditionExternalIdRequested(call.now, edition.id, doi)
    work = given.begun(edition.id, call)
    return [requested, claim_doi(doi, edition.id, refusal), work, MintedId(doi)]


def hide_edition_external_id(
    edition: Edition, command: HideEditionExternalId, given: IdentifierWork, call: Call
) -> list[EditionExternalIdHidden | SideWrite]:
    """Hide the DOI of a withdrawn edition from search; its page stays."""
    refusal = EditionCannotHideExternalIdError
    doi = external_id.require_findable(edition, refusal)
    if edition.status is not S.WITHDRAWN:
        raise refusal(f"The status is {edition.status}.")
    hidden = EditionExternalIdHidden(call.now, edition.id, command.reason)
    return [hidden, *([given.begun(edition.id, call)] if given.is_own(doi) else [])]


def settle_edition_external_id(
    edition: Edition, command: SettleEditionExternalId, call: Call
) -> list[EditionExternalIdAssigned | EditionExternalIdRefused | SideWrite | Fenced]:
    """Record what the registry answered, while the claim of the worker holds."""
    if (doi := edition.pending_external_id) is None:
        raise EditionCannotSettleExternalIdError
    fence = command.fence(edition.id)
    if command.status is None:
        return [EditionExternalIdAssigned(call.now, edition.id, doi), fence]
    refused = EditionExternalIdRefused(call.now, edition.id, doi, status=command.status)
    return [refused, free_doi(doi), fence]


def _held[E: DatasetHeld](events: Iterable[E], given: EditionMembers) -> list[E | SideWrite]:
    """Return events of members with the rows that they change."""
    found = [dataset.moved(given.datasets[event.dataset_id], event) for event in events]
    return [part for parts in found for part in parts]


def _require_present(member: Dataset) -> None:
    if member.status is DatasetStatus.DISCARDED:
        detail = f"Dataset {member.id} is Discarded."
        raise EditionDatasetDiscardedError(detail, dataset_id=member.id)


def _require_open(edition: Edition, refusal: type[Cannot]) -> None:
    STATUS.require_in(edition.status, {S.REGISTERED}, refusal)


def _require_nameless(edition: Edition, refusal: type[Cannot]) -> None:
    STATUS.require_in(edition.status, {S.PUBLISHED}, refusal)
    external_id.require_nameless(edition, refusal)


def _year(given: int | None, call: Call) -> int | None:
    return require_year(given, call.now, InvalidEditionPublicationYearError)


def _listed(ids: Iterable[UUID]) -> str:
    return f"Datasets: {', '.join(map(str, ids))}."


editions = Aggregate(
    "Edition",
    begin,
    evolve,
    absent=EditionNotFoundError,
    axes=(STATUS,),
    team=lambda event: Sources(part_of=event.dataset_ids, several=True),
)

# fmt: off
OPERATIONS = (
    editions.creates("POST /editions", RegisterEdition, register_edition, DatasetNotFoundError,
        ActorNotFoundError, FacilityNotFoundError, InvalidEditionDatasetsError,
        InvalidEditionCreatorsError, InvalidEditionContributorsError,
        InvalidEditionPublicationYearError, InvalidEditionLicenseError,
        EditionDatasetDiscardedError, *OF_TEAM, given=registered_members),
    editions.changes("POST /editions/{edition_id}/add-dataset", AddEditionDataset,
        add_edition_dataset, DatasetNotFoundError, EditionCannotAddDatasetError,
        EditionDatasetDiscardedError, TeamsDifferError, given=added_dataset),
    editions.changes("POST /editions/{edition_id}/remove-dataset", RemoveEditionDataset,
        remove_edition_dataset, EditionCannotRemoveDatasetError),
    editions.changes("POST /editions/{edition_id}/seal", SealEdition, seal_edition,
        FacilityNotFoundError, InvalidEditionLicenseError, InvalidEditionPublicationYearError,
        EditionCannotSealError, EditionLicenseRequiredError, EditionPublisherRequiredError,
        EditionDatasetDiscardedError, EditionDatasetsNotProductionError,
        EditionDatasetsNotVerifiedError, given=sealed_members),
    editions.changes("POST /editions/{edition_id}/publish", PublishEdition, publish_edition,
        EditionCannotPublishError),
    editions.changes("POST /editions/{edition_id}/withdraw", WithdrawEdition, withdraw_edition,
        EditionCannotWithdrawError, given=members_held, destructive=True),
    editions.changes("POST /editions/{edition_id}/external-id/assign", AssignEditionExternalId,
        assign_edition_external_id, InvalidEditionExternalIdError,
        EditionCannotAssignExternalIdError, given=edition_identifier),
    editions.changes("POST /editions/{edition_id}/external-id/mint", MintEditionExternalId,
        mint_edition_external_id, EditionCannotMintExternalIdError,
        ExternalIdMinterUnavailableError, given=edition_identifier),
    editions.changes("POST /editions/{edition_id}/external-id/hide", HideEditionExternalId,
        hide_edition_external_id, EditionCannotHideExternalIdError, given=edition_identifier,
        destructive=True),
    editions.changes(INTERNAL, SettleEditionExternalId, settle_edition_external_id,
        EditionCannotSettleExternalIdError),
)
# fmt: on


class EditionFindings(Record):
    """What has become of the members since the edition was sealed."""

    retracted_dataset_ids: tuple[UUID, ...]
    uncovered_dataset_ids: tuple[UUID, ...]


async def findings(ids: Iterable[UUID], read: Reader) -> Mapping[UUID, EditionFindings]:
    """Return which members are retracted, and which have no copy that counts now.

    Of members that the caller may not see, nothing is shown.
    """
    found = await read.many(editions, ids)
    every_id = {id for edition in found.values() for id in edition.dataset_ids}
    member_ids = await read.visible(datasets, every_id)
    members = await read.many(datasets, sorted(member_ids))
    covered = await covered_datasets(member_ids, read)
    retracted = {id for id, it in members.items() if it.intent is DatasetIntent.RETRACTED}
    uncovered = member_ids - covered
    return {
        id: EditionFindings(
            tuple(member for member in it.dataset_ids if member in retracted),
            tuple(member for member in it.dataset_ids if member in uncovered),
        )
        for id, it in found.items()
    }


class ListEditions(OfTeam, Listing):
    """List editions, newest first."""

    status: frozenset[EditionStatus] | None = None
    kind: EditionKind | None = None
    dataset_id: UUID | None = None
    """Editions that contain this dataset."""
    publisher_facility_code: FacilityCode | None = None
    external_id: DoiText | None = None


QUESTIONS = reads(
    "/editions",
    editions,
    ListEditions,
    facets={"dataset_id": lambda it: it.dataset_ids},
    version=2,
    shown_with=findings,
    composed_of=("Dataset", "Distribution", "Supply"),
    directory=DirectoryEntry(
        lambda it: it.title,
        status=lambda it: it.status,
        keywords=lambda it: (it.external_id,),
        scope=lambda it: it.publisher_facility_code,
    ),
)
