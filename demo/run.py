"""A running service to try: a beamline in the middle of its day, and a real token."""

import argparse
import asyncio
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm

from beamkeep.testing.cluster import Cluster
from demo import agent
from demo.acting import ADMINISTRATOR, Day, Steps
from demo.control_system import ControlSystem, control_system
from demo.data import ingested
from demo.day import UNTIL_RUN_1, near, setpoint, yesterday

ROOT = Path(__file__).parents[1]
ISSUER, KEY_ID = "https://idp.demo.invalid", "demo"
TOKEN_SECONDS = 12 * 3600
DEADLINE = 120.0
CALLS = (
    'curl -s -H "Authorization: Bearer $BEAMKEEP_TOKEN" "$BEAMKEEP_URL/runs"',
    ".venv/bin/python demo/mcp_client.py list_runs",
    ".venv/bin/beamkeep run list",
)
STATUS = ".venv/bin/beamkeep status"
PARKING: Steps = (
    setpoint("TOMO:SHUTTER", "Closed"),
    setpoint("TOMO:CAM:X", 120.0),
    {"kind": "action", "name": "pause", "params": {"duration": 1}},
    {"kind": "check", "address": "TOMO:CAM:X_RBV", "criterion": near(120.0, 0.1)},
)
BREAK = " \\\n    "
CONDUCT = f".venv/bin/beamkeep procedure conduct-or-hold --follow{BREAK}--procedure-id {{}}"
CONTINUE = (
    ".venv/bin/beamkeep procedure conduct-from --from-step-index 1 --follow"
    f"{BREAK}--procedure-id {{}}"
)
"""Moves the camera again, which the stiff stage needs, and checks again."""
PROPOSALS = ".venv/bin/beamkeep proposal list --open"
APPROVE = ".venv/bin/beamkeep proposal approve --proposal-id {}"


class DemoError(Exception):
    """The example did not come up."""


