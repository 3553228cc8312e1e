"""Citations: what DataCite and an RO-Crate are told, by their own published rules."""

from datetime import date
from typing import Any
from uuid import UUID

from tests.support.crates import crate_findings
from tests.support.datacite import metadata_faults

from beamkeep.contexts.access.profile import PersonalDetails
from beamkeep.contexts.data.citation import (
    Citation,
    CitedPerson,
    CitedPublisher,
    RelatedIdentifier,
    datacite,
    dated,
)
from beamkeep.contexts.data.crate import CrateMember, ro_crate
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, Encoding
from beamkeep.kernel import replace

NXTOMO = "https://manual.nexusformat.org/classes/applications/NXtomo.html"
ORCID = {"external_id": "0000-0002-1825-0097", "external_id_namespace": "orcid"}
ADA = CitedPerson(UUID(int=1), PersonalDetails("Ada", affiliation="Lab of Engines", **ORCID))
OTTO = CitedPerson(UUID(int=2), PersonalDetails("Otto"))
FORGOTTEN = CitedPerson(UUID(int=3), None)
ROR = "https://ror.org/02jbv0t02"
CITATION = Citation(
    id=UUID(int=9),
    doi="10.5072/fossils",
    url="https://lab.test/pages/editions/9",
    resource_type_general="Collection",
    resource_type="ROCrate",
    title="Fossils",
    description="Twelve <fossils> & one leaf.",
    creators=(OTTO, ADA, FORGOTTEN),
    contributors=(replace(ADA, role="DataCurator"),),
    publisher=CitedPublisher("aps", "APS", ror=ROR),
    year=2030,
    dates=dated("Issued", date(2030, 1, 1)),
    byte_size=2_048,
    file_count=2,
    formats=("application/x-hdf5",),
    license="CC-BY-4.0",
    available_from=date(2033, 1, 1),
    is_embargoed=True,
    is_gone=False,
    related=(
        RelatedIdentifier("HasPart", "10.5072/one"),
        RelatedIdentifier(
            "IsCollectedBy", "21.1/x", identifier_type="Handle", resource_type="Instrument"
        ),
        RelatedIdentifier("References", "10.1/igsn", resource_type="PhysicalObject"),
        RelatedIdentifier("IsPartOf", "10.1/raid", resource_type="Project"),
    ),
)
FILE = CrateMember(
    dataset_id=UUID(int=5),
    address="https://data.lab.test/5.h5",
    is_open=True,
    name="Fossil 7",
    checksum=Checksum(ChecksumAlgorithm.SHA256, "0" * 64),
    byte_size=1_024,
    encoding=Encoding("application/x-hdf5", (NXTOMO,)),
)
TREE = replace(
    FILE,
    dataset_id=UUID(int=6),
    address="https://lab.test/pages/datasets/6",
    is_open=False,
    checksum=Checksum(ChecksumAlgorithm.SHA256_TREE, "1" * 64),
)
ACCEPTED = {
    "Web-based Directory Data Entities SHOULD include a `distribution` property",
    "Web-based Data Entities SHOULD have a `sdDatePublished` property",
    "License entities SHOULD have a description",
    "The organization SHOULD have a URL.",
    "An Organization entity SHOULD have a ROR identifier",
    "An Organization's contactPoint SHOULD reference a ContactPoint",
    "A Person entity SHOULD have an ORCID identifier",
    "At least one author or publisher Person/Organization SHOULD have a contactPoint",
}
"""Recommendations that need what is not recorded: archives, ROR of affiliations, contacts."""


def told(**changes: Any) -> dict[str, Any]:
    return {**datacite(replace(CITATION, **changes))}


def test_the_metadata_pass_the_published_schema_of_datacite():
    assert metadata_faults(told()) == []
    bare = told(creators=(), contributors=(), publisher=None, license=None, related=(), dates=())
    assert metadata_faults(bare) == []
    assert (bare["creators"], bare["publisher"]) == ([{"name": ":unav"}], {"name": ":unav"})
    assert metadata_faults({**told(), "types": {"resourceTypeGeneral": "Fossil"}}) != []


