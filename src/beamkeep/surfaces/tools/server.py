"""MCP: every operation and every question as a tool, over streamable HTTP and stdio."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
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

from beamkeep.kernel import NotFound, Operation, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.codec import encode
from beamkeep.runtime.parsing import MalformedRequestError, parse
from beamkeep.runtime.tokens import TokenRefusal, Unverified
from beamkeep.surfaces.http.refusals import InternalError
from beamkeep.surfaces.problem import problem
from beamkeep.surfaces.schema import Endpoint
from beamkeep.telemetry import CallRecord, Telemetry, attributed

from .definitions import INSTRUCTIONS, ChangeOptions, options_of
from .listing import tools
from .prompts import get_prompt, list_prompts
from .resources import Resources
from .results import tool_result
from .selection import (
    CALL_OPERATION,
    FIND_OPERATION,
    HTTP_ONLY,
    CallOperation,
    FindOperation,
    Toolbox,
)

log: structlog.stdlib.BoundLogger = structlog.get_logger()

type McpContext = ServerRequestContext[Any, StarletteRequest]
type CallerOf = Callable[[McpContext], Awaitable[Caller]]

HTTP_REQUEST = "beamkeep.http_request"
"""Where the ASGI scope of a message over HTTP holds its request."""


class UnknownToolError(NotFound):
    """There is no tool of this name. Look in tools/list, or find it with find_operation."""


class Tools:
    """The catalogue as tools."""

    def __init__(
        self, service: Service, caller: CallerOf, telemetry: Telemetry, asked: str = ""
    ) -> None:
        self._service, self._caller = service, caller
        self._telemetry, self._asked = telemetry, asked
        self.resources = Resources(service.catalogue)

    # The definitions take long to make, and a process that no agent calls does not need them.
    @cached_property
    def _toolbox(self) -> Toolbox:
        return Toolbox(self._service.catalogue, tools(self._service.catalogue))

    async def show(
        self, context: McpContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return the tools that the caller may call, or the most usual of them and a search."""
        try:
            caller, asked = await self._caller(context), self._asked
            if context.request is not None:
                asked = context.request.query_params.get("toolsets", asked)
            with attributed(caller.correlation_id):
                permitted, proposable = await self._permitted(caller)
                toolbox = await asyncio.to_thread(lambda: self._toolbox)
                shown = toolbox.listed(permitted, asked, proposable)
        except Exception as error:
            refusal = self._refusal(error, context)
            code = types.INTERNAL_ERROR if refusal.status >= 500 else types.INVALID_REQUEST
            raise MCPError(code, str(refusal), problem(refusal)) from None
        return types.ListToolsResult(tools=shown)

    async def call(
        self, context: McpContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Return the answer of one operation or question, or its problem."""
        try:
            caller = await self._caller(context)
            name, arguments = params.name, params.arguments or {}
            if name == FIND_OPERATION.name:
                return await self._find(parse(FindOperation, arguments), caller)
            if name == CALL_OPERATION.name:
                called = parse(CallOperation, arguments)
                name, arguments = called.name, called.arguments
            endpoint = self._service.catalogue.named.get(name)
            if endpoint is None:
                raise UnknownToolError
        except Exception as error:
            return _refused(self._refusal(error, context))
        surface = caller.transport or SurfaceKind.MCP_STDIO
        with self._telemetry.call(endpoint.name, surface, caller.correlation_id) as record:
            try:
                return await self._answer(endpoint, arguments, caller, record)
            except Exception as error:
                known = {"name": endpoint.name, "correlation_id": caller.correlation_id}
                refusal = self._refusal(error, context, **known)
                record.answered(refusal.status, type(refusal).__name__)
                return _refused(refusal)

    async def read(
        self, context: McpContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return one object as its question shows it."""
        answer = await self.call(context, self.resources.question(params.uri))
        return self.resources.contents(params.uri, answer)

    async def _permitted(self, caller: Caller) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names that the caller may call or propose, and those only to propose."""
        admission = self._service.admission
        proposable = await admission.proposes(caller)
        permitted = await admission.permitted(caller, self._service.catalogue)
        return permitted - HTTP_ONLY | proposable, proposable

    async def _find(self, asked: FindOperation, caller: Caller) -> types.CallToolResult:
        surface, id = caller.transport or SurfaceKind.MCP_STDIO, caller.correlation_id
        with self._telemetry.call(FIND_OPERATION.name, surface, id) as record:
            toolbox = await asyncio.to_thread(lambda: self._toolbox)
            found = toolbox.find(asked, *await self._permitted(caller))
            record.answered(200)
        return tool_result(encode(found))

    async def _answer(
        self, endpoint: Endpoint, arguments: dict[str, Any], caller: Caller, record: CallRecord
    ) -> types.CallToolResult:
        if isinstance(endpoint, Operation):
            request = _request(endpoint, arguments, caller)
            result = await self._service.dispatcher.execute(endpoint, request)
            record.answered(result.status)
            id = msgspec.json.decode(result.body).get("proposal_id") if result.body else None
            return tool_result(
                result.body,
                link=f"/proposals/{id}" if id and result.status == 202 else None,
                version=result.version,
                position_token=result.token and str(result.token),
                replayed=result.replayed or None,
            )
        # The key is for commands; a client that sends it with every call is not refused.
        own = {name: value for name, value in arguments.items() if name != "idempotency_key"}
        found = await self._service.queries.ask(endpoint, Request(caller, own))
        record.answered(200)
        return tool_result(found.body, version=found.version)

    def _refusal(self, error: Exception, context: McpContext, **known: object) -> Refusal:
        """Return the refusal that answers an error. Log the error unless it is a refusal."""
        if not isinstance(error, Refusal):
            log.error("call failed", method=context.method, exc_info=error, **known)
            return InternalError()
        if isinstance(error, TokenRefusal) and context.request is not None:
            context.request.scope[HTTP_REQUEST].late_refusal = error
        elif isinstance(error, Unverified):
            self._telemetry.refuse_token(**msgspec.to_builtins(error.fault))
        return error


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
        proposal_note=options.proposal_note,
    )


def _refused(refusal: Refusal) -> types.CallToolResult:
    body = encode(problem(refusal))
    return tool_result(body, failed=True, retry_after=refusal.retry_after)


def server(
    service: Service, caller: CallerOf, telemetry: Telemetry | None = None, asked: str = ""
) -> Server[dict[str, Any]]:
    """Return the MCP server; `caller` identifies callers, `asked` are the toolsets to list."""
    shown = Tools(service, caller, telemetry or Telemetry(), asked=asked)
    return Server(
        "beamkeep",
        version=version("beamkeep"),
        instructions=INSTRUCTIONS,
        on_list_tools=shown.show,
        on_call_tool=shown.call,
        on_list_resources=shown.resources.listed,
        on_list_resource_templates=shown.resources.templates,
        on_read_resource=shown.read,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        # No argument of ours travels in a header; without this the SDK lists all tools per call.
        get_tool_input_schema=lambda _: None,
    )


async def serve_stdio(
    service: Service, caller: Callable[[], Awaitable[Caller]], asked: str = ""
) -> None:
    """Serve the tools on standard input and output; `caller` is asked for every message."""

    async def identified(_: McpContext) -> Caller:
        return await caller()

    serving = server(service, identified, asked=asked)
    async with stdio_server() as (reading, writing):
        await serving.run(reading, writing, serving.create_initialization_options())
