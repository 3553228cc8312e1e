"""The hosts a service answers to: a page of another name must not speak through a browser."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.types import Scope

from beamkeep.kernel import Refusal

from .head import head_of


class MisdirectedRequestError(Refusal, status=421):
    """The Host header does not name this service.

    Call the service by its BASE_URL, or let its operator add the host to ALLOWED_HOSTS.
    """


class Hosts:
    """The values of the Host header that are answered: the host of BASE_URL, and those allowed."""

    def __init__(self, base_url: str, allowed: Sequence[str]) -> None:
        name = urlsplit(base_url).hostname or ""
        name = f"[{name}]" if ":" in name else name
        own = [name, f"{name}:*"] if name else []
        self.allowed = tuple(dict.fromkeys([*own, *allowed]))
        named = frozenset(host.lower().encode() for host in self.allowed)
        at_any_port = frozenset(host for host in named if host.endswith(b":*"))
        self._exactly = named - at_any_port
        self._at_any_port = frozenset(host.removesuffix(b":*") for host in at_any_port)

    def require(self, scope: Scope) -> None:
        """Refuse a call that was meant for another host."""
        host = head_of(scope).get(b"host", b"").lower()
        if host not in self._exactly:
            name, _, port = host.rpartition(b":")
            if name not in self._at_any_port or not port.isdigit():
                raise MisdirectedRequestError
