"""The OpenAPI 3.1 document of the catalogue."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from inspect import cleandoc

from beamkeep import kernel
from beamkeep.contexts.agent.actions import AgentActionCapReachedError
from beamkeep.kernel import Catalogue, Operation, Question, Refusal
from beamkeep.runtime import admission, dispatch, entry_points, parsing, queries, store, tokens
from beamkeep.runtime.remedies import moves_of
from beamkeep.surfaces.schema import Endpoint
from beamkeep.surfaces.shapes import (
    ID,
    TEXT,
    WARNINGS,
    ApiSchemas,
    SchemaObject,
    api_schemas,
    exactly,
    ref,
)
from beamkeep.surfaces.tools.command_line import noun_and_verb
from beamkeep.surfaces.tools.finding import context_of, title_of

from . import refusals

ALWAYS: tuple[type[Refusal], ...] = (
    entry_points.InvalidSurfaceIdError,
    tokens.MalformedCredentialsError,
    tokens.MissingTokenError,
    tokens.InvalidTokenError,
    tokens.UnregisteredLoginError,
    admission.UnauthorizedError,
    refusals.UrlTooLongError,
    refusals.MisdirectedRequestError,
    parsing.MalformedRequestError,
    refusals.TooManyRequestsError,
    refusals.HeadersTooLargeError,
    refusals.InternalError,
    tokens.IdentityProviderUnavailableError,
    store.StoreUnavailableError,
    refusals.DeadlineExceededError,
)
OF_COMMANDS: tuple[type[Refusal], ...] = (
    refusals.BodyIncompleteError,
    dispatch.ConcurrencyError,
    AgentActionCapReachedError,
    store.IdempotencyInFlightError,
    dispatch.PreconditionFailedError,
    refusals.BodyTooLargeError,
    refusals.UnsupportedMediaTypeError,
    dispatch.IdempotencyConflictError,
    store.OutcomeUnknownError,
)
COMMON = frozenset({*ALWAYS, *OF_COMMANDS, queries.NotFreshYetError})


KINDS: dict[type[object], str] = {
    kernel.One: "get",
    kernel.History: "history",
    kernel.Answer: "answer",
}
KEY: SchemaObject = {"type": "string", "pattern": "^[!-~]{1,255}$"}
FLAG: SchemaObject = {"type": "boolean", "default": False}


def _parameter(
    name: str, schema: SchemaObject, description: str, where: str = "header"
) -> SchemaObject:
    return {"name": name, "in": where, "schema": schema, "description": description}


def _header(description: str, schema: SchemaObject = TEXT) -> SchemaObject:
    return {"schema": schema, "description": description}


PARAMETERS: SchemaObject = {
    "Surface": _parameter("X-Surface-Id", ID, "The surface to call (default: the seeded one)."),
    "Correlation": _parameter("X-Correlation-Id", TEXT, "A UUID for the log (default: a new one)."),
    "IdempotencyKey": _parameter("Idempotency-Key", KEY, "A repeat with this key changes nothing."),
    "IfMatch": _parameter("If-Match", TEXT, "The ETag that the object must still have."),
    "ProposalNote": _parameter(
        "Proposal-Note", TEXT, "Propose the call, and tell the approver this (percent-encoded)."
    ),
    "DryRun": _parameter("dry_run", FLAG, "Check the call and write nothing.", where="query"),
}
HEADERS: SchemaObject = {
    "ETag": _header("The version of the object, in quotation marks."),
    "Location": _header("The address of the new object."),
    "Position-Token": _header("A list that is given this as min_token includes the change."),
    "Idempotency-Replayed": _header("true when the first answer is given again."),
    "X-Correlation-Id": _header("Marks the call in the log.", ID),
    "Retry-After": _header("Seconds to wait before the next request.", {"type": "integer"}),
    "WWW-Authenticate": _header("How to authenticate (RFC 6750)."),
}


def describe(catalogue: Catalogue) -> SchemaObject:
    """Return the document that describes every operation and question."""
    schemas, shared = api_schemas(catalogue), dict[str, SchemaObject]()
    paths: dict[str, SchemaObject] = defaultdict(dict)
    for endpoint in catalogue.named.values():
        route, described = endpoint.route, _described(endpoint, schemas, shared, catalogue)
        paths[route.path][route.method.lower()] = described
    document: SchemaObject = {
        "openapi": "3.1.0",
        "info": {"title": "Beamkeep", "version": version("beamkeep")},
        "security": [{"bearer": []}],
        "tags": [{"name": name} for name in sorted(catalogue.aggregates)],
        "x-tagGroups": [{"name": name, "tags": tags} for name, tags in _contexts(catalogue)],
        "paths": dict(sorted(paths.items())),
    }
    components: SchemaObject = {
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        "parameters": PARAMETERS,
        "headers": HEADERS,
        "responses": dict(sorted(shared.items())),
    }
    components["schemas"] = schemas.named_in(document, components)
    return document | {"components": components}


def _contexts(catalogue: Catalogue) -> Iterable[tuple[str, list[str]]]:
    contexts: dict[str, list[str]] = defaultdict(list)
    for name, aggregate in catalogue.aggregates.items():
        contexts[context_of(aggregate)].append(name)
    return contexts.items()


@cache
def document_text(catalogue: Catalogue) -> str:
    """Return the document as the service sends it and the reference contains it."""
    return json.dumps(describe(catalogue), indent=1, ensure_ascii=False) + "\n"


def _described(
    endpoint: Endpoint, schemas: ApiSchemas, shared: dict[str, SchemaObject], of: Catalogue
) -> SchemaObject:
    proposable, asked = endpoint.name in of.proposable, schemas.arguments(endpoint)
    properties, required = asked.get("properties", {}), asked.get("required", ())
    in_path = endpoint.route.fields
    own = {name: schema for name, schema in properties.items() if name not in in_path}
    parameters: list[SchemaObject] = [
        {"name": name, "in": "path", "required": True, "schema": properties.get(name, ID)}
        for name in in_path
    ]
    parameters += [ref("parameters", name) for name in ("Surface", "Correlation")]
    body: SchemaObject = {}
    if isinstance(endpoint, Operation):
        answers = _outcomes(endpoint, schemas.reply(endpoint), proposable)
        note = ("ProposalNote",) if proposable else ()
        options = ("DryRun", "IdempotencyKey", "IfMatch", *note)
        parameters += [ref("parameters", name) for name in options]
        if own:
            needed = [name for name in required if name in own]
            schema = asked | {"properties": own, "required": needed}
            content = {"application/json": {"schema": schema}}
            body = {"requestBody": {"required": bool(needed), "content": content}}
    else:
        version = ("ETag",) if isinstance(endpoint.source, kernel.One) else ()
        answers = {"200": _answer("Found.", schemas.answer(endpoint), *version)}
        parameters += [_query_parameter(n, schema, n in required) for n, schema in own.items()]
    by_status: dict[int, list[type[Refusal]]] = defaultdict(list)
    for refusal in dict.fromkeys(_refusals(endpoint)):
        by_status[refusal.status].append(refusal)
    for status, several in by_status.items():
        answers[str(status)] = _refused(several)
        if COMMON.issuperset(several):
            name = "-".join(refusal.__name__.removesuffix("Error") for refusal in several)
            shared[name] = answers[str(status)]
            answers[str(status)] = ref("responses", name)
    return {
        "operationId": endpoint.name,
        "tags": [endpoint.aggregate.name],
        "summary": _sentences(endpoint.doc),
        "x-beamkeep": _extension(endpoint, of),
        "parameters": parameters,
        "responses": dict(sorted(answers.items())),
        **body,
    }


def _extension(endpoint: Endpoint, of: Catalogue) -> SchemaObject:
    """Return the names of an operation on a button and in a terminal, and what it changes."""
    extension: SchemaObject = {"title": title_of(endpoint), "aggregate": endpoint.aggregate.name}
    extension["command_line"] = " ".join(filter(None, noun_and_verb(of)[endpoint.name]))
    extension["kind"] = _kind(endpoint)
    if isinstance(endpoint, Question) and endpoint.composed_of:
        extension["composed_of"] = sorted(endpoint.composed_of)
    if isinstance(endpoint, Operation):
        extension["destructive"] = endpoint.destructive
        extension["moves"] = [
            {
                "axis": move.axis.name,
                "from": move.axis.words(*move.sources),
                "to": move.axis.words(move.target)[0],
                "terminal": move.is_terminal,
                "event": move.event.__name__,
            }
            for move in moves_of(endpoint, endpoint.aggregate.axes)
        ]
    return extension


def _kind(endpoint: Endpoint) -> str:
    if isinstance(endpoint, Operation):
        return "create" if endpoint.genesis else "change"
    return KINDS.get(type(endpoint.source), "list")


def _refusals(endpoint: Endpoint) -> Iterator[type[Refusal]]:
    yield from ALWAYS
    if isinstance(endpoint, Operation):
        yield from OF_COMMANDS
    yield from endpoint.refusals
    if not endpoint.genesis if isinstance(endpoint, Operation) else endpoint.about:
        yield endpoint.aggregate.absent
    if isinstance(endpoint, Question) and isinstance(endpoint.source, kernel.Many):
        yield queries.NotFreshYetError


def _outcomes(operation: Operation, reply: SchemaObject, proposable: bool) -> SchemaObject:
    """Return the answers of an operation that was not refused, by status."""
    headers, dry_run = ("ETag", "Position-Token", "Idempotency-Replayed"), ref("schemas", "DryRun")
    answers = {"200": _answer("Dry run: the events that would be written.", dry_run)}
    kind = kernel.reply_of(operation) or kernel.Reply
    warnings = WARNINGS if kernel.warns(operation) else {}
    if warnings:
        warned = ref("schemas", "Warned")
        answers["200"] = _answer("Done with warnings, or a dry run.", warned, *headers)
    own, proposed = {operation.aggregate.id_field: ID} if operation.genesis else {}, "Proposed."
    if proposable:
        answers["202"] = _answer(proposed, ref("schemas", "Proposed"), "Location", *headers)
    if issubclass(kind, kernel.Accepted):
        accepted = exactly(own | reply, **warnings) if own or reply else None
        text = "Accepted: a worker does the work later."
        if proposable:
            text = f"{text} {proposed}"
            # A document cannot say that a body is sometimes empty.
            accepted = accepted and {"anyOf": [accepted, ref("schemas", "Proposed")]}
        answers["202"] = _answer(text, accepted, *(("Location",) if accepted else ()), *headers)
    elif operation.genesis or issubclass(kind, kernel.Created):
        created = exactly(own | reply, **warnings)
        answers["201"] = _answer("Created.", created, "Location", *headers)
    elif reply:
        either = {"anyOf": [exactly(reply), dry_run]}
        answers["200"] = _answer("Done, or a dry run.", either, *headers)
    else:
        answers["204"] = _answer("Done.", None, *headers)
    return answers


def _answer(description: str, schema: SchemaObject | None, *headers: str) -> SchemaObject:
    content = {"content": {"application/json": {"schema": schema}}} if schema else {}
    return {"description": description, "headers": _headers(*headers), **content}


def _refused(several: Sequence[type[Refusal]]) -> SchemaObject:
    codes = {"properties": {"code": {"enum": [refusal.__name__ for refusal in several]}}}
    texts = [f"`{r.__name__}`: {_sentences(r.__doc__ or '')}" for r in several]
    waits = any(refusal.retry_after for refusal in several)
    challenges = any(issubclass(refusal, tokens.TokenRefusal) for refusal in several)
    headers = ["Retry-After"] * waits + ["WWW-Authenticate"] * challenges
    schema = {"allOf": [ref("schemas", "Problem"), codes]}
    return {
        "description": "\n\n".join(texts),
        "headers": _headers(*headers),
        "content": {"application/problem+json": {"schema": schema}},
    }


def _query_parameter(name: str, schema: SchemaObject, required: bool) -> SchemaObject:
    """Return a parameter that is left out where JSON would have null."""
    plain = {key: value for key, value in schema.items() if value is not None}
    text = {"description": plain.pop("description")} if "description" in plain else {}
    if "anyOf" in plain:
        choices = [choice for choice in plain.pop("anyOf") if choice != {"type": "null"}]
        plain |= choices[0] if len(choices) == 1 else {"anyOf": choices}
    return {"name": name, "in": "query", "required": required, "schema": plain, **text}


def _sentences(text: str) -> str:
    return " ".join(cleandoc(text).split())


def _headers(*names: str) -> SchemaObject:
    return {name: ref("headers", name) for name in ("X-Correlation-Id", *names)}
