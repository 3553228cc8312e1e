"""MCP: every operation and every question as a tool, over streamable HTTP and stdio."""

from collections.abc import Awaitable, Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import mcp_types as types
import msgspec
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from starlette.requests import Request as StarletteRequest

from beamkeep.kernel import Catalogue, NotFound, Operation, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.codec import encode
from beamkeep.runtime.parsing import MalformedRequestError, parse
from beamkeep.runtime.tokens import TokenRefusal
from beamkeep.telemetry import CallRecord, Telemetry, attributed

from .http.refusals import InternalError
from .problem import problem
from .schema import Endpoint
from .tools import INSTRUCTIONS, ChangeOptions, options_of, tool

log: structlog.stdlib.BoundLogger = structlog.get_logger()

type McpContext = ServerRequestContext[Any, StarletteRequest]
type CallerOf = Callable[[McpContext], Awaitable[Caller]]

HTTP_REQUEST = "beamkeep.http_request"
"""Where the ASGI scope of a message over HTTP holds its request."""


class UnknownToolError(NotFound):
    """There is no tool of this name. tools/list shows every tool."""


class Tools:
    """The catalogue as tools."""

    def __init__(self, service: Service, caller: CallerOf, telemetry: Telemetry) -> None:
        self._service, self._caller, self._telemetry = service, caller, telemetry

    async def show(
        self, context: McpContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return the tools that the caller may call, in the catalogue's order."""
        try:
            caller = await self._caller(context)
            with attributed(caller.correlation_id):
                names = await self._service.admission.permitted(caller, self._service.catalogue)
        except Exception as error:
            refusal = _refusal(error, context)
            code = types.INTERNAL_ERROR if refusal.status >= 500 else types.INVALID_REQUEST
            raise MCPError(code, str(refusal), problem(refusal)) from None
        shown = _tools(self._service.catalogue).items()
        return types.ListToolsResult(tools=[each for name, each in shown if name in names])

    async def call(
        self, context: McpContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Return the answer of one operation or question, or its problem."""
        try:
            caller = await self._caller(context)
            endpoint = self._service.catalogue.named.get(params.name)
            if endpoint is None:
                raise UnknownToolError
        except Exception as error:
            return _refused(_refusal(error, context))
        surface = caller.transport or SurfaceKind.MCP_STDIO
        with self._telemetry.call(endpoint.name, surface, caller.correlation_id) as record:
            try:
                return await self._answer(endpoint, params.arguments or {}, caller, record)
            except Exception as error:
                known = {"name": endpoint.name, "correlation_id": caller.correlation_id}
                refusal = _refusal(error, context, **known)
                record.answered(refusal.status, type(refusal).__name__)
                return _refused(refusal)

    async def _answer(
        self, endpoint: Endpoint, arguments: dict[str, Any], caller: Caller, record: CallRecord
    ) -> types.CallToolResult:
        if isinstance(endpoint, Operation):
            request = _request(endpoint, arguments, caller)
            result = await self._service.dispatcher.execute(endpoint, request)
            record.answered(result.status)
            return _result(
                result.body,
                version=result.version,
                position_token=result.token and str(result.token),
                replayed=result.replayed or None,
            )
        # The key is for commands; a client that sends it with every call is not refused.
        own = {name: value for name, value in arguments.items() if name != "idempotency_key"}
        found = await self._service.queries.ask(endpoint, Request(caller, own))
        record.answered(200)
        return _result(found.body, version=found.version)


@cache
def _tools(catalogue: Catalogue) -> dict[str, types.Tool]:
    return {name: tool(endpoint) for name, endpoint in catalogue.named.items()}


def _request(operation: Operation, arguments: dict[str, Any], caller: Caller) -> Request:
    """Return the request, its arguments apart from the options that every operation takes."""
    kind = options_of(operation)
    own = {name: value for name, value in arguments.items() if name not in kind.model_fields}
    try:
        options = parse(kind, {n: v for n, v in arguments.items() if n in kind.model_fields})
    except MalformedRequestError as refusal:
        # Passed on, because a missing grant is reported first.
        return Request(caller, refusal)
    if_match = options.if_match if isinstance(options, ChangeOptions) else None
    return Request(
        caller,
        own,
        idempotency_key=options.idempotency_key,
        if_match=None if if_match is None else str(if_match),
        dry_run=options.dry_run,
    )


def _refusal(error: Exception, context: McpContext, **known: object) -> Refusal:
    """Return the refusal that answers an error. Log the error unless it is a refusal."""
    if not isinstance(error, Refusal):
        log.error("call failed", method=context.method, exc_info=error, **known)
        return InternalError()
    if isinstance(error, TokenRefusal) and context.request is not None:
        context.request.scope[HTTP_REQUEST].late_refusal = error
    return error


def _refused(refusal: Refusal) -> types.CallToolResult:
    return _result(encode(problem(refusal)), failed=True, retry_after=refusal.retry_after)


def _result(body: bytes, failed: bool = False, **headers: object) -> types.CallToolResult:
    """Return the body that REST would send, and its headers as `_meta`."""
    meta = {name: value for name, value in headers.items() if value is not None}
    # A model reads only the content, so the content has both as text too.
    texts = [body or b"{}", *([encode(meta)] if meta else [])]
    return types.CallToolResult(
        content=[types.TextContent(text=text.decode()) for text in texts],
        structured_content=msgspec.json.decode(texts[0]),
        is_error=failed,
        _meta=meta or None,
    )


def server(
    service: Service, caller: CallerOf, telemetry: Telemetry | None = None
) -> Server[dict[str, Any]]:
    """Return the MCP server; `caller` identifies the caller of each message."""
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


async def serve_stdio(service: Service, caller: Callable[[], Awaitable[Caller]]) -> None:
    """Serve the tools on standard input and output; `caller` is asked for every message."""

    async def identified(_: McpContext) -> Caller:
        return await caller()

    tools = server(service, identified)
    async with stdio_server() as (reading, writing):
        await tools.run(reading, writing, tools.create_initialization_options())
