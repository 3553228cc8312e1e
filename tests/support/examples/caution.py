"""Examples of cautions."""

from typing import Any

from tests.support.examples.assets import an_asset
from tests.support.examples.making import Do, Example, given

WORDING: dict[str, Any] = {
    "category": "OperationalWindow",
    "severity": "Caution",
    "text": "The stage stalls at low speed after a thermal soak",
    "workaround": "Wait ten minutes before the first move",
    "tags": ["thermal"],
    "expires_at": "2100-01-31T07:30:00Z",
}


async def register_caution(do: Do) -> dict[str, Any]:
    target = {"kind": "Asset", "id": await an_asset(do)}
    return {"target": target, **WORDING, "propagate_to_children": True}


async def a_caution(do: Do) -> str:
    answer = await do("register_caution", await register_caution(do))
    return answer["caution_id"]


async def supersede_caution(do: Do) -> dict[str, Any]:
    return {"caution_id": await a_caution(do), **WORDING, "severity": "Warning"}


async def a_superseded_caution(do: Do) -> str:
    supersede = await supersede_caution(do)
    await do("supersede_caution", supersede)
    return supersede["caution_id"]


EXAMPLES: dict[str, Example] = {
    "register_caution": register_caution,
    "supersede_caution": supersede_caution,
    "retire_caution": given(caution_id=a_caution, retire_reason="Resolved"),
    "get_caution": given(caution_id=a_superseded_caution),
    "get_caution_history": given(caution_id=a_superseded_caution),
    "list_cautions": given(
        status="Active",
        covering_asset_id=an_asset,
        min_severity="Notice",
        tag="thermal",
        in_effect="true",
    ),
}
