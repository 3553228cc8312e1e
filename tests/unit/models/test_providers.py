"""The adapters against a server that speaks each API, well and badly."""

import json
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple

import pytest
from structlog.testing import capture_logs
from tests.support.provider_server import (
    GOOD,
    ProviderServer,
    Reply,
    completion,
    message,
    provider_server,
    refusing_response,
    response,
)

from beamkeep.contexts.agent.agent import ModelRef
from beamkeep.parts.agents.models.anthropic_messages import AnthropicModel
from beamkeep.parts.agents.models.openai_api import OpenAiCompatibleModel, OpenAiModel
from beamkeep.parts.agents.models.provider import MOST_ANSWER_BYTES, ProviderAccount, mask
from beamkeep.parts.agents.models.seam import (
    CompletionRequest,
    LanguageModel,
    LanguageModelError,
    LanguageModelOutputInvalidError,
    LanguageModelRateLimitedError,
    LanguageModelRefusedError,
    LanguageModelTimeoutError,
    LanguageModelUnavailableError,
    Usage,
)
from beamkeep.schemas import JsonObject

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-0123456789"
SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["mood", "text"],
    "properties": {
        "mood": {"enum": ["calm", "rough"]},
        "text": {"type": "string", "minLength": 10, "maxLength": 100},
    },
}
REQUEST = CompletionRequest(
    ModelRef("any", "model-x", "model-x-2026"),
    system="Describe the run. " * 20,
    user='{"run": "' + "x" * 600 + '"}',
    output_schema=SCHEMA,
    max_output_tokens=800,
)


class Api(NamedTuple):
    """One provider: its adapter, its path, and bodies of its own shape."""

    model: Callable[..., LanguageModel]
    path: str
    good: Callable[..., dict[str, Any]]
    refusing: Callable[[], dict[str, Any]]
    cut_off: Callable[[], dict[str, Any]]
    key_header: tuple[str, str]


APIS = {
    "anthropic": Api(
        AnthropicModel,
        "/v1/messages",
        good=message,
        refusing=lambda: message(
            "", "refusal", stop_details={"type": "refusal", "category": "bio"}
        ),
        cut_off=lambda: message('{"mood": "ca', "max_tokens"),
        key_header=("x-api-key", KEY),
    ),
    "openai": Api(
        OpenAiModel,
        "/v1/responses",
        good=response,
        refusing=refusing_response,
        cut_off=lambda: response(
            '{"mood": "ca', "incomplete", incomplete_details={"reason": "max_output_tokens"}
        ),
        key_header=("authorization", f"Bearer {KEY}"),
    ),
    "openai_compatible": Api(
        OpenAiCompatibleModel,
        "/v1/chat/completions",
        good=completion,
        refusing=lambda: completion("", refusal="I can't help with that."),
        cut_off=lambda: completion('{"mood": "ca', "length"),
        key_header=("authorization", f"Bearer {KEY}"),
    ),
}
USED = Usage(405, 50)


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    return APIS[request.param]


@pytest.fixture
async def server() -> AsyncGenerator[ProviderServer]:
    async with provider_server() as server:
        yield server


