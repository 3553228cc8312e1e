"""Writing what a fresh deployment begins with, once."""

from collections.abc import Callable, Sequence
from uuid import UUID

from beamkeep.kernel import CLAIMS, Claim, Event, Outcome, claim_key, record

from .codec import Codec
from .store import Append, EventStore

COMMAND_NAME = "bootstrap_deployment"


@record
class Seed:
    """Something that is written once in a deployment's life."""

    key: str | None
    """What it is remembered by; none when whoever made it knows that it is missing."""
    outcome: Outcome


async def sow(
    seeds: Sequence[Seed],
    store: EventStore,
    codec: Codec,
    principal_id: UUID,
    new_id: Callable[[], UUID],
) -> list[str]:
    """Write the seeds that were never written, and say which."""
    known = {claim.key for claim in await store.rows(CLAIMS, {"scope": "seed"})}
    sown: list[str] = []
    correlation_id = new_id()
    for seed in seeds:
        key = claim_key(seed.key)
        if seed.key is not None and key in known:
            continue
        events = [part for part in seed.outcome if isinstance(part, Event)]
        remember = [] if seed.key is None else [CLAIMS.insert(Claim("seed", key, None))]
        await store.append(
            Append(
                events=[codec.encode(event, 1, new_id()) for event in events],
                read={},
                beside=[p for p in seed.outcome if not isinstance(p, Event)] + remember,
                remember=None,
                command_name=COMMAND_NAME,
                principal_id=principal_id,
                surface_id=None,
                correlation_id=correlation_id,
                causation_id=None,
                occurred_at=events[0].occurred_at,
            )
        )
        sown.append(seed.key or type(events[0]).__name__)
    return sown
