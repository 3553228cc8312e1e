"""Examples of capabilities, methods, practices, plans and recipes."""

from typing import Any
from uuid import uuid4

from beamkeep.testing.examples import CallExample, Do, changed, given, made
from tests.support.examples.assets import a_member
from tests.support.examples.equipment import AFFORDANCES, a_family
from tests.support.examples.federation import OWN_SITE

PARAMETERS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "energy": {
            "type": "number",
            "minimum": 5,
            "maximum": 35,
            "description": "Photon energy, 5 to 35 keV",
            "unit": {"system": "udunits", "code": "keV"},
        },
        "mode": {"type": "string", "enum": ["fly", "step"]},
    },
    "additionalProperties": False,
    "unevaluatedProperties": False,
}
NARROWER: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"mode": {"type": "string", "enum": ["fly"]}},
    "additionalProperties": False,
    "unevaluatedProperties": False,
}
PROVIDED: dict[str, Any] = {
    "name": "Scan",
    "description": "Move and record",
    "required_affordances": AFFORDANCES[:1],
    "executor_shapes": ["METHOD", "PROCEDURE"],
    "parameters_schema": PARAMETERS,
}


async def define_capability(do: Do) -> dict[str, Any]:
    return {"code": f"beamkeep.capability.scan_{uuid4().hex}", **PROVIDED}


a_capability = made("define_capability", define_capability, "capability_id")


async def version_capability(do: Do) -> dict[str, Any]:
    return {"capability_id": await a_capability(do), "version_tag": "2", **PROVIDED}


a_versioned_capability = changed("version_capability", version_capability, "capability_id")


async def define_method(do: Do) -> dict[str, Any]:
    return {
        "name": "Fly scan",
        "capability_id": await a_capability(do),
        "needed_family_ids": [await a_family(do)],
        "needed_supplies": ["photon_beam"],
        "parameters_schema": PARAMETERS,
    }


a_method = made("define_method", define_method, "method_id")


async def version_method(do: Do) -> dict[str, Any]:
    return {
        "method_id": await a_method(do),
        "version_tag": "2",
        "name": "Fast fly scan",
        "needed_family_ids": [],
        "needed_supplies": ["photon_beam"],
        "parameters_schema": NARROWER,
    }


a_versioned_method = changed("version_method", version_method, "method_id")


async def define_practice(do: Do) -> dict[str, Any]:
    return {
        "name": "Fly scan here",
        "method_id": await a_method(do),
        "facility_code": OWN_SITE,
        "family_ids": [await a_family(do)],
    }


a_practice = made("define_practice", define_practice, "practice_id")


async def version_practice(do: Do) -> dict[str, Any]:
    return {
        "practice_id": await a_practice(do),
        "version_tag": "2",
        "name": "Fly scan anywhere",
        "facility_code": None,
        "family_ids": [await a_family(do)],
    }


a_versioned_practice = changed("version_practice", version_practice, "practice_id")


async def define_plan(do: Do, **method: Any) -> dict[str, Any]:
    family_id, asset_id = await a_member(do)
    needing = {**await define_method(do), "needed_family_ids": [family_id], **method}
    made = await do("define_method", needing)
    practice = {
        "name": "Fly scan here",
        "method_id": made["method_id"],
        "facility_code": OWN_SITE,
        "family_ids": [family_id],
    }
    followed = await do("define_practice", practice)
    return {
        "name": "Scan of Monday",
        "practice_id": followed["practice_id"],
        "asset_ids": [asset_id],
        "window": {"starts_at": "2030-01-31T07:30:00Z", "ends_at": None},
        "default_parameters": {"energy": 25.0, "mode": "fly"},
    }


a_plan = made("define_plan", define_plan, "plan_id")


async def version_plan(do: Do) -> dict[str, Any]:
    plan = await define_plan(do)
    answer = await do("define_plan", plan)
    del plan["practice_id"]
    return {**plan, "plan_id": answer["plan_id"], "version_tag": "2"}


