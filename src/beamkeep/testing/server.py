"""A running service in a process of its own, on a database of its own, with its own tokens."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Literal
from uuid import uuid4

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from beamkeep.adapters.postgres.migrate import STANDING
from beamkeep.parts.witness.keys import make_key
from beamkeep.parts.witness.memory import SIGNER

from .cluster import Cluster
from .data_root import data_root
from .database import Database
from .forking import Forked
from .installation import CONTROL_ROUTE, DOI_PREFIX, FACILITY_CODE, ISSUER, RECEIVER_HOST
from .signing import write_keys
from .tokens import claims, header, jwk, mint

ADMINISTRATOR = "ada"
REGISTRY = {
    "DATACITE_URL": "http://127.0.0.1:9",
    "DATACITE_PREFIX": DOI_PREFIX,
    "DATACITE_REPOSITORY_ID": "LAB.DATA",
    "DATACITE_PASSWORD": "of a test",
}
"""A registry of DOIs at an address where nothing answers."""
DEADLINE = 120.0
NUMBERS = count(1)
TEMPLATE = "served"
"""The database that `migrate` makes once in each cluster, and that others are copies of."""
GENEROUS = {
    "PER_PRINCIPAL_RATE": "1000000",
    "PER_PRINCIPAL_BURST": "1000000",
    "CONCURRENT_PER_PRINCIPAL": "1000",
}


type Program = Forked | subprocess.Popen[bytes]
type Witnessed = Literal["witnessed"] | None
"""Whether a witness follows the log of the service."""


class ServerError(Exception):
    """The service did not start, or did not end well."""


@dataclass(frozen=True)
class LocalDeployment:
    """What a service needs to start: a database, an address, keys for tokens, and settings.

    Settings are environment variables only: the folder has no `.env`.
    """

    database: Database
    folder: Path
    url: str
    key: RSAPrivateKey
    settings: Mapping[str, str]

    def token(self, subject: str, ttl: int = 3600) -> str:
        """Return an access token for a subject, valid for so many seconds."""
        now = int(time.time())
        body = claims(iss=ISSUER, sub=subject, aud=self.url, jti=str(uuid4()), iat=now)
        return mint(self.key, header(kid="k"), {**body, "exp": now + ttl})

    @property
    def admin(self) -> str:
        """Return a token of the administrator."""
        return self.token(ADMINISTRATOR)

    @property
    def log(self) -> Path:
        """Return the file that standard error is written to."""
        return self.folder / "log"

    def run(self, *arguments: str, **settings: str | None) -> subprocess.CompletedProcess[str]:
        """Run one command to its end; a setting of None is left out."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            program = self._program(arguments, self.environment(**settings), out, error)
            try:
                code = program.wait(DEADLINE)
            finally:
                program.kill()
            out.seek(0)
            error.seek(0)
            output = out.read().decode(), error.read().decode()
        return subprocess.CompletedProcess(arguments, code, *output)

    def start(self) -> Program:
        """Start `serve`, which may not answer yet."""
        return self.begin("serve")

    def begin(self, verb: str) -> Program:
        """Start a command that runs until it is stopped."""
        with self.log.open("ab") as log:
            return self._program([verb], self.environment(), log, log)

    def _program(
        self, words: Sequence[str], env: Mapping[str, str], out: IO[bytes], error: IO[bytes]
    ) -> Program:
        if "LD_PRELOAD" not in env:
            words = "beamkeep", *words
            return Forked(words, cwd=self.folder, env=env, stdout=out, stderr=error)
        # What is loaded first is loaded by a new process alone.
        new = [sys.executable, "-m", "beamkeep", *words]
        return subprocess.Popen(new, cwd=self.folder, env=env, stdout=out, stderr=error)

    def environment(self, **changes: str | None) -> dict[str, str]:
        """Return the environment of the process; a setting of None is left out."""
        changed = {name.upper(): value for name, value in changes.items()}
        all_settings = {**_plain_environment(), **self.settings, **changed}
        return {name: value for name, value in all_settings.items() if value is not None}


