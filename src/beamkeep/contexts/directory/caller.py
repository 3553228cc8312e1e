"""Caller: who asks, what they may call on this surface, and where the deployment stands."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.access import profile
from beamkeep.contexts.access.actor import actors
from beamkeep.contexts.federation.facility import facility_by_code
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.trust.grants import POLICY_GRANTS
from beamkeep.contexts.trust.surface import surfaces
from beamkeep.kernel import (
    ActorKind,
    Grant,
    ObjectScope,
    Query,
    Record,
    SurfaceKind,
    answers,
)


class CalledSurface(Record):
    surface_id: UUID
    name: str
    kind: SurfaceKind


class OwnFacility(Record):
    """The own site of the deployment."""

    code: str
    name: str
    timezone: str
    """The IANA name of its time zone."""


class CallerAnswer(Record):
    actor_id: UUID
    kind: ActorKind
    name: str
    surface: CalledSurface
    surface_ids: tuple[UUID, ...]
    """The surfaces on which you may ask this."""
    permitted_commands: tuple[str, ...]
    """The operations and questions that you may call on this surface."""
    own_only: tuple[str, ...]
    """Those of them that show only the objects that you created."""
    proposable_commands: tuple[str, ...]
    """The operations that you may propose on this surface, for somebody else to approve."""
    token_expires_at: datetime | None
    """When the access token ends; null for a call without a token."""
    now: datetime
    """The time of the service."""
    facility: OwnFacility


class GetSelf(Query):
    """Show who you are to the service, what you may call on this surface, and until when."""


async def get_self(query: GetSelf, read: Reader) -> CallerAnswer:
    """Return who asks, and what they may call."""
    me, surface_id, here = read.principal_id, read.surface_id, read.facts
    assert me is not None, "a question is asked by a caller"  # noqa: S101
    assert surface_id is not None, "a question is asked on a surface"  # noqa: S101
    (standing,) = await read.rows(profile.STANDINGS, principal_id=me)
    surface, scopes = await read.one(surfaces, surface_id), await read.scopes(read.operation_names)
    site = await facility_by_code(here.facility_code, read)
    return CallerAnswer(
        actor_id=me,
        kind=standing.kind,
        name=(await profile.names([me], read))[me].name,
        surface=CalledSurface.of(surface, surface_id=surface.id),
        surface_ids=_surfaces(await read.rows(POLICY_GRANTS, principal_id=me)),
        permitted_commands=tuple(sorted(scopes)),
        own_only=tuple(sorted(n for n, scope in scopes.items() if scope is ObjectScope.OWN)),
        proposable_commands=tuple(sorted(await read.proposes())),
        token_expires_at=read.token_ends_at,
        now=read.now,
        facility=OwnFacility.of(site, timezone=here.timezone),
    )


def _surfaces(grants: Iterable[Grant]) -> tuple[UUID, ...]:
    """Return the surfaces at which these grants permit a caller to ask who they are."""
    found = {
        grant.surface_id
        for grant in grants
        if grant.surface_id and grant.permits("get_self", grant.conduit_id, grant.surface_id)
    }
    return tuple(sorted(found))


# fmt: off
QUESTIONS = (
    answers("GET /self", GetSelf, get_self, CallerAnswer, of=actors, about=None,
        title="Show who you are", composed_of=("Agent", "Facility", "Policy", "Surface")),
)
# fmt: on
