"""Calls of a provider: an HTTP client that trusts nothing around it, and one more try."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Literal, NamedTuple

import httpx2
import structlog

from beamkeep.kernel import Record
from beamkeep.workers.leases import seconds_to_wait

from .seam import (
    CompletionRequest,
    CompletionResponse,
    LanguageModelError,
    LanguageModelOutputInvalidError,
    LanguageModelRateLimitedError,
    LanguageModelRefusedError,
    LanguageModelTimeoutError,
    LanguageModelUnavailableError,
)

log: structlog.stdlib.BoundLogger = structlog.get_logger()

type Provider = Literal["anthropic", "openai", "openai_compatible"]
COMPATIBLE: Provider = "openai_compatible"
PUBLIC_URLS = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
NO_KEY = "none"
"""Sent to servers that want no key."""
TRY_SECONDS = 120.0
WAIT_SECONDS, LONGEST_WAIT = 2.0, 30.0
MOST_ANSWER_BYTES = 4 * 1024 * 1024
LOGGERS = ("anthropic", "openai", "httpx2", "httpcore2")
SENT = frozenset({"host", "accept", "content-type", "content-length", "connection", "user-agent"})
"""Headers that are sent besides those of the adapter; the SDKs would add more, some of them from
environment variables."""
CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
WRONG_SETTINGS = frozenset({401, 403, 404})
LATER = frozenset({408, 425})


class ProviderAccount(Record):
    """Where a provider is reached, and with which key."""

    base_url: str
    api_key: str
    try_seconds: float = TRY_SECONDS

    def __repr__(self) -> str:
        return f"ProviderAccount({self.base_url!r})"


class AnswerTooLargeError(httpx2.TransportError):
    """The answer of a provider is larger than any answer to our requests can be."""


def mask(text: str, *secrets: str) -> str:
    """Return a text in which every secret is replaced."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "<secret>")
    return text


def http_client(account: ProviderAccount, **headers: str) -> httpx2.AsyncClient:
    """Return a client that sends these headers, follows no redirect and reads no environment."""
    for name in LOGGERS:
        # At the level debug, these loggers write the bodies of requests.
        if logging.getLogger(name).level < logging.WARNING:
            logging.getLogger(name).setLevel(logging.WARNING)
    own = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.AsyncClient(
        transport=_BoundedTransport(own),
        timeout=account.try_seconds,
        trust_env=False,
        follow_redirects=False,
    )


class _BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends only the headers it knows, and reads no more than an answer can have."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        # A compressed answer could be small on the wire and huge in memory.
        self._headers = {**headers, "accept-encoding": "identity"}
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name.lower() in SENT}
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=headers | self._headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        answer = await self._inner.handle_async_request(sent)
        if answer.headers.get("content-encoding", "identity") != "identity":
            await answer.aclose()
            raise AnswerTooLargeError("The answer is compressed.")
        answer.stream = _BoundedStream(answer)
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, answer: httpx2.Response) -> None:
        self._stream = answer.stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        assert isinstance(self._stream, httpx2.AsyncByteStream)  # noqa: S101
        async for chunk in self._stream:
            size += len(chunk)
            if size > MOST_ANSWER_BYTES:
                raise AnswerTooLargeError("The answer is too large.")
            yield chunk

    async def aclose(self) -> None:
        assert isinstance(self._stream, httpx2.AsyncByteStream)  # noqa: S101
        await self._stream.aclose()


class ProviderFailure(NamedTuple):
    """A failed call as an SDK reports it."""

    status: int | None = None
    code: object = None
    retry_after: str | None = None
    timed_out: bool = False
    cause: BaseException | None = None


def error_of(
    failure: ProviderFailure, account: ProviderAccount, provider: str
) -> LanguageModelError:
    """Return the error of a failed call, without texts of the provider, which may echo prompts."""
    status, seconds = failure.status, seconds_to_wait(failure.retry_after)
    code = str(failure.code or "")
    code = mask(code, account.api_key) if CODE.fullmatch(code) else ""
    answer = f"Provider {provider}: status {status} {code}".rstrip()
    if status is None:
        if isinstance(failure.cause, AnswerTooLargeError):
            return LanguageModelOutputInvalidError(f"Provider {provider}: {failure.cause}")
        if failure.timed_out:
            return LanguageModelTimeoutError(f"Provider {provider} did not answer in time.")
        return LanguageModelUnavailableError(f"Provider {provider} cannot be reached.")
    if status == 429:
        return LanguageModelRateLimitedError(answer, seconds)
    if status >= 500 or status in LATER:
        return LanguageModelUnavailableError(answer, seconds)
    if status in WRONG_SETTINGS or 300 <= status < 400:
        log.error(
            "language model not usable",
            provider=provider,
            status=status,
            code=code,
            remedy="Check LANGUAGE_MODEL_API_KEY, LANGUAGE_MODEL_BASE_URL and the model name.",
        )
        return LanguageModelUnavailableError(answer, passing=False)
    return LanguageModelRefusedError(answer)


type Pause = Callable[[float], Awaitable[None]]
type Try = Callable[[CompletionRequest], Awaitable[CompletionResponse]]


async def twice(
    once: Try, request: CompletionRequest, seconds: float, pause: Pause
) -> CompletionResponse:
    """Call a provider, and once more after a rate limit or a failure that may pass."""
    try:
        return await _in_time(once, request, seconds)
    except (LanguageModelRateLimitedError, LanguageModelUnavailableError) as error:
        wait = WAIT_SECONDS if error.retry_after is None else error.retry_after
        passing = not isinstance(error, LanguageModelUnavailableError) or error.passing
        if wait > LONGEST_WAIT or not passing:
            raise
    await pause(wait)
    return await _in_time(once, request, seconds)


async def _in_time(once: Try, request: CompletionRequest, seconds: float) -> CompletionResponse:
    try:
        # The client's own time-out begins again with every byte that arrives.
        async with asyncio.timeout(seconds):
            return await once(request)
    except TimeoutError:
        raise LanguageModelTimeoutError(
            f"The provider did not answer within {seconds:g} seconds."
        ) from None


def since(started: float) -> int:
    """Return the milliseconds since a reading of the monotonic clock."""
    return round((time.monotonic() - started) * 1000)
