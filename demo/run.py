"""A running service to try: a beamline, a visit, and an administrator with a real token."""

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm
from tests.support.cluster import Cluster

from beamkeep.contexts.trust import seeded
from beamkeep.kernel import SurfaceKind

ROOT = Path(__file__).parents[1]
ISSUER, SUBJECT, KEY_ID = "https://idp.demo.invalid", "ada", "demo"
TOKEN_SECONDS = 12 * 3600
DEADLINE = 120.0
CALLS = (
    'curl -s -H "Authorization: Bearer $BEAMKEEP_TOKEN" "$BEAMKEEP_URL/visits"',
    ".venv/bin/python demo/mcp_client.py list_visits",
    ".venv/bin/beamkeep list-visits",
)


class DemoError(Exception):
    """The example did not come up."""


@dataclass(frozen=True)
class Demo:
    """A service that answers, and the administrator's way in."""

    url: str
    token: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """What the three calls need."""
        return {"BEAMKEEP_URL": self.url, "BEAMKEEP_TOKEN": self.token}

    def do(self, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response:
        """Make one call as the administrator, which must succeed."""
        method = "GET" if body is None else "POST"
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx2.request(method, self.url + path, json=body, headers=headers)
        if not answer.is_success:
            raise DemoError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer


@contextmanager
def running(folder: Path) -> Generator[Demo]:
    """A service on a throwaway database, stopped and removed afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    key = generate_private_key(public_exponent=65537, key_size=2048)
    jwks = _private(folder / "jwks.json", json.dumps({"keys": [_public(key)]}))
    token = _token(key, audience=url)
    demo = Demo(url, token, folder)
    _private(folder / "token", token)
    exports = [f"export {name}={shlex.quote(v)}\n" for name, v in demo.environment.items()]
    _private(folder / "env", "".join(exports))
    with Cluster.start() as cluster:
        cluster.create_database("beamkeep")
        environment = {
            **os.environ,
            "DATABASE_URL": cluster.url("beamkeep", "bk_app"),
            "PROJECTOR_DATABASE_URL": cluster.url("beamkeep", "bk_projector"),
            "MIGRATION_DATABASE_URL": cluster.url("beamkeep"),
            "PORT": str(port),
            "BASE_URL": url,
            "IDENTITY_PROVIDERS": json.dumps([_provider(jwks, audience=url)]),
            "BOOTSTRAP_ADMIN_ISSUER": ISSUER,
            "BOOTSTRAP_ADMIN_SUBJECT": SUBJECT,
            "BOOTSTRAP_ADMIN_NAME": "Ada",
        }
        beamkeep = [sys.executable, "-m", "beamkeep"]
        subprocess.run([*beamkeep, "migrate"], env=environment, check=True, stdout=sys.stderr)
        log = folder / "service.log"
        with log.open("wb") as lines:
            service = subprocess.Popen([*beamkeep, "serve"], env=environment, stderr=lines)
        try:
            _wait_until_ready(service, url, log)
            yield demo
        finally:
            service.terminate()
            service.wait(DEADLINE)


def seed(demo: Demo) -> str:
    """A beamline, its console, a visitor who may use it, and her visit; answers the visit's id."""
    beamkeep = [sys.executable, "-m", "beamkeep", "import", "yaml", "demo/beamline.yaml", "--apply"]
    environment = {**os.environ, **demo.environment}
    subprocess.run(beamkeep, cwd=ROOT, env=environment, check=True, capture_output=True)
    entry = str(seeded.ENTRY)
    console = {"name": "Tomography console", "kind": SurfaceKind.HTTP, "conduit_id": entry}
    surface_id = demo.do("/surfaces", console).json()["surface_id"]
    actor_id = demo.do("/actors", {"name": "Grace"}).json()["actor_id"]
    policy = {
        "name": "Tomography visitors",
        "conduit_id": entry,
        "surface_id": surface_id,
        "permitted_principal_ids": [actor_id],
        "permitted_commands": ["start_visit", "hold_visit", "resume_visit", "get_visit"],
        "object_scope": "All",
    }
    policy_id = demo.do("/policies", policy).json()["policy_id"]
    visit = {
        "policy_id": policy_id,
        "parent_surface_id": surface_id,
        "type": "user",
        "planned_start_at": "2030-03-04T08:00:00Z",
        "planned_end_at": "2030-03-06T08:00:00Z",
        "external_refs": {"proposal": "2030-117"},
    }
    visit_id: str = demo.do("/visits", visit).json()["visit_id"]
    arrived = demo.do(f"/visits/{visit_id}/record-arrival", {})
    # The list is read only once it shows what was just written.
    demo.do(f"/visits?min_token={arrived.headers['position-token']}")
    return visit_id


def check(demo: Demo, visit_id: str) -> None:
    """Make the three calls as they are printed, and require that each shows the visit."""
    environment = {**os.environ, **demo.environment}
    here = Path(sys.executable).parent
    for call in CALLS:
        command = call.replace(".venv/bin", str(here))
        answer = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode or visit_id not in answer.stdout or "Arrived" not in answer.stdout:
            raise DemoError(f"{call}\n{answer.stdout}{answer.stderr}")
        print(f"works: {call}")


def main() -> None:
    """Run the example until told to stop, or try it and stop."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="make the three calls and stop")
    options.add_argument("--folder", type=Path, default=ROOT / ".demo", help="where the token goes")
    chosen = options.parse_args()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with running(chosen.folder) as demo:
            visit_id = seed(demo)
            if chosen.check:
                check(demo, visit_id)
                return
            shown = chosen.folder.resolve()
            relative = shown.relative_to(ROOT) if shown.is_relative_to(ROOT) else shown
            print(f"\nBeamkeep answers at {demo.url}; its reference is at {demo.url}/docs.\n")
            print("In another terminal, in this folder:\n")
            print(f"  . {relative}/env")
            print("\n".join(f"  {call}" for call in CALLS))
            print("\nReady. Stop with Ctrl-C; nothing is kept.", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        print("\nstopped")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _private(file: Path, text: str) -> Path:
    """Write a file that only its owner reads."""
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(text)
    return file


def _public(key: RSAPrivateKey) -> dict[str, Any]:
    shape = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**shape, "kid": KEY_ID, "use": "sig", "alg": "RS256"}


def _provider(jwks: Path, audience: str) -> dict[str, Any]:
    return {
        "kind": "jwt",
        "issuer": ISSUER,
        "audiences": [audience],
        "jwks_file": str(jwks.resolve()),
    }


def _token(key: RSAPrivateKey, audience: str) -> str:
    """An access token of the profile RFC 9068, as an identity provider would issue it."""
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "sub": SUBJECT,
        "aud": audience,
        "client_id": "demo",
        "jti": str(uuid4()),
        "iat": now,
        "exp": now + TOKEN_SECONDS,
    }
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": KEY_ID, "typ": "at+jwt"})


def _wait_until_ready(service: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline and service.poll() is None:
        try:
            if httpx2.get(f"{url}/ready").is_success:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.05)
    raise DemoError(f"the service did not start:\n{log.read_text()[-4000:]}")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
