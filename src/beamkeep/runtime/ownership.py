"""Whose objects a call reads, changes and quotes."""

from collections.abc import Mapping, Sequence, Set
from inspect import cleandoc
from typing import cast
from uuid import UUID

from beamkeep import kernel
from beamkeep.kernel import NOT_SHOWN, ObjectScope, Outcome, Record, Refusal, replace

from .admission import Admission, Admitted, Caller
from .codec import Codec
from .outcomes import events_of
from .session import Session
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
        if session.only is None:
            return
        if others := await self.others(session.versions.keys(), session.only):
            gets = {s: get.name for s in others if (get := self._gets.get(s[0]))}
            reach = await self._admission.reach(caller, {*gets.values()})
            hidden = {s for s in others if reach.get(gets.get(s, "")) is not ObjectScope.ALL}
            if hidden:
                _withhold(refusal, readable=session.versions.keys() - hidden)

    async def others(self, streams: Set[Stream], me: UUID) -> Set[Stream]:
        """Return those of these streams that somebody else owns."""
        if not streams:
            return frozenset()
        owners, aggregates = await self._store.owners(sorted(streams)), self._codec.aggregates
        return {
            stream
            for stream, owner_id in owners.items()
            if owner_id != me and not (aggregates[stream[0]].self_owned and stream[1] == me)
        }

    async def require_own(self, outcome: Outcome, target: Stream | None, session: Session) -> None:
        """Raise as for an absent object when a command changes one beyond the caller's scope."""
        if session.only is None:
            return
        written = {self._codec.stream(event) for event in events_of(outcome)}
        changed = (written & session.versions.keys()) - {target}
        for name, id in sorted(await self.others(changed, session.only)):
            await session.adopt(self._codec.aggregates[name], id, LoadedStream())

    async def shown(
        self, caller: Caller, admitted: Admitted, target: Stream | None, outcome: Outcome
    ) -> Set[Stream]:
        """Return the streams that the caller may read, or none if not the target itself."""
        written = {self._codec.stream(event) for event in events_of(outcome)}
        streams = [stream for stream in {*written, target} if stream and stream[0] in self._gets]
        gets = {stream: self._gets[stream[0]] for stream in streams}
        reach = await self._admission.reach(caller, [get.name for get in gets.values()])
        owners = await self._store.owners(sorted(gets))
        me = admitted.standing.principal_id
        shown = {
            stream
            for stream, get in gets.items()
            if (scope := reach.get(get.name))
            # What does not exist yet would be the caller's own.
            and replace(admitted, scope=scope).sees(
                owners.get(stream, me), get.aggregate.self_owned, stream[1]
            )
        }
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
