"""Which refusals of a database are waited for, and what is said of each."""

import socket
import ssl

import asyncpg
import pytest

from beamkeep.adapters.postgres.reaching import connection_fault, is_temporary

WAITED_FOR = (
    ConnectionRefusedError("nobody listens"),
    socket.gaierror(socket.EAI_AGAIN, "no name service yet"),
    socket.gaierror(socket.EAI_NONAME, "no such name yet"),
    TimeoutError(),
    FileNotFoundError("the socket is not there yet"),
    asyncpg.CannotConnectNowError("the database system is starting up"),
    asyncpg.AdminShutdownError("the server stops"),
    asyncpg.TooManyConnectionsError("too many clients"),
    asyncpg.PostgresConnectionError("the server closed the connection"),
    asyncpg.TargetServerAttributeNotMatched("no primary yet"),
)
ENDS = (
    asyncpg.InvalidPasswordError("wrong password"),
    asyncpg.InvalidAuthorizationSpecificationError("no such role"),
    asyncpg.InvalidCatalogNameError("no such database"),
    asyncpg.InsufficientPrivilegeError("no CONNECT"),
    asyncpg.InterfaceError("the address cannot be read"),
    ssl.SSLCertVerificationError("unknown authority"),
    PermissionError("the socket is closed to us"),
)


@pytest.mark.parametrize("error", WAITED_FOR, ids=lambda error: str(error) or "timeout")
def test_what_ends_by_itself_is_waited_for(error: Exception):
    assert is_temporary(error)


@pytest.mark.parametrize("error", ENDS, ids=str)
def test_what_only_an_operator_mends_is_not_waited_for(error: Exception):
    assert not is_temporary(error)


@pytest.mark.parametrize("error", [*WAITED_FOR, *ENDS], ids=lambda error: str(error) or "timeout")
def test_each_refusal_is_named_with_its_remedy(error: Exception):
    told = connection_fault(error)
    assert told.startswith("Cannot connect to the database. ")
    remedy, _, reason = told.partition(". ")[2].partition(": ")
    assert remedy
    assert reason == (str(error) or type(error).__name__)
