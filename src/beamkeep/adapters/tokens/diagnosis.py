"""What keeps a token from opening the service, for the person who holds it and runs the service."""

from beamkeep.runtime.store import CallLookup, EventStore
from beamkeep.runtime.tokens import TokenVerifier, Unverified

from .faults import at


async def diagnose(token: str, verifier: TokenVerifier, store: EventStore) -> tuple[bool, str]:
    """Return whether a token opens the service, and why it does or what would clear it."""
    try:
        verified = await verifier.verify(token)
    except Unverified as refusal:
        fault = refusal.fault
        return (
            False,
            f"{fault.part}: expected {fault.expected}, found {fault.found}. {fault.remedy}",
        )
    login = CallLookup(
        identity=(verified.issuer, verified.subject),
        principal_id=None,
        conduit_id=None,
        surface_id=None,
        command_name=None,
    )
    standing = (await store.open(login)).standing
    if standing is None:
        return False, (
            f"login: the token is valid, and no actor is bound to the subject {verified.subject} of"
            f" {verified.issuer}. Run `beamkeep register-actor` or `beamkeep bind-actor-identity`."
        )
    if standing.barred is not None:
        return False, (
            f"actor: the token is valid, and its actor {standing.principal_id} is barred:"
            f" {standing.barred}. Unbind the login and register a new actor with it."
        )
    return True, (
        f"The token is valid until {at(verified.expires_at)}. Its actor is {standing.principal_id}."
        " Policies decide what this actor may call."
    )
