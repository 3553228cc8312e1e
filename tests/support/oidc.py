"""A real identity provider on loopback, started for a test and stopped with it."""

import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx2

FOLDER = Path(__file__).parents[1] / "oidc"
AUDIENCE = "https://beamkeep.test"
KEYCLOAK_AUDIENCE = "https://keycloak.beamkeep.test"
"""The resource whose tokens are like those of Keycloak: type JWT, and `azp` for the client."""
OPAQUE_AUDIENCE = "https://opaque.beamkeep.test"
SECRETS = {"console": "console-secret", "beam keep": "s3cret:+ %"}
"""The clients, as `provider.mjs` knows them; `beam keep` may introspect."""

# Credentials are form-encoded before they are joined (RFC 6749 2.3.1); these need no encoding.
_AUTH = httpx2.BasicAuth("console", SECRETS["console"])


class OidcProvider:
    """A running identity provider."""

    def __init__(self, issuer: str, program: subprocess.Popen[str]) -> None:
        self.issuer = issuer
        self._program = program

    def token(self, resource: str = AUDIENCE) -> str:
        """A new access token of the client `console` for one resource."""
        form = {"grant_type": "client_credentials", "resource": resource}
        return str(self._post("/token", form).json()["access_token"])

    def approve(self, address: str) -> str:
        """Approve a login by its code as a person in a browser does; return the last page."""
        with httpx2.Client(trust_env=False, follow_redirects=True) as browser:
            page = browser.get(address)
            for _ in range(3):
                fields = dict(re.findall(r'name="(\w+)"[^>]*value="([^"]*)"', page.text))
                (action,) = re.findall(r'action="([^"]*)"', page.text) or [""]
                if not fields or not action:
                    break
                page = browser.post(action, data={**fields, "confirm": "yes"})
        return page.text

    def revoke(self, token: str) -> None:
        """Make an opaque token worthless."""
        self._post("/token/revocation", {"token": token})

    def stop(self) -> None:
        """End the provider's process, if it still runs."""
        self._program.terminate()
        self._program.wait()

    def _post(self, path: str, form: dict[str, str]) -> httpx2.Response:
        with httpx2.Client(trust_env=False) as http:
            return http.post(self.issuer + path, data=form, auth=_AUTH).raise_for_status()


@contextmanager
def oidc_provider() -> Generator[OidcProvider]:
    """Start a provider on a free port, installing it first where it is not yet installed."""
    with _running("provider.mjs") as (issuer, program):
        yield OidcProvider(issuer, program)


class PeopleProvider:
    """A running identity provider at which people sign in with a browser, by their login alone."""

    client_id = "beamkeep-console"

    def __init__(self, issuer: str, program: subprocess.Popen[str]) -> None:
        self.issuer = issuer
        self._program = program

    def lifetime(self, seconds: int) -> None:
        """Let access tokens that are issued from now on live this long."""
        self._tell(f"lifetime {seconds}")

    @contextmanager
    def away(self) -> Generator[None]:
        """Let nobody reach the provider for a while."""
        self._tell("leave")
        try:
            yield
        finally:
            self._tell("return")

    def _tell(self, line: str) -> None:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(f"{line}\n")
        self._program.stdin.flush()
        while (said := self._program.stdout.readline()) != f"did {line}\n":
            assert said, "the identity provider has ended"


@contextmanager
def people_provider() -> Generator[PeopleProvider]:
    """Start a provider for people on a free port, installing it first if necessary."""
    with _running("people.mjs") as (issuer, program):
        yield PeopleProvider(issuer, program)


@contextmanager
def _running(script: str) -> Generator[tuple[str, subprocess.Popen[str]]]:
    if not (FOLDER / "node_modules" / ".package-lock.json").exists():
        subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=FOLDER,
            check=True,
            capture_output=True,
        )
    with subprocess.Popen(
        ["node", script, "0"],
        cwd=FOLDER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        try:
            assert program.stdout is not None
            yield _issuer_once_ready(program.stdout), program
        finally:
            program.terminate()


def _issuer_once_ready(output: IO[str]) -> str:
    said: list[str] = []
    for line in output:
        word, _, issuer = line.strip().partition(" ")
        if word == "ready":
            return issuer
        said.append(line)
    raise RuntimeError("the identity provider did not start: " + "".join(said))
