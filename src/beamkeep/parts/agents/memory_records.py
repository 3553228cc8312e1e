"""Records of agents in memory, for fast tests: every row is looked at."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from uuid import UUID

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.agent.actions import ACTIONS
from beamkeep.contexts.decision.inference import INFERENCES, DecisionInference
from beamkeep.contexts.decision.results import AGENT_DECISIONS, AgentDecision
from beamkeep.contexts.seams.agent_records import (
    AgentDay,
    AgentPin,
    AgentUse,
    FoundResult,
    ResultFilter,
    RiskReason,
)

from .models.budget import MODEL_CALLS


class MemoryAgentRecords:
    """Sums calls and finds decisions by looking at every one."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def use(self, agent_ids: Collection[UUID], now: datetime) -> Mapping[UUID, AgentUse]:
        """Return what each agent has used on this day and in this month, in UTC."""
        today = now.astimezone(UTC).date()
        found: dict[UUID, AgentUse] = {}
        for id in agent_ids:
            days = await self.days(id, today.replace(day=1), date.max, 31)
            tokens = sum(d.input_tokens + d.output_tokens for d in days if d.day >= today)
            begun = await self._store.rows(MODEL_CALLS, {"agent_id": id, "settled": False})
            calls = [(call, call.started_at.astimezone(UTC).date()) for call in begun]
            tokens += sum(call.reserved_tokens for call, day in calls if day >= today)
            month = today.replace(day=1)
            reserved = sum(call.reserved_usd or 0.0 for call, day in calls if day >= month)
            last = await self._store.rows(ACTIONS, {"agent_id": id, "day": today})
            usd, actions = reserved + sum(day.cost_usd for day in days), [n.number for n in last]
            found[id] = AgentUse(tokens, usd, max(actions, default=0))
        return found

    async def days(
        self, agent_id: UUID, since: date, until: date, limit: int
    ) -> Sequence[AgentDay]:
        """Return days with calls from `since` until before `until`, the newest first."""
        calls: dict[date, list[DecisionInference]] = {}
        for row in await self._store.rows(INFERENCES, {"agent_id": agent_id}):
            calls.setdefault(row.recorded_at.astimezone(UTC).date(), []).append(row)
        wanted = sorted((day for day in calls if since <= day < until), reverse=True)
        return [_day(day, calls[day]) for day in wanted[:limit]]

    async def results(
        self, wanted: ResultFilter, before: UUID | None, limit: int
    ) -> Sequence[FoundResult]:
        """Return decisions with ids before this one, the newest first."""
        pins = {each.agent_id: each for each in wanted.agents}
        calls: dict[UUID, list[DecisionInference]] = {}
        for row in await self._store.rows(INFERENCES, {}):
            calls.setdefault(row.decision_id, []).append(row)
        rows = sorted(await self._store.rows(AGENT_DECISIONS, {}), key=lambda it: it.decision_id)
        found = [
            _found(row, pins[row.agent_id], calls.get(row.decision_id, []))
            for row in reversed(rows)
            if row.agent_id in pins and wanted.since <= row.decided_at < wanted.until
            if before is None or row.decision_id < before
            if _touches(wanted, calls.get(row.decision_id, []))
        ]
        matching = (
            each
            for each in found
            if (wanted.reason in each.reasons if wanted.reason else each.reasons or wanted.model)
        )
        return [*matching][:limit]


def _day(day: date, calls: Sequence[DecisionInference]) -> AgentDay:
    return AgentDay(
        day=day,
        calls=len(calls),
        failed_calls=sum(call.error is not None for call in calls),
        unpriced_calls=sum(call.cost_usd is None for call in calls),
        input_tokens=sum(call.input_tokens or 0 for call in calls),
        output_tokens=sum(call.output_tokens or 0 for call in calls),
        cost_usd=sum((call.cost_usd or 0.0 for call in calls), 0.0),
        duration_ms=sum(call.duration_ms or 0 for call in calls),
    )


def _touches(wanted: ResultFilter, calls: Sequence[DecisionInference]) -> bool:
    if wanted.model is None:
        return True
    dated = re.compile(re.escape(wanted.model) + "(-[0-9]{8})?")
    return any(
        call.request_model == wanted.model or dated.fullmatch(call.response_model or "")
        for call in calls
        if call.provider_name == wanted.provider
    )


def _found(
    result: AgentDecision, agent: AgentPin, calls: Sequence[DecisionInference]
) -> FoundResult:
    elsewhere = any(call.response_model not in {None, agent.snapshot_pin} for call in calls)
    holds = agent.is_over and elsewhere, result.rated_misleading, result.overridden
    last = max(calls, key=lambda call: (call.occurred_at, call.inference_id), default=None)
    return FoundResult(
        decision_id=result.decision_id,
        agent_id=result.agent_id,
        decided_at=result.decided_at,
        request_model=last and last.request_model,
        response_model=last and last.response_model,
        reasons=tuple(reason for reason, it in zip(RiskReason, holds, strict=True) if it),
    )
