"""Examples of access and trust."""

from typing import Any
from uuid import uuid4

from beamkeep.contexts.trust import seeded
from beamkeep.testing.examples import CallExample, Do, Make, given

ENTRY = str(seeded.ENTRY)


async def an_actor(do: Do) -> str:
    answer = await do("register_actor", {"name": "Grace"})
    return answer["actor_id"]


async def some_actors(do: Do) -> list[str]:
    return [await an_actor(do), await an_actor(do)]


async def a_zone(do: Do) -> str:
    answer = await do("define_zone", {"name": "Hutch"})
    return answer["zone_id"]


async def a_conduit(do: Do) -> str:
    zones = {"source_zone_id": await a_zone(do), "target_zone_id": await a_zone(do)}
    answer = await do("define_conduit", {"name": "Gate", **zones})
    return answer["conduit_id"]


async def a_surface(do: Do) -> str:
    console = {"name": "Console", "kind": "HTTP", "conduit_id": ENTRY}
    answer = await do("define_surface", console)
    return answer["surface_id"]


async def the_caller(do: Do) -> str:
    zone = await do("get_zone", {"zone_id": await a_zone(do)})
    return zone["owner_id"]


async def policy_for(do: Do, principal_id: str, surface_id: str) -> str:
    answer = await do(
        "define_policy",
        {
            "name": "Users",
            "conduit_id": ENTRY,
            "surface_id": surface_id,
            "permitted_principal_ids": [principal_id],
            "permitted_commands": ["get_visit"],
            "object_scope": "Own",
        },
    )
    return answer["policy_id"]


async def a_policy(do: Do) -> str:
    return await policy_for(do, await an_actor(do), await a_surface(do))


async def revoke_grant(do: Do) -> dict[str, Any]:
    actor_id = await an_actor(do)
    policy_id = await policy_for(do, actor_id, await a_surface(do))
    return {"policy_id": policy_id, "permitted_principal_id": actor_id, "reason": "Left"}


async def bind_identity(do: Do) -> dict[str, Any]:
    login = {"issuer": "https://other.test", "subject": str(uuid4())}
    return {"actor_id": await an_actor(do), **login}


async def unbind_identity(do: Do) -> dict[str, Any]:
    bound = await bind_identity(do)
    await do("bind_actor_identity", bound)
    return bound


async def confirm_identity(do: Do) -> dict[str, Any]:
    bound = await bind_identity(do)
    # What a machine binds to a person, a person confirms.
    await do.by_account("bind_actor_identity", bound)
    return bound


async def register_team(do: Do) -> dict[str, Any]:
    return {
        "title": "Fossils in resin",
        "external_refs": {"proposal": "2030-117"},
        "members": [{"principal_id": await an_actor(do), "role": "Leader"}],
    }


async def a_team(do: Do) -> str:
    answer = await do("register_team", await register_team(do))
    return answer["team_id"]


async def add_team_member(do: Do) -> dict[str, Any]:
    member = {"principal_id": await an_actor(do), "until": "2033-01-31T00:00:00Z"}
    return {"team_id": await a_team(do), **member}


async def change_team_member(do: Do) -> dict[str, Any]:
    added = await add_team_member(do)
    await do("add_team_member", added)
    member = {"principal_id": added["principal_id"], "role": "LocalContact"}
    return {"team_id": added["team_id"], **member}


async def remove_team_member(do: Do) -> dict[str, Any]:
    added = await add_team_member(do)
    await do("add_team_member", added)
    return {"team_id": added["team_id"], "principal_id": added["principal_id"], "reason": "Left"}


async def register_visit(do: Do) -> dict[str, Any]:
    surface_id = await a_surface(do)
    return {
        "policy_id": await policy_for(do, await the_caller(do), surface_id),
        "parent_surface_id": surface_id,
        "type": "user",
        "planned_start_at": "2030-01-31T07:30:00Z",
        "planned_end_at": "2030-02-01T07:30:00Z",
        "external_refs": {"proposal": "20300131"},
    }


