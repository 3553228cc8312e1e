"""What a process remembers of calls that it wrote, so that the next one needs no reading."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from beamkeep.kernel import Grant, ObjectScope, Standing
from beamkeep.runtime.store import (
    Append,
    CallContext,
    CallLookup,
    LoadedStream,
    Memory,
    NewEvent,
    StoredEvent,
    Stream,
)

MOST_CALLERS, MOST_STREAMS, MOST_SHARED, MOST_ANSWERED = 1_000, 500, 5_000, 1_000
MOST_EVENTS, MOST_BYTES = 32, 16_384
"""Of one stream; a longer one is read each time."""

type CallerKey = tuple[object, ...]
type StreamKey = tuple[str, int]


class KnownCaller(NamedTuple):
    """A caller as it was found, with the grant that permits the call."""

    standing: Standing
    grants: tuple[Grant]


class KnownStream(NamedTuple):
    """A stream up to an event that this process wrote."""

    owner_id: UUID
    events: Sequence[StoredEvent]
    last_event_id: UUID
    bytes: int


class CallMemory:
    """The callers and the streams of the last commands that this process wrote.

    Nothing of it is trusted: the append that rests on it asks whether it still holds.
    """

    def __init__(self) -> None:
        self.era = 0
        self._callers = OrderedDict[CallerKey, KnownCaller]()
        self._streams = OrderedDict[StreamKey, KnownStream]()
        self._shared = OrderedDict[StreamKey, None]()
        """Streams that others changed, too: they are read each time."""
        self._answered = OrderedDict[str, None]()
        """Idempotency keys that have a stored answer: a call with one of them reads the store."""

    def forget(self) -> None:
        """Forget everything: another server may answer, which does not know what was written."""
        self.era += 1
        self._callers.clear()
        self._streams.clear()

    def recall(self, lookup: CallLookup) -> CallContext | None:
        """Return the context of a call, if everything that it needs is remembered."""
        caller = self._callers.get(_caller_key(lookup))
        if caller is None or lookup.idempotency_key in self._answered:
            return None
        if lookup.stream is None:
            memory = Memory(lookup, self.era, is_recalled=True)
            return CallContext(*caller, memory=memory)
        stream = self._streams.get(_stream_key(lookup.stream))
        if stream is None:
            return None
        return CallContext(
            *caller,
            owner_id=stream.owner_id,
            loaded=LoadedStream(stream.events),
            memory=Memory(lookup, self.era, is_recalled=True, last_event_id=stream.last_event_id),
        )

    def remember(self, append: Append) -> None:
        """Remember a command with a single event, once it is written."""
        opened, events = append.opened, append.events
        memory = opened.memory if opened else None
        if append.answer:
            _remember(self._answered, append.answer.key, None, MOST_ANSWERED)
        if opened is None or memory is None or memory.era != self.era or len(events) != 1:
            self.drop(append)
        elif memory.is_recalled:
            self._extend(events[0], opened, append.principal_id)
        elif caller := _permitted(memory.lookup, opened):
            _remember(self._callers, _caller_key(memory.lookup), caller, MOST_CALLERS)
            self._extend(events[0], opened, append.principal_id)
        else:
            self.drop(append)

    def drop(self, append: Append, has_moved: bool = False) -> None:
        """Forget what an append rested on, and the streams that it was about."""
        opened = append.opened
        if opened and opened.memory:
            self._callers.pop(_caller_key(opened.memory.lookup), None)
        for event in append.events:
            key = _stream_key(event.stream)
            if self._streams.pop(key, None) and has_moved:
                _remember(self._shared, key, None, MOST_SHARED)

    def _extend(self, event: NewEvent, opened: CallContext, principal_id: UUID) -> None:
        key, before, size = _stream_key(event.stream), opened.loaded.events, len(event.payload)
        known = self._streams.get(key)
        if known and len(known.events) >= event.version:
            return
        if event.version == 1:
            before, owner_id = (), principal_id
        else:
            owner_id = opened.owner_id
            size += known.bytes if known else sum(len(payload) for _, _, _, payload, *_ in before)
        is_whole = len(before) == event.version - 1
        is_short = size <= MOST_BYTES and event.version <= MOST_EVENTS
        if owner_id is None or not is_whole or not is_short or key in self._shared:
            self._streams.pop(key, None)
            return
        now = KnownStream(
            owner_id, (*before, event.stored), last_event_id=event.event_id, bytes=size
        )
        _remember(self._streams, key, now, MOST_STREAMS)


def _remember[K, V](known: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)


def _caller_key(lookup: CallLookup) -> CallerKey:
    # Python hashes the number of a UUID faster than the UUID.
    who, conduit_id, surface_id = lookup.principal_id, lookup.conduit_id, lookup.surface_id
    here = conduit_id and conduit_id.int, surface_id and surface_id.int
    return lookup.identity, who and who.int, *here, lookup.command_name


def _stream_key(stream: Stream) -> StreamKey:
    name, id = stream
    return name, id.int


def _permitted(lookup: CallLookup, opened: CallContext) -> KnownCaller | None:
    """Return the caller with the grant that permits the call; of several, one for all objects."""
    name, conduit_id, standing = lookup.command_name, lookup.conduit_id, opened.standing
    if name is None or conduit_id is None or standing is None or standing.agent_kind is not None:
        return None
    permitting = [g for g in opened.grants if g.permits(name, conduit_id, lookup.surface_id)]
    widest = max(permitting, key=lambda grant: grant.object_scope.breadth, default=None)
    # Who is in a team is read for each call.
    if widest is None or widest.object_scope is ObjectScope.TEAM:
        return None
    return KnownCaller(standing, (widest,))
