"""`@record`: a plain immutable dataclass, the only kind of data a context holds."""

from dataclasses import dataclass
from typing import dataclass_transform


@dataclass_transform(frozen_default=True)
def record[T](cls: type[T]) -> type[T]:
    """Make a class of plain fields a value; the type checker, not each field, refuses changes."""
    return dataclass(unsafe_hash=True)(cls)


def replace[T](kept: T, **changes: object) -> T:
    """A copy of a record with some fields changed."""
    new = object.__new__(type(kept))
    new.__dict__ = kept.__dict__ | changes
    if len(new.__dict__) != len(kept.__dict__):
        raise TypeError(f"{type(kept).__name__} has no such field: {', '.join(changes)}")
    return new
