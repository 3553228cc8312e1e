"""What a client says when a connection fails by TLS: each server here is real."""

import re
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.support.certificates import certificate

from beamkeep_client.http import ServiceError
from beamkeep_client.logins import LoginError, Provider
from beamkeep_client.synchronous.http import HttpClient


class Answering(BaseHTTPRequestHandler):
    """Answers every request with an empty object."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None: ...


class Quiet(HTTPServer):
    """A server that says nothing of connections which fail."""

    def handle_error(self, request: object, client_address: object) -> None: ...


@contextmanager
def server(folder: Path, name: str | None, days: int = 1) -> Generator[int]:
    """The port of a server with a certificate for a name, or without TLS."""
    made = Quiet(("127.0.0.1", 0), Answering)
    if name:
        made.socket = certificate(name, folder, days).wrap_socket(made.socket, server_side=True)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield made.server_port
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


def login_at(url: str) -> str:
    with pytest.raises(LoginError) as failed:
        Provider().get(url)
    return str(failed.value)


def call_at(url: str) -> str:
    client = HttpClient(url, "token")
    try:
        with pytest.raises(ServiceError) as failed:
            client.request("GET", "/zones")
    finally:
        client.close()
    return str(failed.value)


@pytest.fixture(params=[login_at, call_at], ids=["login", "call"])
def failure(request: pytest.FixtureRequest) -> Callable[[str], str]:
    return request.param


def test_an_expired_certificate(
    failure: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with server(tmp_path, "localhost", days=-1) as port:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert "has expired. Renew the certificate" in failure(f"https://localhost:{port}")


def test_an_authority_that_is_not_known(failure: Callable[[str], str], tmp_path: Path):
    with server(tmp_path, "localhost") as port:
        sentence = failure(f"https://localhost:{port}")
    assert "is not known here. Set SSL_CERT_FILE to a file with the certificate" in sentence


def test_the_remedy_for_an_unknown_authority_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with server(tmp_path, "localhost") as port:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert Provider().get(f"https://localhost:{port}") == {}


def test_a_certificate_for_another_name(
    failure: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with server(tmp_path, "beamkeep.example") as port:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert "is for another host name. Write the name" in failure(f"https://localhost:{port}")


def test_a_server_without_tls(failure: Callable[[str], str], tmp_path: Path):
    with server(tmp_path, None) as port:
        sentence = failure(f"https://localhost:{port}")
    assert "does not speak TLS on this port. Check the port of the address." in sentence


def test_plain_http_to_a_server_with_tls(failure: Callable[[str], str], tmp_path: Path):
    with server(tmp_path, "localhost") as port:
        sentence = failure(f"http://127.0.0.1:{port}")
    assert "If the server expects TLS, write https:// instead." in sentence


def test_a_server_that_is_not_there_is_no_matter_of_tls(failure: Callable[[str], str]):
    assert not re.search("TLS|certificate", failure("https://127.0.0.1:1"))
