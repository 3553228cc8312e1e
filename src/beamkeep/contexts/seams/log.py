"""How the event log is asked, and how it tells an event."""

from collections.abc import Iterable, Set
from datetime import datetime
from difflib import get_close_matches
from typing import Annotated, Literal, Protocol
from uuid import UUID

from annotated_types import Ge, Le, MaxLen
from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from beamkeep.kernel import Invalid, Order, Query, Record, Refusal, Sight
from beamkeep.kernel.values import Timestamp
from beamkeep.schemas import JsonObject

NOW = "now"
MOST_EVENT_TYPES, MOST_STREAMS = 50, 100

type TypeName = Annotated[str, MaxLen(100)]


class InvalidFeedCursorError(Invalid):
    """The event at which this cursor stands is not in the log, which was perhaps restored.

    Discard what was built from the events, and read them again with `since`.
    """


class UnknownEventTypeError(Refusal, status=422):
    """A filter of events names only types of events and kinds of objects that exist."""


class ListEvents(Query):
    """List the events of all objects, in the order of the log."""

    after: Annotated[str, MaxLen(80)] | None = None
    """The `next_cursor` of an earlier page or the `cursor` of an event; `now` is the end of the log
    (default: the beginning, or the end with `order=newest`)."""
    type: Annotated[frozenset[TypeName] | None, MaxLen(MOST_EVENT_TYPES)] = None
    """Only events of these types, such as `RunHeld`."""
    stream_type: Annotated[frozenset[TypeName] | None, MaxLen(MOST_EVENT_TYPES)] = None
    """Only events of these kinds of objects, such as `Run`."""
    stream_id: Annotated[frozenset[UUID] | None, MaxLen(MOST_STREAMS)] = None
    """Only events of these objects."""
    facility_code: Annotated[str, MaxLen(32)] | None = None
    """Only events of objects that are in this facility now. They are published a moment later."""
    principal_id: UUID | None = None
    """Only events that this principal caused."""
    command_name: Annotated[str, MaxLen(100)] | None = None
    """Only events of this command, such as `hold_run`."""
    since: Timestamp | None = None
    """Only events recorded at this time or later."""
    until: Timestamp | None = None
    """Only events recorded before this time."""
    order: Order = Order.OLDEST
    """Forward from `after`, or backward from it."""
    limit: Annotated[int, Ge(1), Le(500)] = 100


LEFT_OUT = ("causationid", "teamid", "visitid")
"""Attributes of a CloudEvent that it may lack."""


class CloudEvent(Record, omit_defaults=True):
    """An event as CloudEvents 1.0 defines it."""

    specversion: Literal["1.0"]
    id: UUID
    source: str
    """The address of the object that the event is about."""
    type: str
    subject: str
    """The name of the object when the event was published; its id if it has none."""
    time: datetime
    dataschema: str
    datacontenttype: Literal["application/json"]
    streamtype: str
    streamid: UUID
    streamversion: int
    recordedtime: datetime
    principalid: UUID
    commandname: str
    correlationid: UUID
    cursor: str
    positiontoken: str
    data: JsonObject
    causationid: UUID | None = None
    """Left out of an event without a cause, because CloudEvents has no null."""
    teamid: UUID | None = None
    """The team that the object belongs to now. Left out if it belongs to none."""
    visitid: UUID | None = None
    """The visit that the object belongs to now. Left out if it belongs to none."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, schemas: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema, in which an attribute that may be left out is not required."""
        schema = schemas(core)
        resolved = schemas.resolve_ref_schema(schema)
        required: list[str] = resolved["required"]
        resolved["required"] = [name for name in required if name not in LEFT_OUT]
        for name in LEFT_OUT:
            shape = resolved["properties"][name]
            described = {n: shape[n] for n in ("description",) if n in shape}
            resolved["properties"][name] = {"type": "string", "format": "uuid", **described}
        return schema


class EventPage(Record):
    items: tuple[CloudEvent, ...]
    next_cursor: str
    """Where the next page begins; it is present even if the end was reached."""
    more: bool
    """Whether further events may follow now."""


class EventReader(Protocol):
    """Reads the log for one question."""

    event_types: Set[str]
    """The types of all events that there can be."""
    stream_types: Set[str]
    """The kinds of objects that events are about."""

    async def page(self, query: ListEvents, sight: Sight | None) -> EventPage:
        """Return a page of events; with `sight`, only of the objects in sight."""
        ...


def require_known(
    read: EventReader, types: Iterable[str] | None, stream_types: Iterable[str] | None
) -> None:
    """Refuse a filter that no event can ever pass, because it names what does not exist."""
    for asked, known in ((types, read.event_types), (stream_types, read.stream_types)):
        for name in sorted({*(asked or ())} - known):
            (nearest,) = get_close_matches(name, sorted(known), n=1, cutoff=0.0)
            detail = f"There is no {name}; the nearest name is {nearest}."
            raise UnknownEventTypeError(detail, nearest=nearest)
