"""An axis guards a rule and serves the fold from one table."""

from datetime import UTC, datetime
from enum import StrEnum

import pytest

from beamkeep.kernel import Axis, Cannot, Event


class Door(StrEnum):
    OPEN = "Open"
    CLOSED = "Closed"
    LOCKED = "Locked"


class Opened(Event): ...


class Shut(Event): ...


class DoorCannotOpenError(Cannot):
    """The door cannot be opened."""


class DoorCannotShutError(Cannot):
    """The door cannot be shut."""


DOOR: Axis[Door, Opened | Shut] = Axis(
    "door",
    (Opened, {Door.CLOSED}, Door.OPEN, DoorCannotOpenError),
    (Shut, {Door.OPEN, Door.LOCKED}, Door.CLOSED, DoorCannotShutError),
)
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_a_move_from_an_allowed_state_is_not_refused():
    DOOR.require(Door.CLOSED, Opened)
    DOOR.require(Door.OPEN, Shut)
    DOOR.require(Door.LOCKED, Shut)


def test_a_move_from_another_state_is_refused_and_the_refusal_says_what_is_needed():
    with pytest.raises(DoorCannotOpenError) as refused:
        DOOR.require(Door.LOCKED, Opened)
    assert str(refused.value) == (
        "The door cannot be opened. The door is Locked; it must be Closed."
    )


def test_all_allowed_states_are_named_in_alphabetical_order():
    with pytest.raises(DoorCannotShutError, match=r"is Closed; it must be Locked or Open\.$"):
        DOOR.require(Door.CLOSED, Shut)


class PorterCannotOpenError(Cannot):
    """The porter cannot open the door."""


def test_another_command_that_makes_the_move_is_refused_in_its_own_words():
    DOOR.require(Door.CLOSED, Opened, refusal=PorterCannotOpenError)
    with pytest.raises(PorterCannotOpenError, match=r"is Locked; it must be Closed\.$"):
        DOOR.require(Door.LOCKED, Opened, refusal=PorterCannotOpenError)


def test_an_event_leads_where_the_table_says():
    assert DOOR.after(Opened(NOW)) is Door.OPEN
    assert DOOR.after(Shut(NOW)) is Door.CLOSED


def test_an_axis_may_be_of_yes_and_no():
    lit: Axis[bool, Opened] = Axis("lit", (Opened, {False}, True, DoorCannotOpenError))
    lit.require(False, Opened)
    assert lit.after(Opened(NOW)) is True
    with pytest.raises(DoorCannotOpenError, match=r"The current state is lit\."):
        lit.require(True, Opened)
