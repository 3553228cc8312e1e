"""Whose objects a call reads, changes and quotes."""

from collections.abc import Mapping, Set
from uuid import UUID

from beamkeep import kernel
from beamkeep.kernel import ObjectScope, Outcome, Refusal, replace

from .admission import Admission, Admitted, Caller
from .codec import Codec
from .outcomes import events_of
from .session import Session
from .store import EventStore, LoadedStream, Stream
from .withholding import withhold


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
        others = await self.others(session.versions.keys(), session.only)
        if others:
            gets = {s: get.name for s in others if (get := self._gets.get(s[0]))}
            reach = await self._admission.reach(caller, {*gets.values()})
            hidden = {s for s in others if reach.get(gets.get(s, "")) is not ObjectScope.ALL}
            withhold(refusal, readable=session.versions.keys() - hidden, hidden=hidden)

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
