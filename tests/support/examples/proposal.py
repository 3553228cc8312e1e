"""Examples of proposals."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from beamkeep.contexts.proposal.proposal import ProposalRegistered, begin, claims_of
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import SurfaceKind
from beamkeep.testing.examples import CallExample, Do, given
from tests.support.examples.trust import an_actor

# Open whichever clock the service has.
PROPOSED, EXPIRES = datetime(2025, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


async def a_proposal(do: Do) -> str:
    """A proposal of somebody else, which the caller may approve."""
    proposer, id = await an_actor(do), uuid4()
    proposed = ProposalRegistered(
        PROPOSED,
        id,
        command_name="define_family",
        arguments={"name": "Proposed family", "affordances": []},
        digest=id.hex * 2,
        target=None,
        required_version=None,
        basis="0" * 64,
        would_write=("FamilyDefined",),
        note="Proposed for the tests",
        proposed_by=UUID(proposer),
        decision_id=None,
        decision_by_proposer=None,
        expires_at=EXPIRES,
    )
    await do.put(proposed)
    for claim in claims_of(begin(proposed)):
        await do.put(claim)
    allowed = {
        "name": "Proposers",
        "conduit_id": str(seeded.ENTRY),
        "surface_id": str(seeded.SURFACES[SurfaceKind.HTTP]),
        "permitted_principal_ids": [proposer],
        "permitted_commands": ["define_family"],
        "object_scope": "All",
    }
    await do("define_policy", allowed)
    return str(id)


async def own_proposal(do: Do) -> str:
    family: dict[str, Any] = {"name": f"Proposed family {uuid4()}", "affordances": []}
    return (await do("define_family", family, proposal_note="Please"))["proposal_id"]


async def reject(do: Do) -> dict[str, Any]:
    return {"proposal_id": await a_proposal(do), "reason": "Not tonight"}


EXAMPLES: dict[str, CallExample] = {
    "approve_proposal": given(proposal_id=a_proposal),
    "reject_proposal": reject,
    "withdraw_proposal": given(proposal_id=own_proposal),
    "get_proposal": given(proposal_id=own_proposal),
    "get_proposal_history": given(proposal_id=own_proposal),
    "list_proposals": given(),
}
