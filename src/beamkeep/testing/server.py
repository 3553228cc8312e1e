"""A real service: a process of its own, on a database of its own, with tokens made to order."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import uuid4

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from .cluster import Cluster
from .database import Database
from .tokens import claims, header, jwk, mint

ISSUER, ADMINISTRATOR = "https://idp.test", "ada"
FACILITY_CODE = "synchrotron"
"""The code of the Site that every deployment here is at."""
DEADLINE = 120.0
NUMBERS = count(1)
GENEROUS = {
    "PER_PRINCIPAL_RATE": "1000000",
    "PER_PRINCIPAL_BURST": "1000000",
    "CONCURRENT_PER_PRINCIPAL": "1000",
}


class ServerError(Exception):
    """The service did not do what was asked of it."""


@dataclass(frozen=True)
class LocalDeployment:
    """What a service needs to start: a database, an address, and somebody who vouches for tokens.

    A setting is an environment variable, and nothing else is read: the folder holds no `.env`.
    """

    database: Database
    folder: Path
    url: str
    key: RSAPrivateKey
    settings: Mapping[str, str]

    def token(self, subject: str, ttl: int = 3600) -> str:
        """An access token for a subject, good for so many seconds."""
        now = int(time.time())
        body = claims(iss=ISSUER, sub=subject, aud=self.url, jti=str(uuid4()), iat=now)
        return mint(self.key, header(kid="k"), {**body, "exp": now + ttl})

    @property
    def admin(self) -> str:
        """A token of the administrator."""
        return self.token(ADMINISTRATOR)

    @property
    def log(self) -> Path:
        """What the service writes to standard error."""
        return self.folder / "log"

    def run(self, *arguments: str, **settings: str | None) -> subprocess.CompletedProcess[str]:
        """Run one verb to its end, with some settings changed or, as None, left out."""
        return subprocess.run(
            [sys.executable, "-m", "beamkeep", *arguments],
            cwd=self.folder,
            env=self.environment(**settings),
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE,
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Start serving; it may not answer yet."""
        return self.begin("serve")

    def begin(self, verb: str) -> subprocess.Popen[bytes]:
        """Start a verb that goes on until it is told to stop."""
        with self.log.open("ab") as lines:
            return subprocess.Popen(
                [sys.executable, "-m", "beamkeep", verb],
                cwd=self.folder,
                env=self.environment(),
                stdout=lines,
                stderr=lines,
            )

    def environment(self, **changes: str | None) -> dict[str, str]:
        """What it runs in, with some settings changed or, as None, left out."""
        changed = {name.upper(): value for name, value in changes.items()}
        all_settings = {**_plain_environment(), **self.settings, **changed}
        return {name: value for name, value in all_settings.items() if value is not None}


@dataclass(frozen=True)
class Server(LocalDeployment):
    """A service that runs."""

    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def stop(self) -> int:
        """End it as an operator would, and give back its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE)


@contextmanager
def deployment(cluster: Cluster, migrated: bool, **settings: str) -> Generator[LocalDeployment]:
    """A fresh database and everything a service needs beside it; nothing runs yet."""
    database = Database(cluster, f"served_{next(NUMBERS)}")
    cluster.create_database(database.name)
    key = generate_private_key(public_exponent=65537, key_size=2048)
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        url, jwks = f"http://127.0.0.1:{port}", folder / "jwks.json"
        jwks.write_text(json.dumps({"keys": [jwk(key, "k", use="sig", alg="RS256")]}))
        provider = {"kind": "jwt", "issuer": ISSUER, "audiences": [url], "jwks_file": str(jwks)}
        defaults = {
            "DATABASE_URL": database.url(),
            "PROJECTOR_DATABASE_URL": database.url("bk_projector"),
            "MIGRATION_DATABASE_URL": database.url("postgres"),
            "PORT": str(port),
            "BASE_URL": url,
            "IDENTITY_PROVIDERS": json.dumps([provider]),
            "BOOTSTRAP_ADMIN_ISSUER": ISSUER,
            "BOOTSTRAP_ADMIN_SUBJECT": ADMINISTRATOR,
            "BOOTSTRAP_ADMIN_NAME": "Ada",
            "SELF_FACILITY_CODE": FACILITY_CODE,
            **GENEROUS,
        }
        chosen = defaults | {name.upper(): value for name, value in settings.items()}
        made = LocalDeployment(database, folder, url, key, chosen)
        if migrated and (ran := made.run("migrate")).returncode:
            raise ServerError(ran.stdout + ran.stderr)
        yield made


@contextmanager
def running_server(cluster: Cluster, **settings: str) -> Generator[Server]:
    """A service that answers on a fresh database, and that must end well when it is told to."""
    with deployment(cluster, True, **settings) as made, serving(made) as server:
        yield server


DATABASES: dict[str, Database] = {}
"""The database of everything that has been served here, by its address."""


@contextmanager
def serving(made: LocalDeployment, missing: str = "") -> Generator[Server]:
    """A deployment that answers until it is told to stop; it may say that something is missing."""
    process, DATABASES[made.url] = made.start(), made.database
    server = Server(made.database, made.folder, made.url, made.key, made.settings, process)
    try:
        _wait_until_ready(server, missing)
        yield server
        if code := server.stop():
            raise ServerError(f"it ended with exit code {code}:\n{_end_of(server.log)}")
    finally:
        # Only where something above went wrong.
        if process.poll() is None:
            process.kill()
            process.wait(DEADLINE)


def _wait_until_ready(server: Server, missing: str) -> None:
    deadline = time.monotonic() + DEADLINE
    with httpx2.Client(base_url=server.url) as http:
        while time.monotonic() < deadline and server.process.poll() is None:
            try:
                answer = http.get("/ready")
                if answer.text.startswith(missing) if missing else answer.is_success:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.05)
    raise ServerError(f"it did not start:\n{_end_of(server.log)}")


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-4000:]


def _plain_environment() -> dict[str, str]:
    """What any program needs, and no setting that happens to be set around the tests."""
    needed = ("PATH", "HOME", "LANG", "PYTHONPATH")
    return {name: os.environ[name] for name in needed if name in os.environ}


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
