"""What a read is composed of is declared, so that a console knows what an event makes outdated."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from tests.support.examples import EXAMPLES
from tests.support.rows import selected

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import (
    UnnamedListing,
)
from beamkeep.runtime.session import Session
from beamkeep.testing.service import AdminClient, memory_service

pytestmark = pytest.mark.anyio
LISTED = {view.listing: view.aggregate.name for view in CATALOGUE.views}


@contextmanager
def reading(found: set[str]) -> Generator[None]:
    """Note the aggregates whose streams or lists are read."""

    def noting(method: Any) -> Any:
        def noted(session: Session, of: Any, *arguments: Any, **options: Any) -> Any:
            is_list = isinstance(of, UnnamedListing)
            found.add(LISTED[type(of)] if is_list else of.name)
            return method(session, of, *arguments, **options)

        return noted

    with ExitStack() as stack:
        for name in ("one", "many", "as_of", "past", "latest", "matching"):
            noted = noting(getattr(Session, name))
            stack.enter_context(patch.object(Session, name, noted))
        yield


async def test_what_an_example_of_a_read_reads_is_declared(subtests: pytest.Subtests):
    service, store = await memory_service()
    do = AdminClient(service, store)
    for question in selected(CATALOGUE.questions):
        arguments, read = await EXAMPLES[question.name](do), set[str]()
        with subtests.test(question.name), reading(read):
            await do(question.name, arguments)
            assert read <= {question.aggregate.name, *question.composed_of}
