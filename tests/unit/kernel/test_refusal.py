"""A refusal says why: the class is the code, the docstring is the message."""

from uuid import UUID

import pytest
from tests.support.rows import selected

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.recipe.recipe import STEP_RULES
from beamkeep.kernel import Cannot, Invalid, NotFound


class LampCannotDimError(Cannot):
    """The lamp cannot be dimmed."""


class InvalidLampError(Invalid):
    """A lamp has a bulb.

    Name the bulb.
    """


def test_the_docstring_is_the_message():
    assert str(LampCannotDimError()) == "The lamp cannot be dimmed."


def test_a_detail_follows_the_docstring():
    refusal = LampCannotDimError("It is out.")
    assert str(refusal) == "The lamp cannot be dimmed. It is out."


def test_a_docstring_of_several_lines_loses_its_indentation():
    assert str(InvalidLampError()) == "A lamp has a bulb.\n\nName the bulb."


class CannotBreak(Cannot, says="A broken {} cannot be broken again."): ...


class DeskLampCannotBreakError(CannotBreak): ...


class InvalidShade(Invalid, says="The shade of the {} is unknown."): ...


class InvalidLampShadeError(InvalidShade): ...


def test_a_base_gives_a_sentence_in_which_the_subclass_is_named_by_its_own_words():
    assert str(DeskLampCannotBreakError()) == "A broken desk lamp cannot be broken again."
    assert str(InvalidLampShadeError()) == "The shade of the lamp is unknown."


def test_facts_are_for_programs_and_not_in_the_message():
    refusal = LampCannotDimError(held_by=UUID(int=1))
    assert refusal.facts == {"held_by": UUID(int=1)}
    assert str(refusal) == "The lamp cannot be dimmed."
    assert LampCannotDimError().facts == {}


def test_the_status_is_that_of_the_kind():
    assert (Invalid.status, NotFound.status, Cannot.status) == (400, 404, 409)
    assert LampCannotDimError.retry_after is None


DECLARED = sorted(
    {
        refusal
        for row in selected((*CATALOGUE.by_command.values(), *CATALOGUE.questions))
        for refusal in (*row.refusals, row.aggregate.absent)
    },
    key=lambda refusal: refusal.__name__,
)


def test_the_name_of_every_declared_refusal_tells_its_status(subtests: pytest.Subtests):
    for refusal in DECLARED:
        with subtests.test(refusal.__name__):
            name = refusal.__name__
            if name.startswith("Invalid") or refusal in STEP_RULES:
                assert refusal.status == 400
            elif name.endswith("NotFoundError"):
                assert refusal.status == 404
            elif name.endswith(("MinterUnavailableError", "SignerUnavailableError")):
                assert refusal.status == 503
            elif name == "UnknownEventTypeError":
                assert refusal.status == 422
            elif name.startswith("MonitorTrigger") or name.endswith(
                (
                    "GatedError",
                    "ExceedsOwnError",
                    "NotYoursToApproveError",
                    "AdministratorRequiredError",
                    "LeaderRequiredError",
                )
            ):
                assert refusal.status == 403
            else:
                assert refusal.status == 409
            assert (refusal.__doc__ or "").strip().endswith(".")
