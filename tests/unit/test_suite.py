"""The generic tests that a site uses hold for a context of the house."""

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import pytest
from tests.support.examples import EXAMPLES

from beamkeep.contexts.catalogue import of_the_house
from beamkeep.testing.calling import SurfaceAnswer
from beamkeep.testing.principals import As
from beamkeep.testing.suite import SuiteCase, cases

SUBJECT = of_the_house()["subject"]
# The generic tests of the house try every row; here one row stands for all of a requirement.
ONE_OF_EACH = {case.requirement: case for case in cases(SUBJECT, EXAMPLES)}


@pytest.mark.parametrize("case", ONE_OF_EACH.values(), ids=str)
def test_a_requirement_holds_for_a_row_of_the_house(case: SuiteCase):
    case.run()


@pytest.mark.parametrize("case", ONE_OF_EACH.values(), ids=str)
def test_a_requirement_fails_for_a_service_that_answers_something_else(case: SuiteCase):
    send = As.send

    async def careless(by: As, name: str, arguments: Mapping[str, Any], **_: Any) -> SurfaceAnswer:
        await send(by, name, arguments)
        return SurfaceAnswer(200, {"items": [], "events": [], str(by.calling): 1})

    with patch.object(As, "send", careless), pytest.raises((AssertionError, KeyError, TypeError)):
        case.run()


def test_a_row_without_an_example_is_named():
    examples = {name: each for name, each in EXAMPLES.items() if not name.startswith("dis")}
    with pytest.raises(ValueError, match="have no example: discard_subject, dismount_subject"):
        cases(SUBJECT, examples)
