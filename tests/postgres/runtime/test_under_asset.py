"""What is done with an asset or with anything below it is found by one filter."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.support.examples.assets import an_asset, an_asset_under
from tests.support.examples.operation import register_procedure
from tests.support.examples.run import started_run
from tests.support.examples.subject import mount_subject
from tests.support.hosted import Hosted, hosted_on

from beamkeep.testing.database import Database

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def where(request: pytest.FixtureRequest) -> Database | None:
    return None if request.param == "memory" else request.getfixturevalue("database")


@pytest.fixture
async def hosted(where: Database | None) -> AsyncGenerator[Hosted]:
    async with hosted_on(where) as hosted:
        yield hosted


async def under(hosted: Hosted, name: str, asset_id: str, /, **more: Any) -> list[str]:
    page = await hosted.do(name, {"under_asset_id": asset_id, "order": "oldest", **more})
    id_field = name.removeprefix("list_").removesuffix("s") + "_id"
    return [row[id_field] for row in page["items"]]


async def put_under(hosted: Hosted, asset_id: str, to_parent_id: str) -> None:
    moved = {"asset_id": asset_id, "to_parent_id": to_parent_id, "reason": "Rebuilt"}
    await hosted.do("relocate_asset", moved)
    await hosted.catch_up()


async def test_plans_and_runs_are_found_under_every_asset_above_theirs(hosted: Hosted):
    do, other = hosted.do, await an_asset(hosted.do)
    run = await do("get_run", {"run_id": await started_run(do)})
    await hosted.catch_up()
    (device,) = run["asset_ids"]
    line = (await do("get_asset", {"asset_id": device}))["parent_id"]
    for name, id in (("list_plans", run["plan_id"]), ("list_runs", run["run_id"])):
        assert await under(hosted, name, device) == await under(hosted, name, line) == [id]
        assert await under(hosted, name, line, name="scan of monday") == (
            [id] if name == "list_plans" else []
        )
        assert await under(hosted, name, line, owner_id=device) == []
        assert await under(hosted, name, other) == []
    await put_under(hosted, device, other)
    for name, id in (("list_plans", run["plan_id"]), ("list_runs", run["run_id"])):
        assert (await under(hosted, name, line), await under(hosted, name, other)) == ([], [id])


async def test_procedures_and_subjects_are_found_under_every_asset_above_theirs(hosted: Hosted):
    do, line = hosted.do, await an_asset(hosted.do)
    stage = await an_asset_under(do, await an_asset_under(do, line))
    asked = await register_procedure(do) | {"target_asset_ids": [stage]}
    procedure = (await do("register_procedure", asked))["procedure_id"]
    mounted = await mount_subject(do) | {"asset_id": stage}
    await do("activate_asset", {"asset_id": stage})
    await do("mount_subject", mounted)
    await hosted.catch_up()
    for asset_id in (stage, line):
        assert await under(hosted, "list_procedures", asset_id) == [procedure]
        assert await under(hosted, "list_subjects", asset_id) == [mounted["subject_id"]]
    assert await under(hosted, "list_procedures", line, status=["Running"]) == []
    other = await an_asset(do)
    assert await under(hosted, "list_procedures", other) == []
    assert await under(hosted, "list_subjects", other) == []
