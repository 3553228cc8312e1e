"""What the fault tests share."""

import logging
from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest
import structlog

from tests.faults.report import merge

type Report = Callable[[str, Mapping[str, Any]], None]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """Keeps the figures of a test and shows them, whether or not it passes."""

    def show(key: str, figures: Mapping[str, Any]) -> None:
        line = merge(key, figures)
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
