"""What every HTTP client of the service needs: address, token, answers and failures."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    import httpx2

TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
DEFAULT_URL = "http://127.0.0.1:8000"
MALFORMED_TOKEN = "Malformed access token."  # noqa: S105
PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 30.0
ATTEMPTS = 20
"""How often a call that is safe to repeat is made before its failure is final."""
TRANSIENT_STATUSES = frozenset({408, 425, 429, 502, 503, 504})
TRANSIENT_CODES = frozenset({"ConcurrencyError", "IdempotencyInFlightError"})


@dataclass(eq=False)
class ServiceError(Exception):
    """A call that the service refused or did not answer.

    `status` is None without an answer, `code` without a problem body in the answer.
    `is_transient` says whether repeating the same call may succeed.
    """

    detail: str
    status: int | None = None
    code: str | None = None
    problem: Mapping[str, Any] = field(default_factory=dict[str, Any])
    retry_after: float | None = None
    is_transient: bool = False

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.code else self.detail


class Connection:
    """A service, and who calls it: address, token, the meaning of answers."""

    def __init__(
        self, url: str, token: str | Callable[[], str] | None, *, surface_id: str | None = None
    ) -> None:
        """Raise ValueError when `url` or `token` cannot be used."""
        from importlib.metadata import version  # noqa: PLC0415

        if not is_private(url):
            raise ValueError(
                f"An access token must not be sent to {url}. Give an https:// address; http:// is"
                " accepted only for this machine, for example http://127.0.0.1:8000."
            )
        if isinstance(token, str) and not TOKEN.fullmatch(token.strip()):
            raise ValueError(MALFORMED_TOKEN)
        self.url: str = url.rstrip("/")
        self._token = token
        headers = {"User-Agent": f"beamkeep-client/{version('beamkeep-client')}"}
        headers |= {"X-Surface-Id": surface_id} if surface_id else {}
        # A proxy that the environment names could read plain HTTP to this machine.
        by_proxy = not url.lower().startswith("http:")
        self.options: Mapping[str, Any] = {"headers": headers, "trust_env": by_proxy}

    def headers(
        self, idempotency_key: str | None, if_match: int | None, proposal_note: str | None
    ) -> dict[str, str]:
        """Return the headers of one call, with the token of this moment."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        headers |= {} if proposal_note is None else {"Proposal-Note": quote(proposal_note)}
        headers |= {} if if_match is None else {"If-Match": f'"{if_match}"'}
        return headers | self.authorization()

    def answered(self, response: "httpx2.Response", path: str) -> "httpx2.Response":
        """Return an answer of the service; raise ServiceError for anything else."""
        if not response.is_success:
            raise refusal(response, path)
        self.body(response)
        return response

    def body(self, response: "httpx2.Response") -> dict[str, Any]:
        """Return the object in an answer, whatever its status."""
        if (body := _json_object(response)) is None:
            raise ServiceError(f"The answer from {self.url} is not from Beamkeep.")
        return body

    def lost(self, error: Exception) -> ServiceError:
        """Return what a call without an answer means."""
        import httpx2  # noqa: PLC0415

        # Other errors than these may quote a header, and so the token.
        is_quotable = isinstance(error, httpx2.ConnectError | httpx2.TimeoutException)
        from .tls import tls_cause  # noqa: PLC0415

        reason = (str(error) if is_quotable else "") or type(error).__name__
        reason = tls_cause(error, self.url) or reason
        lost = httpx2.ReadError | httpx2.ReadTimeout | httpx2.RemoteProtocolError
        return ServiceError(
            f"The service at {self.url} does not answer: {reason}",
            is_transient=isinstance(error, lost | httpx2.WriteError),
        )

    def authorization(self) -> dict[str, str]:
        """Return the header with the token, if there is one."""
        if self._token is None:
            return {}
        try:
            token = (self._token if isinstance(self._token, str) else self._token()).strip()
        except Exception as error:
            raise ServiceError(f"No access token: {type(error).__name__}") from None
        if not TOKEN.fullmatch(token):
            raise ServiceError(MALFORMED_TOKEN)
        return {"Authorization": f"Bearer {token}"}


def pause_after(error: ServiceError, attempts: int) -> float:
    """Return the seconds before the next attempt; raise the error when there is none."""
    if attempts < 1 or not error.is_transient:
        raise error
    pause = PAUSE_SECONDS if error.retry_after is None else error.retry_after
    return min(pause, MAX_PAUSE_SECONDS)


def read_token(file: Path | None = None) -> str | None:
    """Return the access token in a file, else in BEAMKEEP_TOKEN; None when there is none."""
    token = file.read_text() if file else os.environ.get("BEAMKEEP_TOKEN", "")
    return token.strip() or None


def refusal(response: "httpx2.Response", path: str) -> ServiceError:
    """Return what the service refused, and why."""
    body, status = _json_object(response), response.status_code
    problem = body if body and body.get("code") else {}
    after, code = response.headers.get("retry-after", ""), problem.get("code")
    return ServiceError(
        problem.get("detail", f"HTTP {status}: {response.reason_phrase}"),
        status=status,
        code=code,
        problem={"path": path, **problem},
        retry_after=float(after) if after.isdecimal() else None,
        is_transient=status in TRANSIENT_STATUSES or code in TRANSIENT_CODES,
    )


def is_private(url: str) -> bool:
    """Return whether nobody on the way to an address can read what is sent there."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme != "http":
            return parts.scheme == "https" and bool(host)
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _json_object(response: "httpx2.Response") -> dict[str, Any] | None:
    """Return the JSON object in an answer, {} for an empty one, None for anything else."""
    try:
        body: Any = response.json() if response.content else {}
    except ValueError:
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None
