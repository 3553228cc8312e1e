"""Summaries and series of observations, in memory and on PostgreSQL."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.postgres.runtime.conftest import Hosted
from tests.support.examples.run import a_run_with_observations, started_run
from uuid_utils.compat import uuid7

from beamkeep.contexts.run.run import RunNotFoundError
from beamkeep.contexts.run.series import InvalidRunSeriesPeriodError
from beamkeep.testing.service import AdminClient, memory_service

pytestmark = pytest.mark.anyio

START = datetime(2030, 1, 31, 7, 0, tzinfo=UTC)


@pytest.fixture
def do(hosted: Hosted) -> AdminClient:
    return AdminClient(hosted.service, hosted.store)


def reading(channel: str, second: float, value: float, **more: Any) -> dict[str, Any]:
    return {
        "observation_id": str(uuid7()),
        "channel_name": channel,
        "value": value,
        "sampling_procedure": "monitor",
        "sampled_at": (START + timedelta(seconds=second)).isoformat(),
        **more,
    }


def at(second: float) -> str:
    return (START + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")


async def observed(do: AdminClient, *readings: dict[str, Any]) -> str:
    run_id = await started_run(do)
    await do("append_observations", {"run_id": run_id, "entries": readings})
    return run_id


async def test_a_summary_has_one_line_for_each_channel(do: AdminClient):
    unit = {"system": "udunits", "code": "mA", "label": None}
    run_id = await observed(
        do,
        reading("ring", 2, 399.5, unit=unit, simulated=True),
        reading("ring", 0, 401.0),
        reading("ring", 1, 398.0),
        reading("angle", 1, 90.0),
    )
    await observed(do, reading("ring", 9, 1.0))
    angle, ring = (await do("get_run_observation_summary", {"run_id": run_id}))["channels"]
    assert ring == {
        "channel_name": "ring",
        "unit": unit,
        "simulated": True,
        "count": 3,
        "first_at": at(0),
        "last_at": at(2),
        "last_value": 399.5,
        "minimum": 398.0,
        "maximum": 401.0,
    }
    assert (angle["channel_name"], angle["unit"], angle["count"]) == ("angle", None, 1)
    assert not angle["simulated"]


async def test_a_run_without_observations_has_no_channels(do: AdminClient):
    run_id = await started_run(do)
    told = await do("get_run_observation_summary", {"run_id": run_id})
    assert told == {"run_id": run_id, "channels": [], "more": False}
    series = await do("get_run_series", {"run_id": run_id, "channel_name": ["ring"]})
    assert series == {"run_id": run_id, "since": None, "until": None, "channels": []}


async def test_a_series_has_the_range_and_the_last_reading_of_each_interval(do: AdminClient):
    run_id = await observed(
        do,
        *[reading("ring", 0.1 * n, float(n % 7)) for n in range(100)],
        reading("angle", 3, 5.0),
        reading("door", 4, 1.0),
    )
    asked = {"run_id": run_id, "channel_name": ["ring", "angle", "nothing"], "points": 50}
    told = await do("get_run_series", asked | {"from": at(0), "to": at(10)})
    angle, ring = told["channels"]
    assert angle == {
        "channel_name": "angle",
        "times": [at(3)],
        "minimum": [5.0],
        "maximum": [5.0],
        "last": [5.0],
    }
    assert len(ring["times"]) == 50
    pairs = [(float(n % 7), float((n + 1) % 7)) for n in range(0, 100, 2)]
    assert ring["minimum"] == [min(pair) for pair in pairs]
    assert ring["maximum"] == [max(pair) for pair in pairs]
    assert ring["last"] == [last for _, last in pairs]


async def test_a_series_covers_the_whole_run_by_default(do: AdminClient):
    run_id = await observed(do, *[reading("ring", float(n), float(n)) for n in range(60)])
    whole = await do("get_run_series", {"run_id": run_id, "channel_name": ["ring"]})
    assert whole["channels"][0]["last"] == [float(n) for n in range(60)]
    asked = {"run_id": run_id, "channel_name": ["ring"], "from": at(10), "to": at(20)}
    part = await do("get_run_series", asked)
    assert part["channels"][0]["last"] == [float(n) for n in range(10, 20)], "to is excluded"
    assert (part["since"], part["until"]) == (at(10), at(20))


async def test_a_period_must_end_after_its_start():
    do = AdminClient(*await memory_service())
    run_id = await a_run_with_observations(do)
    asked = {"run_id": run_id, "channel_name": ["ring"], "from": at(10), "to": at(10)}
    with pytest.raises(InvalidRunSeriesPeriodError):
        await do("get_run_series", asked)


@pytest.mark.parametrize("name", ["get_run_observation_summary", "get_run_series"])
async def test_a_run_that_does_not_exist_has_no_series(name: str):
    do = AdminClient(*await memory_service())
    more = {"channel_name": ["ring"]} if name == "get_run_series" else {}
    with pytest.raises(RunNotFoundError):
        await do(name, {"run_id": str(uuid7()), **more})
