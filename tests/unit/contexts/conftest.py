"""The order of the tests of the contexts, and which of them have run."""

from collections.abc import Generator
from pathlib import Path

import pytest

from beamkeep.testing.scenario import RUN

FOLDER = Path(__file__).parent
LAST = FOLDER / "test_every_refusal.py"
"""It asks what the other tests have met, so it runs after them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the test of all outcomes after every other test of the contexts."""
    last = [item for item in items if item.path == LAST]
    others = [item for item in items if item.path != LAST]
    beside = [place for place, item in enumerate(others) if item.path.is_relative_to(FOLDER)]
    end = max(beside, default=-1) + 1
    items[:] = [*others[:end], *last, *others[end:]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Remember every test that has run, so that no scenario runs twice."""
    try:
        return (yield)
    finally:
        if test := getattr(item, "function", None):
            RUN.add(test)