class Pauses:
    """The waits between tries, noted and not waited for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


def model_of(
    api: Api, server: ProviderServer, pauses: Pauses, try_seconds: float = 20.0
) -> LanguageModel:
    base = server.url if api.path == "/v1/messages" else f"{server.url}/v1"
    return api.model(ProviderAccount(base, KEY, try_seconds), pauses)


async def failure(model: LanguageModel) -> LanguageModelError:
    with pytest.raises(LanguageModelError) as raised:
        await model.complete(REQUEST)
    assert KEY not in f"{raised.value!r} {raised.value}"
    return raised.value


async def test_a_good_answer_is_read_with_what_it_is_billed_for(
    api: Api, server: ProviderServer, pauses: Pauses
):
    server.answer_with(Reply(api.good()))
    answer = await model_of(api, server, pauses).complete(REQUEST)
    assert answer.output == GOOD
    assert answer.answered.usage == USED
    assert answer.answered.response_id
    assert answer.answered.response_model not in {None, "model-x", "model-x-2026"}


async def test_a_request_names_the_snapshot_and_carries_prompt_schema_and_limit(
    api: Api, server: ProviderServer, pauses: Pauses
):
    server.answer_with(Reply(api.good()))
    await model_of(api, server, pauses).complete(REQUEST)
    (sent,) = server.posts
    assert sent.path == api.path
    assert sent.body["model"] == "model-x-2026"
    text = json.dumps(sent.body)
    assert REQUEST.system in text
    assert "x" * 600 in text
    assert "temperature" not in text
    assert "stream" not in sent.body or not sent.body["stream"]
    assert "tools" not in sent.body
    limits = {sent.body.get(name) for name in ("max_tokens", "max_output_tokens")}
    assert 800 in limits
    # Providers do not understand bounds: they stand in the description.
    assert '"minLength"' not in text
    assert "minLength 10" in text
    name, value = api.key_header
    assert sent.headers[name] == value


async def test_each_api_gets_its_own_form(server: ProviderServer, pauses: Pauses):
    server.answer_with(Reply(message()))
    await model_of(APIS["anthropic"], server, pauses).complete(REQUEST)
    assert server.posts[-1].body["output_config"]["format"]["type"] == "json_schema"
    assert server.posts[-1].body["thinking"] == {"type": "disabled"}
    server.answer_with(Reply(response()))
    await model_of(APIS["openai"], server, pauses).complete(REQUEST)
    assert server.posts[-1].body["store"] is False
    assert server.posts[-1].body["reasoning"] == {"effort": "low"}
    assert server.posts[-1].body["text"]["format"]["strict"] is True
    server.answer_with(Reply(completion()))
    await model_of(APIS["openai_compatible"], server, pauses).complete(REQUEST)
    assert server.posts[-1].body["response_format"]["json_schema"]["strict"] is True


async def test_a_refusal_is_distinguished_and_billed(
    api: Api, server: ProviderServer, pauses: Pauses
):
    server.answer_with(Reply(api.refusing()))
    error = await failure(model_of(api, server, pauses))
    assert isinstance(error, LanguageModelRefusedError)
    assert error.answered
    assert error.answered.usage == USED
    assert len(server.posts) == 1


async def test_a_filtered_answer_is_a_refusal(server: ProviderServer, pauses: Pauses):
    filtered = response("", "incomplete", incomplete_details={"reason": "content_filter"})
    server.answer_with(Reply(filtered))
    assert isinstance(
        await failure(model_of(APIS["openai"], server, pauses)), LanguageModelRefusedError
    )
    server.answer_with(Reply(completion("", "content_filter")))
    assert isinstance(
        await failure(model_of(APIS["openai_compatible"], server, pauses)),
        LanguageModelRefusedError,
    )


async def test_an_answer_that_was_cut_off_is_invalid_and_billed(
    api: Api, server: ProviderServer, pauses: Pauses
):
    server.answer_with(Reply(api.cut_off()))
    error = await failure(model_of(api, server, pauses))
    assert isinstance(error, LanguageModelOutputInvalidError)
    assert error.answered
    assert error.answered.usage == USED


@pytest.mark.parametrize("reason", ["model_context_window_exceeded", "pause_turn", "tool_use"])
async def test_a_message_that_ended_otherwise_is_invalid(
    server: ProviderServer, pauses: Pauses, reason: str
):
    server.answer_with(Reply(message(stop_reason=reason)))
    error = await failure(model_of(APIS["anthropic"], server, pauses))
    assert isinstance(error, LanguageModelOutputInvalidError)


async def test_a_prompt_that_the_server_cut_silently_makes_the_answer_invalid(
    api: Api, server: ProviderServer, pauses: Pauses
):
    # A tenth of a token for each byte, and 5 of the cache for one of them.
    server.answer_with(Reply(api.good(input_tokens=REQUEST.input_bytes // 10 - 6)))
    error = await failure(model_of(api, server, pauses))
    assert isinstance(error, LanguageModelOutputInvalidError)
    assert "cut" in str(error)


WRONG_TEXTS = [
    "",
    "no json",
    "[]",
    '"text"',
    "null",
    '{"mood": "calm"}',
    '{"mood": "wild", "text": "The stage moved as planned."}',
    '{"mood": "calm", "text": "short"}',
    json.dumps({"mood": "calm", "text": "x" * 101}),
    json.dumps(GOOD | {"run_id": "another"}),
    '{"mood": "calm", "text": NaN}',
    '{"mood": "calm", "mood": "rough", "text": "The stage moved as planned."}',
    '{"text": ' + "[" * 100_000,
    "```json\n" + json.dumps(GOOD) + "\n```",
    json.dumps({"mood": "calm", "text": "\u200b\u202e" * 20}),
    "x" * 300_000,
]


@pytest.mark.parametrize("text", WRONG_TEXTS, ids=range(len(WRONG_TEXTS)))
async def test_output_that_does_not_fit_is_invalid_and_billed(
    api: Api, server: ProviderServer, pauses: Pauses, text: str
):
    server.answer_with(Reply(api.good(text)))
    error = await failure(model_of(api, server, pauses))
    assert isinstance(error, LanguageModelOutputInvalidError)
    assert error.answered
    assert error.answered.usage == USED


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[]", b"\xff\xfe", b'{"usage": 1}'])
async def test_a_body_of_another_shape_is_invalid(
    api: Api, server: ProviderServer, pauses: Pauses, body: bytes
):
    server.answer_with(Reply(body))
    assert isinstance(await failure(model_of(api, server, pauses)), LanguageModelOutputInvalidError)


async def test_a_huge_body_is_not_read_to_its_end(api: Api, server: ProviderServer, pauses: Pauses):
    server.answer_with(Reply(b"x" * (MOST_ANSWER_BYTES + 100_000)))
    error = await failure(model_of(api, server, pauses))
    assert isinstance(error, LanguageModelOutputInvalidError)
    assert "too large" in str(error)


async def test_a_compressed_body_is_not_opened(api: Api, server: ProviderServer, pauses: Pauses):
    server.answer_with(Reply(b"x", headers={"Content-Encoding": "gzip"}))
    assert isinstance(await failure(model_of(api, server, pauses)), LanguageModelOutputInvalidError)


async def test_a_server_that_sends_a_byte_now_and_then_is_timed_out_once(
    api: Api, server: ProviderServer, pauses: Pauses
):
    server.answer_with(Reply(api.good(), trickle=True))
    error = await failure(model_of(api, server, pauses, try_seconds=0.5))
    assert isinstance(error, LanguageModelTimeoutError)
    assert len(server.posts) == 1, "a call that timed out may be billed"


@pytest.mark.parametrize("status", [500, 502, 503, 529, 408])
async def test_a_server_that_fails_is_asked_once_more(
    api: Api, server: ProviderServer, pauses: Pauses, status: int
):
    server.answer_with(Reply({"error": {"type": "overloaded_error"}}, status), Reply(api.good()))
    assert (await model_of(api, server, pauses).complete(REQUEST)).output == GOOD
    assert pauses.seconds == [2.0]
    server.answer_with(Reply({"error": {"type": "overloaded_error"}}, status))
    error = await failure(model_of(api, server, pauses))
    assert isinstance(error, LanguageModelUnavailableError)
    assert len(server.posts) == 4


async def test_a_connection_that_breaks_is_tried_once_more(
    api: Api, server: ProviderServer, pauses: Pauses
):
    server.answer_with(Reply(api.good(), cut=True), Reply(api.good()))
    assert (await model_of(api, server, pauses).complete(REQUEST)).output == GOOD
    await server.close()
    assert isinstance(await failure(model_of(api, server, pauses)), LanguageModelUnavailableError)


@pytest.mark.parametrize(("header", "waited"), [({}, [2.0]), ({"Retry-After": "7"}, [7.0])])
async def test_a_rate_limit_is_waited_for(
    api: Api, server: ProviderServer, pauses: Pauses, header: dict[str, str], waited: list[float]
):
    server.answer_with(
        Reply({"error": {"type": "rate_limit_error"}}, 429, header), Reply(api.good())
    )
    assert (await model_of(api, server, pauses).complete(REQUEST)).output == GOOD
    assert pauses.seconds == waited


async def test_a_rate_limit_that_lasts_is_not_waited_for(
    api: Api, server: ProviderServer, pauses: Pauses
):
    server.answer_with(Reply({"error": {}}, 429, {"Retry-After": "31"}))
    assert isinstance(await failure(model_of(api, server, pauses)), LanguageModelRateLimitedError)
    assert pauses.seconds == []
    assert len(server.posts) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_wrong_credentials_are_logged_without_the_key_and_not_tried_again(
    api: Api, server: ProviderServer, pauses: Pauses, status: int
):
    told = {"error": {"type": f"bad_{KEY}", "message": f"The key {KEY} is wrong."}}
    server.answer_with(Reply(told, status))
    with capture_logs() as logged:
        error = await failure(model_of(api, server, pauses))
    assert isinstance(error, LanguageModelUnavailableError)
    assert len(server.posts) == 1
    (line,) = logged
    assert line["log_level"] == "error"
    assert KEY not in str(logged)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_another_4xx_is_a_refusal_that_repeats_no_text(
    api: Api, server: ProviderServer, pauses: Pauses, status: int
):
    server.answer_with(
        Reply({"error": {"type": "bad", "message": f"{KEY} {REQUEST.user}"}}, status)
    )
    error = await failure(model_of(api, server, pauses))
    assert isinstance(error, LanguageModelRefusedError)
    assert error.answered is None
    assert "xxx" not in str(error)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(
    api: Api, server: ProviderServer, pauses: Pauses, status: int
):
    async with provider_server() as other:
        other.answer_with(Reply(api.good()))
        server.answer_with(Reply({}, status, {"Location": f"{other.url}/v1/steal"}))
        error = await failure(model_of(api, server, pauses))
        assert isinstance(error, LanguageModelUnavailableError)
        assert other.got == []


async def test_the_environment_changes_nothing(
    api: Api, server: ProviderServer, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
):
    async with provider_server() as other:
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, other.url)
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
            monkeypatch.setenv(name, "sk-of-somebody-else")
        monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: yes\nX-Api-Key: other")
        monkeypatch.setenv("OPENAI_ORG_ID", "org-leak")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-leak")
        server.answer_with(Reply(api.good()))
        await model_of(api, server, pauses).complete(REQUEST)
        assert other.got == []
    sent = server.posts[0].headers
    assert sent[api.key_header[0]] == api.key_header[1]
    assert {"x-leak", "openai-organization", "openai-project"}.isdisjoint(sent)
    assert not [name for name in sent if name.startswith("x-stainless")]


async def test_loggers_of_the_sdks_never_write_bodies(
    api: Api, server: ProviderServer, pauses: Pauses, caplog: pytest.LogCaptureFixture
):
    for name in ("anthropic", "openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    server.answer_with(Reply(api.good()))
    caplog.set_level(logging.DEBUG)
    await model_of(api, server, pauses).complete(REQUEST)
    assert "xxxx" not in caplog.text
    assert KEY not in caplog.text


async def test_a_server_without_usage_is_charged_with_the_reserve(
    server: ProviderServer, pauses: Pauses
):
    server.answer_with(Reply(completion(usage=None)))
    answer = await model_of(APIS["openai_compatible"], server, pauses).complete(REQUEST)
    assert answer.answered.usage == Usage(REQUEST.input_reserve, 800)


def test_secrets_are_masked():
    assert mask("a sk-1 b sk-12", "sk-1", "sk-12") == "a <secret> b <secret>"
    assert KEY not in repr(ProviderAccount("https://a", KEY))
