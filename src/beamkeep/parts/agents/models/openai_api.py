"""The providers `openai` (Responses API) and `openai_compatible` (chat completions), by one SDK."""

import asyncio
import time
from abc import ABC, abstractmethod
from typing import cast

import msgspec
import openai
from openai.types.chat import (
    ChatCompletionSystemMessageParam,
    ChatCompletionUserMessageParam,
)
from openai.types.responses import ResponseTextConfigParam
from openai.types.shared_params import ResponseFormatJSONSchema

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

SCHEMA_NAME = "answer"


class _Part(msgspec.Struct):
    type: str
    text: str | None = None


class _Item(msgspec.Struct):
    type: str
    content: list[_Part] | None = None


class _Why(msgspec.Struct):
    reason: str | None = None


class _ResponseUsage(msgspec.Struct):
    input_tokens: int
    output_tokens: int


class _Response(msgspec.Struct):
    id: str
    model: str
    status: str
    usage: _ResponseUsage | None = None
    output: list[_Item] = []
    incomplete_details: _Why | None = None


class _ChatMessage(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _ChatMessage
    finish_reason: str | None = None


class _ChatUsage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    id: str | None = None
    model: str | None = None
    usage: _ChatUsage | None = None


class _SdkModel(ABC):
    """Calls a provider by the SDK of OpenAI."""

    def __init__(self, account: ProviderAccount, pause: Pause = asyncio.sleep) -> None:
        self._account, self._pause = account, pause
        self._client = openai.AsyncOpenAI(
            api_key=account.api_key,
            base_url=account.base_url,
            timeout=account.try_seconds,
            max_retries=0,
            http_client=http_client(account, authorization=f"Bearer {account.api_key}"),
        )

    async def complete(self, request: CompletionRequest) -> CompletionResponse:
        """Return the answer of the model."""
        return await twice(self._once, request, self._account.try_seconds, pause=self._pause)

    @abstractmethod
    async def _once(self, request: CompletionRequest) -> CompletionResponse: ...


class OpenAiModel(_SdkModel):
    """Calls models of OpenAI; the provider does not store the answers."""

    async def _once(self, request: CompletionRequest) -> CompletionResponse:
        started = time.monotonic()
        shape = cast("dict[str, object]", for_provider(request.output_schema))
        text: ResponseTextConfigParam = {
            "format": {"type": "json_schema", "name": SCHEMA_NAME, "schema": shape, "strict": True}
        }
        try:
            answer = await self._client.responses.with_raw_response.create(
                model=request.model_ref.requested,
                instructions=request.system,
                input=request.user,
                max_output_tokens=request.max_output_tokens,
                reasoning={"effort": "low"},
                text=text,
                store=False,
            )
            body = answer.http_response.content
        except openai.APIError as error:
            raise error_of(_failure(error), self._account, "openai") from None
        return _response(request, body, since(started))


def _response(request: CompletionRequest, body: bytes, duration_ms: int) -> CompletionResponse:
    try:
        answer = msgspec.json.decode(body, type=_Response)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LanguageModelOutputInvalidError("The body is not a response.") from None
    why = answer.incomplete_details and answer.incomplete_details.reason
    used = answer.usage or _ResponseUsage(request.input_reserve, request.max_output_tokens)
    answered = ModelAnswer(
        Usage(used.input_tokens, used.output_tokens),
        response_id=answer.id,
        response_model=answer.model,
        finish_reason=why or answer.status,
        duration_ms=duration_ms,
    )
    parts = [
        part for item in answer.output for part in item.content or () if item.type == "message"
    ]
    if why == "content_filter" or any(part.type == "refusal" for part in parts):
        raise LanguageModelRefusedError("The model declined.", answered)
    if answer.status != "completed":
        raise LanguageModelOutputInvalidError(f"It ended by {why or answer.status}.", answered)
    require_uncut(request, answered)
    text = "".join(part.text or "" for part in parts if part.type == "output_text")
    return CompletionResponse(read_output(text, request.output_schema, answered), answered)


class OpenAiCompatibleModel(_SdkModel):
    """Calls a server that speaks chat completions, such as vLLM, Ollama or a gateway."""

    async def _once(self, request: CompletionRequest) -> CompletionResponse:
        started = time.monotonic()
        shape = cast("dict[str, object]", for_provider(request.output_schema))
        system: ChatCompletionSystemMessageParam = {"role": "system", "content": request.system}
        user: ChatCompletionUserMessageParam = {"role": "user", "content": request.user}
        form: ResponseFormatJSONSchema = {
            "type": "json_schema",
            "json_schema": {"name": SCHEMA_NAME, "schema": shape, "strict": True},
        }
        try:
            answer = await self._client.chat.completions.with_raw_response.create(
                model=request.model_ref.requested,
                messages=[system, user],
                max_tokens=request.max_output_tokens,
                response_format=form,
            )
            body = answer.http_response.content
        except openai.APIError as error:
            raise error_of(_failure(error), self._account, "openai_compatible") from None
        return _completion(request, body, since(started))


def _completion(request: CompletionRequest, body: bytes, duration_ms: int) -> CompletionResponse:
    try:
        answer = msgspec.json.decode(body, type=_Completion)
        choice = answer.choices[0]
    except (msgspec.DecodeError, UnicodeDecodeError, IndexError):
        raise LanguageModelOutputInvalidError("The body is not a completion.") from None
    # A server that reports no usage is charged with the reserve.
    used = answer.usage or _ChatUsage(request.input_reserve, request.max_output_tokens)
    answered = ModelAnswer(
        Usage(used.prompt_tokens, used.completion_tokens),
        response_id=answer.id,
        response_model=answer.model,
        finish_reason=choice.finish_reason,
        duration_ms=duration_ms,
    )
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise LanguageModelRefusedError("The model declined.", answered)
    if choice.finish_reason != "stop":
        raise LanguageModelOutputInvalidError(f"It ended by {choice.finish_reason}.", answered)
    require_uncut(request, answered)
    text = choice.message.content
    return CompletionResponse(read_output(text, request.output_schema, answered), answered)


def _failure(error: openai.APIError) -> ProviderFailure:
    if isinstance(error, openai.APIStatusError):
        retry_after = error.response.headers.get("retry-after")
        return ProviderFailure(error.status_code, error.code or error.type, retry_after)
    timed_out = isinstance(error, openai.APITimeoutError)
    return ProviderFailure(timed_out=timed_out, cause=error.__cause__)
