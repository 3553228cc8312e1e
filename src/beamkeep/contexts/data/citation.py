"""Citation: what a dataset or an edition is cited by, in the words of DataCite's kernel 4.6."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import TypedDict, cast
from uuid import UUID

from pydantic import ConfigDict, with_config

from beamkeep.contexts.access.profile import PersonalDetails
from beamkeep.kernel import Record
from beamkeep.schemas import Json, JsonObject

from .authorship import Contributor

KERNEL = "http://datacite.org/schema/kernel-4"
UNKNOWN = ":unav"
"""DataCite's word for a value that is not available."""
REGISTRIES = {
    "orcid": "https://orcid.org",
    "isni": "https://isni.org/isni",
    "ror": "https://ror.org",
}
SPDX = "https://spdx.org/licenses"
COAR = "http://purl.org/coar/access_right"
EMBARGOED: JsonObject = {"rights": "embargoed access", "rightsUri": f"{COAR}/c_f1cf"}
METADATA_ONLY: JsonObject = {"rights": "metadata only access", "rightsUri": f"{COAR}/c_14cb"}


@with_config(ConfigDict(extra="allow"))
class JsonDocument(TypedDict):
    """A JSON object whose members another standard defines."""


class CitedPerson(Record):
    """A creator or contributor as the profile names the person now."""

    actor_id: UUID
    details: PersonalDetails | None
    """None when the profile has been erased."""
    role: str | None = None
    """None for a creator."""

    @property
    def name(self) -> str:
        """The name, or DataCite's word for one that is not available."""
        return self.details.name if self.details else UNKNOWN

    @property
    def address(self) -> str | None:
        """The address of the researcher identifier, if the profile has one of a known registry."""
        details = self.details
        if details is None or details.external_id is None:
            return None
        registry = REGISTRIES.get(details.external_id_namespace or "")
        if registry is None:
            return None
        return f"{registry}/{details.external_id.rstrip('/').rpartition('/')[2]}"


class CitedPublisher(Record):
    """The facility that publishes."""

    code: str
    name: str
    ror: str | None = None


class RelatedIdentifier(Record, order=True):
    relation: str
    identifier: str
    identifier_type: str = "DOI"
    resource_type: str | None = None


class CitedDate(Record):
    type: str
    date: str


class Citation(Record):
    """Everything that a citation tells, of a dataset or of an edition."""

    id: UUID
    doi: str | None
    url: str
    resource_type_general: str
    resource_type: str
    title: str
    description: str | None
    creators: tuple[CitedPerson, ...]
    contributors: tuple[CitedPerson, ...]
    publisher: CitedPublisher | None
    year: int
    dates: tuple[CitedDate, ...]
    byte_size: int
    file_count: int | None
    formats: tuple[str, ...]
    license: str | None
    available_from: date | None
    is_embargoed: bool
    is_gone: bool
    """Whether only the description is left."""
    related: tuple[RelatedIdentifier, ...]


def people(
    creator_ids: Iterable[UUID],
    contributors: Iterable[Contributor],
    known: Mapping[UUID, PersonalDetails],
) -> tuple[tuple[CitedPerson, ...], tuple[CitedPerson, ...]]:
    """Return creators and contributors, each in its order, with what their profiles say now."""
    made = tuple(CitedPerson(id, known.get(id)) for id in creator_ids)
    helped = (CitedPerson(it.actor_id, known.get(it.actor_id), it.role) for it in contributors)
    return made, tuple(helped)


def dated(type: str, *times: date | datetime | None) -> tuple[CitedDate, ...]:
    """Return a date, or the range between two, as DataCite writes it; none without a time."""
    days = sorted({_day(time) for time in times if time is not None})
    return (CitedDate(type, "/".join(days[:: max(len(days) - 1, 1)])),) if days else ()


def datacite(citation: Citation) -> JsonDocument:
    """Return the metadata of a citation as DataCite's kernel 4.6 in JSON."""
    publisher = citation.publisher
    whole: dict[str, Json] = {
        "doi": citation.doi,
        "schemaVersion": KERNEL,
        "url": citation.url,
        "types": {
            "resourceTypeGeneral": citation.resource_type_general,
            "resourceType": citation.resource_type,
        },
        "titles": [{"title": citation.title}],
        "descriptions": _described(citation),
        # A citation needs a creator, also when none is recorded.
        "creators": [_person(each) for each in citation.creators] or [{"name": UNKNOWN}],
        "contributors": [
            *([_host(publisher)] if publisher else []),
            *(_person(each) for each in citation.contributors),
        ],
        "publisher": _publisher(publisher) if publisher else {"name": UNKNOWN},
        "publicationYear": str(citation.year),
        "dates": [{"date": each.date, "dateType": each.type} for each in citation.dates],
        "sizes": _sizes(citation),
        "formats": [*citation.formats],
        "rightsList": _rights(citation),
        "relatedIdentifiers": [_related(each) for each in citation.related],
        "alternateIdentifiers": [
            {"alternateIdentifier": str(citation.id), "alternateIdentifierType": "beamkeep"}
        ],
    }
    return cast("JsonDocument", {name: value for name, value in whole.items() if value})


def _day(time: date | datetime) -> str:
    return (time.date() if isinstance(time, datetime) else time).isoformat()


def _described(citation: Citation) -> list[Json]:
    if citation.description is None:
        return []
    return [{"description": citation.description, "descriptionType": "Abstract"}]


def _person(person: CitedPerson) -> JsonObject:
    entry: JsonObject = {"name": person.name, "nameType": "Personal"}
    details = person.details
    if details and details.affiliation:
        entry["affiliation"] = [{"name": details.affiliation}]
    if details and details.external_id and details.external_id_namespace:
        scheme = details.external_id_namespace
        found: JsonObject = {
            "nameIdentifier": person.address or details.external_id,
            "nameIdentifierScheme": scheme.upper(),
        }
        if scheme in REGISTRIES:
            found["schemeUri"] = REGISTRIES[scheme]
        entry["nameIdentifiers"] = [found]
    return entry | ({"contributorType": person.role} if person.role else {})


def _host(publisher: CitedPublisher) -> JsonObject:
    return {
        "name": publisher.name,
        "nameType": "Organizational",
        "contributorType": "HostingInstitution",
    }


def _publisher(publisher: CitedPublisher) -> JsonObject:
    if publisher.ror is None:
        return {"name": publisher.name}
    return {
        "name": publisher.name,
        "publisherIdentifier": publisher.ror,
        "publisherIdentifierScheme": "ROR",
        "schemeUri": REGISTRIES["ror"],
    }


def _sizes(citation: Citation) -> list[Json]:
    count = citation.file_count
    files = [] if count is None else [f"{count} file{'' if count == 1 else 's'}"]
    return [f"{citation.byte_size} B", *files]


def _rights(citation: Citation) -> list[Json]:
    rights: list[Json] = []
    if citation.license:
        rights.append(
            {
                "rightsIdentifier": citation.license,
                "rightsIdentifierScheme": "SPDX",
                "schemeUri": f"{SPDX}/",
                "rightsUri": f"{SPDX}/{citation.license}",
            }
        )
    if citation.is_gone:
        rights.append(METADATA_ONLY)
    elif citation.is_embargoed:
        rights.append(EMBARGOED)
    return rights


def _related(related: RelatedIdentifier) -> JsonObject:
    entry: JsonObject = {
        "relationType": related.relation,
        "relatedIdentifier": related.identifier,
        "relatedIdentifierType": related.identifier_type,
    }
    kind = related.resource_type
    return entry | ({"resourceTypeGeneral": kind} if kind else {})
