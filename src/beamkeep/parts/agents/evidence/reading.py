"""Answers questions about the evidence of decisions."""

from collections.abc import Sequence, Set
from datetime import datetime, timedelta
from uuid import UUID

from beamkeep.contexts.decision.results import AGENT_DECISIONS, AgentDecision
from beamkeep.contexts.seams.evidence import (
    DecisionEvidence,
    EvidencePage,
    EvidenceVerdict,
    LinkedObject,
    ListDecisionEvidence,
    VerifiedEvidence,
    VerifyDecisionEvidence,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Catalogue
from beamkeep.runtime.answers import EVIDENCE, AnswerEvidence, SeenObject
from beamkeep.runtime.store import EventStore, RowQuery, Stream

from .replaying import Replay

NEWEST = "asked_at", "evidence_id"


class DecisionEvidenceReader:
    """Finds the evidence of a decision and reads it again."""

    def __init__(
        self, store: EventStore, catalogue: Catalogue, replay: Replay, window: timedelta
    ) -> None:
        self._store, self._catalogue, self._replay, self._window = store, catalogue, replay, window

    async def page(self, query: ListDecisionEvidence, read: Reader) -> tuple[DecisionEvidence, ...]:
        """Return a page of the evidence, newest first, and the first row after it."""
        decided = await self._decided(query.decision_id)
        rows = await self._rows(query, decided)
        if decided is None or not rows:
            return ()
        before = await self._last_before(decided)
        shown = await self._shown([each for row in rows for each in row.seen], read)
        return tuple(
            _shown(row, self._links(row, shown), before is None or row.asked_at > before.decided_at)
            for row in rows
        )

    async def verify(
        self, query: VerifyDecisionEvidence, read: Reader
    ) -> tuple[VerifiedEvidence, ...]:
        """Return a page of verdicts, newest first, and the first row after it."""
        rows = await self._rows(query, await self._decided(query.decision_id))
        # The row after the page only tells that there is one.
        verdicts = [await self._replay.verdict(row) for row in rows[: query.limit]]
        verdicts += [EvidenceVerdict.NOT_REPLAYABLE for _ in rows[query.limit :]]
        release = self._replay.release
        return tuple(
            VerifiedEvidence.of(row, verdict=verdict, verified_by=release)
            for row, verdict in zip(rows, verdicts, strict=True)
        )

    async def _decided(self, decision_id: UUID) -> AgentDecision | None:
        """Return when an agent made the decision; None when it was not made by an agent."""
        found = await self._store.rows(AGENT_DECISIONS, {"decision_id": decision_id})
        return found[0] if found else None

    async def _rows(
        self, query: EvidencePage, decided: AgentDecision | None
    ) -> list[AnswerEvidence]:
        """Return what a decision rests on, or all of the window, one row more than asked."""
        if decided is None:
            return []
        after = ()
        if query.cursor:
            last = await self._store.rows(EVIDENCE, {"evidence_id": UUID(query.cursor)})
            after = (last[0].asked_at, last[0].evidence_id) if last else ()
        until, mine = ("asked_at", "<=", decided.decided_at), {"agent_id": decided.agent_id}
        if query.window_minutes is None:
            since = await self._since(decided)
        else:
            window = timedelta(minutes=query.window_minutes)
            since = ("asked_at", ">=", decided.decided_at - window)
        wanted = [
            RowQuery(mine, (since, until), by=NEWEST, newest_first=True, after=after),
            RowQuery(
                mine | {"correlation_id": decided.correlation_id},
                (until,),
                by=NEWEST,
                newest_first=True,
                after=after,
            ),
        ]
        found = [await self._store.entries(EVIDENCE, each, query.limit + 1) for each in wanted]
        rows = {row.evidence_id: row for some in found for row in some}
        ordered = sorted(rows.values(), key=lambda row: (row.asked_at, row.evidence_id))
        return ordered[::-1][: query.limit + 1]

    async def _since(self, decided: AgentDecision) -> tuple[str, str, datetime]:
        """Return the condition on what an agent read for a decision, and not for earlier ones.

        Of two decisions without an answer between them, both rest on the answers before the first.
        """
        begun = decided.decided_at - self._window
        mine, bounds = {"agent_id": decided.agent_id}, ("asked_at", "<=", decided.decided_at)
        window = ("asked_at", ">=", begun)
        wanted = RowQuery(mine, (bounds, window), by=NEWEST, newest_first=True, after=())
        for newest in await self._store.entries(EVIDENCE, wanted, 1):
            earlier = ("decided_at", "<", newest.asked_at)
            by = "decided_at", "decision_id"
            before = RowQuery(mine, (earlier,), by=by, newest_first=True, after=())
            for other in await self._store.entries(AGENT_DECISIONS, before, 1):
                if other.decided_at >= begun:
                    return "asked_at", ">", other.decided_at
        return window

    async def _last_before(self, decided: AgentDecision) -> AgentDecision | None:
        """Return the decision of the same agent before this one."""
        place = decided.decided_at, decided.decision_id
        by = "decided_at", "decision_id"
        mine = {"agent_id": decided.agent_id}
        wanted = RowQuery(mine, (), by=by, newest_first=True, after=place)
        found = await self._store.entries(AGENT_DECISIONS, wanted, 1)
        return found[0] if found else None

    async def _shown(self, seen: Sequence[SeenObject], read: Reader) -> Set[Stream]:
        """Return those of these objects that the caller may get."""
        kinds = {each.stream_type for each in seen}
        gets = {kind: get for kind, get in self._catalogue.gets.items() if kind in kinds}
        scopes = await read.scopes(get.name for get in gets.values())
        shown: set[Stream] = set()
        for kind, get in gets.items():
            if (scope := scopes.get(get.name)) is None:
                continue
            ids = {each.stream_id for each in seen if each.stream_type == kind}
            shown |= {(kind, id) for id in await read.visible(get.aggregate, ids, scope)}
        return shown

    def _links(self, row: AnswerEvidence, shown: Set[Stream]) -> tuple[LinkedObject, ...]:
        return tuple(
            LinkedObject.of(each, link=f"{self._path(each)}?as_of={each.version}")
            for each in row.seen
            if (each.stream_type, each.stream_id) in shown
        )

    def _path(self, seen: SeenObject) -> str:
        path = self._catalogue.gets[seen.stream_type].route.path
        return f"{path.rpartition('/')[0]}/{seen.stream_id}"


def _shown(
    row: AnswerEvidence, seen: tuple[LinkedObject, ...], since_last: bool
) -> DecisionEvidence:
    hidden = len(row.seen) - len(seen)
    # The arguments name objects, too.
    arguments = None if hidden else row.arguments
    return DecisionEvidence.of(
        row, arguments=arguments, seen=seen, hidden=hidden, since_last_decision=since_last
    )
