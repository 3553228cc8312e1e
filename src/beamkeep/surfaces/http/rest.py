"""REST: every operation and every question of the catalogue at its own method and path."""

from collections.abc import Iterator
from functools import cache
from typing import Any, get_args, get_origin
from urllib.parse import parse_qsl, unquote

import msgspec

from beamkeep.kernel import Operation, Query, Question, Reply, reply_of
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request
from beamkeep.runtime.parsing import Arguments, MalformedRequestError, parse_body

from .messages import JSON, HttpRequest, HttpResponse
from .routes import HttpRoute

DRY_RUN: dict[tuple[tuple[str, str], ...], bool] = {
    (): False,
    (("dry_run", "true"),): True,
    (("dry_run", "false"),): False,
}


def rest_routes(service: Service) -> Iterator[HttpRoute]:
    """Yield the route of every operation and question."""
    for operation in service.catalogue.operations:
        yield _command_route(service, operation)
    for question in service.catalogue.questions:
        yield question_route(service, question)


def _command_route(service: Service, operation: Operation) -> HttpRoute:
    new_path, proposal = _new_path(service, operation), service.catalogue.gets.get("Proposal")

    async def answer(request: HttpRequest) -> HttpResponse:
        if request.is_large:
            await service.admission.admit(operation.name, request.caller)
        read = _CommandArguments(request, await request.json())
        arguments, parses, dry_run = request.values, None if request.is_large else read, False
        try:
            dry_run = _dry_run(request.scope["query_string"])
            arguments = await request.parsed(read) if request.is_large else arguments
            sent = request.text(b"proposal-note")
            note = None if sent is None else unquote(sent, errors="strict")
        except MalformedRequestError as refusal:
            note, arguments, parses = None, refusal, None
        except UnicodeDecodeError:
            note, parses = None, None
            arguments = MalformedRequestError("Proposal-Note must be UTF-8.")
        result = await service.dispatcher.execute(
            operation,
            Request(
                request.caller,
                arguments,
                parses=parses,
                idempotency_key=request.text(b"idempotency-key"),
                if_match=request.text(b"if-match"),
                dry_run=dry_run,
                proposal_note=note,
            ),
        )
        headers = dict(JSON) if result.body else {}
        if result.status in (201, 202) and result.body:
            answered = msgspec.json.decode(result.body)
            path = proposal.route.path if proposal and "proposal_id" in answered else new_path
            headers |= {b"location": path.format_map(answered).encode()} if path else {}
        if result.version is not None:
            headers[b"etag"] = b'"%d"' % result.version
        if result.token is not None:
            headers[b"position-token"] = str(result.token).encode()
        if result.replayed:
            headers[b"idempotency-replayed"] = b"true"
        return HttpResponse(result.status, headers, result.body)

    return HttpRoute(operation.name, operation.route, answer)


def question_route(service: Service, question: Question) -> HttpRoute:
    """Return the route of a question."""
    repeatable = repeatable_fields(question.query)

    async def answer(request: HttpRequest) -> HttpResponse:
        arguments = question_arguments(request, repeatable)
        found = await service.queries.ask(question, Request(request.caller, arguments))
        version = {} if found.version is None else {b"etag": b'"%d"' % found.version}
        return HttpResponse(200, {**JSON, **version}, found.body)

    return HttpRoute(question.name, question.route, answer)


def _new_path(service: Service, operation: Operation) -> str:
    """Return the path of what is new: the longest of one object that the answer's ids fill."""
    of, known = operation.aggregate, {*(reply_of(operation) or Reply).__struct_fields__}
    known |= {of.id_field} if operation.genesis else set()
    routes = [q.route for q in service.catalogue.questions if q.aggregate is of]
    ones = [r.path for r in routes if r.path.endswith("}") and known.issuperset(r.fields)]
    return max(ones, key=len, default="")


@cache
def repeatable_fields(query: type[Query]) -> frozenset[str]:
    """Return the query parameters that may be given several times."""
    hints = {name: field.annotation for name, field in query.model_fields.items()}
    choices = {name: (hint, *get_args(hint)) for name, hint in hints.items()}
    return frozenset(n for n, found in choices.items() if frozenset in map(get_origin, found))


class _CommandArguments:
    """Returns a command's arguments, or what is wrong with them; parses the body once."""

    def __init__(self, request: HttpRequest, body: bytes) -> None:
        self._request, self._body = request, body
        self._parsed: Arguments | None = None

    def __call__(self) -> Arguments:
        if self._parsed is None:
            self._parsed = self._parse()
        return self._parsed

    def _parse(self) -> Arguments:
        of_path = self._request.values
        try:
            arguments = parse_body(self._body)
            if not of_path.keys().isdisjoint(arguments):
                raise MalformedRequestError("The body repeats a value of the path. Leave it out.")
        except MalformedRequestError as refusal:
            return refusal
        return {**of_path, **arguments}


def _dry_run(query: bytes) -> bool:
    """Return whether a command is a dry run. Raise MalformedRequestError when it is not clear."""
    dry_run = DRY_RUN.get(tuple(_pairs(query))) if query else False
    if dry_run is None:
        raise MalformedRequestError("The only query parameter is dry_run: true or false.")
    return dry_run


def question_arguments(request: HttpRequest, repeatable: frozenset[str]) -> Arguments:
    """Return the arguments of a question, or what is wrong with them."""
    query: bytes = request.scope["query_string"]
    if not query:
        return request.values
    arguments: dict[str, Any] = dict(request.values)
    try:
        for name, value in _pairs(query):
            if name in repeatable:
                arguments.setdefault(name, []).append(value)
            elif name in arguments:
                raise MalformedRequestError(f"{name} is given twice. Give it once.")
            else:
                arguments[name] = value
    except MalformedRequestError as refusal:
        return refusal
    return arguments


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise MalformedRequestError("The query string is not well-formed.") from None
