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
from collections.abc import Generator, Mapping
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

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust.seeded import ENTRY
from beamkeep.testing.cluster import Cluster
from demo import agent
from demo.acting import (
    ADMINISTRATOR,
    AUTHOR,
    NAMES,
    NEXT_VISITOR,
    OFFICER,
    OPERATOR,
    STEWARD,
    VISITOR,
    Day,
    Steps,
)
from demo.control_system import ControlSystem, control_system
from demo.data import ingested
from demo.day import UNTIL_RUN_1, near, setpoint, yesterday
from demo.login import CLIENT, Provider, provider

ROOT = Path(__file__).parents[1]
KEY_ID = "demo"
TOKEN_SECONDS = 12 * 3600
DEADLINE = 300.0
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
PEOPLE = {
    OPERATOR: "operates the beamline",
    OFFICER: "reviews safety clearances",
    AUTHOR: "writes safety clearances",
    STEWARD: "keeps the data",
    ADMINISTRATOR: "administers Beamkeep",
}
"""Who can sign in to the console."""


class DemoError(Exception):
    """The example did not come up."""


class Service:
    """The process of the service, which can be killed and started again."""

    def __init__(self, environment: Mapping[str, str], url: str, log: Path) -> None:
        self.log = log
        self._environment, self._url = environment, url
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **settings: str) -> None:
        """Start it, with these settings instead of its own, and return once it is ready."""
        command = [sys.executable, "-m", "beamkeep", "serve"]
        environment = {**self._environment, **settings}
        with self.log.open("ab") as lines:
            self._process = subprocess.Popen(command, env=environment, stderr=lines)
        _wait_until_ready(self._process, self._url, self.log)

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._process:
            self._process.kill()
            self._process.wait(DEADLINE)

    def stop(self) -> None:
        """End it in an orderly way."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.kill()
                raise


@dataclass(frozen=True)
class SignIn:
    """An identity provider at which people sign in to the web console."""

    issuer: str
    client_id: str


@dataclass(frozen=True)
class Demo:
    """A service that answers, and the administrator's way in."""

    url: str
    issuer: str
    key: RSAPrivateKey
    folder: Path
    control: ControlSystem
    service: Service

    @cached_property
    def token(self) -> str:
        """The administrator's."""
        return self.token_of(ADMINISTRATOR)

    def token_of(self, subject: str) -> str:
        """An access token of the profile RFC 9068, as an identity provider would issue it."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": subject,
            "aud": self.url,
            "client_id": "demo",
            "jti": str(uuid4()),
            "iat": now,
            "exp": now + TOKEN_SECONDS,
        }
        return self.signed(claims, "at+jwt")

    def signed(self, claims: Mapping[str, Any], kind: str = "JWT") -> str:
        """Return a token of this kind, signed with the key that the service knows."""
        headers = {"kid": KEY_ID, "typ": kind}
        return jwt.encode(dict(claims), self.key, algorithm="RS256", headers=headers)

    @property
    def environment(self) -> dict[str, str]:
        """What the three calls need."""
        return {"BEAMKEEP_URL": self.url, "BEAMKEEP_TOKEN": self.token}


@contextmanager
def running(folder: Path, sign_in: SignIn | None = None) -> Generator[Demo]:
    """A service on a throwaway database, stopped and removed afterwards.

    With `sign_in`, people sign in to its console there; `let_sign_in` says who is who.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port, login = _free_port(), _free_port()
    url, issuer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{login}"
    key = generate_private_key(public_exponent=65537, key_size=2048)
    jwks = _private(folder / "jwks.json", json.dumps({"keys": [_public(key)]}))
    providers = [_provider(issuer, url, jwks_file=str(jwks.resolve()))]
    if sign_in:
        # People sign in at the first provider.
        providers.insert(0, _provider(sign_in.issuer, url, jwks_uri=f"{sign_in.issuer}/jwks"))
    with control_system(folder) as control, Cluster.start() as cluster:
        cluster.create_database("beamkeep")
        environment = {
            **os.environ,
            **control.environment,
            **agent.SETTINGS,
            "DATABASE_URL": cluster.url("beamkeep", "bk_app"),
            "PROJECTOR_DATABASE_URL": cluster.url("beamkeep", "bk_projector"),
            "MIGRATION_DATABASE_URL": cluster.url("beamkeep"),
            "PORT": str(port),
            "METRICS_PORT": str(port),
            "BASE_URL": url,
            "IDENTITY_PROVIDERS": json.dumps(providers),
            "CONSOLE_CLIENT_ID": sign_in.client_id if sign_in else CLIENT,
            "BOOTSTRAP_ADMIN_ISSUER": issuer,
            "BOOTSTRAP_ADMIN_SUBJECT": ADMINISTRATOR,
            "BOOTSTRAP_ADMIN_NAME": "Ada",
            "REQUIRE_RUN_CLEARANCE": "true",
            # No monitor reports after the end of the day.
            "ENCLOSURE_STALE_AFTER_SECONDS": str(TOKEN_SECONDS),
            "PER_PRINCIPAL_RATE": "1000",
            "PER_PRINCIPAL_BURST": "1000",
        }
        migrate = [sys.executable, "-m", "beamkeep", "migrate"]
        subprocess.run(migrate, env=environment, check=True, stdout=sys.stderr)
        service = Service(environment, url, folder / "service.log")
        service.log.write_bytes(b"")
        demo = Demo(
            url=url, issuer=issuer, key=key, folder=folder, control=control, service=service
        )
        _private(folder / "token", demo.token)
        exports = [f"export {name}={shlex.quote(v)}\n" for name, v in demo.environment.items()]
        _private(folder / "env", "".join(exports))
        people = Provider(
            issuer,
            PEOPLE,
            access_token=demo.token_of,
            id_token=demo.signed,
        )
        try:
            service.start()
            with provider(login, people):
                yield demo
        finally:
            service.stop()


