"""Grants: what each principal holds, and that nobody gives more than they hold."""

from collections.abc import Sequence

from beamkeep.kernel import Grant, ObjectScope, Reader, Refusal, Table

from .seeded import SURFACES

MOST_NAMED = 10

POLICY_GRANTS = Table("policy_grant", Grant, key=("policy_id", "principal_id"))


class GrantExceedsOwnError(Refusal, status=403):
    """Nobody can give what they do not hold themselves."""


async def held(read: Reader) -> tuple[Grant, ...]:
    """Everything the caller holds."""
    return await read.rows(POLICY_GRANTS, principal_id=read.principal_id)


def is_administrator(grants: Sequence[Grant]) -> bool:
    """Whether these permit everything on one of the seeded surfaces."""
    return any(grant.unrestricted and grant.surface_id in SURFACES.values() for grant in grants)


def require_held(wanted: Sequence[Grant], own: Sequence[Grant]) -> None:
    """Refuse to give any of these unless the caller, who holds its own, is an administrator."""
    if is_administrator(own):
        return
    for grant in wanted:
        if lacking := [name for name in grant.permitted_commands if not _covers(own, grant, name)]:
            named = ", ".join(lacking[:MOST_NAMED])
            more = f" and {len(lacking) - MOST_NAMED} more" if len(lacking) > MOST_NAMED else ""
            raise GrantExceedsOwnError(
                f"On conduit {grant.conduit_id} and surface {grant.surface_id} the caller does"
                f" not hold, with scope {grant.object_scope}: {named}{more}."
                " Let an administrator do this, or ask for these first."
            )


def _covers(own: Sequence[Grant], grant: Grant, name: str) -> bool:
    """Whether the caller could make this call itself, and see as much."""
    return any(
        each.permits(name, grant.conduit_id, grant.surface_id)
        and each.object_scope in {ObjectScope.ALL, grant.object_scope}
        for each in own
    )
