"""`@record`: a frozen, slotted dataclass, the only kind of data a context holds."""

from dataclasses import dataclass
from typing import dataclass_transform


@dataclass_transform(frozen_default=True)
def record[T](cls: type[T]) -> type[T]:
    """Make a class of plain fields immutable and compact."""
    return dataclass(frozen=True, slots=True)(cls)