@dataclass(frozen=True)
class Demo:
    """A service that answers, and the administrator's way in."""

    url: str
    key: RSAPrivateKey
    folder: Path
    control: ControlSystem

    @cached_property
    def token(self) -> str:
        """The administrator's."""
        return self.token_of(ADMINISTRATOR)

    def token_of(self, subject: str) -> str:
        """An access token of the profile RFC 9068, as an identity provider would issue it."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "sub": subject,
            "aud": self.url,
            "client_id": "demo",
            "jti": str(uuid4()),
            "iat": now,
            "exp": now + TOKEN_SECONDS,
        }
        headers = {"kid": KEY_ID, "typ": "at+jwt"}
        return jwt.encode(claims, self.key, algorithm="RS256", headers=headers)

    @property
    def environment(self) -> dict[str, str]:
        """What the three calls need."""
        return {"BEAMKEEP_URL": self.url, "BEAMKEEP_TOKEN": self.token}


@contextmanager
def running(folder: Path) -> Generator[Demo]:
    """A service on a throwaway database, stopped and removed afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    key = generate_private_key(public_exponent=65537, key_size=2048)
    jwks = _private(folder / "jwks.json", json.dumps({"keys": [_public(key)]}))
    with control_system(folder) as control, Cluster.start() as cluster:
        demo = Demo(url=url, key=key, folder=folder, control=control)
        _private(folder / "token", demo.token)
        exports = [f"export {name}={shlex.quote(v)}\n" for name, v in demo.environment.items()]
        _private(folder / "env", "".join(exports))
        cluster.create_database("beamkeep")
        environment = {
            **os.environ,
            **control.environment,
            **agent.SETTINGS,
            "DATABASE_URL": cluster.url("beamkeep", "bk_app"),
            "PROJECTOR_DATABASE_URL": cluster.url("beamkeep", "bk_projector"),
            "MIGRATION_DATABASE_URL": cluster.url("beamkeep"),
            "PORT": str(port),
            "BASE_URL": url,
            "IDENTITY_PROVIDERS": json.dumps([_provider(jwks, audience=url)]),
            "BOOTSTRAP_ADMIN_ISSUER": ISSUER,
            "BOOTSTRAP_ADMIN_SUBJECT": ADMINISTRATOR,
            "BOOTSTRAP_ADMIN_NAME": "Ada",
            "REQUIRE_RUN_CLEARANCE": "true",
            # No monitor goes on reporting once the day has been told.
            "ENCLOSURE_STALE_AFTER_SECONDS": str(TOKEN_SECONDS),
            "PER_PRINCIPAL_RATE": "1000",
            "PER_PRINCIPAL_BURST": "1000",
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


class Seeded(NamedTuple):
    """The ids of what the example shows."""

    run_id: str
    procedure_id: str
    """A procedure to conduct."""
    proposal_id: str
    """A proposal of an agent, which somebody may approve."""


def seed(demo: Demo) -> Seeded:
    """Fill in a beamline and its day until its first run goes on after a loss of beam."""
    beamkeep = [sys.executable, "-m", "beamkeep", "import", "yaml", "demo/beamline.yaml", "--apply"]
    environment = {**os.environ, **demo.environment}
    subprocess.run(beamkeep, cwd=ROOT, env=environment, check=True, capture_output=True)
    return asyncio.run(_lived(demo))


async def _lived(demo: Demo) -> Seeded:
    async with httpx2.AsyncClient(base_url=demo.url, timeout=DEADLINE) as http:
        control = demo.control
        day = Day(http, cache(demo.token_of), ISSUER, control.ioc.put, data=control.data)
        await yesterday(day)
        for step in UNTIL_RUN_1:
            await step.act(day)
        await ingested(day)
        await agent.let_in(day)
        proposal_id = await agent.waiting(day)
        # The lists are read only once they show what was just written.
        await day.listed("list_runs")
        await day.listed("list_proposals")
        parking = {
            "name": "Park the first camera",
            "kind": "camera_parking",
            "target_asset_ids": [day.ids["detector.camera"]],
            "recipe": {"recipe_id": await day.recipe("camera_parking", PARKING)},
        }
        procedure_id = await day.made("register_procedure", parking)
    return Seeded(day.ids["run 1"], procedure_id, proposal_id)


def call(demo: Demo, line: str, shown: bool = False) -> subprocess.CompletedProcess[str]:
    """Run one line as it is printed."""
    return subprocess.run(
        line.replace(".venv/bin", str(Path(sys.executable).parent)),
        shell=True,
        cwd=ROOT,
        env={**os.environ, **demo.environment},
        capture_output=not shown,
        text=True,
        check=False,
    )


def check(demo: Demo, seeded: Seeded) -> None:
    """Run every line as it is printed, and require what each shows."""
    run_id, procedure_id, proposal_id = seeded
    conduct, go_on = CONDUCT.format(procedure_id), CONTINUE.format(procedure_id)
    shows = [
        (conduct, False, ["Held", "3 of 4 steps are finished"]),
        (STATUS, True, ["Tomography", "Running"]),
        *((each, True, [run_id, "Running"]) for each in CALLS),
        (go_on, True, ["Completed", "4 of 4 steps are finished"]),
        (PROPOSALS, True, [proposal_id, "adjust_run"]),
        (APPROVE.format(proposal_id), True, [proposal_id]),
    ]
    for line, succeeds, words in shows:
        answer = call(demo, line)
        shown = all(each in answer.stdout for each in words)
        if not shown or succeeds != (answer.returncode == 0):
            raise DemoError(f"{line}\n{answer.stdout}{answer.stderr}")
        print(f"works: {line.replace(BREAK, ' ')}")


def main() -> None:
    """Run the example until told to stop, or try it and stop."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="run every printed line and stop")
    options.add_argument("--folder", type=Path, default=ROOT / ".demo", help="where the token goes")
    chosen = options.parse_args()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with running(chosen.folder) as demo:
            seeded = seed(demo)
            _, procedure_id, proposal_id = seeded
            if chosen.check:
                check(demo, seeded)
                return
            shown = chosen.folder.resolve()
            relative = shown.relative_to(ROOT) if shown.is_relative_to(ROOT) else shown
            print(f"\nBeamkeep answers at {demo.url}.")
            print(f"Its reference is at {demo.url}/docs.\n")
            print("A conductor parks a camera through the soft IOC of this demo:\n")
            print(f"  {CONDUCT.format(procedure_id)}\n", flush=True)
            call(demo, CONDUCT.format(procedure_id), shown=True)
            print("\nThe stage is stiff: it stopped short, and the procedure is Held.")
            print("In another terminal, in this folder, move the camera again and go on:\n")
            print(f"  . {relative}/env")
            print(f"  {CONTINUE.format(procedure_id)}\n")
            print("See how the beamline stands:\n")
            print(f"  {STATUS}\n")
            print("List the runs over REST, MCP and the command line:\n")
            print("\n".join(f"  {line}" for line in CALLS))
            print("\nAn agent proposes a longer exposure, and waits for your approval:\n")
            print(f"  {PROPOSALS}\n  {APPROVE.format(proposal_id)}")
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
