"""Calls of language models in memory, for fast tests."""

from uuid import UUID

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.decision.inference import DecisionInference
from beamkeep.kernel import replace

from .models.budget import (
    ATTEMPT_EVERY,
    MODEL_CALLS,
    MOST_ATTEMPTS,
    Begun,
    Exhausted,
    ModelCall,
    OverBudget,
    Postponed,
    Spending,
    Spent,
)


class MemoryModelCalls:
    """Keeps calls among the rows of a store in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def _rows(self, agent_id: UUID) -> list[ModelCall]:
        rows = self._store.tables.setdefault(MODEL_CALLS.name, {}).values()
        return [row for row in rows if row.agent_id == agent_id]

    async def begin(self, key: str, spending: Spending) -> Begun:
        """Record a call if it is due and the budget covers it."""
        now = self._store.clock()
        before = [row for row in self._rows(spending.agent_id) if row.key == key]
        if before:
            last = max(before, key=lambda row: row.attempt)
            if (wait := (last.started_at + ATTEMPT_EVERY - now).total_seconds()) > 0:
                return Postponed(wait, is_open=not last.settled)
        if len(before) >= MOST_ATTEMPTS:
            return Exhausted()
        if not (await self.spent(spending.agent_id)).leaves_room(spending):
            return OverBudget()
        call = ModelCall(
            spending.agent_id,
            key,
            attempt=len(before) + 1,
            started_at=now,
            reserved_tokens=spending.reserve.tokens,
            reserved_usd=spending.reserve.usd,
        )
        self._store.write_rows([MODEL_CALLS.insert(call)])
        return call

    async def spent(self, agent_id: UUID) -> Spent:
        """Return what an agent has spent on this day and in this month, in UTC."""
        now = self._store.clock()
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        month = day.replace(day=1)
        rows: list[DecisionInference] = [
            row
            for row in self._store.tables.get("decision_inference", {}).values()
            if row.agent_id == agent_id
        ]
        open_ = [row for row in self._rows(agent_id) if not row.settled]
        tokens = sum(
            (row.input_tokens or 0) + (row.output_tokens or 0)
            for row in rows
            if row.recorded_at >= day
        )
        usd = sum(row.cost_usd or 0.0 for row in rows if row.recorded_at >= month)
        return Spent(
            tokens + sum(row.reserved_tokens for row in open_ if row.started_at >= day),
            usd + sum(row.reserved_usd or 0.0 for row in open_ if row.started_at >= month),
        )

    async def settle(self, call: ModelCall) -> None:
        """Let the reserve of a call no longer count."""
        self._store.write_rows([MODEL_CALLS.replace(replace(call, settled=True))])
