"""Examples of equipment."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do, changed, given, made

MOTOR_SETTINGS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "serial_number": {"type": "string", "maxLength": 100},
        "speed": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 50,
            "description": "Speed of travel, above 0 to 50 mm/s",
            "unit": {"system": "udunits", "code": "mm/s"},
        },
    },
    "additionalProperties": False,
    "unevaluatedProperties": False,
}
AFFORDANCES = ["Translatable", "Homeable", "Limitable"]
LINEAR_STAGE: dict[str, Any] = {
    "name": "Linear stage",
    "affordances": AFFORDANCES,
    "settings_schema": MOTOR_SETTINGS,
}


async def define_family(do: Do) -> dict[str, Any]:
    return {**LINEAR_STAGE}


async def a_family(do: Do) -> str:
    answer = await do("define_family", LINEAR_STAGE)
    return answer["family_id"]


async def a_group(do: Do) -> str:
    """A family of what only holds other things."""
    answer = await do("define_family", {"name": "Group", "affordances": []})
    return answer["family_id"]


async def version_family(do: Do) -> dict[str, Any]:
    return {
        "family_id": await a_family(do),
        "version_tag": "2",
        "affordances": [*AFFORDANCES, "Reportable"],
        "settings_schema": MOTOR_SETTINGS,
    }


a_versioned_family = changed("version_family", version_family, "family_id")


async def define_model(do: Do) -> dict[str, Any]:
    ror = {"identifier": "https://ror.org/03yrm5c26", "identifier_scheme": "ROR"}
    return {
        "name": "Precision stage 200",
        "manufacturer": {"name": "Acme", **ror},
        "part_number": "PS-200",
        "declared_family_ids": [await a_family(do)],
    }


a_model = made("define_model", define_model, "model_id")


async def version_model(do: Do) -> dict[str, Any]:
    entry = await define_model(do)
    return {**entry, "model_id": await a_model(do), "version_tag": "B", "part_number": "PS-200-B"}


a_versioned_model = changed("version_model", version_model, "model_id")


EXAMPLES: dict[str, CallExample] = {
    "define_family": define_family,
    "version_family": version_family,
    "deprecate_family": given(family_id=a_family),
    "get_family": given(family_id=a_family),
    "get_family_history": given(family_id=a_versioned_family),
    "list_families": given(status=["Defined"], affordance="Homeable"),
    "define_model": define_model,
    "version_model": version_model,
    "deprecate_model": given(model_id=a_model, reason="No longer made"),
    "get_model": given(model_id=a_model),
    "get_model_history": given(model_id=a_versioned_model),
    "list_models": given(status=["Defined"], family_id=a_family, part_number="PS-200"),
}