async def update_parameters(do: Do) -> dict[str, Any]:
    return {"plan_id": await a_plan(do), "default_parameters_patch": {"energy": 30, "mode": None}}


a_changed_plan = changed("update_plan_default_parameters", update_parameters, "plan_id")


STEPS: list[dict[str, Any]] = [
    {"kind": "capture", "address": "bl:sample:x.RBV", "capture_name": "home_x"},
    {"kind": "setpoint", "address": "bl:mono:energy", "value": {"$binding": "energy"}},
    {
        "kind": "check",
        "address": "bl:mono:energy.RBV",
        "criterion": {
            "kind": "within_tolerance",
            "expected": {"$binding": "energy"},
            "tolerance": 0.01,
        },
        "wait": 60,
    },
    {"kind": "action", "name": "acquire_frames", "params": {"count": 2, "region": [0, 10]}},
    {
        "kind": "compute",
        "job": "denoise",
        "input_uris": ["file:///data/raw/frames.h5"],
        "output_uri": "denoised.h5",
        "output_name": "denoised",
    },
    {"kind": "compute", "job": "pixel_size", "input_uris": [{"$output": "denoised"}]},
]
CLOSING_STEPS: list[dict[str, Any]] = [
    {"kind": "setpoint", "address": "bl:sample:x", "value": {"$capture": "home_x"}}
]


async def define_recipe(do: Do) -> dict[str, Any]:
    return {
        "name": "Energy change",
        "capability_id": await a_capability(do),
        "steps": STEPS,
        "closing_steps": CLOSING_STEPS,
    }


a_recipe = made("define_recipe", define_recipe, "recipe_id")


async def version_recipe(do: Do) -> dict[str, Any]:
    return {
        "recipe_id": await a_recipe(do),
        "version_tag": "2",
        "steps": STEPS[:3],
        "closing_steps": CLOSING_STEPS,
    }


a_versioned_recipe = changed("version_recipe", version_recipe, "recipe_id")


EXAMPLES: dict[str, CallExample] = {
    "define_capability": define_capability,
    "version_capability": version_capability,
    "deprecate_capability": given(
        capability_id=a_capability, replaced_by_capability_id=a_capability
    ),
    "get_capability": given(capability_id=a_capability),
    "get_capability_history": given(capability_id=a_versioned_capability),
    "list_capabilities": given(
        status="Defined", executor_shape="METHOD", affordance=AFFORDANCES[0]
    ),
    "define_method": define_method,
    "version_method": version_method,
    "deprecate_method": given(method_id=a_method),
    "get_method": given(method_id=a_method),
    "get_method_history": given(method_id=a_versioned_method),
    "list_methods": given(status="Defined", capability_id=a_capability, family_id=a_family),
    "define_practice": define_practice,
    "version_practice": version_practice,
    "deprecate_practice": given(practice_id=a_practice),
    "get_practice": given(practice_id=a_practice),
    "get_practice_history": given(practice_id=a_versioned_practice),
    "list_practices": given(status="Defined", method_id=a_method, facility_code=OWN_SITE),
    "define_plan": define_plan,
    "version_plan": version_plan,
    "update_plan_default_parameters": update_parameters,
    "deprecate_plan": given(plan_id=a_plan),
    "get_plan": given(plan_id=a_plan),
    "get_plan_history": given(plan_id=a_changed_plan),
    "list_plans": given(status="Defined", practice_id=a_practice, method_id=a_method),
    "define_recipe": define_recipe,
    "version_recipe": version_recipe,
    "deprecate_recipe": given(recipe_id=a_recipe, replaced_by_recipe_id=a_recipe),
    "get_recipe": given(recipe_id=a_recipe),
    "get_recipe_history": given(recipe_id=a_versioned_recipe),
    "list_recipes": given(status="Defined", capability_id=a_capability),
    "get_recipe_version": given(recipe_id=a_versioned_recipe, version_number="1"),
    "list_recipe_versions": given(recipe_id=a_versioned_recipe, limit="2"),
}
