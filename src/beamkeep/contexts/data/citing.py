"""Citing: what is read of a dataset or an edition for its citation, its manifest and its page."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from uuid import UUID

from beamkeep.contexts.equipment.asset import ExternalIdNamespace, assets
from beamkeep.contexts.federation.facility import FacilityNotFoundError, facility_by_code
from beamkeep.contexts.run.run import runs
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.lineage import EDGES, Walk
from beamkeep.contexts.seams.lineage import ProvenanceRelation as Relation
from beamkeep.contexts.subject.subject import subjects
from beamkeep.kernel import Cannot, Query, answers, replace

from .acquisition import acquisitions
from .authorship import profiles_of
from .citation import (
    Citation,
    CitedDate,
    CitedPublisher,
    JsonDocument,
    RelatedIdentifier,
    datacite,
    dated,
    people,
)
from .crate import CrateMember, ro_crate
from .dataset import (
    Dataset,
    DatasetEvent,
    DatasetExternalIdAssigned,
    DatasetExternalIdHidden,
    DatasetStatus,
    datasets,
)
from .dataset_identifier import requested
from .distribution import COPIES, AccessProtocol, DistributionStatus
from .edition import Edition, EditionKind, EditionStatus, editions
from .external_id import DOI, END_OF_TIME
from .shapes import is_over

MOST_RELATED = 500


class DatasetCannotExportError(Cannot):
    """Only a dataset with an external identifier can be exported to DataCite."""


class EditionCannotExportError(Cannot):
    """Only an edition that was sealed has a manifest, for those who may see its datasets."""


class ExportDatasetDatacite(Query):
    """Show the metadata of a dataset as DataCite registers it."""

    dataset_id: UUID


class GetEditionManifest(Query):
    """Show the manifest of an edition, with the names and places as they are now."""

    edition_id: UUID


async def dataset_citation(dataset: Dataset, read: Reader) -> Citation:
    """Return what a dataset is cited by, also while its identifier is being registered."""
    request = await requested(dataset.id, read)
    made, helped = request.creator_ids if request else (), request.contributors if request else ()
    known = await profiles_of([*made, *(each.actor_id for each in helped)], read)
    creators, contributors = people(made, helped, known)
    code = request.publisher_facility_code if request else None
    page = read.facts.dataset_page
    return Citation(
        id=dataset.id,
        doi=dataset.external_id or dataset.pending_external_id,
        url=page.replace("{dataset_id}", str(dataset.id)),
        resource_type_general="Dataset",
        resource_type=dataset.encoding.media_type,
        title=dataset.name,
        description=None,
        creators=creators,
        contributors=contributors,
        publisher=await _publisher(code, read),
        year=request.publication_year if request else await _year_of_assignment(dataset, read),
        dates=await _dates(dataset, read),
        byte_size=dataset.byte_size,
        file_count=dataset.file_count,
        formats=(dataset.encoding.media_type,),
        license=request.license if request else None,
        available_from=dataset.available_from,
        is_embargoed=not is_over(dataset.available_from, read.now),
        is_gone=dataset.status is DatasetStatus.DISCARDED,
        related=await _related(dataset, read),
    )


async def edition_citation(edition: Edition, read: Reader) -> Citation:
    """Return what an edition is cited by, also while its identifier is being registered."""
    members = await read.many(datasets, edition.dataset_ids)
    ids = [*edition.creator_ids, *(each.actor_id for each in edition.contributors)]
    creators, contributors = people(
        edition.creator_ids, edition.contributors, await profiles_of(ids, read)
    )
    counts = [each.file_count for each in members.values()]
    parts = (each.external_id for each in members.values())
    return Citation(
        id=edition.id,
        doi=edition.external_id or edition.pending_external_id,
        url=read.facts.edition_page.replace("{edition_id}", str(edition.id)),
        resource_type_general="Collection",
        resource_type=edition.kind,
        title=edition.title,
        description=edition.description,
        creators=creators,
        contributors=contributors,
        publisher=await _publisher(edition.publisher_facility_code, read),
        year=edition.publication_year or edition.created_at.year,
        dates=(
            *dated("Issued", edition.published_at),
            *dated("Available", edition.available_from),
            *dated("Withdrawn", edition.withdrawn_at),
        ),
        byte_size=sum(each.byte_size for each in members.values()),
        file_count=None if None in counts else sum(count or 0 for count in counts),
        formats=tuple(sorted({each.encoding.media_type for each in members.values()})),
        license=edition.license,
        available_from=edition.available_from,
        is_embargoed=not is_over(edition.available_from, read.now),
        is_gone=edition.status is EditionStatus.WITHDRAWN,
        related=tuple(RelatedIdentifier("HasPart", doi) for doi in sorted(filter(None, parts))),
    )


async def edition_manifest(edition: Edition, read: Reader) -> JsonDocument:
    """Return the manifest of an edition in the form of its kind."""
    citation = replace(await edition_citation(edition, read), doi=edition.external_id)
    if edition.kind is EditionKind.DATACITE:
        return datacite(citation)
    time = edition.published_at
    published = time.astimezone(UTC).date().isoformat() if time else str(citation.year)
    return ro_crate(citation, published, await crate_members(edition.dataset_ids, read))


async def crate_members(ids: Iterable[UUID], read: Reader) -> list[CrateMember]:
    """Return datasets with the address at which each is found now."""
    found = await read.many(datasets, ids)
    copies = await https_copies(found, read)
    return [_member(each, copies.get(id), read) for id, each in found.items()]


def _member(dataset: Dataset, copy: str | None, read: Reader) -> CrateMember:
    doi, page = dataset.external_id, read.facts.dataset_page
    place = copy or (f"https://doi.org/{doi}" if doi else None)
    return CrateMember.of(
        dataset,
        dataset_id=dataset.id,
        address=place or page.replace("{dataset_id}", str(dataset.id)),
        is_open=place is not None,
    )


async def https_copies(ids: Iterable[UUID], read: Reader) -> Mapping[UUID, str]:
    """Return, of each dataset, the address of its first verified copy that HTTPS serves."""
    rows = await read.rows(COPIES, dataset_id=frozenset(ids))
    served = [
        row
        for row in rows
        if row.access_protocol is AccessProtocol.HTTPS and row.status is DistributionStatus.VERIFIED
    ]
    ordered = sorted(served, key=lambda row: row.distribution_id, reverse=True)
    return {row.dataset_id: row.uri for row in ordered}


async def export_dataset_datacite(query: ExportDatasetDatacite, read: Reader) -> JsonDocument:
    dataset = await read.one(datasets, query.dataset_id)
    if dataset.external_id is None:
        raise DatasetCannotExportError
    return datacite(await dataset_citation(dataset, read))


async def get_edition_manifest(query: GetEditionManifest, read: Reader) -> JsonDocument:
    edition = await read.one(editions, query.edition_id)
    if edition.content_hash is None:
        raise EditionCannotExportError(f"The status is {edition.status}.")
    # The manifest tells names and checksums of all members, or would be none.
    ids = frozenset(edition.dataset_ids)
    if hidden := ids - await read.visible(datasets, ids):
        raise EditionCannotExportError(f"You may not see {len(hidden)} of its datasets.")
    return await edition_manifest(edition, read)


async def _publisher(code: str | None, read: Reader) -> CitedPublisher | None:
    try:
        facility = await facility_by_code(code, read) if code else None
    except FacilityNotFoundError:
        return None
    return CitedPublisher(facility.code, facility.name) if facility else None


async def _last(dataset: Dataset, type: type[DatasetEvent], read: Reader) -> datetime | None:
    """Return when the last event of this type happened to a dataset, if one did."""
    found = await read.latest(datasets, [dataset.id], [type], END_OF_TIME)
    return found[dataset.id].occurred_at if found else None


async def _year_of_assignment(dataset: Dataset, read: Reader) -> int:
    return (await _last(dataset, DatasetExternalIdAssigned, read) or read.now).year


async def _dates(dataset: Dataset, read: Reader) -> tuple[CitedDate, ...]:
    edges = await read.rows(EDGES, from_id=dataset.id, relation=Relation.ACQUIRED_BY)
    # The edges of a corrected acquisition are gone.
    captured = await read.many(acquisitions, sorted({edge.source_id for edge in edges}))
    return (
        *dated("Collected", *(each.captured_at for each in captured.values())),
        *dated("Created", dataset.created_at),
        *dated("Available", dataset.available_from),
        *dated("Withdrawn", await _last(dataset, DatasetExternalIdHidden, read)),
    )


async def _related(dataset: Dataset, read: Reader) -> tuple[RelatedIdentifier, ...]:
    """Return what a dataset is related to; what has no identifier is left out."""
    id, related = dataset.id, list[RelatedIdentifier]()
    edges = await read.rows(EDGES, from_id=id)
    derived = await _downstream(id, read)
    for relation, ids in (("IsDerivedFrom", dataset.derived_from), ("IsSourceOf", derived)):
        found = await read.many(datasets, ids)
        dois = sorted(each.external_id for each in found.values() if each.external_id)
        related += [RelatedIdentifier(relation, doi) for doi in dois]
    wholes = [edge.to_id for edge in edges if edge.relation is Relation.PART_OF]
    for each in (await read.many(editions, sorted(wholes))).values():
        if each.status is EditionStatus.PUBLISHED and each.external_id:
            related.append(RelatedIdentifier("IsPartOf", each.external_id))
    takers = {edge.to_id for edge in edges if edge.relation is Relation.ACQUIRED_BY}
    for asset in (await read.many(assets, sorted(takers))).values():
        if asset.external_id:
            kind = "DOI" if asset.external_id_namespace is ExternalIdNamespace.DOI else "Handle"
            related.append(
                RelatedIdentifier(
                    "IsCollectedBy",
                    asset.external_id,
                    identifier_type=kind,
                    resource_type="Instrument",
                )
            )
    if dataset.subject_id:
        subject = await read.one(subjects, dataset.subject_id)
        if subject.external_id:
            # An IGSN is a DOI, which DataCite names as such.
            kind = "DOI" if DOI.fullmatch(subject.external_id) else "IGSN"
            related.append(
                RelatedIdentifier(
                    "References",
                    subject.external_id,
                    identifier_type=kind,
                    resource_type="PhysicalObject",
                )
            )
    if dataset.producing_run_id:
        raid = (await read.one(runs, dataset.producing_run_id)).raid
        if raid and (doi := DOI.search(raid)):
            related.append(RelatedIdentifier("IsPartOf", doi[0], resource_type="Project"))
    return tuple(related)


async def _downstream(dataset_id: UUID, read: Reader) -> list[UUID]:
    """Return the datasets that were derived from one, at most so many as a citation names."""
    lineage = read.readers.lineage
    if lineage is None:
        return []
    walk = Walk(
        (dataset_id,),
        upstream=False,
        depth=1,
        most=MOST_RELATED,
        relations=(Relation.DERIVED_FROM,),
    )
    return sorted({edge.from_id for edge in await lineage.walk(walk)})


# fmt: off
QUESTIONS = (
    answers("GET /datasets/{dataset_id}/datacite", ExportDatasetDatacite, export_dataset_datacite,
        JsonDocument, DatasetCannotExportError, of=datasets, about="dataset_id",
        title="Export the DataCite record of a dataset",
        composed_of=("Acquisition", "Asset", "Edition")),
    answers("GET /editions/{edition_id}/manifest", GetEditionManifest, get_edition_manifest,
        JsonDocument, EditionCannotExportError, of=editions, about="edition_id",
        composed_of=("Dataset", "Facility")),
)
# fmt: on
