"""What must hold of every operation and question, on REST and on MCP."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Protocol, cast
from uuid import uuid4

from beamkeep.kernel import Fresh, Operation, Question, events_of

from .calling import SurfaceAnswer
from .examples import Do
from .principals import As

type CallRow = Operation | Question

NO_OBJECT = {"prompt_template_id"}
"""Ids of something that is not an object: a wrong one is 400."""


def refers(row: CallRow) -> str | None:
    """Return the argument that names an object which must exist."""
    if isinstance(row, Question):
        return row.about
    if not row.genesis:
        return row.aggregate.id_field
    fields = row.command.model_fields.items()
    named = (name for name, field in fields if "UUID" in str(field.annotation))
    return next(
        (name for name in named if name.endswith("_id") and name not in NO_OBJECT and row.given),
        None,
    )


class CallStage(Protocol):
    """A service whose surfaces an administrator calls, and somebody who may do nothing."""

    rest: As
    mcp: As
    nobody: tuple[As, As]

    @property
    def outside(self) -> Collection[str]:
        """Operations whose events rest on a step outside the service: a dry run has none."""
        ...

    @property
    def do(self) -> Do:
        """Make a call that must succeed, as the administrator."""
        ...

    async def example(self, row: CallRow, fresh: bool = False) -> dict[str, Any]:
        """Return arguments that would succeed; `fresh` if the state of the object counts."""
        ...

    def written(self) -> str:
        """Return the token of what was written last."""
        ...


type Property = Callable[[CallRow, CallStage], Awaitable[None]]


async def refused_alike(
    both: tuple[As, As], name: str, arguments: Mapping[str, Any], **options: Any
) -> SurfaceAnswer:
    """Return the refusal, which is the same on both; a denied call names its own surface."""
    rest, mcp = [await each.send(name, arguments, **options) for each in both]
    assert rest.status >= 400
    here, there = (f"Surface: {by.calling.kind}." for by in both)
    assert rest == mcp._replace(body=json.loads(json.dumps(mcp.body).replace(there, here)))
    return rest


async def a_caller_without_permission_is_refused(row: CallRow, stage: CallStage) -> None:
    """Require 403 for a caller without a permission."""
    refused = await refused_alike(stage.nobody, row.name, await stage.example(row))
    assert (refused.status, refused.body["code"]) == (403, "UnauthorizedError")


async def an_absent_object_is_not_found(row: CallRow, stage: CallStage) -> None:
    """Require 404 for the id of an object that does not exist."""
    field = refers(row)
    assert field
    arguments = {**await stage.example(row), field: str(uuid4())}
    refused = await refused_alike((stage.rest, stage.mcp), row.name, arguments)
    assert refused.status == 404
    assert refused.body["code"].endswith("NotFoundError")


async def a_request_of_the_wrong_shape_is_refused(row: CallRow, stage: CallStage) -> None:
    """Require 422 for an argument that is not declared."""
    arguments = {**await stage.example(row), "colour": "red"}
    refused = await refused_alike((stage.rest, stage.mcp), row.name, arguments)
    assert (refused.status, refused.body["code"]) == (422, "MalformedRequestError")
    assert [fault["field"] for fault in refused.body["errors"]] == ["colour"]


async def a_change_of_another_version_is_refused(row: CallRow, stage: CallStage) -> None:
    """Require 412 for a change of a version that the object does not have."""
    arguments = await stage.example(row, fresh=True)
    refused = await refused_alike((stage.rest, stage.mcp), row.name, arguments, if_match=1000)
    assert (refused.status, refused.body["code"]) == (412, "PreconditionFailedError")


async def a_key_used_for_something_else_is_refused(row: CallRow, stage: CallStage) -> None:
    """Require 422 for an idempotency key of another call."""
    arguments = await stage.example(row)
    key, zone = f"zone-and-{row.name}", {"name": "Hutch"}
    for surface in (stage.rest, stage.mcp):
        await surface.caller_of(row.name)("define_zone", zone, idempotency_key=key)
    if row.name == "define_zone":
        arguments = {"name": "Another"}
    both = stage.rest, stage.mcp
    refused = await refused_alike(both, row.name, arguments, idempotency_key=key)
    assert (refused.status, refused.body["code"]) == (422, "IdempotencyConflictError")


async def a_success_has_the_same_shape(row: CallRow, stage: CallStage) -> None:
    """Require answers of the same shape on both surfaces."""
    answers: list[SurfaceAnswer] = []
    for surface in (stage.rest, stage.mcp):
        arguments = await stage.example(row, fresh=True)
        if isinstance(row, Question) and issubclass(row.query, Fresh):
            fresh = {**arguments, "min_token": stage.written()}
            answers.append(await surface.once_fresh(row.name, fresh))
        else:
            answers.append(await surface.send(row.name, arguments))
    rest, mcp = [
        (answer.ok, shape(answer.body), answer.version, answer.position_token is None)
        for answer in answers
    ]
    assert rest[0], answers[0]
    assert rest == mcp


async def a_dry_run_answers_the_same_events(row: CallRow, stage: CallStage) -> None:
    """Require the same events of a dry run on both surfaces."""
    arguments = await stage.example(row, fresh=True)
    rest, mcp = [
        await surface.send(row.name, arguments, dry_run=True) for surface in (stage.rest, stage.mcp)
    ]
    writes = isinstance(row, Operation) and events_of(row) and row.name not in stage.outside
    assert bool(rest.body["events"]) is bool(writes)
    assert (rest.ok, shape(rest.body)) == (mcp.ok, shape(mcp.body))


def shape(value: Any) -> Any:
    """Return the names and types of an answer; of a list, those of every kind of item."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: shape(member) for name, member in members.items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return sorted({repr(shape(item)) for item in items})
    return type(value).__name__
