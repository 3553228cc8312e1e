"""Grants: the permissions of each principal; nobody grants more than they hold."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from beamkeep.contexts.access.actor import Actor, UnconfirmedLogin
from beamkeep.kernel import EVERY_COMMAND, Cannot, Grant, Refusal, Table, replace

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


class GrantRequiresConfirmedLoginError(Cannot):
    """The actor has a login that no administrator has confirmed, and its binder holds less."""


def within_tools(grant: Grant, tools: Iterable[str]) -> Grant:
    """Return what a grant permits an agent with these tools."""
    both = grant.permitted_commands, grant.proposable_commands
    permitted, proposable = (
        tuple(sorted({*tools} if EVERY_COMMAND in names else {*tools} & {*names})) for names in both
    )
    return replace(grant, permitted_commands=permitted, proposable_commands=proposable)


def is_administrator(grants: Sequence[Grant]) -> bool:
    """Return whether these grants permit everything on one of the seeded surfaces."""
    return any(grant.unrestricted and grant.surface_id in SURFACES.values() for grant in grants)


def require_held(wanted: Sequence[Grant], own: Sequence[Grant]) -> None:
    """Raise GrantExceedsOwnError unless the own grants cover the wanted ones."""
    for grant in wanted:
        if lacking := _lacking(grant, own):
            raise GrantExceedsOwnError(
                f"The caller lacks, {_place(grant)}: {_some(lacking)}. Ask an administrator to make"
                " this call, or to grant these commands to the caller first."
            )


def require_confirmed(actor: Actor, grant: Grant, held: Mapping[UUID, Sequence[Grant]]) -> None:
    """Raise GrantRequiresConfirmedLoginError unless every login of the actor may carry the grant.

    `held` has the grants of everybody who bound a login that is not confirmed.
    """
    for login in _ordered(actor.unconfirmed_logins):
        if lacking := _lacking(grant, held[login.bound_by]):
            raise _unconfirmed(actor, login, f"who lacks, {_place(grant)}: {_some(lacking)}")


def require_all_confirmed(actor: Actor) -> None:
    """Raise GrantRequiresConfirmedLoginError when a login of the actor is not confirmed."""
    for login in _ordered(actor.unconfirmed_logins):
        raise _unconfirmed(actor, login, "who is not an administrator")


def _unconfirmed(
    actor: Actor, login: UnconfirmedLogin, because: str
) -> GrantRequiresConfirmedLoginError:
    """Return the refusal that names a login which is not confirmed."""
    return GrantRequiresConfirmedLoginError(
        f"Actor {actor.id} has a login at {login.issuer} with subject digest"
        f" {login.subject_digest}, which was bound by actor {login.bound_by}, {because}. Read the"
        " login with get_actor. Then ask an administrator to confirm the login with"
        " confirm_actor_identity, or to unbind it.",
        actor_id=str(actor.id),
        issuer=login.issuer,
        subject_digest=login.subject_digest,
        bound_by=str(login.bound_by),
    )


def _ordered(logins: Iterable[UnconfirmedLogin]) -> list[UnconfirmedLogin]:
    return sorted(logins, key=lambda login: (login.issuer, login.subject_digest))


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


def _place(grant: Grant) -> str:
    surface = f"surface {grant.surface_id}" if grant.surface_id else "no surface"
    return f"on conduit {grant.conduit_id} and {surface} with scope {grant.object_scope}"


def _lacking(grant: Grant, own: Sequence[Grant]) -> list[str]:
    """Return the commands of a grant that the own grants do not cover."""
    if is_administrator(own):
        return []
    proposed = [n for n in grant.proposable_commands if not _covers(own, grant, n, True)]
    return [*(n for n in grant.permitted_commands if not _covers(own, grant, n)), *proposed]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _covers(own: Sequence[Grant], grant: Grant, name: str, proposed: bool = False) -> bool:
    """Return whether an own grant permits this command of the grant, with at least its scope.

    With `proposed`, a grant that lets the command be proposed suffices.
    """
    here = name, grant.conduit_id, grant.surface_id
    return any(
        (each.permits(*here) or (proposed and each.permits(*here, proposing=True)))
        and each.object_scope.covers(grant.object_scope)
        for each in own
    )
