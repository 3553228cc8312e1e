"""A server on the loopback that speaks the APIs of language-model providers, well or badly."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

GOOD = {"mood": "calm", "text": "The stage moved as planned."}


class Got(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Reply(NamedTuple):
    """One answer: its status, its body, and how badly it is sent."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = {}
    trickle: bool = False
    """Send one byte after another and never end."""
    cut: bool = False
    """Close the connection in the middle of the body."""


class ProviderServer:
    """Gives its answers in turn, the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[Reply] = []
        self.got: list[Got] = []
        self.url = ""
        self._server: asyncio.Server | None = None
        self._tasks = set[asyncio.Task[None]]()

    @property
    def posts(self) -> list[Got]:
        """The requests for an answer, without questions about the model."""
        return [each for each in self.got if each.method == "POST"]

    def answer_with(self, *answers: Reply) -> None:
        """Set the answers to the next requests."""
        self.answers = [*answers]

    async def serve(self) -> None:
        """Begin to listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    async def close(self) -> None:
        """Stop listening and end every connection."""
        assert self._server
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value for name, _, value in (e.partition(": ") for e in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.got.append(Got(method, path, headers, json.loads(body) if body else None))
        if method == "GET":
            reply = Reply(MODEL) if "/models/" in path else Reply({}, 404)
        else:
            reply = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        sent = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(
            f"HTTP/1.1 {reply.status} X\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"Content-Length: {len(sent)}\r\n{more}\r\n".encode()
        )
        if reply.cut:
            writer.write(sent[: len(sent) // 2])
            await writer.drain()
            return
        while reply.trickle:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.write(sent)
        await writer.drain()


@asynccontextmanager
async def provider_server() -> AsyncGenerator[ProviderServer]:
    """Run a server for the time of a test."""
    server = ProviderServer()
    await server.serve()
    try:
        yield server
    finally:
        await server.close()


_SUPPORTED, _NOT = {"supported": True}, {"supported": False}
MODEL = {
    "id": "claude-x",
    "type": "model",
    "display_name": "X",
    "created_at": "2026-01-01T00:00:00Z",
    "capabilities": {
        "thinking": {
            "supported": True,
            "types": {
                "adaptive": _SUPPORTED,
                "between_tools": _NOT,
                "disabled": _SUPPORTED,
                "enabled": _NOT,
            },
        }
    },
}


def message(
    text: str | None = None, stop_reason: str = "end_turn", input_tokens: int = 400, **more: Any
) -> dict[str, Any]:
    """Return a body of the Messages API."""
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-x-20260101",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "x"},
            {"type": "text", "text": json.dumps(GOOD) if text is None else text},
        ],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": input_tokens,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 2,
            "output_tokens": 50,
        },
        **more,
    }


def response(
    text: str | None = None, status: str = "completed", input_tokens: int = 405, **more: Any
) -> dict[str, Any]:
    """Return a body of the Responses API."""
    part = {"type": "output_text", "text": json.dumps(GOOD) if text is None else text}
    return {
        "id": "resp_01",
        "object": "response",
        "created_at": 1760000000,
        "model": "gpt-x-2026-01-01",
        "status": status,
        "incomplete_details": None,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{**part, "annotations": []}],
            },
        ],
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 10},
            "total_tokens": input_tokens + 50,
        },
        **more,
    }


def completion(
    text: str | None = None,
    finish_reason: str = "stop",
    input_tokens: int = 405,
    refusal: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a body of the chat-completions API."""
    content = json.dumps(GOOD) if text is None else text
    return {
        "id": "chatcmpl-01",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "local-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
            }
        ],
        "usage": {
            "prompt_tokens": input_tokens,
            "completion_tokens": 50,
            "total_tokens": input_tokens + 50,
        },
        **more,
    }


def refusing_response() -> dict[str, Any]:
    """Return a response in which the model declines."""
    part: Sequence[Any] = [{"type": "refusal", "refusal": "I can't help with that."}]
    output = [{"type": "message", "id": "m", "role": "assistant", "content": part}]
    return response() | {"output": output}
