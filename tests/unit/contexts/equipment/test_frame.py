"""Frame: where it is, and when it may go."""

from typing import Any
from uuid import UUID

import pytest

from beamkeep.contexts.equipment import frame as frame_module
from beamkeep.contexts.equipment import mount
from beamkeep.contexts.equipment import mount as mount_module
from beamkeep.contexts.equipment.frame import (
    DecommissionFrame,
    Frame,
    FrameCannotDecommissionError,
    FrameCannotRegisterError,
    FrameCannotUpdatePlacementError,
    FrameDecommissioned,
    FrameInUseError,
    FrameNotFoundError,
    FramePlacementUpdated,
    FrameRegistered,
    FrameStatus,
    InvalidFramePlacementError,
    RegisterFrame,
    UpdateFramePlacement,
    begin,
    evolve,
    frames,
)
from beamkeep.contexts.equipment.placement import Placement
from beamkeep.kernel import Event, UnnamedListing, replace
from beamkeep.testing.past import ABSENT, NEW, NOW, Past
from beamkeep.testing.scenario import Example, Scenario, matrix

OPERATIONS = (*frame_module.OPERATIONS, *mount_module.OPERATIONS)
ID, HALL, OTHER, PART, SLOT = NEW, UUID(int=2), UUID(int=3), UUID(int=4), UUID(int=5)

HERE = Placement(HALL, 1.0, 2.0, 3.0, 0.0, 0.5, -0.5)
THERE = replace(HERE, x=7.0)
IN_IT = replace(HERE, frame_id=ID)

AROUND = (
    FrameRegistered(NOW, HALL, "Hall", None, None),
    FrameRegistered(NOW, OTHER, "Other hall", None, None),
)
registered = FrameRegistered(NOW, ID, "Table", HALL, HERE)
a_root = FrameRegistered(NOW, ID, "Table", None, None)
decommissioned = FrameDecommissioned(NOW, ID, "rebuilt")
part = FrameRegistered(NOW, PART, "Plate", ID, IN_IT)
slot = mount.MountRegistered(NOW, SLOT, "Slot 1", None, IN_IT)


def place(placement: Placement) -> UpdateFramePlacement:
    return UpdateFramePlacement(frame_id=ID, placement=placement)


PLACE = place(THERE)
DECOMMISSION = DecommissionFrame(frame_id=ID, reason=" rebuilt ")


def given(*history: Event) -> Scenario:
    return Scenario(OPERATIONS, [*AROUND, *history])


def register(**changes: Any) -> RegisterFrame:
    known: dict[str, Any] = {"name": "Table", "parent_id": HALL, "placement": HERE}
    return RegisterFrame(**known | changes)


def test_a_frame_is_registered_as_a_root_and_in_another():
    given().when(RegisterFrame(name="Table")).then(a_root)
    given().when(register()).then(registered)


def test_a_frame_is_placed_in_the_one_it_is_part_of_and_a_root_nowhere():
    wrong: list[tuple[str, object, str]] = [
        ("parent_id", None, "Send both parent_id and placement, or neither."),
        ("placement", None, "Send both parent_id and placement, or neither."),
        ("parent_id", OTHER, f"The parent is frame {OTHER}."),
        ("placement", replace(HERE, y=float("inf")), "finite"),
    ]
    for field, value, saying in wrong:
        given().when(register(**{field: value})).refused(InvalidFramePlacementError, saying)


def test_the_frames_a_new_frame_names_exist_and_its_parent_is_in_use():
    given().when(register(parent_id=ABSENT)).refused(FrameNotFoundError)
    given().when(register(placement=replace(HERE, frame_id=ABSENT))).refused(FrameNotFoundError)
    given(FrameDecommissioned(NOW, HALL, "x")).when(register()).refused(
        FrameCannotRegisterError, saying=f"Frame Hall ({HALL}) is Decommissioned."
    )


def test_faults_of_a_registration_are_reported_in_order():
    closed = given(FrameDecommissioned(NOW, HALL, "x"))
    closed.when(register(parent_id=ABSENT, placement=None)).refused(FrameNotFoundError)
    closed.when(register(placement=None)).refused(InvalidFramePlacementError)
    closed.when(register()).refused(FrameCannotRegisterError)


