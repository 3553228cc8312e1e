"""The external id of a dataset: assigned, minted by a worker, hidden when it is retracted."""

from typing import Annotated
from uuid import UUID

from beamkeep.contexts.access.actor import ActorNotFoundError
from beamkeep.contexts.federation.facility import (
    FacilityCode,
    FacilityNotFoundError,
    facility_by_code,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    INTERNAL,
    Call,
    Cannot,
    Command,
    Fenced,
    Insert,
    Invalid,
    SideWrite,
)
from beamkeep.kernel.values import Reason, Trimmed

from . import external_id
from .authorship import (
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
from .dataset import (
    INTENT,
    Dataset,
    DatasetCommand,
    DatasetExternalIdAssigned,
    DatasetExternalIdHidden,
    DatasetExternalIdRefused,
    DatasetExternalIdRequested,
    DatasetIntent,
    DatasetStatus,
    InvalidDatasetReasonError,
    datasets,
)
from .external_id import (
    END_OF_TIME,
    DoiNamespace,
    DoiText,
    ExternalIdMinterUnavailableError,
    IdentifierWork,
    MintedId,
    SettleExternalId,
    claim_doi,
    free_doi,
    identifier_work,
    require_doi,
)


class InvalidDatasetExternalIdError(Invalid):
    """External identifier must be a DOI without a prefix, such as 10.5072/example."""


class InvalidDatasetCreatorsError(Invalid):
    """Creators must be 1 to 100 actors, each named once."""


class InvalidDatasetContributorsError(Invalid):
    """Contributors must be at most 100 actors, each named once in a role."""


class InvalidDatasetLicenseError(Invalid):
    """License must be an SPDX identifier, such as CC-BY-4.0."""


class InvalidDatasetPublicationYearError(Invalid):
    """Year of publication must be from 1900 to ten years ahead."""


class DatasetCannotAssignExternalIdError(Cannot):
    """Only a production dataset without an external identifier can get one."""


class DatasetCannotMintExternalIdError(Cannot):
    """Only a production dataset without an external identifier can get a new one."""


class DatasetCannotHideExternalIdError(Cannot):
    """Only the findable external identifier of a retracted or discarded dataset can be hidden."""


class DatasetCannotSettleExternalIdError(Cannot):
    """No external identifier of the dataset is pending."""


class AssignDatasetExternalId(DatasetCommand):
    external_id: DoiText
    """A DOI without a prefix, such as 10.5072/example."""
    external_id_namespace: DoiNamespace = DoiNamespace.DOI


class MintDatasetExternalId(DatasetCommand):
    creator_ids: CreatorIds
    """The people who are cited, in this order."""
    contributors: Contributors = ()
    """Further people, each with a role, in this order."""
    publisher_facility_code: FacilityCode
    """The facility that publishes."""
    publication_year: Year | None = None
    """The year of publication (default: the current year)."""
    license: LicenseText | None = None
    """SPDX identifier, such as CC-BY-4.0."""


class HideDatasetExternalId(DatasetCommand):
    reason: Annotated[Reason, Trimmed(InvalidDatasetReasonError)]


class SettleDatasetExternalId(SettleExternalId):
    dataset_id: UUID


def claims_of(dataset: Dataset) -> tuple[Insert, ...]:
    """Return the claim of the DOI that a dataset has or waits for."""
    return external_id.claims_of(dataset, DatasetCannotAssignExternalIdError)


async def dataset_identifier(dataset: Dataset, command: Command, read: Reader) -> IdentifierWork:
    return await identifier_work(dataset.id, read)


async def minted_identifier(
    dataset: Dataset, command: MintDatasetExternalId, read: Reader
) -> IdentifierWork:
    await facility_by_code(command.publisher_facility_code, read)
    await require_actors(command.creator_ids, command.contributors, read)
    return await identifier_work(dataset.id, read)


async def requested(dataset_id: UUID, read: Reader) -> DatasetExternalIdRequested | None:
    """Return the last request for an identifier of a dataset, with those it is cited by."""
    types = [DatasetExternalIdRequested]
    found = await read.latest(datasets, [dataset_id], types, END_OF_TIME)
    event = found.get(dataset_id)
    return event if isinstance(event, DatasetExternalIdRequested) else None


def assign_dataset_external_id(
    dataset: Dataset, command: AssignDatasetExternalId, given: IdentifierWork, call: Call
) -> list[DatasetExternalIdAssigned | SideWrite]:
    """Assign a DOI that was registered elsewhere to a production dataset."""
    doi = require_doi(command.external_id, InvalidDatasetExternalIdError)
    refusal = DatasetCannotAssignExternalIdError
    _require_nameless(dataset, refusal)
    assigned = DatasetExternalIdAssigned(call.now, dataset.id, doi)
    return [assigned, claim_doi(doi, dataset.id, refusal), *given.settled(dataset.id, call)]


def mint_dataset_external_id(
    dataset: Dataset, command: MintDatasetExternalId, given: IdentifierWork, call: Call
) -> list[DatasetExternalIdRequested | SideWrite | MintedId]:
    """Have a DOI registered for a production dataset; a worker calls the registry."""
    year = require_year(command.publication_year, call.now, InvalidDatasetPublicationYearError)
    cited = {
        "creator_ids": require_creators(command.creator_ids, InvalidDatasetCreatorsError),
        "contributors": require_contributors(command.contributors, InvalidDatasetContributorsError),
        "license": require_license(command.license, InvalidDatasetLicenseError),
        "publication_year": year or call.now.year,
    }
    refusal = DatasetCannotMintExternalIdError
    _require_nameless(dataset, refusal)
    doi = given.doi(dataset.id)
    requested = DatasetExternalIdRequested.of(
        command, occurred_at=call.now, external_id=doi, **cited
    )
    work = given.begun(dataset.id, call)
    return [requested, claim_doi(doi, dataset.id, refusal), work, MintedId(doi)]


def hide_dataset_external_id(
    dataset: Dataset, command: HideDatasetExternalId, given: IdentifierWork, call: Call
) -> list[DatasetExternalIdHidden | SideWrite]:
    """Hide the DOI of a retracted or discarded dataset from search; its page stays."""
    refusal = DatasetCannotHideExternalIdError
    doi = external_id.require_findable(dataset, refusal)
    is_gone = dataset.status is DatasetStatus.DISCARDED
    if not is_gone and dataset.intent is not DatasetIntent.RETRACTED:
        raise refusal(f"The dataset is {dataset.status}, its intent {dataset.intent}.")
    hidden = DatasetExternalIdHidden(call.now, dataset.id, command.reason)
    return [hidden, *([given.begun(dataset.id, call)] if given.is_own(doi) else [])]


def settle_dataset_external_id(
    dataset: Dataset, command: SettleDatasetExternalId, call: Call
) -> list[DatasetExternalIdAssigned | DatasetExternalIdRefused | SideWrite | Fenced]:
    """Record what the registry answered, while the claim of the worker holds."""
    if (doi := dataset.pending_external_id) is None:
        raise DatasetCannotSettleExternalIdError
    fence = command.fence(dataset.id)
    if command.status is None:
        return [DatasetExternalIdAssigned(call.now, dataset.id, doi), fence]
    refused = DatasetExternalIdRefused(call.now, dataset.id, doi, status=command.status)
    return [refused, free_doi(doi), fence]


def _require_nameless(dataset: Dataset, refusal: type[Cannot]) -> None:
    if dataset.status is DatasetStatus.DISCARDED:
        raise refusal("The dataset is Discarded.")
    INTENT.require_in(dataset.intent, {DatasetIntent.PRODUCTION}, refusal)
    external_id.require_nameless(dataset, refusal)


# fmt: off
OPERATIONS = (
    datasets.changes("POST /datasets/{dataset_id}/external-id/assign", AssignDatasetExternalId,
        assign_dataset_external_id, InvalidDatasetExternalIdError,
        DatasetCannotAssignExternalIdError, given=dataset_identifier),
    datasets.changes("POST /datasets/{dataset_id}/external-id/mint", MintDatasetExternalId,
        mint_dataset_external_id, ActorNotFoundError, FacilityNotFoundError,
        InvalidDatasetCreatorsError, InvalidDatasetContributorsError,
        InvalidDatasetPublicationYearError, InvalidDatasetLicenseError,
        DatasetCannotMintExternalIdError, ExternalIdMinterUnavailableError,
        given=minted_identifier),
    datasets.changes("POST /datasets/{dataset_id}/external-id/hide", HideDatasetExternalId,
        hide_dataset_external_id, DatasetCannotHideExternalIdError, given=dataset_identifier,
        destructive=True),
    datasets.changes(INTERNAL, SettleDatasetExternalId, settle_dataset_external_id,
        DatasetCannotSettleExternalIdError),
)
# fmt: on
