"""Crate: the manifest of an edition as an RO-Crate 1.2, which names its parts."""

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from beamkeep.kernel import Record
from beamkeep.schemas import Json, JsonObject

from .citation import SPDX, UNKNOWN, Citation, CitedPerson, CitedPublisher, JsonDocument
from .shapes import Checksum, ChecksumAlgorithm, Encoding

CONTEXT = "https://w3id.org/ro/crate/1.2/context"
SPECIFICATION = "https://w3id.org/ro/crate/1.2"


class CrateMember(Record):
    """One dataset of an edition, as it is found now."""

    dataset_id: UUID
    address: str
    """Where its bytes or its page are; never a path of a file, which may name people."""
    is_open: bool
    """Whether everybody can read what is there: bytes that HTTPS serves, or what has a DOI."""
    name: str
    checksum: Checksum
    byte_size: int
    encoding: Encoding


def ro_crate(citation: Citation, published: str, members: Iterable[CrateMember]) -> JsonDocument:
    """Return the manifest; `published` is the day or the year of publication."""
    found = sorted(members, key=lambda each: each.dataset_id)
    persons = {_person_id(each): each for each in (*citation.creators, *citation.contributors)}
    formats = sorted({uri for each in found for uri in each.encoding.conforms_to})
    graph: list[Json] = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": SPECIFICATION},
        },
        _root(citation, published, found),
        *(_member(each) for each in found),
        *(_person(id, each) for id, each in persons.items()),
        *_affiliations(persons.values()),
        *([_publisher(citation.publisher)] if citation.publisher else []),
        *([_work(_license_id(citation.license), citation.license)] if citation.license else []),
        *(_work(uri, uri) for uri in formats),
        *([_identifier(citation.doi)] if citation.doi else []),
    ]
    return cast("JsonDocument", {"@context": CONTEXT, "@graph": graph})


def _root(citation: Citation, published: str, members: Iterable[CrateMember]) -> JsonObject:
    doi, day, publisher = citation.doi, citation.available_from, citation.publisher
    embargo = f"embargoed until {day}" if citation.is_embargoed else None
    return _without_nulls(
        {
            "@id": "./",
            "@type": "Dataset",
            "name": citation.title,
            "description": citation.description or citation.title,
            "datePublished": published,
            "license": _ref(_license_id(citation.license)) if citation.license else None,
            "publisher": _ref(_publisher_id(publisher)) if publisher else None,
            "creator": _refs(_person_id(each) for each in citation.creators),
            "contributor": _refs(_person_id(each) for each in citation.contributors),
            "hasPart": _refs(each.address for each in members),
            "identifier": _ref(f"https://doi.org/{doi}") if doi else None,
            "conditionsOfAccess": embargo,
        }
    )


def _member(member: CrateMember) -> JsonObject:
    one_file = member.checksum.algorithm is ChecksumAlgorithm.SHA256
    return _without_nulls(
        {
            "@id": member.address,
            "@type": "File" if one_file else "Dataset",
            "name": member.name,
            "description": member.name,
            "sha256": member.checksum.value,
            "contentSize": str(member.byte_size),
            "encodingFormat": member.encoding.media_type,
            "conformsTo": _refs(member.encoding.conforms_to),
            "identifier": f"urn:uuid:{member.dataset_id}",
        }
    )


def _person(id: str, person: CitedPerson) -> JsonObject:
    details = person.details
    known = details.affiliation if details else None
    name = "Unknown" if person.name == UNKNOWN else person.name
    affiliation = _ref(_affiliation_id(known)) if known else None
    return _without_nulls({"@id": id, "@type": "Person", "name": name, "affiliation": affiliation})


def _affiliations(persons: Iterable[CitedPerson]) -> list[JsonObject]:
    names = {each.details.affiliation for each in persons if each.details}
    return [
        {"@id": _affiliation_id(name), "@type": "Organization", "name": name}
        for name in sorted(name for name in names if name)
    ]


def _publisher(publisher: CitedPublisher) -> JsonObject:
    return {"@id": _publisher_id(publisher), "@type": "Organization", "name": publisher.name}


def _work(id: str, name: str) -> JsonObject:
    return {"@id": id, "@type": "CreativeWork", "name": name}


def _identifier(doi: str) -> JsonObject:
    return {
        "@id": f"https://doi.org/{doi}",
        "@type": "PropertyValue",
        "name": "DOI",
        "propertyID": "https://registry.identifiers.org/registry/doi",
        "value": f"doi:{doi}",
        "url": f"https://doi.org/{doi}",
    }


def _person_id(person: CitedPerson) -> str:
    return person.address or f"#actor-{person.actor_id}"


def _affiliation_id(name: str) -> str:
    return "#organization-" + "-".join(name.lower().split())


def _publisher_id(publisher: CitedPublisher) -> str:
    return publisher.ror or f"#facility-{publisher.code}"


def _license_id(license: str) -> str:
    return f"{SPDX}/{license}"


def _ref(id: str) -> JsonObject:
    return {"@id": id}


def _refs(ids: Iterable[str]) -> Json:
    """Return references without doubles; a list of one is written as the one."""
    found: list[Json] = [_ref(id) for id in dict.fromkeys(ids)]
    return found[0] if len(found) == 1 else found or None


def _without_nulls(members: dict[str, Json]) -> JsonObject:
    return {name: value for name, value in members.items() if value is not None}
