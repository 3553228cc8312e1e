"""Placement: the position and the rotation of a mount or a frame in a coordinate frame."""

from math import isfinite
from typing import Annotated
from uuid import UUID

from pydantic import Field, Strict

from beamkeep.kernel import Invalid, Record


def _in(code: str) -> object:
    return Field(json_schema_extra={"unit": {"system": "udunits", "code": code}})


Millimetres = Annotated[float, Strict(), _in("mm")]
Radians = Annotated[float, Strict(), _in("rad")]


class Placement(Record):
    """An origin in a frame, and a rotation about the frame's x axis, then y, then z."""

    frame_id: UUID
    x: Millimetres
    y: Millimetres
    z: Millimetres
    rx: Radians
    ry: Radians
    rz: Radians


def require_finite(placement: Placement, refusal: type[Invalid]) -> None:
    """Refuse a placement with a number that is not finite."""
    numbers = placement.x, placement.y, placement.z, placement.rx, placement.ry, placement.rz
    if not all(map(isfinite, numbers)):
        raise refusal("All of x, y, z, rx, ry and rz must be finite numbers.")
