"""A stand-in for the service, and recorders that do not wait long."""

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.stand_in_runs import TOKEN, Runs, serving_runs

from beamkeep_client.bluesky import Recorder, sender

type Record = Callable[..., Recorder]


@pytest.fixture
def runs() -> Generator[Runs]:
    with serving_runs(Runs()) as runs:
        yield runs


@pytest.fixture
def record(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Record]:
    """Makes recorders on one spool, and closes them in the end."""
    monkeypatch.setattr(sender, "MIN_PAUSE", 0.01)
    monkeypatch.setattr(sender, "MAX_PAUSE", 0.05)
    with ExitStack() as made:

        def recorder(**changes: Any) -> Recorder:
            given: dict[str, Any] = {
                "url": runs.url,
                "token": TOKEN,
                "plan_id": "p",
                "spool": tmp_path / "spool",
            }
            made_now = Recorder(**{**given, **changes})
            made.callback(made_now.close, timeout=0)
            return made_now

        yield recorder
