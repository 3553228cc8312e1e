"""The head of a request, read from the raw bytes of its ASGI scope."""

from uuid import UUID

from starlette.types import Scope
from uuid_utils.compat import uuid7

type Header = tuple[bytes, bytes]
type Head = dict[bytes, bytes]

HEAD = "beamkeep.head"
CORRELATION = "beamkeep.correlation_id"


def head_of(scope: Scope) -> Head:
    """The headers by name; one sent several times stands as its values with commas between."""
    head: Head | None = scope.get(HEAD)
    if head is None:
        pairs: list[Header] = scope["headers"]
        head = dict(pairs)
        if len(head) < len(pairs):
            values: dict[bytes, list[bytes]] = {name: [] for name in head}
            for name, value in pairs:
                values[name].append(value)
            head = {name: b", ".join(several) for name, several in values.items()}
        scope[HEAD] = head
    return head


def path_of(scope: Scope) -> bytes:
    """The path as it was sent, so that an escaped slash stays within its segment."""
    return scope.get("raw_path") or scope["path"].encode()


def correlation_id_of(scope: Scope) -> UUID:
    """The id the caller follows this call by, or a fresh one, fixed for this call."""
    if (known := scope.get(CORRELATION)) is None:
        sent = head_of(scope).get(b"x-correlation-id")
        known = scope[CORRELATION] = (sent and _uuid(sent)) or uuid7()
    return known


def _uuid(text: bytes) -> UUID | None:
    try:
        return UUID(text.decode("latin-1"))
    except ValueError:
        return None