def a_visit_after(*names: str) -> Make:
    """A visit to which these commands were given."""

    async def make(do: Do) -> str:
        answer = await do("register_visit", await register_visit(do))
        for name in names:
            more = {"reason": "Beam lost"} if name == "hold_visit" else {}
            await do(name, {"visit_id": answer["visit_id"], **more})
        return answer["visit_id"]

    return make


a_visit = a_visit_after()
an_arrived_visit = a_visit_after("record_visit_arrival")
a_running_visit = a_visit_after("record_visit_arrival", "start_visit")
a_held_visit = a_visit_after("record_visit_arrival", "start_visit", "hold_visit")
a_controlling_visit = a_visit_after("record_visit_arrival", "take_visit_surface_control")

EXAMPLES: dict[str, CallExample] = {
    "register_team": register_team,
    "add_team_member": add_team_member,
    "change_team_member": change_team_member,
    "remove_team_member": remove_team_member,
    "close_team": given(team_id=a_team),
    "get_team": given(team_id=a_team),
    "get_team_history": given(team_id=a_team),
    "list_teams": given(member_id=some_actors),
    "register_actor": given(name="Grace", email="grace@lab.test"),
    "deactivate_actor": given(actor_id=an_actor),
    "update_actor_profile": given(actor_id=an_actor, name="Grace H."),
    "forget_actor": given(actor_id=an_actor),
    "bind_actor_identity": bind_identity,
    "confirm_actor_identity": confirm_identity,
    "unbind_actor_identity": unbind_identity,
    "get_actor": given(actor_id=an_actor),
    "get_actor_history": given(actor_id=an_actor),
    "list_actors": given(kind="human", active="true"),
    "define_zone": given(name="Hutch"),
    "get_zone": given(zone_id=a_zone),
    "get_zone_history": given(zone_id=a_zone),
    "list_zones": given(limit="2"),
    "define_conduit": given(name="Gate", source_zone_id=a_zone, target_zone_id=a_zone),
    "get_conduit": given(conduit_id=a_conduit),
    "get_conduit_history": given(conduit_id=a_conduit),
    "list_conduits": given(),
    "list_conduit_denials": given(conduit_id=a_conduit),
    "define_surface": given(name="Console", kind="HTTP", conduit_id=ENTRY),
    "get_surface": given(surface_id=a_surface),
    "get_surface_history": given(surface_id=a_surface),
    "list_surfaces": given(kind="HTTP"),
    "define_policy": given(
        name="Users",
        conduit_id=ENTRY,
        surface_id=a_surface,
        permitted_principal_ids=some_actors,
        permitted_commands=["get_visit"],
        object_scope="Own",
    ),
    "add_grant": given(policy_id=a_policy, permitted_principal_id=an_actor),
    "revoke_grant": revoke_grant,
    "get_policy": given(policy_id=a_policy),
    "get_policy_history": given(policy_id=a_policy),
    "list_policies": given(conduit_id=ENTRY),
    "evaluate_authorization": given(
        principal_id=an_actor, command_name="get_visit", conduit_id=ENTRY, surface_id=a_surface
    ),
    "register_visit": register_visit,
    "record_visit_arrival": given(visit_id=a_visit),
    "start_visit": given(visit_id=an_arrived_visit),
    "hold_visit": given(visit_id=a_running_visit, reason="Beam lost"),
    "resume_visit": given(visit_id=a_held_visit),
    "complete_visit": given(visit_id=a_running_visit),
    "cancel_visit": given(visit_id=a_visit, reason="Ill"),
    "abort_visit": given(visit_id=a_running_visit, reason="Leak"),
    "void_visit": given(visit_id=a_visit, reason="Typed twice"),
    "take_visit_surface_control": given(visit_id=an_arrived_visit),
    "release_visit_surface_control": given(visit_id=a_controlling_visit),
    "get_visit": given(visit_id=a_visit),
    "get_visit_history": given(visit_id=a_held_visit),
    "list_visits": given(status="Planned"),
}