class Seeded(NamedTuple):
    """The ids of what the example shows."""

    run_id: str
    procedure_id: str
    """A procedure to conduct."""
    proposal_id: str
    """A proposal of an agent, which somebody may approve."""


def seed(demo: Demo) -> Seeded:
    """Fill in a beamline and its day until its first run continues after a loss of beam."""
    return asyncio.run(_seeded(demo))


async def _seeded(demo: Demo) -> Seeded:
    async with httpx2.AsyncClient(base_url=demo.url, timeout=DEADLINE) as http:
        return await lived(day_of(demo, http), demo)


def day_of(demo: Demo, http: httpx2.AsyncClient) -> Day:
    """Return the day at this service, of which nothing has happened yet."""
    control = demo.control
    return Day(http, cache(demo.token_of), demo.issuer, control.ioc.put, data=control.data)


async def lived(day: Day, demo: Demo) -> Seeded:
    """Import the beamline, and let the day happen until its first run continues."""
    command = [sys.executable, "-m", "beamkeep", "import", "yaml", "demo/beamline.yaml", "--apply"]
    environment = {**os.environ, **demo.environment}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    await yesterday(day)
    for step in UNTIL_RUN_1:
        await step.act(day)
    await ingested(day)
    await let_read(day)
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


async def let_read(day: Day) -> None:
    """Let everybody with a name read whatever the console shows."""
    visitors = {VISITOR, NEXT_VISITOR}
    for surface_id, readers in (
        (day.rest.surface_id, NAMES.keys() - visitors),
        (day.ids["console"], visitors),
    ):
        policy = {
            "name": "Reading in the console",
            "conduit_id": str(ENTRY),
            "surface_id": surface_id,
            "permitted_principal_ids": [day.ids[each] for each in sorted(readers)],
            "permitted_commands": sorted(each.name for each in CATALOGUE.questions),
            "object_scope": "All",
        }
        await day.do("define_policy", policy, as_=ADMINISTRATOR)


async def let_sign_in(day: Day, sign_in: SignIn) -> None:
    """Give everybody with a name a second login."""
    me = await day.do("get_self", {}, as_=ADMINISTRATOR)
    people = {ADMINISTRATOR: me["actor_id"], **{each: day.ids[each] for each in NAMES}}
    for subject, actor_id in people.items():
        login = {"actor_id": actor_id, "issuer": sign_in.issuer, "subject": subject}
        await day.do("bind_actor_identity", login, as_=ADMINISTRATOR)


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
    conduct, resume = CONDUCT.format(procedure_id), CONTINUE.format(procedure_id)
    shows = [
        (conduct, False, ["Held", "3 of 4 steps are finished"]),
        (STATUS, True, ["Tomography", "Running"]),
        *((each, True, [run_id, "Running"]) for each in CALLS),
        (resume, True, ["Completed", "4 of 4 steps are finished"]),
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
    """Run the example until asked to stop, or try it and stop."""
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
            print(f"\nOpen the Board of the beamline in a browser: {demo.url}/console/")
            print(f"The reference of all operations is at {demo.url}/docs.\n")
            print("A conductor parks a camera through the soft IOC of this demo:\n")
            print(f"  {CONDUCT.format(procedure_id)}\n", flush=True)
            call(demo, CONDUCT.format(procedure_id), shown=True)
            print("\nThe stage is stiff: it stopped short, and the procedure is Held.")
            print("In another terminal, in this folder, move the camera again and continue:\n")
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


def _provider(issuer: str, audience: str, **keys: str) -> dict[str, Any]:
    return {"kind": "jwt", "issuer": issuer, "audiences": [audience], **keys}


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
