"""What a landing page tells of an edition, a dataset or an asset; None of what is not published."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from beamkeep.contexts.data.citation import SPDX, Citation, CitedPerson
from beamkeep.contexts.data.citing import (
    crate_members,
    dataset_citation,
    edition_citation,
    https_copies,
)
from beamkeep.contexts.data.crate import CrateMember
from beamkeep.contexts.data.dataset import DatasetIntent, DatasetStatus, datasets
from beamkeep.contexts.data.edition import EditionStatus, editions
from beamkeep.contexts.equipment.asset import ExternalIdNamespace, assets
from beamkeep.contexts.equipment.pidinst import (
    AssetPidinstIncompleteError,
    GetAssetPidinst,
    Pidinst,
    pidinst,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Aggregate, NotFound, replace
from beamkeep.schemas import Json, JsonObject

from .html import LandingPage, Linked, Section, Shown

CONTEXT = "https://schema.org"
RESOLVERS = {
    ExternalIdNamespace.DOI: "https://doi.org",
    ExternalIdNamespace.HANDLE: "https://hdl.handle.net",
}
UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


async def edition_page(id: UUID, read: Reader) -> LandingPage | None:
    """Return the page of an edition that was published, also after it was withdrawn."""
    edition = await _found(editions, id, read)
    if edition is None or not edition.was_published:
        return None
    citation = replace(await edition_citation(edition, read), doi=edition.external_id)
    is_gone = edition.status is EditionStatus.WITHDRAWN
    members = [] if is_gone else await crate_members(edition.dataset_ids, read)
    withdrawn = f"This edition was withdrawn on {_day(edition.withdrawn_at)}."
    hashed = ("Content hash (SHA-256)", (edition.content_hash,))
    return _cited_page(
        citation,
        kind="Edition",
        notice=withdrawn if is_gone else _embargo(citation),
        more=(hashed,),
        sections=(_member_table(members, citation),) if members else (),
        json_ld={"hasPart": [_part(each) for each in members]} if members else {},
    )


async def dataset_page(id: UUID, read: Reader) -> LandingPage | None:
    """Return the page of a dataset that has an external id."""
    dataset = await _found(datasets, id, read)
    if dataset is None or dataset.external_id is None:
        return None
    citation = await dataset_citation(dataset, read)
    copy = (await https_copies([id], read)).get(id)
    notice = _embargo(citation)
    if dataset.intent is DatasetIntent.RETRACTED:
        notice = "This dataset was retracted: do not rely on it."
    if dataset.status is DatasetStatus.DISCARDED:
        notice = "This dataset was discarded: only its description is left."
    checksum = (f"Checksum ({dataset.checksum.algorithm})", (dataset.checksum.value,))
    is_open = not citation.is_gone and not citation.is_embargoed
    download = ("Download", (Linked(copy, copy) if copy and is_open else None,))
    return _cited_page(
        citation,
        kind="Dataset",
        notice=notice,
        more=(checksum, download),
        json_ld={"contentSize": f"{dataset.byte_size} B", "sha256": dataset.checksum.value},
    )


async def asset_page(id: UUID, read: Reader) -> LandingPage | None:
    """Return the page of an asset that has an external id."""
    asset = await _found(assets, id, read)
    namespace = asset.external_id_namespace if asset else None
    if asset is None or namespace is None:
        return None
    address = f"{RESOLVERS[namespace]}/{asset.external_id}"
    try:
        record = await pidinst(GetAssetPidinst(asset_id=id), read)
    except AssetPidinstIncompleteError:
        record = None
    described: JsonObject = {
        "@context": CONTEXT,
        "@type": "IndividualProduct",
        "@id": address,
        "identifier": address,
        "name": asset.name,
    }
    return LandingPage(
        kind="Instrument",
        title=asset.name,
        notice="This instrument was decommissioned." if asset.decommissioned_at else None,
        cited_as=f"{asset.name}." if record is None else f"{asset.name}. {_owners(record)}.",
        cite_address=address,
        description=None,
        sections=(_instrument(record),) if record else (),
        json_ld=described | (_product(record) if record else {}),
    )


async def _found[S](of: Aggregate[S, Any, Any], id: UUID, read: Reader) -> S | None:
    """Return a state, if there is one of this id."""
    try:
        return await read.one(of, id)
    except NotFound:
        return None


def _cited_page(
    citation: Citation,
    *,
    kind: str,
    notice: str | None,
    more: tuple[tuple[str, tuple[Shown, ...]], ...],
    sections: tuple[Section, ...] = (),
    json_ld: JsonObject,
) -> LandingPage:
    publisher, license = citation.publisher, citation.license
    address = f"https://doi.org/{citation.doi}" if citation.doi else None
    names = "; ".join(each.name for each in citation.creators if each.details)
    cited = f"{names} ({citation.year}): " if names else f"({citation.year}): "
    by = f" {publisher.name}." if publisher else ""
    facts = Section(
        "Details",
        (
            ("Creators", tuple(_name(each) for each in citation.creators if each.details)),
            ("Publisher", (publisher.name if publisher else None,)),
            ("Year", (str(citation.year),)),
            ("License", (Linked(license, f"{SPDX}/{license}") if license else None,)),
            *((each.type, (each.date,)) for each in citation.dates),
            ("Size", (_size(citation),)),
            ("Format", tuple(citation.formats)),
            *more,
            *(
                (_words(each.relation), (_related(each.identifier_type, each.identifier),))
                for each in citation.related
            ),
        ),
    )
    return LandingPage(
        kind=kind,
        title=citation.title,
        notice=notice,
        cited_as=f"{cited}{citation.title}.{by} {kind}.",
        cite_address=address,
        description=citation.description,
        sections=(facts, *sections),
        json_ld=_schema_org(citation, address) | json_ld,
    )


def _schema_org(citation: Citation, address: str | None) -> JsonObject:
    publisher, license = citation.publisher, citation.license
    creators: list[Json] = [_creator(each) for each in citation.creators if each.details]
    members: dict[str, Json] = {
        "@context": CONTEXT,
        "@type": "Dataset",
        "@id": address or citation.url,
        "url": citation.url,
        "identifier": address,
        "name": citation.title,
        "description": citation.description or citation.title,
        "creator": creators or None,
        "publisher": {"@type": "Organization", "name": publisher.name} if publisher else None,
        "datePublished": str(citation.year),
        "license": f"{SPDX}/{license}" if license else None,
        "encodingFormat": [*citation.formats],
        "conditionsOfAccess": _embargo(citation),
        "creativeWorkStatus": "Withdrawn" if citation.is_gone else None,
    }
    return {name: value for name, value in members.items() if value is not None}


def _creator(person: CitedPerson) -> JsonObject:
    creator: JsonObject = {"@type": "Person", "name": person.name}
    return creator | ({"@id": person.address} if person.address else {})


def _name(person: CitedPerson) -> Shown:
    return Linked(person.name, person.address) if person.address else person.name


def _part(member: CrateMember) -> JsonObject:
    return {
        "@type": "Dataset",
        "name": member.name,
        "description": member.name,
        "identifier": f"urn:uuid:{member.dataset_id}",
    }


def _member_table(members: list[CrateMember], citation: Citation) -> Section:
    is_open = not citation.is_embargoed
    rows = tuple(
        (
            Linked(each.name, each.address) if each.is_open and is_open else each.name,
            _bytes(each.byte_size),
            each.encoding.media_type,
            each.checksum.value,
        )
        for each in members
    )
    titles = ("Dataset", "Size", "Format", "SHA-256")
    return Section(f"Datasets ({len(members)})", titles=titles, rows=rows)


def _instrument(record: Pidinst) -> Section:
    return Section(
        "Details",
        (
            ("Owner", tuple(each.name for each in record.owners)),
            ("Manufacturer", tuple(each.name for each in record.manufacturers)),
            ("Model", (record.model.name,)),
            ("Type", tuple(each.name for each in record.instrument_types)),
            *((each.type, (each.value.isoformat(),)) for each in record.dates),
            *(
                (_words(each.relation), (_related(each.type, each.value),))
                for each in record.related_identifiers
            ),
        ),
    )


def _product(record: Pidinst) -> JsonObject:
    return {
        "manufacturer": [
            {"@type": "Organization", "name": each.name} for each in record.manufacturers
        ],
        "model": record.model.name,
        "category": [each.name for each in record.instrument_types],
    }


def _owners(record: Pidinst) -> str:
    return ", ".join(each.name for each in record.owners)


def _related(type: str, identifier: str) -> Shown:
    resolvers = {"DOI": "https://doi.org", "Handle": "https://hdl.handle.net"}
    if type not in resolvers:
        return identifier
    return Linked(identifier, f"{resolvers[type]}/{identifier}")


def _words(relation: str) -> str:
    """Return `IsDerivedFrom` as `Is derived from`."""
    spaced = "".join(f" {each.lower()}" if each.isupper() else each for each in relation)
    return spaced.strip().capitalize()


def _embargo(citation: Citation) -> str | None:
    if not citation.is_embargoed or citation.is_gone:
        return None
    return f"The data are under embargo until {citation.available_from}."


def _size(citation: Citation) -> str:
    count = citation.file_count
    files = f" in {count} file{'' if count == 1 else 's'}" if count else ""
    return f"{_bytes(citation.byte_size)}{files}"


def _bytes(size: int) -> str:
    number, unit = float(size), UNITS[0]
    for unit in UNITS:
        if number < 1000 or unit == UNITS[-1]:
            break
        number /= 1000
    return f"{number:.3g} {unit}" if number < 1000 else f"{number:.0f} {unit}"


def _day(time: datetime | None) -> str:
    return time.astimezone(UTC).date().isoformat() if time else ""