@dataclass(frozen=True)
class Server(LocalDeployment):
    """A running service."""

    process: Program

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self.process.pid

    def stop(self) -> int:
        """Stop the service with SIGTERM and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE)


def witnessing(database: Database, folder: Path) -> dict[str, str]:
    """Return the settings of a service that signs checkpoints, with a new key."""
    make_key(SIGNER.name, folder / "witness-key")
    return {
        "WITNESS_KEY_FILE": str(folder / "witness-key"),
        "WITNESS_SEND_FILE": str(folder / "checkpoints"),
        "WITNESS_DATABASE_URL": database.url("bk_witness"),
    }


@contextmanager
def deployment(
    cluster: Cluster, migrated: bool, witness: Witnessed = None, /, **settings: str
) -> Generator[LocalDeployment]:
    """Provide a fresh database and everything else a service needs; nothing runs yet."""
    database = Database(cluster, f"served_{next(NUMBERS)}")
    key = generate_private_key(public_exponent=65537, key_size=2048)
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        url, jwks = f"http://127.0.0.1:{port}", folder / "jwks.json"
        jwks.write_text(json.dumps({"keys": [jwk(key, "k", use="sig", alg="RS256")]}))
        provider = {"kind": "jwt", "issuer": ISSUER, "audiences": [url], "jwks_file": str(jwks)}
        secrets = folder / "subscription-key"
        secrets.write_bytes(b64encode(os.urandom(32)))
        secrets.chmod(0o600)
        keys = write_keys(folder / "signing-keys")
        defaults = {
            "DATABASE_URL": database.url(),
            "PROJECTOR_DATABASE_URL": database.url("bk_projector"),
            "MIGRATION_DATABASE_URL": database.url("postgres"),
            "PORT": str(port),
            "METRICS_PORT": str(port),
            "BASE_URL": url,
            "IDENTITY_PROVIDERS": json.dumps([provider]),
            "BOOTSTRAP_ADMIN_ISSUER": ISSUER,
            "BOOTSTRAP_ADMIN_SUBJECT": ADMINISTRATOR,
            "BOOTSTRAP_ADMIN_NAME": "Ada",
            "SELF_FACILITY_CODE": FACILITY_CODE,
            "CONTROL_ROUTES": json.dumps([CONTROL_ROUTE]),
            "CONDUCT_SLOTS": "0",
            "SUBSCRIPTION_HOSTS": json.dumps([RECEIVER_HOST]),
            "SUBSCRIPTION_KEY_FILE": str(secrets),
            "SIGNING_KEY_DIRECTORY": str(keys),
            "DATA_ROOTS": json.dumps([str(data_root())]),
            **REGISTRY,
            **GENEROUS,
        }
        if witness:
            defaults |= witnessing(database, folder)
        chosen = defaults | {name.upper(): value for name, value in settings.items()}
        made = LocalDeployment(database=database, folder=folder, url=url, key=key, settings=chosen)
        if migrated and TEMPLATE not in cluster.databases():
            ran = made.run("migrate", migration_database_url=cluster.create_database(TEMPLATE))
            if ran.returncode:
                raise ServerError(ran.stdout + ran.stderr)
        cluster.create_database(database.name, TEMPLATE if migrated else None)
        if migrated:
            # What `migrate` gives a database, and a copy of it lacks.
            database.ask(STANDING.read_text())
        yield made


@contextmanager
def running_server(
    cluster: Cluster, witness: Witnessed = None, /, **settings: str
) -> Generator[Server]:
    """Provide a service that answers on a fresh database; raise if it does not end well."""
    with deployment(cluster, True, witness, **settings) as made, serving(made) as server:
        yield server


DATABASES: dict[str, Database] = {}
"""The databases of the services started here, by the address of the service."""


@contextmanager
def serving(made: LocalDeployment, missing: str = "") -> Generator[Server]:
    """Run a deployment until it is ready, or until `/ready` begins with what is missing."""
    process, DATABASES[made.url] = made.start(), made.database
    server = Server(
        database=made.database,
        folder=made.folder,
        url=made.url,
        key=made.key,
        settings=made.settings,
        process=process,
    )
    try:
        _wait_until_ready(server, missing)
        yield server
        if code := server.stop():
            raise ServerError(f"it ended with exit code {code}:\n{_end_of(server.log)}")
    finally:
        # Only after an error above.
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
    """Return what any program needs, without settings from the environment of the tests."""
    needed = ("PATH", "HOME", "LANG", "PYTHONPATH")
    return {name: os.environ[name] for name in needed if name in os.environ}


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