def test_a_frame_is_placed_again_in_the_same_frame():
    given(registered).when(PLACE).then(FramePlacementUpdated(NOW, ID, THERE))


def test_a_frame_is_not_placed_where_it_cannot_be():
    elsewhere = place(replace(HERE, frame_id=OTHER))
    given(registered, decommissioned).when(elsewhere).refused(InvalidFramePlacementError)
    nowhere = place(replace(HERE, rx=float("nan")))
    given(a_root, decommissioned).when(nowhere).refused(InvalidFramePlacementError)
    given(registered, decommissioned).when(PLACE).refused(
        FrameCannotUpdatePlacementError, saying="The status is Decommissioned; it must be Active."
    )
    given(a_root).when(PLACE).refused(
        FrameCannotUpdatePlacementError, saying="The frame is a root."
    )


def test_a_frame_in_which_nothing_in_use_is_placed_is_decommissioned():
    given(registered).when(DECOMMISSION).then(decommissioned)
    gone = FrameDecommissioned(NOW, PART, "x"), mount.MountDecommissioned(NOW, SLOT, "x")
    given(registered, part, slot, *gone).when(DECOMMISSION).then(decommissioned)
    moved = mount.MountPlacementUpdated(NOW, SLOT, HERE)
    given(registered, slot, moved).when(DECOMMISSION).then(decommissioned)


def test_a_frame_in_use_is_not_decommissioned_and_its_users_are_named():
    given(registered, part).when(DECOMMISSION).refused(FrameInUseError, saying=f"frame {PART}")
    given(registered, slot).when(DECOMMISSION).refused(FrameInUseError, saying=f"mount {SLOT}")
    slots = [replace(slot, mount_id=UUID(int=100 + n)) for n in range(9)]
    given(registered, *slots).when(DECOMMISSION).refused(
        FrameInUseError, saying=" and 4 more first."
    )


class Late(Past):
    """A past whose lists are so late that they still find what has gone."""

    async def matching(
        self, query: UnnamedListing, to_show: bool = False, most: int = 10_000, newest: bool = False
    ) -> tuple[UUID, ...]:
        return (SLOT,) if isinstance(query, mount.ListMounts) else (PART,)


def test_the_streams_are_believed_where_the_lists_are_late():
    gone = FrameDecommissioned(NOW, PART, "x"), mount.MountPlacementUpdated(NOW, SLOT, HERE)
    reading = mount.frame_contents(
        begin(registered), DECOMMISSION, Late([registered, part, slot, *gone])
    )
    with pytest.raises(StopIteration) as found:
        reading.send(None)
    assert found.value.value == []


def test_what_keeps_a_frame_in_use_is_reported_in_order():
    given(registered, slot, decommissioned).when(DECOMMISSION).refused(FrameCannotDecommissionError)


def test_an_absent_frame_is_not_found():
    given().when(PLACE).refused(FrameNotFoundError)


def test_a_frame_is_what_its_first_event_says():
    assert begin(registered) == Frame(
        id=ID, name="Table", parent_id=HALL, placement=HERE, status=FrameStatus.ACTIVE
    )


def test_each_event_changes_what_it_is_about_and_nothing_else():
    new = begin(registered)
    assert evolve(new, FramePlacementUpdated(NOW, ID, THERE)) == replace(new, placement=THERE)
    assert evolve(new, decommissioned) == replace(new, status=FrameStatus.DECOMMISSIONED)


MOVES = [Example(PLACE), Example(DECOMMISSION, [])]
STATUS = """
                update_frame_placement  decommission_frame
Active          Active                  Decommissioned
Decommissioned  -                       -
"""


def test_every_move_from_every_status():
    matrix(
        OPERATIONS,
        FrameStatus,
        MOVES,
        lambda status: replace(begin(registered), status=status),
        lambda frame: frame.status,
        STATUS,
    )


def test_every_command_is_tried_in_some_matrix():
    own = [row for row in OPERATIONS if row.aggregate is frames and not row.genesis]
    assert {type(example.command) for example in MOVES} == {row.command for row in own}
