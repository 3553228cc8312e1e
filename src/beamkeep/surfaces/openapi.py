"""The OpenAPI 3.1 document of the catalogue."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from inspect import cleandoc

from beamkeep.kernel import (
    Answer,
    Catalogue,
    Created,
    Entries,
    History,
    Listed,
    Many,
    One,
    Operation,
    Question,
    Refusal,
    Reply,
    reply_of,
    warns,
)
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.dispatch import (
    ConcurrencyError,
    IdempotencyConflictError,
    PreconditionFailedError,
)
from beamkeep.runtime.entry_points import InvalidSurfaceIdError
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.runtime.queries import NotFreshYetError
from beamkeep.runtime.store import (
    IdempotencyInFlightError,
    OutcomeUnknownError,
    StoreUnavailableError,
)
from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    MalformedCredentialsError,
    MissingTokenError,
)

from .http import limits
from .http.origins import MisdirectedRequestError
from .shapes import (
    FIXED_SCHEMAS,
    ID,
    TEXT,
    TIME,
    WARNINGS,
    Schema,
    Shapes,
    exactly,
    or_null,
    page_of,
    reachable,
)

type Row = Operation | Question
type Shared = dict[str, Schema]

ALWAYS: tuple[type[Refusal], ...] = (
    InvalidSurfaceIdError,
    MalformedCredentialsError,
    MissingTokenError,
    InvalidTokenError,
    UnauthorizedError,
    limits.UrlTooLongError,
    MisdirectedRequestError,
    MalformedRequestError,
    limits.TooManyRequestsError,
    limits.HeadersTooLargeError,
    limits.InternalError,
    IdentityProviderUnavailableError,
    StoreUnavailableError,
    limits.DeadlineExceededError,
)
OF_COMMANDS: tuple[type[Refusal], ...] = (
    limits.BodyIncompleteError,
    ConcurrencyError,
    IdempotencyInFlightError,
    PreconditionFailedError,
    limits.BodyTooLargeError,
    limits.UnsupportedMediaTypeError,
    IdempotencyConflictError,
    OutcomeUnknownError,
)


def _parameter(name: str, where: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": where, "schema": schema, "description": description}


PARAMETERS = {
    "Surface": _parameter(
        "X-Surface-Id", "header", ID, "The surface the call arrives at; else the seeded one."
    ),
    "Correlation": _parameter(
        "X-Correlation-Id", "header", TEXT, "A UUID to follow this call by; else a fresh one."
    ),
    "IdempotencyKey": _parameter(
        "Idempotency-Key",
        "header",
        {"type": "string", "pattern": "^[!-~]{1,255}$"},
        "The same key again answers what was answered first, and does nothing more.",
    ),
    "IfMatch": _parameter(
        "If-Match", "header", TEXT, "The ETag of the version this decision rests on."
    ),
    "DryRun": _parameter(
        "dry_run",
        "query",
        {"type": "boolean", "default": False},
        "Check everything, write nothing.",
    ),
}
HEADERS = {
    "ETag": {"schema": TEXT, "description": "The version, in quotation marks."},
    "Location": {"schema": TEXT, "description": "Where the new object is read."},
    "Position-Token": {"schema": TEXT, "description": "What a later list takes as min_token."},
    "Idempotency-Replayed": {"schema": TEXT, "description": "true when answered before."},
    "X-Correlation-Id": {"schema": ID, "description": "What the log calls this call."},
    "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."},
    "WWW-Authenticate": {"schema": TEXT, "description": "How to come back (RFC 6750)."},
}


def describe(catalogue: Catalogue) -> Schema:
    """Everything the service answers, for programs."""
    shapes = Shapes(catalogue)
    shared: Shared = {}
    paths: dict[str, Schema] = defaultdict(dict)
    for row in (*catalogue.operations, *catalogue.questions):
        paths[row.route.path][row.route.method.lower()] = (
            _command(row, shapes, shared)
            if isinstance(row, Operation)
            else _question(row, shapes, shared)
        )
    document: Schema = {
        "openapi": "3.1.0",
        "info": {"title": "Beamkeep", "version": version("beamkeep")},
        "security": [{"bearer": []}],
        "tags": [{"name": name} for name in sorted(catalogue.aggregates)],
        "paths": {path: paths[path] for path in sorted(paths)},
    }
    components: Schema = {
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        "parameters": PARAMETERS,
        "headers": HEADERS,
        "responses": dict(sorted(shared.items())),
    }
    schemas = reachable([document, components], FIXED_SCHEMAS | shapes.named)
    return document | {"components": components | {"schemas": schemas}}


@cache
def document_text(catalogue: Catalogue) -> str:
    """The document as it is served and kept."""
    return json.dumps(describe(catalogue), indent=1, ensure_ascii=False) + "\n"


def _command(operation: Operation, shapes: Shapes, shared: Shared) -> Schema:
    asked = shapes.whole(f"{operation.name} asks")
    properties: Schema = asked.get("properties", {})
    body = {n: schema for n, schema in properties.items() if n not in operation.route.fields}
    required = [n for n in asked.get("required", ()) if n in body]
    refusals = [*ALWAYS, *OF_COMMANDS, *operation.refusals]
    replied, warned = shapes.replied(operation), WARNINGS if warns(operation) else {}
    done = "ETag", "Position-Token", "Idempotency-Replayed"
    answer = {"200": _answer("What would be written, of a dry run.", _ref("schemas", "DryRun"))}
    if warned:
        answer["200"] = _answer("Warned, or a dry run.", _ref("schemas", "Warned"), *done)
    if operation.genesis or issubclass(reply_of(operation) or Reply, Created):
        own = {operation.aggregate.id_field: ID} if operation.genesis else {}
        answer["201"] = _answer("Created.", exactly(own | replied, **warned), "Location", *done)
    elif replied:
        either = {"anyOf": [exactly(replied), _ref("schemas", "DryRun")]}
        answer["200"] = _answer("Done, or a dry run.", either, *done)
    else:
        answer["204"] = _answer("Done.", None, *done)
    if not operation.genesis:
        refusals.append(operation.aggregate.absent)
    described = _described(operation, properties, shared, refusals, answer)
    described["parameters"] += [
        _ref("parameters", name) for name in ("DryRun", "IdempotencyKey", "IfMatch")
    ]
    if body:
        schema = asked | {"properties": body, "required": required}
        described["requestBody"] = {
            "required": bool(required),
            "content": {"application/json": {"schema": schema}},
        }
    return described


def _question(question: Question, shapes: Shapes, shared: Shared) -> Schema:
    asked = shapes.whole(f"{question.name} asks")
    properties: Schema = asked.get("properties", {})
    refusals = [*ALWAYS, *question.refusals]
    if question.about:
        refusals.append(question.aggregate.absent)
    headers: tuple[str, ...] = ()
    match question.source:
        case One():
            shape, headers = shapes.shown(question, {}), ("ETag",)
        case Many(view):
            times = {"created_at": TIME} | dict.fromkeys(view.milestones, or_null(TIME))
            shape = page_of(shapes.shown(question, times))
            refusals.append(NotFreshYetError)
        case History():
            shape = page_of(_ref("schemas", "RecordedEvent"))
        case Entries() | Listed():
            shape = page_of(shapes[f"{question.name} row"])
        case Answer():
            shape = shapes[f"{question.name} row"]
    answer = {"200": _answer("Found.", shape, *headers)}
    described = _described(question, properties, shared, refusals, answer)
    described["parameters"] += [
        _query_parameter(name, schema, name in asked.get("required", ()))
        for name, schema in properties.items()
        if name not in question.route.fields
    ]
    return described


def _described(
    row: Row, properties: Schema, shared: Shared, refusals: Iterable[type[Refusal]], answer: Schema
) -> Schema:
    by_status: dict[int, list[type[Refusal]]] = defaultdict(list)
    for refusal in dict.fromkeys(refusals):
        by_status[refusal.status].append(refusal)
    common = {*ALWAYS, *OF_COMMANDS, NotFreshYetError}
    for status, several in sorted(by_status.items()):
        if common.issuperset(several):
            name = "-".join(refusal.__name__.removesuffix("Error") for refusal in several)
            shared[name] = _refused(several)
            answer[str(status)] = _ref("responses", name)
        else:
            answer[str(status)] = _refused(several)
    path = [
        {"name": field, "in": "path", "required": True, "schema": properties.get(field, ID)}
        for field in row.route.fields
    ]
    return {
        "operationId": row.name,
        "tags": [row.aggregate.name],
        "summary": _sentences(row.doc),
        "parameters": [*path, _ref("parameters", "Surface"), _ref("parameters", "Correlation")],
        "responses": dict(sorted(answer.items())),
    }


def _answer(description: str, shape: Schema | None, *headers: str) -> Schema:
    answer: Schema = {
        "description": description,
        "headers": _headers("X-Correlation-Id", *headers),
    }
    return answer | ({"content": {"application/json": {"schema": shape}}} if shape else {})


def _refused(refusals: Sequence[type[Refusal]]) -> Schema:
    codes = [refusal.__name__ for refusal in refusals]
    headers = ["X-Correlation-Id"]
    if any(refusal.retry_after for refusal in refusals):
        headers.append("Retry-After")
    if not {MissingTokenError, MalformedCredentialsError}.isdisjoint(refusals):
        headers.append("WWW-Authenticate")
    schema = {"allOf": [_ref("schemas", "Problem"), {"properties": {"code": {"enum": codes}}}]}
    told = [f"`{r.__name__}`: {_sentences(r.__doc__ or '')}" for r in refusals]
    return {
        "description": "\n\n".join(told),
        "headers": _headers(*headers),
        "content": {"application/problem+json": {"schema": schema}},
    }


def _query_parameter(name: str, schema: Schema, required: bool) -> Schema:
    """A parameter that is left out where JSON would say null."""
    plain = {key: value for key, value in schema.items() if value is not None}
    description = plain.pop("description", None)
    if "anyOf" in plain:
        choices = [choice for choice in plain.pop("anyOf") if choice != {"type": "null"}]
        plain |= choices[0] if len(choices) == 1 else {"anyOf": choices}
    told = {"description": description} if description else {}
    return {"name": name, "in": "query", "required": required, "schema": plain} | told


def _sentences(text: str) -> str:
    return " ".join(cleandoc(text).split())


def _ref(kind: str, name: str) -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}


def _headers(*names: str) -> Schema:
    return {name: _ref("headers", name) for name in names}
