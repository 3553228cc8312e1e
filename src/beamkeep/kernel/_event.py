"""Events: what happened, stored permanently."""

from collections.abc import Callable
from datetime import datetime

from ._record import Record


class Event(Record):
    """Something that happened. Its class name and its fields are a storage format."""

    occurred_at: datetime


class MayContainPersonalData(Record):
    """Marks a free text of an event in which a person may be named by accident."""


class Upcast(Record):
    """Converts an event of an old schema version to the next version."""

    event_type: str
    from_version: int
    change: Callable[[dict[str, object]], dict[str, object]]
