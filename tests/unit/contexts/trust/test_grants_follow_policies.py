"""The rows the authorization reads always equal the streams they stand for."""

import asyncio
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.access.actor import Actor, actors
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.policy import Policy, policies
from beamkeep.kernel import (
    ActorKind,
    Aggregate,
    DenialReason,
    Grant,
    ObjectScope,
    Refusal,
    Standing,
    SurfaceKind,
)
from beamkeep.runtime.codec import Codec
from beamkeep.testing.service import call, memory_service

CODEC = Codec(CATALOGUE.aggregates.values())
PEOPLE = 4

people = st.integers(0, PEOPLE - 1)
steps = st.one_of(
    st.tuples(
        st.just("define"),
        st.sets(people, min_size=1),
        st.sampled_from([("*",), ("get_zone",), ("list_zones", "get_zone")]),
        st.sampled_from(ObjectScope),
    ),
    st.tuples(st.just("add"), st.integers(0, 3), people),
    st.tuples(st.just("revoke"), st.integers(0, 3), people),
    st.tuples(st.just("deactivate"), people),
)


@settings(max_examples=40, deadline=None, database=None)
@given(st.lists(steps, max_size=15))
def test_grants_follow_policies(taken: list[tuple[Any, ...]]):
    asyncio.run(rows_equal_streams_after(taken))


async def rows_equal_streams_after(taken: Sequence[tuple[Any, ...]]) -> None:
    service, store = await memory_service()
    made: list[Any] = [
        await call(service, "register_actor", {"name": f"P{n}"}) for n in range(PEOPLE)
    ]
    ids: list[str] = [str(answer.id) for answer in made]
    defined = [str(seeded.MONITORS)]
    for step in taken:
        try:
            match step:
                case ("define", chosen, commands, scope):
                    policy: dict[str, object] = {
                        "name": "Team",
                        "conduit_id": str(seeded.ENTRY),
                        "surface_id": str(seeded.SURFACES[SurfaceKind.HTTP]),
                        "permitted_principal_ids": [ids[n] for n in sorted(chosen)],
                        "permitted_commands": list(commands),
                        "object_scope": scope,
                    }
                    defined.append(str((await call(service, "define_policy", policy)).id))
                case ("deactivate", person):
                    await call(service, "deactivate_actor", {"actor_id": ids[person]})
                case (verb, which, person):
                    grant: dict[str, object] = {
                        "policy_id": defined[which % len(defined)],
                        "permitted_principal_id": ids[person],
                    }
                    reason = {"reason": "left"} if verb == "revoke" else {}
                    await call(service, f"{verb}_grant", grant | reason)
                case _:
                    raise AssertionError(step)
        except Refusal as refusal:
            # A random step is often refused; a refused one must leave no trace either.
            assert refusal.status == 409  # noqa: PT017
    assert set(store.tables["policy_grant"].values()) == grants_of_streams(store)
    standings = store.tables["principal_standing"].values()
    without_agents = {row for row in standings if row.kind is not ActorKind.AGENT}
    assert without_agents == standings_of_streams(store)


def grants_of_streams(store: MemoryStore) -> set[Grant]:
    found: list[Policy] = states(store, policies)
    return {
        Grant(policy.id, id, policy.conduit_id, policy.surface_id, commands, policy.object_scope)
        for policy in found
        for commands in [tuple(sorted(policy.permitted_commands))]
        for id in policy.permitted_principal_ids
    }


def standings_of_streams(store: MemoryStore) -> set[Standing]:
    found: list[Actor] = states(store, actors)
    return {
        Standing(actor.id, actor.kind, None if actor.active else DenialReason.INACTIVE_PRINCIPAL)
        for actor in found
        if actor.kind is not ActorKind.AGENT
    }


def states[S](store: MemoryStore, of: Aggregate[S, Any, Any]) -> list[S]:
    folded = [
        CODEC.fold(of, [envelope.recorded for envelope in stream])
        for (name, _), stream in store.streams.items()
        if name == of.name
    ]
    return [state for state in folded if state is not None]
