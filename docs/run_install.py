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
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
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


def play(folder: Path) -> Path:
    """The programs that change a host, each as a script that does what this run needs of it."""
    folder.mkdir()
    for name, does in PLAYED.items():
        (folder / name).write_text(f"#!/bin/bash\n{does}\n")
        (folder / name).chmod(0o755)
    return folder


def key_set() -> str:
    """The key set of an identity provider."""
    public = generate_private_key(public_exponent=65537, key_size=2048).public_key()
    key = RSAAlgorithm.to_jwk(public, as_dict=True)
    return json.dumps({"keys": [{**key, "kid": "k", "use": "sig", "alg": "RS256"}]})


@contextmanager
def unit(text: str, environment: Path, log: Path) -> Generator[None]:
    """What a unit starts, with its environment, until it is told to stop."""
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
    deadline, told = time.monotonic() + DEADLINE, "nothing"
    while time.monotonic() < deadline:
        try:
            told = httpx2.get(f"{url}/ready").text
        except httpx2.TransportError as error:
            told = str(error)
        if told == "ready":
            return
        time.sleep(0.2)
    raise ReadmeError(f"/ready answers {told}:\n{log.read_text()}")


def follow(folder: Path, cluster: Cluster) -> None:
    """Do what the page says."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    here = {
        "/opt/beamkeep": str(folder / "opt"),
        "/etc/": f"{folder}/etc/",
        "/run/postgresql": str(cluster.sockets),
        "5433": str(cluster.port),
        "python3.12": getattr(sys, "_base_executable", sys.executable),
        "…@": f"{PASSWORD.replace(' ', '%20')}@",
    }

    def placed(text: str) -> str:
        for there, instead in here.items():
            text = text.replace(there, instead)
        return text

    page, project = PAGE.read_text(), folder / "project"
    (folder / "etc" / "systemd" / "system").mkdir(parents=True)
    (folder / "etc" / "beamkeep").mkdir()
    (folder / "etc" / "beamkeep" / "jwks.json").write_text(key_set())
    shown = files(page)
    for name, text in shown.items():
        more = f"PORT={port}\n" if name.endswith("env") else ""
        Path(placed(name)).write_text(placed(text) + more)
    environment = Path(placed("/etc/beamkeep/env"))
    clean_copy(project)
    os.environ["PATH"] = f"{play(folder / 'bin')}:{os.environ['PATH']}"
    os.environ["PGHOST"] = str(cluster.sockets)
    shell = Shell(project)
    try:
        for command, answer in steps(page):
            print(f"$ {command}", flush=True)
            if command.startswith("systemctl daemon-reload"):
                break
            typed = f"printf '%s\\n' {PASSWORDS} | " if r"\password" in command else ""
            require(command, shell.run(typed + placed(command)), answer)
        service = shown["/etc/systemd/system/beamkeep.service"]
        work = placed(service).replace("beamkeep serve", "beamkeep work")
        with (
            unit(work, environment, folder / "work.log"),
            unit(placed(service), environment, folder / "serve.log"),
        ):
            wait_until_ready(f"http://127.0.0.1:{port}", folder / "serve.log")
            *_, (command, answer) = steps(page)
            print(f"$ {command}", flush=True)
            require(command, shell.run(placed(command)), answer)
    finally:
        shell.close()


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
