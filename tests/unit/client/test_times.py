"""Times as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from beamkeep_client import times
from beamkeep_client.times import time_of

GENEVA = timezone(timedelta(hours=1))
NOON = datetime(2030, 1, 31, 12, 0, 5, tzinfo=GENEVA)


@pytest.fixture(autouse=True)
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "now", lambda: NOON)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("90s", datetime(2030, 1, 31, 11, 58, 35, tzinfo=GENEVA)),
        ("30m", datetime(2030, 1, 31, 11, 30, 5, tzinfo=GENEVA)),
        ("-12h", datetime(2030, 1, 31, 0, 0, 5, tzinfo=GENEVA)),
        ("7d", datetime(2030, 1, 24, 12, 0, 5, tzinfo=GENEVA)),
        ("2w", datetime(2030, 1, 17, 12, 0, 5, tzinfo=GENEVA)),
        ("today", datetime(2030, 1, 31, tzinfo=GENEVA)),
        ("yesterday", datetime(2030, 1, 30, tzinfo=GENEVA)),
        ("14:05", datetime(2030, 1, 31, 14, 5, tzinfo=GENEVA)),
        ("7:05", datetime(2030, 1, 31, 7, 5, tzinfo=GENEVA)),
        ("2030-01-01T00:00:00Z", datetime(2030, 1, 1, tzinfo=UTC)),
        ("2030-01-01T00:00:00+02:00", datetime(2029, 12, 31, 22, tzinfo=UTC)),
    ],
)
def test_a_time_is_understood(text: str, meant: datetime):
    assert time_of(text) == meant


@pytest.mark.parametrize("text", ["", "soon", "25:00", "14:60", "-h", "12", "2030-13-01"])
def test_what_is_no_time_is_refused(text: str):
    assert time_of(text) is None
