"""Reads again what an agent was answered, as of the versions that it saw."""

from collections.abc import Callable
from typing import Any

from beamkeep import kernel
from beamkeep.contexts.seams.evidence import EvidenceVerdict
from beamkeep.kernel import Catalogue, Question
from beamkeep.runtime.answers import FOLDED, AnswerEvidence, SeenObject
from beamkeep.runtime.codec import BrokenStreamError, shown
from beamkeep.runtime.evidence import digest, folded_digest
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import EventStore, LoadedStream, Stream


class Replay:
    """Compares what agents were answered with the log."""

    def __init__(
        self,
        store: EventStore,
        sessions: Callable[[], Session],
        catalogue: Catalogue,
        release: str,
    ) -> None:
        self._store, self._sessions, self._catalogue = store, sessions, catalogue
        self.release = release

    async def verdict(self, row: AnswerEvidence) -> EvidenceVerdict:
        """Return whether the question would be answered the same, as of what was seen."""
        try:
            found = await self._digest(row)
        except (kernel.NotFound, BrokenStreamError):
            return EvidenceVerdict.DIFFERS
        if found is None:
            return EvidenceVerdict.NOT_REPLAYABLE
        return EvidenceVerdict.SAME if found == row.digest else EvidenceVerdict.DIFFERS

    async def _digest(self, row: AnswerEvidence) -> str | None:
        """Return the digest of what is read now; None if the question cannot be asked again."""
        if row.question == FOLDED and not row.more:
            states = {_stream(each): (each.version, await self._state(each)) for each in row.seen}
            return folded_digest(states)
        question = self._catalogue.named.get(row.question)
        if not isinstance(question, Question) or len(row.seen) != 1:
            return None
        (seen,) = row.seen
        match question.source:
            case kernel.One():
                state, stream = await self._state(seen), _stream(seen)
                owner_id = (await self._store.owners([stream])).get(stream)
                return digest(shown(question.aggregate, state, owner_id))
            case kernel.History():
                after = int(row.arguments["after"])
                # An empty page is asked for as one event, of which nothing is shown.
                events = await self._store.history(_stream(seen), after, seen.version - after or 1)
                return digest([each for each in events if each.version <= seen.version])
            case _:
                return None

    async def _state(self, seen: SeenObject) -> Any:
        # Folded from the first event: a snapshot would not show that an event has been changed.
        of, stream = self._catalogue.aggregates[seen.stream_type], _stream(seen)
        loaded = (await self._store.load([stream])).get(stream, LoadedStream())
        return (await self._sessions().at(of, seen.stream_id, seen.version, loaded))[0]


def _stream(seen: SeenObject) -> Stream:
    return seen.stream_type, seen.stream_id
