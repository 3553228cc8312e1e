"""Examples of calibrations."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do, changed, given, made
from tests.support.examples.assets import an_asset
from tests.support.examples.trust import an_actor

AT_25_KEV = {"energy": 25.0, "optics_config": "5x"}


async def define_calibration(do: Do) -> dict[str, Any]:
    return {
        "asset_id": await an_asset(do),
        "quantity": "rotation_center",
        "operating_point": AT_25_KEV,
        "description": "By the edge of a pin",
    }


a_calibration = made("define_calibration", define_calibration, "calibration_id")


async def first_revision(do: Do, calibration_id: str) -> dict[str, Any]:
    return {
        "calibration_id": calibration_id,
        "value": {"center": 1023.5, "uncertainty": 0.2},
        "status": "Provisional",
        "source": {"kind": "Asserted", "actor_id": await an_actor(do)},
        "established_at": "2026-01-31T07:30:00Z",
    }


async def append_revision(do: Do) -> dict[str, Any]:
    first = await first_revision(do, await a_calibration(do))
    revision_id = (await do("append_calibration_revision", first))["revision_id"]
    return {**first, "status": "Verified", "supersedes_revision_id": revision_id}


a_revised_calibration = changed("append_calibration_revision", append_revision, "calibration_id")


a_revision = made("append_calibration_revision", append_revision, "revision_id")


EXAMPLES: dict[str, CallExample] = {
    "define_calibration": define_calibration,
    "append_calibration_revision": append_revision,
    "update_calibration_description": given(
        calibration_id=a_calibration, description="By the center of a sphere"
    ),
    "get_calibration": given(calibration_id=a_revised_calibration),
    "get_calibration_history": given(calibration_id=a_revised_calibration),
    "list_calibrations": given(
        quantity="rotation_center",
        current_status="Verified",
        operating_point='{"optics_config": "5x", "energy": 25}',
    ),
    "get_calibration_revision": given(revision_id=a_revision),
    "list_calibration_uses": given(revision_id=a_revision),
}
