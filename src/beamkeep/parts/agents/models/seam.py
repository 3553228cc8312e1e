"""The language-model seam: one request, one response, no streaming and no tools."""

from collections.abc import Mapping
from math import ceil
from typing import Protocol

from msgspec.json import encode

from beamkeep.contexts.agent.agent import ModelRef
from beamkeep.kernel import Record
from beamkeep.schemas import JsonObject

BYTES_PER_TOKEN = 3
CUT_BELOW = 0.1
"""Input tokens for each byte sent; a server that reports fewer has cut the prompt."""


class CompletionRequest(Record):
    """One prompt; the answer must be a JSON object that fits the schema."""

    model_ref: ModelRef
    system: str
    user: str
    output_schema: JsonObject
    """JSON Schema with bounds. Providers get it without the bounds, which are checked here."""
    max_output_tokens: int

    @property
    def input_bytes(self) -> int:
        """The size of both texts as they are sent."""
        return len(self.system.encode()) + len(self.user.encode())

    @property
    def input_reserve(self) -> int:
        """The most tokens that the prompt is expected to take; the schema is part of it."""
        return ceil((self.input_bytes + len(encode(self.output_schema))) / BYTES_PER_TOKEN)


class Usage(Record):
    """What one answer is billed for."""

    input_tokens: int
    output_tokens: int


class ModelAnswer(Record):
    """What a provider reported about an answer, whether or not the answer was usable."""

    usage: Usage
    response_id: str | None = None
    response_model: str | None = None
    finish_reason: str | None = None
    duration_ms: int = 0


class CompletionResponse(Record):
    """An answer that fits the schema of its request."""

    output: JsonObject
    answered: ModelAnswer


class LanguageModelError(Exception):
    """A call of a language model that gave no usable answer."""

    def __init__(self, detail: str = "", answered: ModelAnswer | None = None) -> None:
        super().__init__(detail)
        self.answered = answered
        """What was billed, if the provider said so."""


class LanguageModelTimeoutError(LanguageModelError):
    """The model did not answer in time; the call may be billed all the same."""


class LanguageModelRateLimitedError(LanguageModelError):
    """The provider wants fewer calls."""

    def __init__(self, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class LanguageModelUnavailableError(LanguageModelError):
    """The provider cannot be reached, fails, or does not accept the credentials."""

    def __init__(
        self, detail: str = "", retry_after: float | None = None, passing: bool = True
    ) -> None:
        super().__init__(detail)
        self.retry_after, self.passing = retry_after, passing
        """`passing` is false for faults that only a change of the settings can end."""


class LanguageModelRefusedError(LanguageModelError):
    """The model, its filter or its provider declined the request."""


class LanguageModelOutputInvalidError(LanguageModelError):
    """The answer is cut off, or is not a JSON object that fits the schema."""


class LanguageModelBudgetExceededError(LanguageModelError):
    """The budget of the agent does not cover the call; no call was made."""


class LanguageModel(Protocol):
    """Answers one request at a time."""

    async def complete(self, request: CompletionRequest) -> CompletionResponse:
        """Return the answer. Raise a `LanguageModelError` when there is none that is usable."""
        ...


type LanguageModels = Mapping[str, LanguageModel]
"""The models that this deployment can call, by provider."""


def require_uncut(request: CompletionRequest, answered: ModelAnswer) -> None:
    """Raise when the server counted so few tokens that it must have cut the prompt."""
    if answered.usage.input_tokens < CUT_BELOW * request.input_bytes:
        raise LanguageModelOutputInvalidError(
            f"The server counted {answered.usage.input_tokens} tokens in"
            f" {request.input_bytes} bytes: it has cut the prompt.",
            answered,
        )
