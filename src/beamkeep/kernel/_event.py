"""Events: what happened, kept for ever."""

from collections.abc import Callable
from datetime import datetime

from ._record import record


@record
class Event:
    """Something that happened. Its class name and its fields are a storage format."""

    occurred_at: datetime


@record
class MayContainPersonalData:
    """Marks a free text of an event in which a person may be named by accident."""


@record
class Upcast:
    """Reads an event stored in an old form: one step, from its version to the next."""

    event_type: str
    from_version: int
    change: Callable[[dict[str, object]], dict[str, object]]
