"""A model that gives prepared answers, for tests and demonstrations."""

from collections.abc import Callable

from beamkeep.schemas import JsonObject

from .output import read_output
from .seam import CompletionRequest, CompletionResponse, LanguageModelError, ModelAnswer, Usage

type ScriptedReply = str | JsonObject | LanguageModelError
type Script = Callable[[CompletionRequest], ScriptedReply]


class ScriptedModel:
    """Answers each request by a function; text is read as the text of a model would be."""

    def __init__(self, script: Script, model: str = "scripted-1") -> None:
        self._script, self._model = script, model
        self.requests: list[CompletionRequest] = []

    async def complete(self, request: CompletionRequest) -> CompletionResponse:
        """Return what the script says."""
        self.requests.append(request)
        reply = self._script(request)
        if isinstance(reply, LanguageModelError):
            raise reply
        answered = ModelAnswer(
            Usage(request.input_reserve, 200),
            response_id=f"scripted-{len(self.requests)}",
            response_model=self._model,
            finish_reason="stop",
            duration_ms=1,
        )
        if isinstance(reply, str):
            reply = read_output(reply, request.output_schema, answered)
        return CompletionResponse(reply, answered)