def test_creators_keep_their_order_and_are_named_as_the_profile_says_now():
    otto, ada, forgotten = told()["creators"]
    assert otto == {"name": "Otto", "nameType": "Personal"}
    assert ada["affiliation"] == [{"name": "Lab of Engines"}]
    assert ada["nameIdentifiers"] == [
        {
            "nameIdentifier": "https://orcid.org/0000-0002-1825-0097",
            "nameIdentifierScheme": "ORCID",
            "schemeUri": "https://orcid.org",
        }
    ]
    assert forgotten["name"] == ":unav"
    host, curator = told()["contributors"]
    assert (host["contributorType"], host["name"]) == ("HostingInstitution", "APS")
    assert (curator["contributorType"], curator["name"]) == ("DataCurator", "Ada")


def test_an_identifier_of_an_unknown_registry_is_shown_as_it_is():
    details = PersonalDetails("Lise", external_id="X-1", external_id_namespace="scopus")
    (lise,) = told(creators=(CitedPerson(UUID(int=4), details),))["creators"]
    expected = {"nameIdentifier": "X-1", "nameIdentifierScheme": "SCOPUS"}
    assert lise["nameIdentifiers"] == [expected]


def test_rights_say_what_may_be_read_and_when():
    license, access = told()["rightsList"]
    assert license["rightsUri"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert access["rights"] == "embargoed access"
    (_, gone) = told(is_gone=True)["rightsList"]
    assert gone["rights"] == "metadata only access"
    assert len(told(is_embargoed=False)["rightsList"]) == 1


def test_several_days_are_a_range_and_none_is_left_out():
    first, last = date(2030, 1, 1), date(2030, 3, 1)
    (both,) = dated("Collected", last, date(2030, 2, 1), first)
    assert both.date == "2030-01-01/2030-03-01"
    assert dated("Collected", first, first)[0].date == "2030-01-01"
    assert dated("Collected", None) == ()


def test_a_crate_passes_the_validator_and_lacks_only_what_is_not_recorded():
    manifest = ro_crate(CITATION, "2030-01-01", [TREE, FILE])
    found = crate_findings({**manifest}, recommended=True)
    left = [each for each in found if not any(known in each for known in ACCEPTED)]
    assert left == []
    assert [each for each in found if each.startswith("REQUIRED")] == []


def test_a_broken_crate_fails_the_validator():
    manifest: dict[str, Any] = {**ro_crate(CITATION, "2030-01-01", [FILE])}
    root = manifest["@graph"][1]
    del root["license"], root["datePublished"]
    assert any(each.startswith("REQUIRED") for each in crate_findings(manifest))


def test_a_crate_names_files_and_trees_people_and_formats():
    manifest: dict[str, Any] = {**ro_crate(CITATION, "2030-01-01", [TREE, FILE])}
    found = {each["@id"]: each for each in manifest["@graph"]}
    root = found["./"]
    assert root["hasPart"] == [{"@id": FILE.address}, {"@id": TREE.address}]
    assert root["creator"] == [
        {"@id": f"#actor-{UUID(int=2)}"},
        {"@id": "https://orcid.org/0000-0002-1825-0097"},
        {"@id": f"#actor-{UUID(int=3)}"},
    ]
    assert root["contributor"] == {"@id": "https://orcid.org/0000-0002-1825-0097"}
    assert root["conditionsOfAccess"] == "embargoed until 2033-01-01"
    assert (found[FILE.address]["@type"], found[TREE.address]["@type"]) == ("File", "Dataset")
    assert found[FILE.address]["conformsTo"] == {"@id": NXTOMO}
    assert found[ROR]["name"] == "APS"
    assert all("file:" not in id for id in found)
