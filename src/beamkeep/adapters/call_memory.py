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

MOST_CALLERS, MOST_STREAMS, MOST_SHARED = 1_000, 500, 5_000
MOST_EVENTS, MOST_BYTES = 32, 16_384
"""Of one stream; a longer one is read each time."""

type CallerKey = tuple[object, ...]


class KnownCaller(NamedTuple):
    """A caller as it was found, with the grant that permits the call."""

    standing: Standing
    grant: Grant


class KnownStream(NamedTuple):
    """A stream up to an event that this process wrote."""

    owner_id: UUID
    events: Sequence[StoredEvent]
    last_event_id: UUID


class CallMemory:
    """Callers and streams by the last commands that this process wrote.

    Nothing of it is trusted: the append that rests on it asks whether it still holds.
    """

    def __init__(self) -> None:
        self.era = 0
        self._callers = OrderedDict[CallerKey, KnownCaller]()
        self._streams = OrderedDict[Stream, KnownStream]()
        self._shared = OrderedDict[Stream, None]()
        """Streams that others changed, too: they are read each time."""

    def forget(self) -> None:
        """Forget everything: another server may answer, which does not know what was written."""
        self.era += 1
        self._callers.clear()
        self._streams.clear()

    def recall(self, lookup: CallLookup) -> CallContext | None:
        """Return the context of a call, if everything that it needs is remembered."""
        caller = self._callers.get(_key(lookup))
        if caller is None:
            return None
        if lookup.stream is None:
            memory = Memory(lookup, self.era, is_recalled=True)
            return CallContext(caller.standing, (caller.grant,), memory=memory)
        stream = self._streams.get(lookup.stream)
        if stream is None:
            return None
        return CallContext(
            caller.standing,
            (caller.grant,),
            owner_id=stream.owner_id,
            loaded=LoadedStream(stream.events),
            memory=Memory(lookup, self.era, is_recalled=True, last_event_id=stream.last_event_id),
        )

    def remember(self, append: Append) -> None:
        """Remember a command with a single event, once it is written."""
        opened, memory, events = append.opened, None, append.events
        if opened and (memory := opened.memory) and memory.era == self.era and len(events) == 1:
            lookup, (event,) = memory.lookup, events
            grant = _determining(lookup, opened)
            if grant and opened.standing and opened.standing.agent_kind is None:
                caller = KnownCaller(opened.standing, grant)
                _keep(self._callers, _key(lookup), caller, MOST_CALLERS)
                self._extend(event, opened, append.principal_id)
                return
        self.drop(append)

    def drop(self, append: Append, has_moved: bool = False) -> None:
        """Forget what an append rested on, and the streams that it was about."""
        opened = append.opened
        if opened and opened.memory:
            self._callers.pop(_key(opened.memory.lookup), None)
        for event in append.events:
            known = self._streams.pop(event.stream, None)
            if known and has_moved:
                _keep(self._shared, event.stream, None, MOST_SHARED)

    def _extend(self, event: NewEvent, opened: CallContext, principal_id: UUID) -> None:
        known, stream = self._streams.get(event.stream), event.stream
        if known and len(known.events) >= event.version:
            return
        before = opened.loaded.events if event.version > 1 else ()
        is_target = opened.memory and opened.memory.lookup.stream == stream
        size = len(event.payload) + sum(len(payload) for _, _, _, payload, *_ in before)
        owner_id = opened.owner_id if before else principal_id
        is_whole = len(before) == event.version - 1 and (is_target or not before)
        is_short = size <= MOST_BYTES and event.version <= MOST_EVENTS
        if is_whole and owner_id and is_short and stream not in self._shared:
            now = KnownStream(owner_id, (*before, event.stored), event.event_id)
            _keep(self._streams, stream, now, MOST_STREAMS)
        else:
            self._streams.pop(stream, None)


def _keep[K, V](kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)


def _key(lookup: CallLookup) -> CallerKey:
    who = lookup.identity, lookup.principal_id
    return (*who, lookup.conduit_id, lookup.surface_id, lookup.command_name)


def _determining(lookup: CallLookup, opened: CallContext) -> Grant | None:
    """Return the grant that permits the call; of several, one for all objects."""
    name, conduit_id = lookup.command_name, lookup.conduit_id
    if name is None or conduit_id is None:
        return None
    permitting = [g for g in opened.grants if g.permits(name, conduit_id, lookup.surface_id)]
    of_all = (grant for grant in permitting if grant.object_scope is ObjectScope.ALL)
    return next(of_all, permitting[0] if permitting else None)
