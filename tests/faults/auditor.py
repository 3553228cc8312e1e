"""Checks of the log: that it agrees with what clients, tails and lists have of it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust.policy import grant_to, policies
from beamkeep.contexts.trust.visit import visits
from beamkeep.feed.tail import TailEvent
from beamkeep.kernel import Record, View
from beamkeep.runtime.store import Position, StoredEvent, Stream
from beamkeep.testing.log import CODEC, LOG, FoldedRows, LoggedEvent, folded_rows
from tests.faults.ground import connected
from tests.faults.workload import Attempt, End


class HistoryFigures(Record):
    """What the clients were told, and how much of it is not so."""

    acknowledged: int
    refused: int
    unknown: int
    committed_unknown: int
    leaked: int
    lost: int
    """Acknowledged, and not in the log."""
    doubled: int
    """Requests with more than one effect."""
    torn: int
    """Attempts whose events stand in more than one transaction."""
    misnumbered: int
    """Acknowledged with another version or position than the log has."""
    written_though_refused: int
    unaccounted: int
    """Events that belong to no attempt, of those after the beginning."""
    holes: int
    """Streams whose versions are not 1, 2, 3, …"""


class TailFigures(Record):
    """What a reader of the tail missed, saw twice, or saw in the wrong order."""

    seen: int
    skipped: int
    duplicated: int
    misordered: int


async def read_log(url: str) -> list[LoggedEvent]:
    """Every event there is, in the order of the tail."""
    async with connected(url) as connection:
        return [
            LoggedEvent(
                Position(tx, pos), (kind, id), principal, correlation, StoredEvent(*recorded)
            )
            for tx, pos, kind, id, principal, correlation, *recorded in await connection.fetch(LOG)
        ]


def audit_history(
    log: Sequence[LoggedEvent], history: Sequence[Attempt], before: int = 0
) -> HistoryFigures:
    """Compare what clients were told with what is in the log after its first `before` events."""
    written: dict[UUID, list[LoggedEvent]] = defaultdict(list)
    for event in log:
        written[event.correlation_id].append(event)
    ends = Counter(attempt.end for attempt in history)
    tries = {attempt.correlation_id for attempt in history}
    effects: Counter[str] = Counter()
    for attempt in history:
        effects[attempt.key] += attempt.correlation_id in written
    return HistoryFigures(
        acknowledged=ends[End.ACKNOWLEDGED],
        refused=ends[End.REFUSED],
        unknown=ends[End.UNKNOWN],
        committed_unknown=_written(history, End.UNKNOWN, written),
        leaked=ends[End.LEAKED],
        lost=sum(a.end is End.ACKNOWLEDGED and not _there(a, effects, written) for a in history),
        doubled=sum(count > 1 for count in effects.values()),
        torn=sum(len({e.position.tx for e in written.get(id, ())}) > 1 for id in tries),
        misnumbered=sum(_misnumbered(a, written.get(a.correlation_id, ())) for a in history),
        written_though_refused=_written(history, End.REFUSED, written),
        unaccounted=sum(event.correlation_id not in tries for event in log[before:]),
        holes=len(holes(log)),
    )


def _written(
    history: Iterable[Attempt], end: End, written: Mapping[UUID, Sequence[LoggedEvent]]
) -> int:
    return sum(a.end is end and bool(written.get(a.correlation_id)) for a in history)


def _there(
    attempt: Attempt, effects: Mapping[str, int], written: Mapping[UUID, Sequence[LoggedEvent]]
) -> bool:
    """Whether the effect of an attempt, or the one its answer was kept from, is in the log."""
    replayed = attempt.answered is not None and attempt.answered.replayed
    return bool(effects[attempt.key] if replayed else written.get(attempt.correlation_id))


def _misnumbered(attempt: Attempt, events: Sequence[LoggedEvent]) -> bool:
    """Whether a first answer names another version or place than its events have."""
    answered = attempt.answered
    if answered is None or answered.replayed or not events:
        return False
    of_target = [e.recorded.version for e in events if e.stream[1] == answered.id]
    return (answered.version, answered.token) != (max(of_target), events[-1].position)


def holes(log: Sequence[LoggedEvent]) -> list[Stream]:
    """The streams whose versions are not 1, 2, 3, … in the order of the tail."""
    streams: dict[Stream, list[int]] = defaultdict(list)
    for event in log:
        streams[event.stream].append(event.recorded.version)
    return [s for s, versions in streams.items() if versions != list(range(1, len(versions) + 1))]


def audit_tail(log: Sequence[LoggedEvent], seen: Sequence[TailEvent]) -> TailFigures:
    """Compare what a reader of the tail saw with what is in the log."""
    times = Counter(Position(event.tx, event.position) for event in seen)
    reached: dict[Stream, int] = {}
    misordered = 0
    for event in seen:
        stream = event.stream_type, event.stream_id
        misordered += event.version < reached.get(stream, 0)
        reached[stream] = event.version
    return TailFigures(
        seen=len(seen),
        skipped=sum(event.position not in times for event in log),
        duplicated=sum(count - 1 for count in times.values()),
        misordered=misordered,
    )


async def stored_rows(url: str, view: View[Any]) -> FoldedRows:
    """The rows a list has."""
    async with connected(url) as connection:
        rows = await connection.fetch(
            f"SELECT id, version, owner_id, facets, row::text FROM proj.{view.name}"
        )
    return {
        id: (version, owner, tuple(facets), row.encode())
        for id, version, owner, facets, row in rows
    }


async def differing_rows(url: str, log: Sequence[LoggedEvent]) -> int:
    """How many rows of all lists differ from a fresh fold of the log, byte for byte."""
    different = 0
    for view in CATALOGUE.views:
        stored, folded = await stored_rows(url, view), folded_rows(log, view)
        different += sum(stored.get(id) != folded.get(id) for id in stored.keys() | folded.keys())
    return different


async def differing_grants(url: str, log: Sequence[LoggedEvent]) -> int:
    """How many grants and controls beside the log differ from what its policies and visits say."""
    streams: dict[Stream, list[StoredEvent]] = defaultdict(list)
    for event in log:
        streams[event.stream].append(event.recorded)
    grants: set[tuple[object, ...]] = set()
    controls: set[tuple[object, ...]] = set()
    for (kind, _), events in streams.items():
        if kind == policies.name and (policy := CODEC.fold(policies, events)):
            for id in policy.permitted_principal_ids:
                g = grant_to(policy, id)
                grants.add(
                    (
                        g.policy_id,
                        g.principal_id,
                        g.conduit_id,
                        g.surface_id,
                        tuple(g.permitted_commands),
                        str(g.object_scope),
                    )
                )
        elif kind == visits.name and (visit := CODEC.fold(visits, events)) and visit.controlling:
            controls.add((visit.parent_surface_id, visit.id))
    async with connected(url) as connection:
        kept = await connection.fetch(
            "SELECT policy_id, principal_id, conduit_id, surface_id, permitted_commands,"
            " object_scope FROM bk.policy_grant"
        )
        held = await connection.fetch("SELECT surface_id, visit_id FROM bk.surface_control")
    found = {(*row[:4], tuple(row[4]), row[5]) for row in map(tuple, kept)}
    return len(found ^ grants) + len({tuple(row) for row in held} ^ controls)
