"""Sight: which of the objects that were found the caller may list."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from beamkeep.contexts.caution.caution import ListCautions
from beamkeep.contexts.enclosure.enclosure import ListEnclosures
from beamkeep.contexts.equipment.asset import ListAssets
from beamkeep.contexts.operation.procedure import ListProcedures
from beamkeep.contexts.run.run import ListRuns
from beamkeep.contexts.safety.clearance import ListClearances
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.starting.readiness import GetPlanReadiness
from beamkeep.contexts.supply.supply import ListSupplies
from beamkeep.contexts.trust.surface import ListSurfaces
from beamkeep.contexts.trust.visit import ListVisits
from beamkeep.kernel import Aggregate, Event, ObjectScope, Query, Record, snake

ASKED: Sequence[type[Query]] = (
    *(ListRuns, ListProcedures, ListSupplies, ListEnclosures, ListClearances),
    *(ListCautions, ListSurfaces, ListVisits, ListAssets, GetPlanReadiness),
)


class BoardSight(Record):
    """What the caller may see, by the question that shows it elsewhere."""

    read: Reader
    scopes: Mapping[type[Query], ObjectScope]

    async def seen[S, G: Event, E: Event](
        self, aggregate: Aggregate[S, G, E], question: type[Query], ids: Iterable[UUID]
    ) -> Sequence[UUID] | None:
        """Return those ids that a question shows to the caller; None if it is not permitted."""
        scope = self.scopes.get(question)
        if scope is None:
            return None
        wanted = list(ids)
        visible = await self.read.visible(aggregate, wanted, scope)
        return [id for id in wanted if id in visible]


async def sight(read: Reader) -> BoardSight:
    """Return what the caller may see here."""
    names = {snake(question.__name__): question for question in ASKED}
    scopes = await read.scopes(names)
    # Who does not see every beamline sees no more of what is on it.
    of_teams = read.sight and read.sight.teams
    only = None if read.sight is None else ObjectScope.TEAM if of_teams else ObjectScope.OWN
    return BoardSight(read, {names[n]: narrowest(only, scope) for n, scope in scopes.items()})


def narrowest(bound: ObjectScope | None, scope: ObjectScope) -> ObjectScope:
    """Return the narrower of two scopes, where one may be unbounded."""
    return scope if bound is None or bound.covers(scope) else bound
