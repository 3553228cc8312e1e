"""The provider `anthropic`: the Messages API, by its SDK."""

import asyncio
import time
from typing import cast

import anthropic
import msgspec
from anthropic.types import MessageParam, OutputConfigParam, ThinkingConfigDisabledParam

from .output import for_provider, read_output
from .provider import Pause, ProviderAccount, ProviderFailure, error_of, http_client, since, twice
from .seam import (
    CompletionRequest,
    CompletionResponse,
    LanguageModelOutputInvalidError,
    LanguageModelRefusedError,
    ModelAnswer,
    Usage,
    require_uncut,
)

VERSION = "2023-06-01"
NO_THINKING: ThinkingConfigDisabledParam = {"type": "disabled"}


class _Block(msgspec.Struct):
    type: str
    text: str | None = None


class _Details(msgspec.Struct):
    category: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    id: str
    model: str
    usage: _Usage
    content: list[_Block]
    stop_reason: str | None = None
    stop_details: _Details | None = None


class AnthropicModel:
    """Calls models of Anthropic."""

    def __init__(self, account: ProviderAccount, pause: Pause = asyncio.sleep) -> None:
        self._account, self._pause = account, pause
        self._client = anthropic.AsyncAnthropic(
            api_key=account.api_key,
            base_url=account.base_url,
            timeout=account.try_seconds,
            max_retries=0,
            open_telemetry=False,
            http_client=http_client(account, x_api_key=account.api_key, anthropic_version=VERSION),
        )
        self._may_not_think: dict[str, bool] = {}

    async def complete(self, request: CompletionRequest) -> CompletionResponse:
        """Return the answer of the model."""
        return await twice(self._once, request, self._account.try_seconds, pause=self._pause)

    async def _once(self, request: CompletionRequest) -> CompletionResponse:
        model, started = request.model_ref.requested, time.monotonic()
        shape = cast("dict[str, object]", for_provider(request.output_schema))
        asked: MessageParam = {"role": "user", "content": request.user}
        config: OutputConfigParam = {"format": {"type": "json_schema", "schema": shape}}
        thinking = NO_THINKING if await self._can_not_think(model) else anthropic.omit
        try:
            answer = await self._client.messages.with_raw_response.create(
                model=model,
                system=request.system,
                messages=[asked],
                max_tokens=request.max_output_tokens,
                output_config=config,
                thinking=thinking,
            )
            body = answer.http_response.content
        except anthropic.APIError as error:
            raise error_of(_failure(error), self._account, "anthropic") from None
        return _response(request, body, since(started))

    async def _can_not_think(self, model: str) -> bool:
        """Return whether the model lets its thinking be switched off; asked once for a model."""
        if model not in self._may_not_think:
            try:
                known = await self._client.models.retrieve(model)
                types = known.capabilities and known.capabilities.thinking.types
                self._may_not_think[model] = bool(types and types.disabled.supported)
            except (anthropic.APIError, AttributeError):
                return False
        return self._may_not_think[model]


def _response(request: CompletionRequest, body: bytes, duration_ms: int) -> CompletionResponse:
    try:
        message = msgspec.json.decode(body, type=_Message)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LanguageModelOutputInvalidError("The body is not a message.") from None
    used = message.usage
    cached = (used.cache_creation_input_tokens or 0) + (used.cache_read_input_tokens or 0)
    answered = ModelAnswer(
        Usage(used.input_tokens + cached, used.output_tokens),
        response_id=message.id,
        response_model=message.model,
        finish_reason=message.stop_reason,
        duration_ms=duration_ms,
    )
    if message.stop_reason == "refusal":
        category = message.stop_details and message.stop_details.category
        raise LanguageModelRefusedError(f"The model declined ({category}).", answered)
    if message.stop_reason != "end_turn":
        raise LanguageModelOutputInvalidError(f"It ended by {message.stop_reason}.", answered)
    require_uncut(request, answered)
    text = "".join(each.text or "" for each in message.content if each.type == "text")
    return CompletionResponse(read_output(text, request.output_schema, answered), answered)


def _failure(error: anthropic.APIError) -> ProviderFailure:
    if isinstance(error, anthropic.APIStatusError):
        retry_after = error.response.headers.get("retry-after")
        return ProviderFailure(error.status_code, error.type, retry_after)
    timed_out = isinstance(error, anthropic.APITimeoutError)
    return ProviderFailure(timed_out=timed_out, cause=error.__cause__)
