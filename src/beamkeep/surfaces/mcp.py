"""MCP: every operation and every question as a tool, over streamable HTTP and stdio."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Any

import mcp_types as types
import msgspec
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER, unsupported_protocol_version_rejection
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from beamkeep.kernel import NotFound, Operation, Question, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.codec import encode
from beamkeep.runtime.parsing import MalformedRequestError, parse, repeats_a_name
from beamkeep.runtime.tokens import TokenRefusal
from beamkeep.telemetry import Seen, Telemetry, attributed

from .limits import InternalError, Limits, overdue, read_body
from .problem import problem
from .tools import INSTRUCTIONS, ChangeEnvelope, envelope_of, tool

log: structlog.stdlib.BoundLogger = structlog.get_logger()

type Context = ServerRequestContext[Any, HttpRequest]
type CallerOf = Callable[[Context], Awaitable[Caller]]
type Identify = Callable[[Scope, SurfaceKind], Awaitable[Caller]]
type HttpAnswer = tuple[int, Sequence[tuple[bytes, bytes]], bytes]
type OnRefusal = Callable[[Refusal, Scope], HttpAnswer]

CALLER = "beamkeep.caller"
REFUSED = "beamkeep.refused"


class UnknownToolError(NotFound):
    """There is no tool of this name; tools/list shows those there are."""


class Tools:
    """The catalogue as tools, for whoever calls."""

    def __init__(self, service: Service, caller: CallerOf, telemetry: Telemetry) -> None:
        self._service, self._caller, self._telemetry = service, caller, telemetry
        self._tools = {name: tool(row) for name, row in service.catalogue.named.items()}

    async def show(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """What the caller may call, in the catalogue's order."""
        try:
            caller = await self._caller(context)
            with attributed(caller.correlation_id):
                names = await self._service.admission.permitted(caller, self._service.catalogue)
        except Exception as error:
            refusal = _told(error, context)
            code = types.INTERNAL_ERROR if refusal.status >= 500 else types.INVALID_REQUEST
            raise MCPError(code, str(refusal), problem(refusal)) from None
        return types.ListToolsResult(tools=[t for name, t in self._tools.items() if name in names])

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """The answer of one operation or question, or the problem that stands against it."""
        try:
            caller = await self._caller(context)
            row = self._service.catalogue.named.get(params.name)
            if row is None:
                raise UnknownToolError
        except Exception as error:
            return _refused(_told(error, context))
        surface = caller.transport or SurfaceKind.MCP_STDIO
        with self._telemetry.call(row.name, surface, caller.correlation_id) as seen:
            try:
                return await self._answer(row, params.arguments or {}, caller, seen)
            except Exception as error:
                refusal = _told(error, context, name=row.name, correlation_id=caller.correlation_id)
                seen.answered(refusal.status, type(refusal).__name__)
                return _refused(refusal)

    async def _answer(
        self, row: Operation | Question, arguments: dict[str, Any], caller: Caller, seen: Seen
    ) -> types.CallToolResult:
        match row:
            case Operation():
                request = _request(row, arguments, caller)
                answered = await self._service.dispatcher.execute(row, request)
                seen.answered(answered.status)
                return _result(
                    answered.body,
                    version=answered.version,
                    position_token=answered.token and str(answered.token),
                    replayed=answered.replayed or None,
                )
            case Question():
                # The key is for commands; a client that sends it with every call is not refused.
                own = {name: v for name, v in arguments.items() if name != "idempotency_key"}
                found = await self._service.queries.ask(row, Request(caller, own))
                seen.answered(200)
                return _result(found.body, version=found.version)


def _refused(refusal: Refusal) -> types.CallToolResult:
    told = encode(problem(refusal))
    return _result(told, failed=True, retry_after=refusal.retry_after)


def _request(operation: Operation, arguments: dict[str, Any], caller: Caller) -> Request:
    """The arguments parted into what the command takes and what every operation takes."""
    kind = envelope_of(operation)
    own = {name: value for name, value in arguments.items() if name not in kind.model_fields}
    try:
        beside = parse(kind, {n: v for n, v in arguments.items() if n in kind.model_fields})
    except MalformedRequestError as refusal:
        # Handed on: whoever may not call is told that first.
        return Request(caller, refusal)
    wanted = beside.if_match if isinstance(beside, ChangeEnvelope) else None
    if_match = None if wanted is None else str(wanted)
    return Request(caller, own, beside.idempotency_key, if_match, beside.dry_run)


def _told(error: Exception, context: Context, **known: object) -> Refusal:
    """What the caller is told of an error; one that is no refusal goes to the log instead."""
    if not isinstance(error, Refusal):
        log.error("call failed", method=context.method, exc_info=error, **known)
        return InternalError()
    if isinstance(error, TokenRefusal) and context.request is not None:
        context.request.scope[REFUSED].append(error)
    return error


