"""Lists of the Python client as data frames of pandas and polars."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx2
import pandas as pd
import polars as pl
import pytest

from beamkeep_client import AsyncBeamkeep, Beamkeep

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:1"
HELD = {
    "run_id": "r1",
    "name": "Foam 22",
    "status": "Held",
    "campaign_id": None,
    "external_refs": {"proposal": "1"},
    "created_at": "2030-01-31T14:05:00.123456Z",
    "ended_at": None,
}
RUNNING = {**HELD, "run_id": "r2", "external_refs": {}, "created_at": "2030-02-01T00:00:00Z"}
TIMES = [datetime(2030, 1, 31, 14, 5, 0, 123456, UTC), datetime(2030, 2, 1, tzinfo=UTC)]


def transport(*pages: Sequence[Mapping[str, Any]]) -> httpx2.MockTransport:
    """A service that answers these pages in turn."""
    bodies = [
        {"items": items, "next_cursor": None if number == len(pages) else f"c{number}"}
        for number, items in enumerate(pages, 1)
    ]
    return httpx2.MockTransport(lambda _: httpx2.Response(200, json=bodies.pop(0)))


def client(*pages: Sequence[Mapping[str, Any]]) -> Beamkeep:
    return Beamkeep(URL, "t", transport=transport(*pages))


def test_a_list_is_a_pandas_frame_with_timestamps_in_utc():
    frame = client([HELD], [RUNNING]).runs.list().to_pandas()
    assert frame["run_id"].tolist() == ["r1", "r2"]
    assert [each.to_pydatetime() for each in frame["created_at"]] == TIMES
    for name in ("created_at", "ended_at"):
        assert isinstance(frame[name].dtype, pd.DatetimeTZDtype), name
        assert str(frame[name].dtype.tz) == "UTC", name
    assert frame["external_refs"].tolist() == [{"proposal": "1"}, {}]


def test_a_list_is_a_polars_frame_with_timestamps_in_utc():
    frame = client([HELD], [RUNNING]).runs.list().to_polars()
    assert frame["run_id"].to_list() == ["r1", "r2"]
    assert frame["created_at"].to_list() == TIMES
    utc = pl.Datetime("us", "UTC")
    types = {name: frame.schema[name] for name in ("created_at", "ended_at", "campaign_id")}
    assert types == {"created_at": utc, "ended_at": utc, "campaign_id": pl.String}
    assert frame["external_refs"].to_list()[0] == {"proposal": "1"}


def test_an_empty_list_has_the_same_columns_and_types():
    full, empty = client([HELD]).runs.list().to_pandas(), client([]).runs.list().to_pandas()
    assert empty.columns.tolist() == full.columns.tolist()
    assert isinstance(empty["created_at"].dtype, pd.DatetimeTZDtype)
    other = client([]).runs.list().to_polars()
    assert other.columns == full.columns.tolist()
    assert other.schema["created_at"] == pl.Datetime("us", "UTC")


def test_a_field_that_only_a_newer_service_has_is_a_column_as_well():
    newer = {**HELD, "mood": "good"}
    assert client([newer]).runs.list().to_pandas()["mood"].tolist() == ["good"]
    assert client([newer]).runs.list().to_polars()["mood"].to_list() == ["good"]


async def test_the_asynchronous_client_has_the_same_frames():
    async with AsyncBeamkeep(URL, "t", transport=transport([HELD], [RUNNING])) as asynchronous:
        frame = await asynchronous.runs.list().to_polars()
    async with AsyncBeamkeep(URL, "t", transport=transport([HELD], [RUNNING])) as asynchronous:
        other = await asynchronous.runs.list().to_pandas()
    assert frame["created_at"].to_list() == TIMES
    assert [each.to_pydatetime() for each in other["created_at"]] == TIMES


def test_values_of_any_type_and_events_fit_into_frames():
    rows = [{"channel_name": "ring", "value": 1.5}, {"channel_name": "note", "value": "open"}]
    for kind in ("to_pandas", "to_polars"):
        frame = getattr(client(rows).runs.observations("0" * 32), kind)()
        assert [*map(str, frame["value"])] == ["1.5", "open"], kind
    event = {"id": "1", "time": HELD["created_at"], "data": {"reason": "Beam lost"}}
    assert client([event]).events.list().to_polars()["time"].to_list() == TIMES[:1]


def test_a_frame_of_answers_has_their_fields_as_columns():
    answers = [*client([HELD, RUNNING]).runs.list()]
    assert pd.DataFrame(answers).columns.tolist() == [*HELD]
    assert pd.DataFrame(answers)["run_id"].tolist() == ["r1", "r2"]
    assert pd.DataFrame(client([HELD, RUNNING]).runs.list())["name"].tolist() == ["Foam 22"] * 2
    assert pl.DataFrame(answers)["run_id"].to_list() == ["r1", "r2"]
