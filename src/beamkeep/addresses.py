"""Addresses on the network: which are this machine, and what could be read on the way to them."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_in_the_clear(url: str) -> bool:
    """Whether what is sent to an address could be read on the way there."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    return parts.scheme.lower() == "http" and not is_loopback((parts.hostname or "").lower())
