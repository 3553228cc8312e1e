"""Cursors: where a page ended, valid for one principal and one question."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from uuid import UUID

from .codec import encode
from .parsing import MalformedRequestError

type Filters = Mapping[str, object]

TAG_BYTES = 16


class Cursors:
    """Signs and reads cursors with the deployment's own key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def write(self, place: str, principal_id: UUID, name: str, filters: Filters) -> str:
        """Return the cursor of a place in one principal's list."""
        signed = encode([place, principal_id, name, filters])
        tag = hmac.digest(self._key, signed, sha256)[:TAG_BYTES]
        return urlsafe_b64encode(tag + place.encode()).decode()

    def read(self, cursor: str, principal_id: UUID, name: str, filters: Filters) -> str:
        """Return the place of a cursor. Raise MalformedRequestError when another list gave it."""
        try:
            sent = cursor.encode()
            place = urlsafe_b64decode(sent)[TAG_BYTES:].decode()
        except ValueError:
            sent, place = b"", ""
        # The whole text is compared: what decodes alike is not the same cursor.
        if not hmac.compare_digest(sent, self.write(place, principal_id, name, filters).encode()):
            raise MalformedRequestError("The cursor is not one this question gave you.")
        return place
