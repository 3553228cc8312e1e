"""Examples of assets, mounts and frames."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do, Make, changed, given, made
from tests.support.examples.enclosure import an_enclosure
from tests.support.examples.equipment import a_family, a_group, a_model
from tests.support.examples.federation import OWN_SITE

BEAMLINE = {"name": "Beamline", "tier": "Unit", "facility_code": OWN_SITE}
PV = {"kind": "EPICS_PV", "value": "BL01:STAGE:X"}
ORIGIN = {"x": 0.0, "y": 12.5, "z": -3.0, "rx": 0.0, "ry": 0.0, "rz": 1.57}


async def an_asset(do: Do) -> str:
    return await a_registered_asset(do, **BEAMLINE)


async def a_registered_asset(do: Do, **asset: Any) -> str:
    """An asset of a family that can do nothing, if no other is given."""
    if "family_ids" not in asset:
        asset["family_ids"] = [await a_group(do)]
    answer = await do("register_asset", asset)
    return answer["asset_id"]


async def an_asset_under(do: Do, parent_id: str, **more: Any) -> str:
    part = {"name": "Stage", "tier": "Device", "parent_id": parent_id, **more}
    return await a_registered_asset(do, **part)


async def a_part(do: Do) -> str:
    return await an_asset_under(do, await an_asset(do))


async def a_beamline_with_a_part(do: Do) -> str:
    asset_id = await an_asset(do)
    await an_asset_under(do, asset_id)
    return asset_id


async def a_member(do: Do) -> tuple[str, str]:
    """A family and an asset of that family."""
    family_id = await a_family(do)
    return family_id, await an_asset_under(do, await an_asset(do), family_ids=[family_id])


def an_asset_after(*names: str) -> Make:
    """An asset to which these commands were given."""

    async def make(do: Do) -> str:
        asset_id = await an_asset(do)
        for name in names:
            more = {"reason": "It drifts"} if name in {"degrade_asset", "fault_asset"} else {}
            await do(name, {"asset_id": asset_id, **more})
        return asset_id

    return make


an_active_asset = an_asset_after("activate_asset")
an_asset_in_maintenance = an_asset_after("activate_asset", "enter_asset_maintenance")
a_faulted_asset = an_asset_after("fault_asset")


async def register_asset(do: Do) -> dict[str, Any]:
    model_id = await a_model(do)
    model = await do("get_model", {"model_id": model_id})
    return {
        "name": "Sample stage",
        "tier": "Device",
        "parent_id": await an_asset(do),
        "family_ids": model["declared_family_ids"],
        "model_id": model_id,
        "located_in_enclosure_id": await an_enclosure(do),
        "alternate_identifiers": [PV, {"kind": "InventoryNumber", "value": "42"}],
    }


async def a_device(do: Do) -> str:
    """An asset with everything that is published of one."""
    answer = await do("register_asset", await register_asset(do))
    return answer["asset_id"]


async def remove_family(do: Do) -> dict[str, Any]:
    family_id, asset_id = await a_member(do)
    await do("add_asset_family", {"asset_id": asset_id, "family_id": await a_group(do)})
    return {"asset_id": asset_id, "family_id": family_id}


async def update_settings(do: Do) -> dict[str, Any]:
    _, asset_id = await a_member(do)
    return {"asset_id": asset_id, "settings_patch": {"serial_number": "A1", "speed": 2.5}}


async def a_frame(do: Do) -> str:
    answer = await do("register_frame", {"name": "Hall"})
    return answer["frame_id"]


async def a_placement(do: Do) -> dict[str, Any]:
    return {"frame_id": await a_frame(do), **ORIGIN}


async def register_frame(do: Do) -> dict[str, Any]:
    placement = await a_placement(do)
    return {"name": "Table", "parent_id": placement["frame_id"], "placement": placement}


a_placed_frame = made("register_frame", register_frame, "frame_id")


async def update_frame_placement(do: Do) -> dict[str, Any]:
    frame_id = await a_placed_frame(do)
    frame = await do("get_frame", {"frame_id": frame_id})
    return {"frame_id": frame_id, "placement": {**frame["placement"], "z": 7.0}}


a_moved_frame = changed("update_frame_placement", update_frame_placement, "frame_id")


async def a_mount(do: Do) -> str:
    slot = {"slot_code": "Slot 1", "placement": await a_placement(do)}
    answer = await do("register_mount", slot)
    return answer["mount_id"]


async def an_occupied_mount(do: Do) -> str:
    mount_id = await a_mount(do)
    await do("install_asset", {"mount_id": mount_id, "asset_id": await a_part(do)})
    return mount_id


async def a_decommissioned_mount(do: Do) -> str:
    mount_id = await a_mount(do)
    await do("decommission_mount", {"mount_id": mount_id, "reason": "Rebuilt"})
    return mount_id


EXAMPLES: dict[str, CallExample] = {
    "register_asset": register_asset,
    "rename_asset": given(asset_id=an_asset, name="Beamline 2"),
    "activate_asset": given(asset_id=an_asset),
    "enter_asset_maintenance": given(asset_id=an_active_asset, reason="A new bearing"),
    "exit_asset_maintenance": given(asset_id=an_asset_in_maintenance),
    "decommission_asset": given(asset_id=an_asset),
    "degrade_asset": given(asset_id=an_asset, reason="It drifts"),
    "fault_asset": given(asset_id=an_asset, reason="It does not move"),
    "restore_asset": given(asset_id=a_faulted_asset, reason="New belt"),
    "relocate_asset": given(asset_id=a_part, to_parent_id=an_asset, reason="Rebuilt"),
    "locate_asset": given(asset_id=an_asset, located_in_enclosure_id=an_enclosure),
    "add_asset_family": given(asset_id=an_asset, family_id=a_family),
    "remove_asset_family": remove_family,
    "update_asset_settings": update_settings,
    "add_asset_alternate_identifier": given(asset_id=an_asset, **PV),
    "remove_asset_alternate_identifier": given(asset_id=a_device, **PV),
    "assign_asset_external_id": given(
        asset_id=an_asset, external_id_namespace="doi", external_id="10.5281/zenodo.42"
    ),
    "get_asset": given(asset_id=a_device),
    "get_asset_history": given(asset_id=an_asset_in_maintenance),
    "get_asset_pidinst": given(asset_id=a_device),
    "get_asset_tree": given(asset_id=a_beamline_with_a_part),
    "list_assets": given(facility_code=OWN_SITE, tier="Unit", lifecycle="Commissioned"),
    "register_mount": given(slot_code="Slot 1", parent_id=a_mount, placement=a_placement),
    "install_asset": given(mount_id=a_mount, asset_id=a_part),
    "uninstall_asset": given(mount_id=an_occupied_mount, reason="Repair"),
    "update_mount_placement": given(mount_id=a_mount, placement=a_placement),
    "decommission_mount": given(mount_id=a_mount, reason="Rebuilt"),
    "get_mount": given(mount_id=an_occupied_mount),
    "get_mount_history": given(mount_id=an_occupied_mount),
    "list_mounts": given(status="Active", slot_code="Slot 1"),
    "register_frame": register_frame,
    "update_frame_placement": update_frame_placement,
    "decommission_frame": given(frame_id=a_frame, reason="Rebuilt"),
    "get_frame": given(frame_id=a_placed_frame),
    "get_frame_history": given(frame_id=a_moved_frame),
    "list_frames": given(status="Active", parent_id=a_frame),
}
