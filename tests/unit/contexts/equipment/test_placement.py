"""Placement: its numbers are declared with their units, wherever the service shows them."""

import json
from typing import Any

import pytest
from tests.support.rest_client import rest_client

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.surfaces.schema import input_schema

UNITS = {
    **{name: {"system": "udunits", "code": "mm"} for name in ("x", "y", "z")},
    **{name: {"system": "udunits", "code": "rad"} for name in ("rx", "ry", "rz")},
}


def units(placement: dict[str, Any]) -> dict[str, Any]:
    declared = placement["properties"]
    assert declared.pop("frame_id") == {"type": "string", "format": "uuid"}
    assert {number["type"] for number in declared.values()} == {"number"}
    return {name: number["unit"] for name, number in declared.items()}


@pytest.mark.anyio
async def test_the_document_of_the_service_declares_the_units():
    async with rest_client() as rest:
        document = json.loads((await rest.http.get("/openapi.json")).content)
    assert units(document["components"]["schemas"]["Placement"]) == UNITS


@pytest.mark.parametrize("name", ["update_mount_placement", "update_frame_placement"])
def test_the_tools_declare_the_units(name: str):
    assert units(input_schema(CATALOGUE.named[name])["properties"]["placement"]) == UNITS
