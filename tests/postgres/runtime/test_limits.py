"""What the roles may do in the database as a whole, for how long, and over which route."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from urllib.parse import quote

import asyncpg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.x509.oid import NameOID

from beamkeep.adapters.postgres.address import private_route
from beamkeep.adapters.postgres.fence import faults
from beamkeep.adapters.postgres.migrate import migrate
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import connected

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

ROLES = ("bk_app", "bk_projector", "bk_reader", "bk_monitor", "bk_witness")
LIMITS = """
bk_app        1min  10s   10s   off
bk_projector  1h    1min  10s   off
bk_reader     5min  10s   1min  on
bk_monitor    10s   2s    10s   on
bk_witness    1h    10s   10s   off
"""
SHOWN = (
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "default_transaction_read_only",
)
NUMBERS = count(1)


@pytest.fixture
def migrated(cluster: Cluster) -> Database:
    """A database that `migrate` made what it is, and no template."""
    name = f"limited {next(NUMBERS)}"
    asyncio.run(migrate(cluster.create_database(name)))
    return Database(cluster, name)


@asynccontextmanager
async def logged_in(database: Database, role: str) -> AsyncGenerator[asyncpg.Connection]:
    """A session that asks for nothing, as a terminal does."""
    async with connected(database, role) as connection:
        yield connection


# Time limits.


async def test_every_role_that_logs_in_has_time_limits(migrated: Database):
    found: list[str] = []
    for role in ROLES:
        async with logged_in(migrated, role) as session:
            shown = [await session.fetchval(f"SHOW {name}") for name in SHOWN]
        found.append(" ".join([role, *shown]))
    assert found == [" ".join(line.split()) for line in LIMITS.strip().splitlines()]


async def test_another_database_of_the_cluster_keeps_its_own_limits(migrated: Database):
    elsewhere = await asyncpg.connect(migrated.cluster.url("postgres", "bk_app"))
    try:
        assert await elsewhere.fetchval("SHOW statement_timeout") == "0"
    finally:
        await elsewhere.close()


async def test_a_restored_database_gets_its_limits_back_from_migrate(migrated: Database):
    migrated.ask(f'GRANT TEMPORARY ON DATABASE "{migrated.name}" TO PUBLIC')
    migrated.ask(f'ALTER ROLE bk_app IN DATABASE "{migrated.name}" RESET ALL')
    assert await faults(migrated.url()) == [
        (
            "The role bk_app may create temporary tables: privileges and time limits of the"
            " database are missing. Run `beamkeep migrate`."
        )
    ]
    assert await migrate(migrated.url("postgres")) == []
    assert await faults(migrated.url()) == []
    async with logged_in(migrated, "bk_app") as session:
        assert await session.fetchval("SHOW statement_timeout") == "1min"


# What nobody may make.


@pytest.mark.parametrize("role", ROLES)
async def test_no_role_makes_a_table_outside_the_lists(migrated: Database, role: str):
    async with logged_in(migrated, role) as session:
        await session.execute("SET default_transaction_read_only = off")
        for made in ("TEMP TABLE t ()", "TABLE public.t ()", "TABLE bk.t ()"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await session.execute(f"CREATE {made}")


# The route.

DISTANT = "sslmode=verify-full&sslrootcert=FILE"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://bk_app@127.0.0.1:5432/beamkeep",
        "postgresql://bk_app:secret@127.8.8.8/beamkeep",
        "postgres://bk_app@localhost/beamkeep",
        "postgresql://bk_app@[::1]:5432/beamkeep",
        "postgresql:///beamkeep",
        "postgresql:///beamkeep?host=/run/postgresql",
        "postgresql://%2Frun%2Fpostgresql/beamkeep",
        "postgresql://bk_app@db1.facility.example/beamkeep?sslmode=verify-full",
        "postgresql://bk_app@10.0.0.5,10.0.0.6:5433/beamkeep?sslmode=verify-full&sslrootcert=/ca",
    ],
)
def test_a_database_on_this_host_or_behind_a_checked_certificate_is_asked(address: str):
    assert private_route(address) == address


@pytest.mark.parametrize("mode", ["", "disable", "allow", "prefer", "require", "verify-ca"])
@pytest.mark.parametrize(
    "address",
    [
        "postgresql://bk_app@db1.facility.example/beamkeep?",
        "postgresql://bk_app@10.0.0.5:5432/beamkeep?",
        "postgresql://bk_app@[fe80::1]/beamkeep?",
        "postgresql://bk_app@127.0.0.1,db2.facility.example/beamkeep?",
        "postgresql:///beamkeep?host=db1.facility.example&",
        "postgresql://bk_app@localhost.facility.example/beamkeep?",
        "postgresql://0.0.0.0/beamkeep?",
    ],
)
def test_a_database_on_another_host_is_not_asked_without_a_checked_certificate(
    address: str, mode: str
):
    with pytest.raises(ValueError, match="is on another host") as refused:
        private_route(address + (f"sslmode={mode}" if mode else ""))
    assert f"sslmode is {mode or 'prefer'}" in str(refused.value)
    assert DISTANT in str(refused.value)


def test_what_the_environment_adds_to_an_address_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGHOST", "db1.facility.example")
    with pytest.raises(ValueError, match=r"db1\.facility\.example"):
        private_route("postgresql:///beamkeep")
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    private_route("postgresql:///beamkeep")
    with pytest.raises(ValueError, match="sslmode is require"):
        private_route("postgresql:///beamkeep?sslmode=require")
    monkeypatch.setenv("PGSERVICE", "beamkeep")
    with pytest.raises(ValueError, match="The address names a connection service"):
        private_route("postgresql://127.0.0.1/beamkeep")


def signed(
    names: Sequence[x509.GeneralName],
    key: EllipticCurvePrivateKey,
    by: tuple[str, EllipticCurvePrivateKey],
) -> x509.Certificate:
    """A certificate for these names, or of an authority where there are none."""
    now, (issuer, signing) = datetime.now(UTC), by
    subject = "server" if names else issuer
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    else:
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(signing, hashes.SHA256())


def pem(certificate: x509.Certificate, file: Path) -> Path:
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
def encrypted(tmp_path: Path) -> Generator[tuple[Cluster, Path, Path]]:
    """A cluster that takes encrypted connections only, its authority, and another authority."""
    ours, others, own = (generate_private_key(SECP256R1()) for _ in range(3))
    authority = pem(signed([], ours, ("ours", ours)), tmp_path / "ours.pem")
    stranger = pem(signed([], others, ("others", others)), tmp_path / "others.pem")
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    with Cluster.start(listen_addresses="127.0.0.1,127.0.0.2") as cluster:
        pem(signed(names, own, ("ours", ours)), cluster.data / "server.crt")
        key = cluster.data / "server.key"
        key.write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        key.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(key, "postgres", "postgres")
        with (cluster.data / "postgresql.conf").open("a") as settings:
            settings.write("ssl = on\n")
        rules = "local all all trust\nhostssl all all 127.0.0.0/8 trust\n"
        (cluster.data / "pg_hba.conf").write_text(rules)
        cluster.restart()
        asyncio.run(migrate(cluster.create_database("beamkeep")))
        yield cluster, authority, stranger


async def test_the_service_speaks_only_to_the_server_its_authority_vouches_for(
    encrypted: tuple[Cluster, Path, Path],
):
    cluster, authority, stranger = encrypted
    plain = cluster.url("beamkeep", "bk_app", tcp=True)

    async def found(file: Path, host: str = "127.0.0.1") -> str:
        address = plain.replace("127.0.0.1", host)
        checked = f"?sslmode=verify-full&sslrootcert={quote(str(file), safe='')}"
        return " ".join(await faults(private_route(address + checked)))

    assert await found(authority) == ""
    assert await found(authority, "localhost") == ""
    assert "certificate verify failed" in await found(stranger)
    # A certificate of the right authority for another host is that of somebody else.
    assert "not valid for '127.0.0.2'" in await found(authority, "127.0.0.2")
    assert "no pg_hba.conf entry" in " ".join(await faults(plain + "?sslmode=disable"))
