"""The identity provider of the example: a person signs in by choosing a name."""

import hashlib
import json
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

CLIENT = "console"
SECONDS = 3600
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sign in to the demo</title>
<style>
body {{ font: 15px system-ui, sans-serif; max-width: 26rem; margin: 15vh auto; color: #14181c }}
button {{ display: block; width: 100%; margin: .5rem 0; padding: .7rem 1rem; font: inherit;
  text-align: left; border: 1px solid #7d8791; border-radius: 7px; background: #f9fafb }}
button span {{ color: #59636d }}
</style>
<h1>Who are you?</h1>
<p>The demo asks for no password. Everybody on this computer can choose a name.</p>
<form>{asked}{people}</form>
"""


@dataclass(frozen=True)
class _Granted:
    subject: str
    challenge: str
    nonce: str


@dataclass
class Provider:
    """Who may sign in, and the tokens that were asked for."""

    issuer: str
    people: Mapping[str, str]
    """What each person is at the beamline, by subject."""
    access_token: Callable[[str], str]
    id_token: Callable[[Mapping[str, Any]], str]
    """Signs the claims of an ID token."""
    _granted: dict[str, _Granted] = field(default_factory=dict[str, _Granted])
    """What a code or a refresh token stands for; each is good once."""

    def described(self) -> Mapping[str, Any]:
        """Return the discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }

    def page(self, asked: Mapping[str, str]) -> str:
        """Return the page on which a person chooses a name."""
        fields = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in asked.items()
        )
        people = "".join(
            f'<button name="person" value="{escape(subject)}">{escape(subject.title())}'
            f" <span>{escape(role)}</span></button>"
            for subject, role in self.people.items()
        )
        return PAGE.format(asked=fields, people=people)

    def authorized(self, asked: Mapping[str, str]) -> str:
        """Return the address with a code to which the browser goes."""
        code = secrets.token_urlsafe()
        self._granted[code] = _Granted(
            asked["person"], asked.get("code_challenge", ""), asked.get("nonce", "")
        )
        return (
            f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked.get('state', '')})}"
        )

    def tokens(self, form: Mapping[str, str], now: int) -> Mapping[str, Any] | None:
        """Return tokens for a code with its verifier, or for a refresh token."""
        renews = form.get("grant_type") == "refresh_token"
        granted = self._granted.pop(form.get("refresh_token" if renews else "code", ""), None)
        if granted is None or not (renews or _proves(form, granted.challenge)):
            return None
        refresh = secrets.token_urlsafe()
        self._granted[refresh] = granted
        about = {"iss": self.issuer, "sub": granted.subject, "aud": CLIENT, "nonce": granted.nonce}
        return {
            "access_token": self.access_token(granted.subject),
            "refresh_token": refresh,
            "id_token": self.id_token({**about, "iat": now, "exp": now + SECONDS}),
            "token_type": "Bearer",
            "expires_in": SECONDS,
        }


def _proves(form: Mapping[str, str], challenge: str) -> bool:
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode() == challenge


def _is_local(redirect_uri: str) -> bool:
    """Return whether a console on this computer asks, be it that of a development server."""
    address = urlsplit(redirect_uri)
    return (address.scheme, address.hostname, address.path) == ("http", "127.0.0.1", "/console/")


@contextmanager
def provider(port: int, provider: Provider) -> Generator[None]:
    """Let people sign in until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            asked = dict(parse_qsl(address.query))
            if address.path == "/.well-known/openid-configuration":
                self._tell(200, "application/json", json.dumps(provider.described()))
            elif address.path != "/authorize" or not _is_local(asked.get("redirect_uri", "")):
                self._tell(404, "text/plain", "The console of the demo is not at this address.")
            elif asked.get("person") in provider.people:
                self._tell(303, "text/plain", "", Location=provider.authorized(asked))
            else:
                self._tell(200, "text/html", provider.page(asked))

        def do_POST(self) -> None:
            form = parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode())
            found = provider.tokens(dict(form), int(time.time()))
            refused = {"error": "invalid_grant"}
            self._tell(200 if found else 400, "application/json", json.dumps(found or refused))

        def _tell(self, status: int, kind: str, text: str, **headers: str) -> None:
            body = text.encode()
            self.send_response(status)
            claims = {
                "Content-Type": f"{kind}; charset=utf-8",
                "Content-Length": str(len(body)),
                "Access-Control-Allow-Origin": "*",
                "Cache-Control": "no-store",
                **headers,
            }
            for name, value in claims.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
