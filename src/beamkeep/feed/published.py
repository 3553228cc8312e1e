"""An event as listeners get it."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from .log import LogPlace


class PublishedEvent(NamedTuple):
    """An event, encoded once, with what filters compare."""

    place: LogPlace
    stream_type: str
    stream_id: UUID
    version: int
    event_type: str
    principal_id: UUID
    command_name: str
    recorded_at: datetime
    text: bytes
    """A server-sent event."""

    @property
    def cloud_event(self) -> bytes:
        """The event itself."""
        return self.text.partition(b"\ndata: ")[2].rstrip()
