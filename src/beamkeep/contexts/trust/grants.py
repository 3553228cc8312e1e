"""Grants: the permissions of each principal; nobody grants more than they hold."""

from collections.abc import Iterable, Mapping, Sequence

from beamkeep.kernel import Grant, ObjectScope, Refusal, Table

from .seeded import SURFACES

MOST_NAMED = 10

POLICY_GRANTS = Table("policy_grant", Grant, key=("policy_id", "principal_id"))


IMPLIED: Mapping[str, str] = {"hold_procedure": "make_procedure_safe"}
"""Commands that a permission includes: who may hold a procedure may also make it safe."""


def with_implied(commands: Iterable[str]) -> tuple[str, ...]:
    """Return the commands that a policy permits, with those that they include, in order."""
    named = {*commands}
    return tuple(sorted(named | {IMPLIED[name] for name in named & IMPLIED.keys()}))


class GrantExceedsOwnError(Refusal, status=403):
    """The caller must hold every permission that this request would give to someone else."""


def is_administrator(grants: Sequence[Grant]) -> bool:
    """Return whether these grants permit everything on one of the seeded surfaces."""
    return any(grant.unrestricted and grant.surface_id in SURFACES.values() for grant in grants)


def require_held(wanted: Sequence[Grant], own: Sequence[Grant]) -> None:
    """Raise GrantExceedsOwnError unless the own grants cover the wanted ones."""
    if is_administrator(own):
        return
    for grant in wanted:
        proposed = [n for n in grant.proposable_commands if not _covers(own, grant, n, True)]
        permitted = [n for n in grant.permitted_commands if not _covers(own, grant, n)]
        if lacking := [*permitted, *proposed]:
            surface = f"surface {grant.surface_id}" if grant.surface_id else "no surface"
            raise GrantExceedsOwnError(
                f"The caller lacks, on conduit {grant.conduit_id} and {surface} with scope"
                f" {grant.object_scope}: {_some(lacking)}. Ask an administrator to make this call,"
                " or to grant these commands to the caller first."
            )


def require_tools_held(names: Iterable[str], own: Sequence[Grant]) -> None:
    """Raise GrantExceedsOwnError unless the own grants permit these commands on some surface."""
    if is_administrator(own):
        return
    lacking = [
        name
        for name in names
        if not any(each.permits(name, each.conduit_id, each.surface_id) for each in own)
    ]
    if lacking:
        raise GrantExceedsOwnError(
            f"The caller lacks: {_some(lacking)}. Ask an administrator to make this call, or to"
            " grant these commands to the caller first."
        )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _covers(own: Sequence[Grant], grant: Grant, name: str, proposed: bool = False) -> bool:
    """Return whether an own grant permits this command of the grant, with at least its scope.

    With `proposed`, a grant that lets the command be proposed suffices.
    """
    here = name, grant.conduit_id, grant.surface_id
    return any(
        (each.permits(*here) or (proposed and each.lets_propose(*here)))
        and each.object_scope in {ObjectScope.ALL, grant.object_scope}
        for each in own
    )
