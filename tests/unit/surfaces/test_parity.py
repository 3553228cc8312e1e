"""REST and MCP answer alike, for every operation and question, in memory."""

import httpx2
import pytest
from tests.support.examples import OUTSIDE
from tests.support.parity import PROPERTIES, ROWS, kinds, sample
from tests.support.prepared import Prepared, prepared_deployment
from tests.support.rows import selected
from tests.system.calling import As

from beamkeep.testing.calling import Mcp, Rest
from beamkeep.testing.properties import CallRow, Property
from beamkeep.testing.service import CALLERS

pytestmark = pytest.mark.anyio

MOST_SAMPLED = 40


class InMemory:
    """Both surfaces of a service in memory, which is put back before each row."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared, self.do = prepared, prepared.do
        http = prepared.rest.http
        self.rest, self.mcp = As(Rest(http), "ada", CALLERS), As(Mcp(http), "ada", CALLERS)
        self.nobody = As(Rest(http), "bob"), As(Mcp(http), "bob")
        self.outside = OUTSIDE

    async def example(self, row: CallRow, fresh: bool = False) -> dict[str, object]:
        return await self._prepared.example(row.name)

    def written(self) -> str:
        return str(self._prepared.store.position)


@pytest.fixture(scope="module")
async def stage() -> InMemory:
    return InMemory(await prepared_deployment())


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
async def test_on_both_surfaces(holds: Property, stage: InMemory, subtests: pytest.Subtests):
    for row in selected(PROPERTIES[holds]):
        with subtests.test(row.name):
            await holds(row, stage)


async def test_who_shows_no_token_is_refused_alike(stage: InMemory):
    http: httpx2.AsyncClient = stage.rest.calling.http
    rest, mcp = [await each.send(None, "list_zones", {}) for each in (Rest(http), Mcp(http))]
    assert (rest.status, rest.body["code"]) == (401, "MissingTokenError")
    assert rest == mcp


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_the_rows_tried_on_postgresql_have_every_kind_that_all_rows_have(holds: Property):
    rows = PROPERTIES[holds]
    chosen = sample(rows)
    assert {kind for row in chosen for kind in kinds(row)} == {
        kind for row in rows for kind in kinds(row)
    }
    assert len(chosen) <= MOST_SAMPLED


def test_a_kind_tells_source_outcome_and_argument():
    found = {row.name: kinds(row) for row in ROWS}
    assert {"creates", "reads more", "may be refused with 404"} <= found["start_run"]
    assert {"changes", "in the path: uuid", "an argument: string"} <= found["hold_run"]
    assert {"is fresh", "is about many", "an argument: date-time"} <= found["list_runs"]
    assert {"acts outside"} <= found["ingest_scan"] | found["sign_seal_pointer"]
