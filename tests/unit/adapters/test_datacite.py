"""DataCite: a put is repeated safely, and every answer is told apart."""

import os
from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest
from tests.support.datacite import ACCOUNT, PASSWORD, PREFIX, Registry
from tests.support.receiving import answer
from tests.unit.contexts.data.test_citation import CITATION

from beamkeep.contexts.data.citation import JsonDocument, datacite
from beamkeep.kernel import replace
from beamkeep.parts.publishing.datacite import DataciteAccount, DataciteMinter
from beamkeep.parts.publishing.minting import RegistryRefusedError, RegistryUnreachableError

pytestmark = pytest.mark.anyio
DOI = f"{PREFIX}/fossils"
REAL = ("DATACITE_URL", "DATACITE_REPOSITORY_ID", "DATACITE_PASSWORD", "DATACITE_PREFIX")


def metadata(doi: str = DOI) -> JsonDocument:
    return datacite(replace(CITATION, doi=doi, related=()))


@pytest.fixture
async def registry() -> AsyncGenerator[Registry]:
    made = Registry()
    await made.serve()
    yield made
    await made.close()


@pytest.fixture
def minter(registry: Registry) -> DataciteMinter:
    return DataciteMinter(DataciteAccount(registry.url, ACCOUNT, PASSWORD), timeout=5.0)


async def test_a_doi_is_made_findable_once_and_hidden(registry: Registry, minter: DataciteMinter):
    await minter.mint(DOI, metadata())
    await minter.mint(DOI, metadata())
    assert (registry.dois, registry.created) == ({DOI: "findable"}, 1)
    assert registry.metadata[DOI]["titles"] == [{"title": "Fossils"}]
    await minter.hide(DOI)
    assert registry.dois == {DOI: "registered"}


@pytest.mark.parametrize("status", [401, 403, 404, 408, 425, 429, 500, 503])
async def test_what_may_pass_is_asked_again(
    status: int, registry: Registry, minter: DataciteMinter
):
    registry.spoiled = [answer(status, "later", retry_after="7")]
    with pytest.raises(RegistryUnreachableError) as found:
        await minter.mint(DOI, metadata())
    assert found.value.retry_after == 7


async def test_a_broken_connection_is_asked_again(registry: Registry, minter: DataciteMinter):
    registry.spoiled = [None]
    with pytest.raises(RegistryUnreachableError):
        await minter.mint(DOI, metadata())


async def test_a_redirect_is_not_followed(registry: Registry, minter: DataciteMinter):
    registry.spoiled = [answer(302, "", location=f"{registry.url}/elsewhere")]
    with pytest.raises(RegistryUnreachableError):
        await minter.mint(DOI, metadata())
    assert [got.path for got in registry.receiver.got] == [f"/dois/{DOI}"]


async def test_metadata_that_break_the_schema_are_refused_for_good(minter: DataciteMinter):
    wrong: JsonDocument = {**metadata(), "types": {}}  # pyright: ignore[reportAssignmentType]
    with pytest.raises(RegistryRefusedError, match="resourceTypeGeneral") as found:
        await minter.mint(DOI, wrong)
    assert found.value.status == 422


async def test_an_event_that_the_registry_passes_over_is_noticed(
    registry: Registry, minter: DataciteMinter
):
    registry.dois[DOI] = "draft"
    with pytest.raises(RegistryRefusedError, match="The state is draft, not registered"):
        await minter.hide(DOI)
    registry.spoiled = [answer(200, "no json")]
    with pytest.raises(RegistryRefusedError, match="None"):
        await minter.hide(DOI)


@pytest.mark.skipif(
    not all(os.environ.get(name) for name in REAL), reason=f"{', '.join(REAL)} are not set"
)
async def test_the_real_registry_does_the_same():
    url, repository, password, prefix = (os.environ[name] for name in REAL)
    real, doi = DataciteMinter(DataciteAccount(url, repository, password)), f"{prefix}/{uuid4()}"
    for _ in range(2):
        await real.mint(doi, metadata(doi))
    await real.hide(doi)
