"""What the fault tests share."""

import logging
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest
import structlog

from beamkeep.testing.seeds import seed
from tests.faults.report import merge

type Report = Callable[[str, Mapping[str, Any]], None]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """Keeps the figures of a test, its seed and its seconds, and shows them, even if it fails."""
    began = time.monotonic()

    def show(key: str, figures: Mapping[str, Any]) -> None:
        seconds = round(time.monotonic() - began, 1)
        line = merge(key, {"seed": seed(), "seconds": seconds, **figures})
        with capsys.disabled():
            print(f"\n{line}")

    return show


@pytest.fixture(autouse=True)
def quiet() -> Generator[None]:
    """Keeps the log of thousands of expected failures from being drawn up."""
    before = structlog.get_config()
    silent = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=silent, cache_logger_on_first_use=False)
    yield
    structlog.configure(**before)
