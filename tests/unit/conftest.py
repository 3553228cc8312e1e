"""What the tests without a database share."""

import asyncio
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.prepared import Prepared


@pytest.fixture(scope="session")
def whole_deployment() -> "Prepared":
    """Compose the one deployment of a run. It is bound to no event loop."""
    from tests.support.prepared import prepared_deployment

    return asyncio.run(prepared_deployment())


@pytest.fixture
def prepared(whole_deployment: "Prepared") -> "Prepared":
    """Provide the deployment of this run, put back to a fresh one."""
    whole_deployment.restore()
    return whole_deployment
