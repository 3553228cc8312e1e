"""What is done with an asset or with anything below it is found by one filter."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.support.examples.assets import an_asset, an_asset_under
from tests.support.examples.operation import register_procedure
from tests.support.examples.run import started_run
from tests.support.examples.subject import mount_subject
from tests.support.kept import Kept, kept_on

from beamkeep.testing.database import Database

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def where(request: pytest.FixtureRequest) -> Database | None:
    return None if request.param == "memory" else request.getfixturevalue("database")


@pytest.fixture
async def kept(where: Database | None) -> AsyncGenerator[Kept]:
    async with kept_on(where) as kept:
        yield kept


async def under(kept: Kept, name: str, asset_id: str, /, **more: Any) -> list[str]:
    page = await kept.do(name, {"under_asset_id": asset_id, "order": "oldest", **more})
    id_field = name.removeprefix("list_").removesuffix("s") + "_id"
    return [row[id_field] for row in page["items"]]


async def put_under(kept: Kept, asset_id: str, to_parent_id: str) -> None:
    moved = {"asset_id": asset_id, "to_parent_id": to_parent_id, "reason": "Rebuilt"}
    await kept.do("relocate_asset", moved)
    await kept.catch_up()


async def test_plans_and_runs_are_found_under_every_asset_above_theirs(kept: Kept):
    do, other = kept.do, await an_asset(kept.do)
    run = await do("get_run", {"run_id": await started_run(do)})
    await kept.catch_up()
    (device,) = run["asset_ids"]
    line = (await do("get_asset", {"asset_id": device}))["parent_id"]
    for name, id in (("list_plans", run["plan_id"]), ("list_runs", run["run_id"])):
        assert await under(kept, name, device) == await under(kept, name, line) == [id]
        assert await under(kept, name, line, name="scan of monday") == (
            [id] if name == "list_plans" else []
        )
        assert await under(kept, name, line, owner_id=device) == []
        assert await under(kept, name, other) == []
    await put_under(kept, device, other)
    for name, id in (("list_plans", run["plan_id"]), ("list_runs", run["run_id"])):
        assert (await under(kept, name, line), await under(kept, name, other)) == ([], [id])


async def test_procedures_and_subjects_are_found_under_every_asset_above_theirs(kept: Kept):
    do, line = kept.do, await an_asset(kept.do)
    stage = await an_asset_under(do, await an_asset_under(do, line))
    asked = await register_procedure(do) | {"target_asset_ids": [stage]}
    procedure = (await do("register_procedure", asked))["procedure_id"]
    mounted = await mount_subject(do) | {"asset_id": stage}
    await do("activate_asset", {"asset_id": stage})
    await do("mount_subject", mounted)
    await kept.catch_up()
    for asset_id in (stage, line):
        assert await under(kept, "list_procedures", asset_id) == [procedure]
        assert await under(kept, "list_subjects", asset_id) == [mounted["subject_id"]]
    assert await under(kept, "list_procedures", line, status=["Running"]) == []
    other = await an_asset(do)
    assert await under(kept, "list_procedures", other) == []
    assert await under(kept, "list_subjects", other) == []
