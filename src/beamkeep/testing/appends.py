"""Events of actors, and appends of these events, for tests of the stores."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.contexts.access.actor import ActorProfileUpdated, ActorRegistered
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import ActorKind, Event, Fenced, Rows, SideWrite, SurfaceKind
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import AnswerToStore, Append, CallContext, NewEvent, NewSnapshot, Stream

CODEC = Codec(CATALOGUE.aggregates.values())
NOW = datetime(2030, 1, 1, 12, 30, 15, 123456, UTC)
ME, HTTP = UUID(int=9), seeded.SURFACES[SurfaceKind.HTTP]
FINGERPRINT = b"f" * 32
ANSWER = AnswerToStore("key", fingerprint=FINGERPRINT, status=201, result=b'{"id":1}', version=1)


def registered(id: UUID) -> ActorRegistered:
    return ActorRegistered(NOW, id, ActorKind.HUMAN)


def updated(id: UUID, field: str = "name") -> ActorProfileUpdated:
    return ActorProfileUpdated(NOW, id, (field,))


def at(version: int, event: Event) -> NewEvent:
    return CODEC.encode(event, version, uuid7())


def append(
    *events: NewEvent,
    read: Mapping[Stream, int] | None = None,
    side_writes: Sequence[SideWrite | Rows] = (),
    answer: AnswerToStore | None = None,
    principal_id: UUID = ME,
    occurred_at: datetime = NOW,
    snapshots: Sequence[NewSnapshot] = (),
    fence: Fenced | None = None,
    opened: CallContext | None = None,
) -> Append:
    return Append(
        events=events,
        read=read or {},
        side_writes=side_writes,
        answer=answer,
        command_name="try_it",
        principal_id=principal_id,
        surface_id=HTTP,
        correlation_id=UUID(int=7),
        causation_id=UUID(int=8),
        occurred_at=occurred_at,
        snapshots=snapshots,
        fence=fence,
        opened=opened,
    )


def on_record(part: Event | SideWrite) -> Append:
    """Return the append of the first event of a stream, or of a row."""
    return append(at(1, part)) if isinstance(part, Event) else append(side_writes=[part])
