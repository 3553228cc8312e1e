"""The address of a database: whether what goes there and back can be read or changed on the way."""

import os
from urllib.parse import parse_qs, unquote, urlsplit

from beamkeep.addresses import is_loopback


def private_route(address: str) -> str:
    """The address, where it stays on this host or checks whom it reaches; else a ValueError.

    It is read as asyncpg reads it, with what the environment adds.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ValueError("Not the address of a database. Write postgresql://user@host/database.")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if "service" in query or "PGSERVICE" in os.environ:
        raise ValueError(
            "A connection service may name any host. Write the host into the address and unset"
            " PGSERVICE."
        )
    named = parts.netloc.partition("@")[2] if "@" in parts.netloc else parts.netloc
    listed = named or query.get("host") or os.environ.get("PGHOST") or ""
    hosts = [unquote(_host(each)) for each in listed.split(",") if listed]
    mode = query.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer"
    distant = [host for host in hosts if not (host.startswith("/") or is_loopback(host))]
    if distant and mode.replace("_", "-") != "verify-full":
        raise ValueError(
            f"The database is on another host ({', '.join(distant)}) and sslmode is {mode}:"
            " passwords and events could be read and changed on the way. Add"
            " sslmode=verify-full&sslrootcert=FILE to the address, with the file of the"
            " certificate authority that signed the server's certificate."
        )
    return address


def _host(named: str) -> str:
    """A host without its port, and without the brackets of IPv6."""
    if named.startswith("/"):
        return named
    if named.startswith("["):
        return named[1:].partition("]")[0]
    return named.partition(":")[0]
