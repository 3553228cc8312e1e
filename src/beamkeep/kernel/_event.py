"""Events: what happened, kept for ever."""

from collections.abc import Callable
from datetime import datetime

from ._record import Record


class Event(Record):
    """Something that happened. Its class name and its fields are a storage format."""

    occurred_at: datetime


class MayContainPersonalData(Record):
    """Marks a free text of an event in which a person may be named by accident."""


class Upcast(Record):
    """Reads an event stored in an old form: one step, from its version to the next."""

    event_type: str
    from_version: int
    change: Callable[[dict[str, object]], dict[str, object]]