def _result(body: bytes, failed: bool = False, **beside: object) -> types.CallToolResult:
    """The body REST would send as structured content, and what its headers would say as `_meta`.

    A model reads only the content, so both stand there as text too.
    """
    told = {name: value for name, value in beside.items() if value is not None}
    texts = [body or b"{}", *([encode(told)] if told else [])]
    return types.CallToolResult(
        content=[types.TextContent(text=text.decode()) for text in texts],
        structured_content=msgspec.json.decode(texts[0]),
        is_error=failed,
        _meta=told or None,
    )


def server(
    service: Service, caller: CallerOf, telemetry: Telemetry | None = None
) -> Server[dict[str, Any]]:
    """The protocol's side of the service; `caller` says who makes each single request."""
    tools = Tools(service, caller, telemetry or Telemetry())
    return Server(
        "beamkeep",
        version=version("beamkeep"),
        instructions=INSTRUCTIONS,
        on_list_tools=tools.show,
        on_call_tool=tools.call,
        # No argument of ours travels in a header; without this the SDK lists all tools per call.
        get_tool_input_schema=lambda _: None,
    )


def http_app(
    service: Service,
    identify: Identify,
    *,
    allowed_hosts: list[str],
    allowed_origins: list[str],
    on_refusal: OnRefusal,
    legacy: bool = True,
    in_flight: Callable[[Caller], AbstractContextManager[object]] = nullcontext,
    limits: Limits | None = None,
    telemetry: Telemetry | None = None,
) -> ASGIApp:
    """The tools over streamable HTTP. Nothing is kept from one request to the next."""
    limits = limits or Limits()
    security = TransportSecurityMiddleware(
        TransportSecuritySettings(allowed_hosts=allowed_hosts, allowed_origins=allowed_origins)
    )

    async def attached(context: Context) -> Caller:
        assert context.request is not None, "it came by HTTP"  # noqa: S101
        return context.request.scope[CALLER]

    tools = server(service, attached, telemetry)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        # 1. From where. The SDK would read the whole body before it looks.
        request = HttpRequest(scope)
        if response := await security.validate_request(request):
            await response(scope, receive, send)
            return
        # 2. Who, anew for every request.
        caller = await identify(scope, SurfaceKind.MCP_STREAMABLE_HTTP)
        # 3. How. There is no stream to open and no session to end.
        if request.method != "POST":
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)
            return
        spoken = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, "")
        if not legacy and spoken in {"", *HANDSHAKE_PROTOCOL_VERSIONS}:
            await _send(_unsupported(spoken), send)
            return
        # 4. What. A manager per request needs no lifespan and cannot carry anything over.
        found: list[TokenRefusal] = []
        sent: list[Message] = []

        async def receiving() -> Message:
            return sent.pop() if sent else await receive()

        async def unless_refused(message: Message) -> None:
            if not found:
                await send(message)

        manager = StreamableHTTPSessionManager(
            tools, json_response=True, stateless=True, max_request_body_size=limits.body_bytes
        )
        with in_flight(caller):
            # The SDK would take a caller that hangs up for a failure of its own.
            body = await read_body(scope, receive, limits)
            if repeats_a_name(body):
                await _send(AMBIGUOUS, send)
                return
            sent.append({"type": "http.request", "body": body})
            async with manager.run():
                own = {**scope, CALLER: caller, REFUSED: found}
                await manager.handle_request(own, receiving, unless_refused)
        # A good token of nobody we know is found out late; it is 401 all the same.
        if found:
            raise found[0]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        deadline, begun = asyncio.timeout(limits.deadline_seconds), list[Message]()

        async def noted(message: Message) -> None:
            begun.append(message)
            await send(message)

        try:
            async with deadline:
                await answer(scope, receive, noted)
        except Refusal as refusal:
            await _send(on_refusal(refusal, scope), send)
        except TimeoutError:
            if not deadline.expired():
                raise
            # An answer that was under way when the time was up is not followed by another.
            if not begun:
                await _send(on_refusal(overdue(scope), scope), send)

    return app


def _failure(code: int, message: str, data: object = None) -> HttpAnswer:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    body = encode({"jsonrpc": "2.0", "id": None, "error": error})
    return 400, [(b"content-type", b"application/json")], body


AMBIGUOUS = _failure(
    types.INVALID_REQUEST, "A name occurs twice in one object; give each only once."
)


def _unsupported(spoken: str) -> HttpAnswer:
    rejection = unsupported_protocol_version_rejection(spoken)
    assert rejection is not None, "no older revision is a current one"  # noqa: S101
    return _failure(rejection.code, rejection.message, rejection.data)


async def _send(answer: HttpAnswer, send: Send) -> None:
    status, own, body = answer
    headers = [*own, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def serve_stdio(service: Service, caller: Callable[[], Awaitable[Caller]]) -> None:
    """Serve the tools on standard input and output; `caller` is asked anew for every call."""

    async def anew(_: Context) -> Caller:
        return await caller()

    tools = server(service, anew)
    async with stdio_server() as (reading, writing):
        await tools.run(reading, writing, tools.create_initialization_options())
