"""Whether a database can be reached: why a connection was refused, and what to do about it."""

import asyncio
import ssl
from collections.abc import Callable

import asyncpg

CONNECT_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds until a database that cannot be reached is tried again; doubled up to the longest."""

REFUSED = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""Errors by which a connection fails."""
TEMPORARY_ERRORS = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.InternalServerError,
    asyncpg.TargetServerAttributeNotMatched,
)
"""Errors that end without a change of the settings: a server that is down, starts, or is full."""
LASTING_ERRORS = (
    ssl.SSLError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
)
"""Errors of the system that only an operator ends."""


class UnreachableDatabaseError(Exception):
    """The database cannot be reached at present."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)


async def connected(url: str) -> asyncpg.Connection:
    """Return a connection. Raise one of `REFUSED` when there is none."""
    return await asyncpg.connect(url, timeout=CONNECT_SECONDS)


def is_temporary(error: Exception) -> bool:
    """Return whether the same settings may reach the database later."""
    return isinstance(error, TEMPORARY_ERRORS) and not isinstance(error, LASTING_ERRORS)


def connection_fault(error: Exception) -> str:
    """Return in words why there is no connection, and the remedy."""
    match error:
        case asyncpg.InvalidPasswordError():
            remedy = "Check the password in its address; `\\password` in psql sets another"
        case asyncpg.InvalidAuthorizationSpecificationError():
            remedy = "Check the role in its address, and pg_hba.conf of the server"
        case asyncpg.InvalidCatalogNameError():
            remedy = "Check the name at the end of its address, and that the database was created"
        case asyncpg.InsufficientPrivilegeError():
            remedy = "Run `beamkeep migrate`, which lets the roles connect"
        case asyncpg.CannotConnectNowError():
            remedy = "The server starts, stops or recovers. Wait, and read its log"
        case asyncpg.TooManyConnectionsError():
            remedy = "Every connection of the server is taken. Close some, or raise max_connections"
        case ssl.SSLCertVerificationError():
            remedy = "Check sslrootcert and the host name in its address, and the certificate"
        case TimeoutError():
            remedy = (
                f"Nothing answered within {CONNECT_SECONDS:.0f} s. Check the host and firewalls"
            )
        case OSError() if is_temporary(error):
            remedy = "Check that the server runs, and the host and port in its address"
        case _:
            remedy = "Check its address and credentials"
    return f"Cannot connect to the database. {remedy}: {str(error) or type(error).__name__}"


async def until_reachable(url: str, tell: Callable[[str], None]) -> None:
    """Return once a database answers, or once its refusal is one that waiting does not end.

    `tell` is called with the reason, once for each reason.
    """
    pause, logged = FIRST_PAUSE, ""
    while True:
        try:
            connection = await connected(url)
        except REFUSED as error:
            if not is_temporary(error):
                return
            if (reason := connection_fault(error)) != logged:
                tell(reason)
                logged = reason
        else:
            await connection.close()
            return
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
