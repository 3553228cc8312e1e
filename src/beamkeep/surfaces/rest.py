"""REST: every operation and every question of the catalogue at its own method and path."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, cast, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
import structlog
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from beamkeep.kernel import Catalogue, One, Operation, Question, Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.codec import encode
from beamkeep.runtime.dispatch import CommandResult
from beamkeep.runtime.parsing import Arguments, MalformedRequestError, parse_body
from beamkeep.runtime.queries import Found
from beamkeep.telemetry import Seen, Telemetry

from .edge import JSON, METADATA, Edge, Reply
from .head import Header, correlation_id_of, head_of, path_of
from .limits import BodyIncompleteError, InternalError, overdue
from .openapi import document_text
from .routes import MethodNotAllowedError, RouteNotFoundError, Routes, Row

log: structlog.stdlib.BoundLogger = structlog.get_logger()

REPLAYED: Header = (b"idempotency-replayed", b"true")
DRY_RUN: dict[tuple[tuple[str, str], ...], bool] = {
    (): False,
    (("dry_run", "true"),): True,
    (("dry_run", "false"),): False,
}
TEXT: Header = (b"content-type", b"text/plain; charset=utf-8")
HTML: Header = (b"content-type", b"text/html; charset=utf-8")
METRICS: Header = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
DOCS_POLICY: Header = (b"content-security-policy", b"default-src 'self' 'unsafe-inline'")


class Operations:
    """Answers calls. Plain ASGI: a command is worth more than the objects a framework makes."""

    def __init__(self, service: Service, edge: Edge, telemetry: Telemetry) -> None:
        self._dispatcher, self._asker, self._edge = service.dispatcher, service.queries, edge
        self._telemetry = telemetry
        self._routes = Routes(service.catalogue)
        homes = {
            question.aggregate.name: question.route.path.partition("{")[0]
            for question in service.catalogue.questions
            if isinstance(question.source, One)
        }
        self._homes = homes
        self._repeatable = {
            question.name: _repeatable(question) for question in service.catalogue.questions
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        correlation_id, path = correlation_id_of(scope), path_of(scope).decode("latin-1")
        try:
            row, values = self._routes.find(scope["method"], path)
        except Refusal as refusal:
            reply = unrouted(self._edge, refusal)
        else:
            with self._telemetry.call(row.name, SurfaceKind.HTTP, correlation_id) as seen:
                reply = await self._answer(row, values, scope, receive, seen)
        await self._edge.send(reply, scope, send)

    async def _answer(
        self, row: Row, values: dict[str, str], scope: Scope, receive: Receive, seen: Seen
    ) -> Reply:
        deadline = asyncio.timeout(self._edge.limits.deadline_seconds)
        try:
            async with deadline:
                caller = await self._edge.identify(scope, SurfaceKind.HTTP)
                with self._edge.in_flight(caller):
                    reads = isinstance(row, Operation)
                    body = await self._edge.read_body(scope, receive) if reads else b""
                    reply = await self._carried_out(row, values, scope, caller, body)
        except Refusal as told:
            refusal = told
        except Exception:
            refusal = overdue(scope) if deadline.expired() else InternalError()
            if not isinstance(refusal, BodyIncompleteError):
                log.exception("call failed", name=row.name, correlation_id=correlation_id_of(scope))
        else:
            seen.answered(reply.status)
            return reply
        seen.answered(refusal.status, type(refusal).__name__)
        return self._edge.refused(refusal)

    async def _carried_out(
        self, row: Row, values: dict[str, str], scope: Scope, caller: Caller, body: bytes
    ) -> Reply:
        match row:
            case Operation():
                request = _command(caller, values, scope, body)
                return self._done(row, await self._dispatcher.execute(row, request))
            case Question():
                several = self._repeatable[row.name]
                request = Request(caller, _asked(values, scope["query_string"], several))
                return _found(await self._asker.ask(row, request))

    def _done(self, operation: Operation, answered: CommandResult) -> Reply:
        headers: list[Header] = []
        if answered.body:
            headers.append(JSON)
        if answered.status == 201 and (made := _made(operation, answered)):
            home = self._homes[operation.aggregate.name]
            headers.append((b"location", f"{home}{made}".encode()))
        if answered.version is not None:
            headers.append((b"etag", b'"%d"' % answered.version))
        if answered.token is not None:
            headers.append((b"position-token", str(answered.token).encode()))
        if answered.replayed:
            headers.append(REPLAYED)
        return Reply(answered.status, headers, answered.body)


def _made(operation: Operation, answered: CommandResult) -> object:
    """The id of the new object; of a change, or of an answer given again, only the body has it."""
    if operation.genesis and answered.id:
        return answered.id
    return msgspec.json.decode(answered.body).get(operation.aggregate.id_field)


def _repeatable(question: Question) -> frozenset[str]:
    """The query parameters that may be given several times."""
    fields = question.query.model_fields.items()
    return frozenset(name for name, field in fields if _holds_several(field.annotation))


def _holds_several(annotation: object) -> bool:
    return any(get_origin(choice) is frozenset for choice in (annotation, *get_args(annotation)))


def unrouted(edge: Edge, refusal: Refusal) -> Reply:
    """The answer where no such call is, with the methods there are."""
    status, headers, body = edge.refused(refusal)
    allowed = cast("Sequence[str]", refusal.facts.get("allow", ()))
    allow = [(b"allow", ", ".join(allowed).encode())] if allowed else []
    return Reply(status, [*headers, *allow], body)


def _command(caller: Caller, values: dict[str, str], scope: Scope, body: bytes) -> Request:
    head = head_of(scope)
    key, if_match = head.get(b"idempotency-key"), head.get(b"if-match")
    arguments, dry_run = _told(values, scope["query_string"], body)
    return Request(
        caller,
        arguments,
        None if key is None else key.decode("latin-1"),
        None if if_match is None else if_match.decode("latin-1"),
        dry_run,
    )


def _told(values: dict[str, str], query: bytes, body: bytes) -> tuple[Arguments, bool]:
    """The arguments of a command, or what is wrong with them, and whether it is a dry run."""
    try:
        arguments = parse_body(body)
        if not values.keys().isdisjoint(arguments):
            raise MalformedRequestError("The body repeats what the path says.")
        dry_run = False if not query else DRY_RUN.get(tuple(_pairs(query)))
        if dry_run is None:
            raise MalformedRequestError("The only query parameter is dry_run: true or false.")
    except MalformedRequestError as refusal:
        return refusal, False
    return {**values, **arguments}, dry_run


def _asked(values: dict[str, str], query: bytes, several: frozenset[str]) -> Arguments:
    if not query:
        return values
    try:
        pairs = _pairs(query)
    except MalformedRequestError as refusal:
        return refusal
    single = [pair for pair in pairs if pair[0] not in several]
    arguments: dict[str, Any] = dict(single)
    for name, value in pairs:
        if name in several:
            arguments.setdefault(name, []).append(value)
    if len(single) > len(dict(single)) or not values.keys().isdisjoint(arguments):
        return MalformedRequestError("A query parameter is given twice.")
    return {**values, **arguments}


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise MalformedRequestError("The query string is not well-formed.") from None


def _found(found: Found) -> Reply:
    if found.version is None:
        return Reply(200, (JSON,), found.body)
    return Reply(200, (JSON, (b"etag", b'"%d"' % found.version)), found.body)


def application(
    service: Service,
    edge: Edge,
    *,
    ready: Callable[[], Awaitable[str | None]],
    metrics: Callable[[], bytes] | None,
    mcp: ASGIApp | None = None,
    telemetry: Telemetry | None = None,
) -> ASGIApp:
    """Everything the service answers over HTTP; `ready` says in words what is missing, if it is.

    Without `metrics` there is no page of them: they are served somewhere else, or nowhere.
    """
    operations = Operations(service, edge, telemetry or Telemetry())
    probes = Pages(_probes(ready), edge)
    measured = _measured(metrics) if metrics else {}
    pages = Pages({**_pages(service.catalogue, edge), **measured}, edge)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        # As it was sent, not as it decodes: a proxy's rule for /mcp must not miss /%6dcp.
        path = path_of(scope)
        if path in probes.paths:
            await probes(scope, receive, send)
            return
        edge.hosts.require(scope)
        if path in pages.paths:
            await pages(scope, receive, send)
        elif path == b"/mcp" and mcp:
            await mcp(scope, receive, _adding(edge.headers_for(scope), send))
        else:
            await operations(scope, receive, send)

    return _front(answer, edge)


def metrics_application(edge: Edge, metrics: Callable[[], bytes]) -> ASGIApp:
    """The metrics alone, for an address of their own."""
    pages = Pages(_measured(metrics), edge)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        edge.hosts.require(scope)
        if path_of(scope) not in pages.paths:
            raise RouteNotFoundError
        await pages(scope, receive, send)

    return _front(answer, edge)


def _front(answer: ASGIApp, edge: Edge) -> ASGIApp:
    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                try:
                    await answer(scope, receive, send)
                except Refusal as refusal:
                    await edge.send(edge.refused(refusal), scope, send)
            case "lifespan":
                await Router()(scope, receive, send)
            case _:
                await send({"type": "websocket.close"})

    return front


def _adding(headers: list[Header], send: Send) -> Send:
    async def adding(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", ())}
            more = [header for header in headers if header[0] not in own]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return adding


type Page = Callable[[], Awaitable[Reply]]


class Pages:
    """What is served beside the operations, to anyone."""

    def __init__(self, pages: Mapping[str, Page], edge: Edge) -> None:
        self._pages = {path.encode(): page for path, page in pages.items()}
        self._edge, self.paths = edge, frozenset(self._pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send one page."""
        if scope["method"] not in {"GET", "HEAD"}:
            reply = unrouted(self._edge, MethodNotAllowedError(allow=["GET", "HEAD"]))
        else:
            try:
                reply = await self._pages[path_of(scope)]()
            except Exception:
                correlation_id = correlation_id_of(scope)
                log.exception("page failed", path=scope["path"], correlation_id=correlation_id)
                reply = self._edge.refused(InternalError())
        await self._edge.send(reply, scope, send)


def _probes(ready: Callable[[], Awaitable[str | None]]) -> dict[str, Page]:
    """What a supervisor asks, which often knows no more than an IP address to call."""

    async def readiness() -> Reply:
        missing = await ready()
        return Reply(503 if missing else 200, (TEXT,), (missing or "ready").encode())

    return {"/health": _fixed(b"alive", TEXT), "/ready": readiness}


def _measured(metrics: Callable[[], bytes]) -> dict[str, Page]:
    async def measured() -> Reply:
        return Reply(200, (METRICS,), metrics())

    return {"/metrics": measured}


def _pages(catalogue: Catalogue, edge: Edge) -> dict[str, Page]:
    docs = files(__package__).joinpath("docs.html").read_bytes()
    return {
        "/openapi.json": _fixed(document_text(catalogue).encode(), JSON),
        "/docs": _fixed(docs, HTML, DOCS_POLICY),
        METADATA: _fixed(encode(edge.metadata()), JSON),
        f"{METADATA}/mcp": _fixed(encode(edge.metadata("/mcp")), JSON),
    }


def _fixed(body: bytes, *headers: Header) -> Page:
    async def page() -> Reply:
        return Reply(200, headers, body)

    return page
