"""Addresses on the network."""

from ipaddress import IPv6Address, IPv6Network, ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host, by name or address, is this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def network_of(host: str) -> str:
    """Return an address; for IPv6 its /64 network, in which a host can use any address."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Network((address.packed[:8] + bytes(8), 64)))
    return host
