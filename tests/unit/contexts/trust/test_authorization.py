"""Evaluating an authorization: what would be decided, and by which policies."""

from uuid import UUID

import pytest

from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.contexts.trust.policy import (
    POLICY_GRANTS,
    EvaluateAuthorization,
    Evaluation,
    InvalidPolicyPermittedCommandsError,
    evaluation,
)
from beamkeep.kernel import ActorKind, DenialReason, Grant, ObjectScope, Standing
from beamkeep.testing.past import Past

pytestmark = pytest.mark.anyio

LISE, OTTO, GONE = UUID(int=100), UUID(int=101), UUID(int=102)
ENTRY, INTERNAL, CONSOLE = UUID(int=20), UUID(int=21), UUID(int=30)
FIRST, SECOND, INSIDE = UUID(int=40), UUID(int=41), UUID(int=42)

PAST = Past(
    [
        STANDINGS.insert(Standing(LISE, ActorKind.HUMAN)),
        STANDINGS.insert(Standing(OTTO, ActorKind.HUMAN)),
        STANDINGS.insert(Standing(GONE, ActorKind.HUMAN, DenialReason.INACTIVE_PRINCIPAL)),
        POLICY_GRANTS.insert(Grant(SECOND, LISE, ENTRY, CONSOLE, ("*",), ObjectScope.ALL)),
        POLICY_GRANTS.insert(Grant(FIRST, LISE, ENTRY, CONSOLE, ("get_zone",), ObjectScope.OWN)),
        POLICY_GRANTS.insert(Grant(FIRST, OTTO, ENTRY, CONSOLE, ("get_zone",), ObjectScope.OWN)),
        POLICY_GRANTS.insert(Grant(FIRST, GONE, ENTRY, CONSOLE, ("get_zone",), ObjectScope.OWN)),
        POLICY_GRANTS.insert(Grant(INSIDE, OTTO, INTERNAL, None, ("*",), ObjectScope.ALL)),
    ]
)


async def ask(
    principal_id: UUID,
    command_name: str = "get_zone",
    conduit_id: UUID = ENTRY,
    surface_id: UUID | None = CONSOLE,
) -> Evaluation:
    query = EvaluateAuthorization(
        principal_id=principal_id,
        command_name=command_name,
        conduit_id=conduit_id,
        surface_id=surface_id,
    )
    return await evaluation(query, PAST)


async def test_every_permitting_policy_is_named_and_the_widest_scope_holds():
    found = await ask(LISE)
    assert found == Evaluation("Allow", (FIRST, SECOND), ObjectScope.ALL, None)


async def test_a_policy_of_one_command_permits_no_other():
    assert await ask(OTTO) == Evaluation("Allow", (FIRST,), ObjectScope.OWN, None)
    assert await ask(OTTO, "list_zones") == Evaluation(
        "Deny", (), None, DenialReason.NO_MATCHING_POLICY
    )


async def test_a_surface_left_out_means_a_call_from_inside():
    assert (await ask(OTTO, "list_zones", INTERNAL, None)).determining_policies == (INSIDE,)
    assert (await ask(OTTO, "get_zone", ENTRY, None)).decision == "Deny"
    assert (await ask(OTTO, "get_zone", INTERNAL, CONSOLE)).decision == "Deny"


async def test_an_actor_that_is_not_active_is_denied_for_that():
    assert await ask(GONE) == Evaluation("Deny", (), None, DenialReason.INACTIVE_PRINCIPAL)


async def test_an_unknown_principal_is_denied_for_that():
    assert (await ask(UUID(int=404))).reason_code is DenialReason.UNKNOWN_PRINCIPAL


async def test_a_command_this_service_does_not_know_is_refused():
    for name in ("fly", "*"):
        with pytest.raises(InvalidPolicyPermittedCommandsError, match="Unknown: "):
            await ask(LISE, name)
