"""Checks of what readers saw and when, in the way of Elle: a stream is a list that only grows."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Record
from beamkeep.runtime.codec import shown
from beamkeep.runtime.store import StoredEvent, Stream
from beamkeep.testing.log import LoggedEvent
from tests.faults.workload import CODEC, Attempt, End

type Fact = tuple[int, str, Any]
"""Version, type and payload of an event."""


class Read(Record):
    """What a reader was told of one stream, and between which moments."""

    stream: Stream
    version: int
    begun: float
    ended: float
    told: Sequence[Fact] | Mapping[str, Any] | None = None
    """The events or the state; nothing where the version is all that was told."""
    snapshot: object = None
    """The same for reads of several streams in one statement."""


class Write(NamedTuple):
    """When a request began, and when its client first knew that it was written."""

    begun: float
    known: float


class ReadFigures(Record):
    """How many reads there were, and how many show what cannot have been."""

    reads: int
    states: int
    non_prefix: int
    """Do not show the first events of the stream, or not the state after them."""
    partial: int
    """Show a part of what was written at once to several streams, after or beside the other."""
    stale: int
    """Began when a write was acknowledged that they do not show."""
    backward: int
    """Began when another read had shown more."""
    overtaken: int
    """Writes that began when a later one of the same stream was acknowledged."""


def audit_reads(
    log: Sequence[LoggedEvent], reads: Sequence[Read], writes: Mapping[UUID, Write]
) -> ReadFigures:
    """Compare what readers saw with the log, given in the order of the tail."""
    streams: dict[Stream, list[LoggedEvent]] = defaultdict(list)
    at_once: dict[int, list[LoggedEvent]] = defaultdict(list)
    for event in log:
        streams[event.stream].append(event)
        at_once[event.position.tx].append(event)
    several = [events for events in at_once.values() if len({e.stream for e in events}) > 1]

    by_answers, by_reads, by_parts = Knowledge(), Knowledge(), Knowledge()
    for event in log:
        if write := writes.get(event.correlation_id):
            by_answers.learn(event.stream, event.recorded.version, write.known)
    for read in reads:
        by_reads.learn(read.stream, read.version, read.ended)
    for events in several:
        for event in events:
            known = by_reads.since(event.stream, event.recorded.version)
            for other in events:
                if other.stream != event.stream:
                    by_parts.learn(other.stream, other.recorded.version, known)

    def behind(knowledge: Knowledge) -> int:
        return sum(knowledge.since(r.stream, r.version + 1) < r.begun for r in reads)

    matches = matcher(streams)
    return ReadFigures(
        reads=len(reads),
        states=sum(isinstance(read.told, Mapping) for read in reads),
        non_prefix=sum(not matches(read) for read in reads),
        partial=behind(by_parts) + torn_snapshots(reads, several),
        stale=behind(by_answers),
        backward=behind(by_reads),
        overtaken=sum(overtaken(events, writes) for events in streams.values()),
    )


class Knowledge:
    """When it was first known that a stream had come to a version, or beyond it."""

    def __init__(self) -> None:
        self._heard: dict[Stream, dict[int, float]] = defaultdict(dict)
        self._since: dict[Stream, list[float]] = {}

    def learn(self, stream: Stream, version: int, at: float) -> None:
        """Take note that a version was known at a moment."""
        heard = self._heard[stream]
        heard[version] = min(at, heard.get(version, math.inf))
        self._since.pop(stream, None)

    def since(self, stream: Stream, version: int) -> float:
        """Since when this version was known; for ever later if it never was."""
        since = self._since.get(stream)
        if since is None:
            heard = self._heard[stream]
            since = [math.inf] * (max(heard, default=0) + 2)
            for each in range(len(since) - 2, -1, -1):
                since[each] = min(since[each + 1], heard.get(each, math.inf))
            self._since[stream] = since
        return since[version] if version < len(since) else math.inf


def matcher(streams: Mapping[Stream, Sequence[LoggedEvent]]) -> Callable[[Read], bool]:
    """Whether a read shows the beginning of its stream, in its final form."""

    @cache
    def facts(stream: Stream) -> list[Fact]:
        return [fact(event.recorded) for event in streams.get(stream, ())]

    @cache
    def state(stream: Stream, version: int) -> Mapping[str, Any]:
        of, first = CATALOGUE.aggregates[stream[0]], streams[stream][:version]
        folded = CODEC.fold(of, [event.recorded for event in first])
        return msgspec.to_builtins(shown(of, folded, first[0].principal_id))

    def matches(read: Read) -> bool:
        if read.version > len(streams.get(read.stream, ())):
            return False
        match read.told:
            case None:
                return True
            case Mapping():
                # More may be shown beside the state.
                told, expected = read.told, state(read.stream, read.version)
                return all(told.get(name) == value for name, value in expected.items())
            case _:
                return [*read.told] == facts(read.stream)[: read.version]

    return matches


def fact(recorded: StoredEvent) -> Fact:
    """What an event says, whichever way it was read."""
    version, name, _, payload = recorded
    return version, name, msgspec.json.decode(payload)


def torn_snapshots(reads: Iterable[Read], several: Iterable[Sequence[LoggedEvent]]) -> int:
    """How often one statement showed a part of what was written at once."""
    together: dict[object, dict[Stream, int]] = defaultdict(dict)
    for read in reads:
        if read.snapshot is not None:
            together[read.snapshot][read.stream] = read.version
    of_stream: dict[Stream, list[Sequence[LoggedEvent]]] = defaultdict(list)
    for events in several:
        for stream in {event.stream for event in events}:
            of_stream[stream].append(events)
    torn = 0
    for seen in together.values():
        for events in of_stream[next(iter(seen))]:
            shown = {e.recorded.version <= seen[e.stream] for e in events if e.stream in seen}
            torn += len(shown) > 1
    return torn


def overtaken(events: Sequence[LoggedEvent], writes: Mapping[UUID, Write]) -> int:
    """The writes of one stream that began when one of a later version or place was known."""
    found = 0
    for order in (events, sorted(events, key=lambda event: event.recorded.version)):
        earliest = math.inf
        for event in reversed(order):
            if write := writes.get(event.correlation_id):
                found += earliest < write.begun
                earliest = min(earliest, write.known)
    return found


def writes_of(history: Sequence[Attempt], begun: Mapping[UUID, float]) -> dict[UUID, Write]:
    """When each attempt began, and when the first answer to its request was there."""
    known: dict[str, float] = {}
    for attempt in history:
        if attempt.end is End.ACKNOWLEDGED:
            known[attempt.key] = min(attempt.at, known.get(attempt.key, math.inf))
    return {
        a.correlation_id: Write(begun[a.correlation_id], known.get(a.key, math.inf))
        for a in history
    }
