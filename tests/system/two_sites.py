"""Two facilities on this machine, each with its own service, database, keys and logins.

`python -m tests.system.two_sites FOLDER` starts them for a person to try. The folder then has a
file for each facility, with the address of its service and a token.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from tests.support.oidc import AUDIENCE, OidcProvider, oidc_provider
from tests.support.pseudo_terminal import BEAMKEEP

from beamkeep.contexts.federation.signatures import SignaturePrefix, key_fingerprint
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import LocalDeployment, Program, deployment
from beamkeep.testing.signing import key_check, public_key, signed, write_keys
from beamkeep_client.catalogue import catalogue, request_of
from beamkeep_client.synchronous.http import HttpClient

CODES = "north-ring", "lakeside"
EXCHANGE, SEAL = "imaging-exchange", "seal"
FIRST_NUMBER = 2
"""The number of the first pointer of each seal, so that there can be an older one."""
DEADLINE = 120.0
SUBJECT = "console"
"""The client of the identity provider that administers each facility."""


@dataclass
class Site:
    """One facility: its service, and what its administrator knows."""

    code: str
    made: LocalDeployment
    provider: OidcProvider
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """What was registered here, by what it is for."""
    process: Program | None = None
    _token: tuple[str, float] = field(default=("", 0.0), repr=False)

    @property
    def port(self) -> int:
        """The port that the service listens on."""
        return int(self.made.settings["PORT"])

    @property
    def token(self) -> str:
        """A token of the administrator, which is valid for at least half an hour."""
        if time.monotonic() > self._token[1]:
            self._token = self.provider.token(), time.monotonic() + 1800
        return self._token[0]

    @property
    def environment(self) -> dict[str, str]:
        """What the command line needs to call the service."""
        return {"BEAMKEEP_URL": self.made.url, "BEAMKEEP_TOKEN": self.token}

    def start(self) -> None:
        """Start the service, and return when it is ready."""
        self.process = self.made.begin("serve")
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if httpx2.get(f"{self.made.url}/ready", trust_env=False).is_success:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"{self.code} did not start: {self.made.log.read_text()[-4000:]}")

    def kill(self) -> None:
        """End the service without a chance to close anything."""
        if self.process:
            self.process.kill()
            self.process.wait(DEADLINE)

    def stop(self) -> None:
        """End the service in an orderly way."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def do(self, name: str, /, **arguments: Any) -> Any:
        """Call an operation or a question as the administrator, and return its answer."""
        client = HttpClient(self.made.url, self.token)
        try:
            method, path, content = request_of(catalogue()[name], arguments)
            answer = client.request(method, path, **content)
            return answer.json() if answer.content else None
        finally:
            client.close()

    def beamkeep(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the command line as the administrator."""
        return subprocess.run(
            [BEAMKEEP, *words],
            env={**os.environ, **self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def key(self, name: str) -> str:
        """Return the name of a private key of this facility."""
        return f"{self.code}-{name}"

    def register_keys(self) -> None:
        """Register the keys of the own site, and sign the first pointer of its seal."""
        site = self.ids["site"] = self._own_site()
        for name, purpose, audience in (
            ("exchange", "DatasetExchange", EXCHANGE),
            ("online", "SealOnlineSigning", SEAL),
            ("root", "SealOfflineRoot", SEAL),
        ):
            key, told = self.key(name), {"secret_ref": self.key(name)}
            if name == "root":
                told = {"key_check_signature": key_check(key, self.code, audience, purpose)}
            self.ids[name] = self.do(
                "register_credential",
                facility_id=site,
                audience=audience,
                purpose=purpose,
                public_key=public_key(key),
                **told,
            )["credential_id"]
        for name in ("online", "root"):
            anchor = {"facility_id": site, "credential_id": self.ids[name]}
            self.do("add_facility_trust_anchor_credential", **anchor)
        self.do(
            "initialize_seal",
            facility_id=site,
            online_credential_id=self.ids["online"],
            offline_credential_id=self.ids["root"],
        )
        for number in range(1, FIRST_NUMBER + 1):
            self.point(number)

    def point(self, number: int) -> None:
        """Sign a pointer of the own seal."""
        head = f"{number:064x}"
        self.do(
            "sign_seal_pointer",
            facility_id=self.ids["site"],
            head_hash=head,
            sequence_number=number,
        )

    def rotated_seal(self, name: str) -> dict[str, Any]:
        """Replace the online key of the seal, with the signature of the root; return the seal."""
        site, key, purpose = self.ids["site"], self.key(name), "SealOnlineSigning"
        new = self.do(
            "register_credential",
            facility_id=site,
            audience=f"{SEAL}-{name}",
            purpose=purpose,
            public_key=public_key(key),
            secret_ref=key,
        )["credential_id"]
        self.do("add_facility_trust_anchor_credential", facility_id=site, credential_id=new)
        rotation = {
            "facility_code": self.code,
            "previous_key_fingerprint": key_fingerprint(public_key(self.key("online"))),
            "new_key_fingerprint": key_fingerprint(public_key(key)),
            "sequence_number": self.do("get_seal", facility_id=site)["sequence_number"],
        }
        self.do(
            "rotate_seal_online_key",
            facility_id=site,
            new_online_credential_id=new,
            signed_by_offline_root=True,
            offline_root_signature=signed(
                self.key("root"), SignaturePrefix.SEAL_ROTATION, rotation
            ),
        )
        return self.do("get_seal", facility_id=site)

    def meet(self, peer: "Site", card: Path) -> None:
        """Take the card of a peer, and open both directions of an exchange with it."""
        answer = peer.beamkeep("federation", "card")
        assert answer.returncode == 0, answer.stderr
        card.write_text(answer.stdout)
        added = self.beamkeep("federation", "add-peer", str(card), "--yes")
        assert added.returncode == 0, added.stderr
        self.ids["peer"] = self._listed("list_facilities", code=peer.code)["facility_id"]
        theirs = self._listed(
            "list_credentials", facility_id=self.ids["peer"], purpose="DatasetExchange"
        )
        self.ids["theirs"] = theirs["credential_id"]
        for direction, key in (("Outbound", "exchange"), ("Inbound", "theirs")):
            self.ids[direction] = self.do(
                "define_permit",
                direction=direction,
                peer_facility_id=self.ids["peer"],
                audience=EXCHANGE,
                purpose="DatasetExchange",
                allowed_credential_ids=[self.ids[key]],
                expires_at=(datetime.now(UTC) + timedelta(days=30)).isoformat(),
            )["permit_id"]
            self.do("activate_permit", permit_id=self.ids[direction])

    def dataset(self, number: int) -> str:
        """Register a dataset, and return its id."""
        return self.do("register_dataset", **self.dataset_body(number))["dataset_id"]

    def dataset_body(self, number: int) -> dict[str, Any]:
        """Return a dataset to be registered."""
        return {
            "name": f"Scan {number}",
            "checksum": {"algorithm": "sha256", "value": f"{number:064x}"},
            "byte_size": 4096,
            "encoding": {"media_type": "application/x-hdf5"},
        }

    def _own_site(self) -> str:
        return self._listed("list_facilities", code=self.code)["facility_id"]

    def _listed(self, name: str, **filters: str) -> dict[str, Any]:
        """Return the one object that a list has, once the list has it."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if found := self.do(name, **filters)["items"]:
                return found[0]
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not show {filters}")


@contextmanager
def site(code: str, **settings: str) -> Generator[Site]:
    """Provide one facility whose service runs, with the keys of its own site."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster.start())
        provider = stack.enter_context(oidc_provider())
        folder = Path(stack.enter_context(TemporaryDirectory()))
        names = [f"{code}-{name}" for name in ("exchange", "exchange-2", "online", "online-2")]
        identities = {
            "kind": "jwt",
            "issuer": provider.issuer,
            "audiences": [AUDIENCE],
            "jwks_uri": f"{provider.issuer}/jwks",
        }
        own = {
            "self_facility_code": code,
            "signing_key_directory": str(write_keys(folder / "keys", names)),
            "identity_providers": json.dumps([identities]),
            "bootstrap_admin_issuer": provider.issuer,
            "bootstrap_admin_subject": SUBJECT,
        }
        made = stack.enter_context(deployment(cluster, True, None, **own | settings))
        found = Site(code, made, provider)
        stack.callback(found.stop)
        found.start()
        found.register_keys()
        yield found


@contextmanager
def two_sites(**settings: str) -> Generator[tuple[Site, Site]]:
    """Provide two facilities that do not know each other yet."""
    made = [site(code, **settings) for code in CODES]
    with ExitStack() as stack, ThreadPoolExecutor() as threads:
        starting = [threads.submit(each.__enter__) for each in made]
        for each, start in zip(made, starting, strict=True):
            if not start.exception():
                stack.push(each)
        north, lake = (start.result() for start in starting)
        yield north, lake


@contextmanager
def partners(folder: Path, **settings: str) -> Generator[tuple[Site, Site]]:
    """Provide two facilities that have exchanged their cards and opened both directions."""
    with two_sites(**settings) as (north, lake):
        north.meet(lake, folder / "lakeside.json")
        lake.meet(north, folder / "north-ring.json")
        yield north, lake


def main() -> None:
    """Start two facilities, and write how to reach them, until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Start two facilities to try an exchange with.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), two_sites() as sites:
        for each in sites:
            each.dataset(1)
            file = folder / f"{each.code}.env"
            file.touch(mode=0o600)
            lines = [f"export {n}={shlex.quote(v)}" for n, v in each.environment.items()]
            file.write_text("\n".join([*lines, ""]))
            print(f"{each.code}: {each.made.url}")
        print("ready; Ctrl-C ends both", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
