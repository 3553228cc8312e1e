"""Cursors into the log, which name the event at which they stand."""

import hmac
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import NamedTuple

from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.runtime.store import Position

from .log import LogPlace

PLACE = struct.Struct(">QQ8s")
TAG_BYTES, PURPOSE = 16, b"feed"
"""The purpose is signed as well, because the key also signs the cursors of lists."""


class FeedCursor(NamedTuple):
    """A place in the log, and the first bytes of the id of the event there."""

    position: Position
    event: bytes

    def stands_at(self, place: LogPlace) -> bool:
        """Return whether this is the event at which the cursor stands."""
        return place.position == self.position and place.event_id.bytes[:8] == self.event


class FeedCursors:
    """Signs and reads cursors with the deployment's own key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def write(self, place: LogPlace) -> str:
        """Return the cursor after an event."""
        (tx, position), event_id = place
        return self._text(PLACE.pack(tx, position, event_id.bytes[:8]))

    def read(self, cursor: str) -> FeedCursor:
        """Return what a cursor names. Raise MalformedRequestError when its tag is wrong."""
        try:
            place = urlsafe_b64decode(cursor.encode() + b"==")[TAG_BYTES:]
            tx, position, event = PLACE.unpack(place)
        except (ValueError, struct.error):
            raise MalformedRequestError("after: it is not a cursor of the feed.") from None
        # The whole text is compared: what decodes alike is not the same cursor.
        if not hmac.compare_digest(cursor.encode(), self._text(place).encode()):
            raise MalformedRequestError("after: it is not a cursor of this deployment.")
        return FeedCursor(Position(tx, position), event)

    def _text(self, place: bytes) -> str:
        tag = hmac.digest(self._key, PURPOSE + place, sha256)[:TAG_BYTES]
        return urlsafe_b64encode(tag + place).decode().rstrip("=")
