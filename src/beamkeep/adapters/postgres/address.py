"""The address of a database: a connection to another host must be encrypted and verified."""

import os
from urllib.parse import parse_qs, unquote, urlsplit

from beamkeep.contexts.seams.addresses import is_loopback


def private_route(address: str) -> str:
    """Return the address; raise ValueError if it leads to another host without `verify-full`.

    The address is parsed as asyncpg parses it, with the defaults of the environment.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ValueError(
            "The address of a database must begin with postgresql://, as in"
            " postgresql://user@host/database."
        )
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if "service" in query or "PGSERVICE" in os.environ:
        raise ValueError(
            "The address names a connection service, which may lead to any host. Write the host"
            " into the address and unset PGSERVICE."
        )
    named = parts.netloc.partition("@")[2] if "@" in parts.netloc else parts.netloc
    listed = named or query.get("host") or os.environ.get("PGHOST") or ""
    hosts = [unquote(_host(each)) for each in listed.split(",") if listed]
    mode = query.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer"
    distant = [host for host in hosts if not (host.startswith("/") or is_loopback(host))]
    if distant and mode.replace("_", "-") != "verify-full":
        raise ValueError(
            f"The database is on another host ({', '.join(distant)}) and sslmode is {mode}:"
            " passwords and events could be read and changed in transit. Add"
            " sslmode=verify-full&sslrootcert=FILE to the address, where FILE contains the"
            " certificate of the authority that signed the server's certificate."
        )
    return address


def _host(named: str) -> str:
    """Return a host without its port and without the brackets of IPv6."""
    if named.startswith("/"):
        return named
    if named.startswith("["):
        return named[1:].partition("]")[0]
    return named.partition(":")[0]
