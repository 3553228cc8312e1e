"""Addresses on the network."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host, by name or address, is this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
