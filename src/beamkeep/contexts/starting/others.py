"""The open runs and procedures that use the same assets as work that starts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from beamkeep.contexts.operation import procedure
from beamkeep.contexts.operation.procedure import ListProcedures, Procedure, procedures
from beamkeep.contexts.run import run
from beamkeep.contexts.run.run import ListRuns, Run, runs
from beamkeep.contexts.seams.installation import Reader

from .gates import StartFact

MOST = 20
"""How many runs, and how many procedures, a start names."""


async def live_runs_on(asset_ids: Collection[UUID], read: Reader) -> Sequence[Run]:
    """Return the first open runs that use one of these assets."""
    if not asset_ids:
        return ()
    list_filter = ListRuns(status=run.OPEN, asset_id=frozenset(asset_ids))
    # A list lags behind its streams: fold what it finds before it counts.
    found = await read.many(runs, await read.matching(list_filter, most=MOST))
    return [each for each in found.values() if each.status in run.OPEN]


async def open_procedures_on(asset_ids: Collection[UUID], read: Reader) -> Sequence[Procedure]:
    """Return the first open procedures that are about one of these assets or move it."""
    if not asset_ids:
        return ()
    list_filter = ListProcedures(status=procedure.OPEN, asset_id=frozenset(asset_ids))
    found = await read.many(procedures, await read.matching(list_filter, most=MOST))
    return [each for each in found.values() if each.status in procedure.OPEN]


def run_fact(run: Run, names: Mapping[UUID, str]) -> StartFact:
    """Return an open run by the assets that are shared; its name may be hidden from the caller."""
    return StartFact("Run", run.id, name=_shared(run.asset_ids, names), state=run.status)


def procedure_fact(procedure: Procedure, names: Mapping[UUID, str]) -> StartFact:
    """Return an open procedure by the assets that are shared."""
    shared = _shared(procedure.works_on, names)
    return StartFact("Procedure", procedure.id, name=shared, state=procedure.status)


def _shared(asset_ids: Iterable[UUID], names: Mapping[UUID, str]) -> str:
    return ", ".join(names[id] for id in asset_ids if id in names)
