"""Whose objects a call reads, changes and quotes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from inspect import cleandoc
from typing import cast

from beamkeep import kernel
from beamkeep.kernel import NOT_SHOWN, ObjectScope, Outcome, Record, Refusal, Sight, replace

from .admission import Admission, Admitted, Caller
from .codec import Codec
from .outcomes import events_of
from .session import Session, sight_of
from .store import EventStore, LoadedStream, Stream

DECLARED = frozenset({"axis", "check", "checks", "must_be"})
"""Facts that are declared and not read from an object."""


class Ownership:
    """Compares the owners of objects with what the caller may see."""

    def __init__(
        self,
        admission: Admission,
        store: EventStore,
        codec: Codec,
        gets: Mapping[str, kernel.Question],
    ) -> None:
        self._admission, self._store, self._codec, self._gets = admission, store, codec, gets

    async def withhold(self, refusal: Refusal, caller: Caller, session: Session) -> None:
        """Take from a refusal what it quotes of an object that the caller may not read."""
        if session.sight is None:
            return
        if others := await self.others(session.versions.keys(), session.sight):
            gets = {s: get.name for s in others if (get := self._gets.get(s[0]))}
            reach = await self._admission.reach(caller, {*gets.values()})
            hidden = {s for s in others if reach.get(gets.get(s, "")) is not ObjectScope.ALL}
            if hidden:
                _withhold(refusal, readable=session.versions.keys() - hidden)

    async def others(self, streams: Set[Stream], sight: Sight) -> Set[Stream]:
        """Return those of these streams that are not in sight."""
        if not streams:
            return frozenset()
        reached, me = await self._store.reached(sorted(streams), sight), sight.principal_id
        aggregates = self._codec.aggregates
        return {
            stream
            for stream, is_seen in reached.items()
            if not is_seen and not (aggregates[stream[0]].self_owned and stream[1] == me)
        }

    async def require_own(self, outcome: Outcome, target: Stream | None, session: Session) -> None:
        """Raise as for an absent object when a command changes one beyond the caller's scope."""
        if session.sight is None:
            return
        written = {self._codec.stream(event) for event in events_of(outcome)}
        changed = (written & session.versions.keys()) - {target}
        for name, id in sorted(await self.others(changed, session.sight)):
            await session.adopt(self._codec.aggregates[name], id, LoadedStream())

    async def shown(
        self, caller: Caller, admitted: Admitted, target: Stream | None, outcome: Outcome
    ) -> Set[Stream]:
        """Return the streams that the caller may read, or none if not the target itself."""
        written = {self._codec.stream(event) for event in events_of(outcome)}
        streams = [stream for stream in {*written, target} if stream and stream[0] in self._gets]
        gets = {stream: self._gets[stream[0]] for stream in streams}
        reach = await self._admission.reach(caller, [get.name for get in gets.values()])
        me, by_sight = admitted.standing.principal_id, defaultdict[Sight | None, set[Stream]](set)
        for stream, get in gets.items():
            if scope := reach.get(get.name):
                by_sight[sight_of(me, scope)].add(stream)
        shown = by_sight.pop(None, set[Stream]())
        for sight, seen in by_sight.items():
            # What does not exist yet would be the caller's own.
            shown |= seen - await self.others(seen, sight) if sight else seen
        return shown if target is None or target in shown else frozenset()


def _withhold(refusal: Refusal, readable: Set[Stream]) -> None:
    """Take from a refusal what it may quote of objects that are not readable."""
    members = refusal.facts
    rest = {name: value for name, value in members.items() if _is_shown(name)}
    if "facts" in members:
        facts = [_fact(each, readable) for each in cast("Sequence[object]", members["facts"])]
        shown = [fact for fact in facts if fact is not None]
        # The way to clear a check follows from the states in its facts.
        is_whole = shown == [*cast("Sequence[object]", members["facts"])]
        rest |= {"facts": shown, "cleared_by": members.get("cleared_by", ()) if is_whole else ()}
    refusal.facts = rest
    refusal.args = (cleandoc(type(refusal).__doc__ or ""),)


def _is_shown(name: str) -> bool:
    return name in DECLARED or name.endswith(("_id", "_ids"))


def _fact(fact: object, readable: Set[Stream]) -> Record | None:
    """Return a fact as it may be shown."""
    if not isinstance(fact, Record):
        return None
    values = {name: getattr(fact, name) for name in fact.__struct_fields__}
    kind, id = values.pop("kind", None), values.pop("id", None)
    if (kind, id) in readable:
        return fact
    unknown: Mapping[str, object] = {
        name: NOT_SHOWN if isinstance(value, str) else None for name, value in values.items()
    }
    return replace(fact, **unknown)
