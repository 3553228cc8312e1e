"""A language model of the example: a small server on loopback that speaks chat completions."""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "scripted-1"
NARRATIVE = (
    "The run was completed after one loss of beam. A scan of one sample was meant to be made;"
    " the run was held while there was no beam, was resumed, and went on to its end."
)
NOTICE = "The beam may be lost within minutes after the run has started"


@dataclass(frozen=True)
class ModelServer:
    """A running server, and the settings of a service that calls it."""

    environment: Mapping[str, str]
    asked: list[str] = field(default_factory=list[str])
    """For each request, what its answer is about."""


@contextmanager
def model_server() -> Generator[ModelServer]:
    """Run the server until the end."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            system, user = (message["content"] for message in request["messages"])
            facts = json.loads(user.partition("\n")[2])
            about, output = _answer(facts)
            asked.append(about)
            size = len(system.encode()) + len(user.encode())
            body = json.dumps(_completion(output, input_tokens=size // 4)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        settings = {
            "LANGUAGE_MODEL_PROVIDER": "openai_compatible",
            "LANGUAGE_MODEL_NAME": MODEL,
            "LANGUAGE_MODEL_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        }
        try:
            yield ModelServer(settings, asked)
        finally:
            server.shutdown()
            thread.join()


def _answer(facts: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return what the facts are asked for, and the answer: a debrief, or a proposal of a notice."""
    if "candidate_targets" not in facts:
        choice = {"choice": "DegradedCompletion", "confidence": 0.9}
        return "debrief", {**choice, "narrative": NARRATIVE}
    target = next(each for each in facts["candidate_targets"] if each["kind"] == "Asset")
    notice: Mapping[str, Any] = {
        "target_kind": target["kind"],
        "target_id": target["id"],
        "category": "OperationalWindow",
        "severity": "Notice",
        "text": NOTICE,
        "workaround": "Look at the current of the ring before a long run",
        "tags": [],
        "propagate_to_children": False,
        "supersedes_caution_id": None,
    }
    reasons = {"confidence": 0.8, "reasoning": "The run was held once because its beam was lost."}
    return "caution", {"choice": "ProposeNotice", **reasons, "proposed_caution": notice}


def _completion(output: Mapping[str, Any], input_tokens: int) -> Mapping[str, Any]:
    message = {"role": "assistant", "content": json.dumps(output)}
    return {
        "id": "of the example",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": input_tokens,
            "completion_tokens": 200,
            "total_tokens": input_tokens + 200,
        },
    }
