"""Carry out docs/how-to/install-offline.md as an administrator would, in a temporary folder.

Every command is run as it stands. The folders, the port and the interpreter are those of this
run; what takes a whole host (users, Debian's clusters, systemd) is played by small scripts.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from docs.run_readme import ReadmeError, Shell, clean_copy, require
from jwt.algorithms import RSAAlgorithm

from beamkeep.testing.cluster import Cluster

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "install-offline.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^`(/etc/[^`]+)`[^\n]*:\n\n```(?:sh|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
UPGRADE = "## Upgrade"
PASSWORD = "a secret"  # noqa: S105
PASSWORDS = f"'{PASSWORD}' '{PASSWORD}'"
DEADLINE = 120.0
PLAYED = {
    "sudo": 'shift 2; export PGUSER=postgres; exec "$@"',
    "useradd": "exit 0",
    "pg_createcluster": "exit 0",
    "systemctl": "exit 0",
    "systemd-run": """while [ "${1#-}" != "$1" ]; do
  [ "$1" = -p ] && { shift; set -a; . "${1#EnvironmentFile=}"; set +a; }
  shift
done
exec "$@" """,
}


def steps(page: str) -> Iterator[tuple[str, str]]:
    """Every command, after `$` or as root after `#`, with the answer shown for it."""
    for body in BLOCK.findall(page.partition(UPGRADE)[0]):
        for part in re.split(r"^[$#] ", body, flags=re.MULTILINE)[1:]:
            command, _, answer = part.partition("\n")
            yield command, answer.strip()


def files(page: str) -> dict[str, str]:
    """The files the page shows, by name."""
    return dict(FILE.findall(page))


def play(folder: Path, played: Mapping[str, str]) -> Path:
    """The programs that change a host, each as a script that does what this run needs of it."""
    folder.mkdir()
    for name, does in played.items():
        (folder / name).write_text(f"#!/bin/bash\n{does}\n")
        (folder / name).chmod(0o755)
    return folder


@cache
def provider_key() -> RSAPrivateKey:
    """The key of the identity provider."""
    return generate_private_key(public_exponent=65537, key_size=2048)


def key_set() -> str:
    """The key set of the identity provider."""
    key = RSAAlgorithm.to_jwk(provider_key().public_key(), as_dict=True)
    return json.dumps({"keys": [{**key, "kid": "k", "use": "sig", "alg": "RS256"}]})


@contextmanager
def unit(text: str, environment: Path, log: Path) -> Generator[None]:
    """What a unit starts, with its environment, until it is asked to stop."""
    (command,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    settings = shlex.split(environment.read_text())
    with log.open("wb") as lines:
        process = subprocess.Popen(
            ["env", *settings, *shlex.split(command)], cwd=log.parent, stdout=lines, stderr=lines
        )
    try:
        yield
        if (code := process.poll()) is not None:
            raise ReadmeError(f"{command} ended with {code}:\n{log.read_text()}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE)
    if "Traceback" in log.read_text() or '"level":"error"' in log.read_text():
        raise ReadmeError(f"{command} logged an error:\n{log.read_text()}")


def wait_until_ready(url: str, log: Path) -> None:
    """Ask until the service is ready."""
    deadline, answer = time.monotonic() + DEADLINE, "nothing"
    while time.monotonic() < deadline:
        try:
            answer = httpx2.get(f"{url}/ready").text
        except httpx2.TransportError as error:
            answer = str(error)
        if answer == "ready":
            return
        time.sleep(0.2)
    raise ReadmeError(f"/ready answers {answer}:\n{log.read_text()}")


class Host:
    """A machine with a cluster, on which the service is installed in a folder."""

    def __init__(self, folder: Path, sockets: Path, port: int) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.here = {
            "/opt/beamkeep": str(folder / "opt"),
            "/etc/": f"{folder}/etc/",
            "/var/lib/": f"{folder}/var/lib/",
            "/run/postgresql": str(sockets),
            "5433": str(port),
            "python3.12": getattr(sys, "_base_executable", sys.executable),
            "…@": f"{PASSWORD.replace(' ', '%20')}@",
        }
        """What the page says, and what is meant here."""
        self.played: Mapping[str, str] = PLAYED
        self.environment = Path(self.placed("/etc/beamkeep/env"))
        self.shown = files(PAGE.read_text())

    def placed(self, text: str) -> str:
        """Return what a text of the page means here."""
        for there, instead in self.here.items():
            text = text.replace(there, instead)
        return text

    def furnish(self) -> None:
        """Write the files that the page shows, and make the folders they are in."""
        (self.folder / "etc" / "systemd" / "system").mkdir(parents=True)
        self.environment.parent.mkdir()
        (self.folder / "var" / "lib" / "beamkeep").mkdir(parents=True)
        (self.environment.parent / "jwks.json").write_text(key_set())
        for name, text in self.shown.items():
            Path(self.placed(name)).write_text(self.placed(text))
        with self.environment.open("a") as lines:
            lines.write(f"PORT={self.port}\nMETRICS_PORT={self.port}\n")
        clean_copy(self.folder / "project")

    def install(self, shell: Shell) -> None:
        """Do what the page says, up to the units."""
        for command, answer in steps(PAGE.read_text()):
            print(f"$ {command}", flush=True)
            if command.startswith("systemctl daemon-reload"):
                return
            self.do(shell, command, answer)

    def do(self, shell: Shell, command: str, answer: str = "") -> None:
        """Run a command of the page, and compare its answer."""
        typed = f"printf '%s\\n' {PASSWORDS} | " if r"\password" in command else ""
        require(command, shell.run(typed + self.placed(command)), answer)

    @contextmanager
    def units(self) -> Generator[None]:
        """The service and its worker, as their units start them, until they are asked to stop."""
        service = self.placed(self.shown["/etc/systemd/system/beamkeep.service"])
        work, log = service.replace("beamkeep serve", "beamkeep work"), self.folder / "serve.log"
        with (
            unit(work, self.environment, self.folder / "work.log"),
            unit(service, self.environment, log),
        ):
            wait_until_ready(self.url, log)
            yield


@contextmanager
def playing(host: Host) -> Generator[Shell]:
    """A shell on the host, in which programs that change a whole host are played."""
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{play(host.folder / 'bin', host.played)}:{before}"
    os.environ["PGHOST"] = host.here["/run/postgresql"]
    shell = Shell(host.folder / "project")
    try:
        yield shell
    finally:
        shell.close()
        os.environ["PATH"] = before
        del os.environ["PGHOST"]


def follow(folder: Path, cluster: Cluster) -> None:
    """Do what the page says."""
    host = Host(folder, cluster.sockets, cluster.port)
    host.furnish()
    with playing(host) as shell:
        host.install(shell)
        with host.units():
            *_, (command, answer) = steps(PAGE.read_text())
            print(f"$ {command}", flush=True)
            host.do(shell, command, answer)


def main() -> int:
    """Follow the page on a cluster of its own, and say how long it took."""
    since = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bk-install-") as name, Cluster.start() as cluster:
        hba = cluster.data / "pg_hba.conf"
        hba.write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        cluster.restart()
        try:
            follow(Path(name), cluster)
        except ReadmeError as error:
            print(error, file=sys.stderr)
            return 1
    print(f"install-offline.md does what it says, in {time.monotonic() - since:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
