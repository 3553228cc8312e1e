"""MCP over streamable HTTP. Nothing is kept from one request to the next."""

from functools import partial

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message

from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller
from beamkeep.runtime.codec import encode
from beamkeep.runtime.parsing import MalformedRequestError, repeats_a_name
from beamkeep.surfaces.tools.server import HTTP_REQUEST, McpContext, server
from beamkeep.telemetry import Telemetry

from .messages import JSON, HttpRequest, HttpResponse
from .routes import Responder

TWICE = "A name occurs twice in one object. Give each name once."


def mcp_responder(service: Service, telemetry: Telemetry) -> Responder:
    """Return the function that answers every message of an agent."""

    async def identified(context: McpContext) -> Caller:
        assert context.request is not None, "it came by HTTP"  # noqa: S101
        return context.request.scope[HTTP_REQUEST].caller

    tools = server(service, identified, telemetry)

    async def answer(request: HttpRequest) -> HttpResponse:
        # Which tool is called is in the body, which nobody without an actor has parsed.
        await service.admission.require_registered(request.caller)
        body = await request.json()
        try:
            if await request.parsed(partial(repeats_a_name, body)):
                return _invalid(TWICE)
        except MalformedRequestError as refusal:
            return _invalid(str(refusal))
        read: list[Message] = [{"type": "http.request", "body": body}]
        written: list[Message] = []

        async def receive() -> Message:
            return read.pop() if read else await request.receive()

        async def send(message: Message) -> None:
            written.append(message)

        # A manager per request needs no lifespan.
        manager = StreamableHTTPSessionManager(
            tools, json_response=True, stateless=True, max_request_body_size=len(body) or 1
        )
        async with manager.run():
            await manager.handle_request({**request.scope, HTTP_REQUEST: request}, receive, send)
        # That a valid token belongs to no actor is found late; the answer is 401 all the same.
        if request.late_refusal:
            raise request.late_refusal
        start, *parts = written
        headers = {n: v for n, v in start["headers"] if n != b"content-length"}
        return HttpResponse(start["status"], headers, b"".join(part["body"] for part in parts))

    return answer


def _invalid(message: str) -> HttpResponse:
    fault = {"code": types.INVALID_REQUEST, "message": message}
    return HttpResponse(400, JSON, encode({"jsonrpc": "2.0", "id": None, "error": fault}))
