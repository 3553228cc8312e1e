"""The facts of an acquisition that have one meaning and one unit, from whatever source they come.

An acquisition may have further settings and evidence, because every camera has its own.
"""

from collections.abc import Mapping

from pydantic import Field
from pydantic.fields import FieldInfo

from beamkeep.schemas import Json, JsonObject, JsonSchema


def _number(description: str, code: str) -> JsonObject:
    unit: JsonObject = {"system": "udunits", "code": code}
    return {"type": "number", "description": description, "unit": unit}


def _count(description: str) -> JsonObject:
    return {"type": "integer", "description": description}


# fmt: off
SETTINGS: Mapping[str, Json] = {
    "exposure_time": _number("Time for which one frame was exposed, in seconds", "s"),
    "energy": _number("Photon energy, in keV", "keV"),
    "pixel_size_x": _number("Width of a pixel of the detector, in um", "um"),
    "pixel_size_y": _number("Height of a pixel of the detector, in um", "um"),
    "sample_pixel_size_x": _number("Width of a pixel in the plane of the sample, in um", "um"),
    "sample_pixel_size_y": _number("Height of a pixel in the plane of the sample, in um", "um"),
}
EVIDENCE: Mapping[str, Json] = {
    "frame_count": _count("Number of frames of every kind"),
    "angle_count": _count("Number of angles of projections"),
    "angle_first": _number("Angle of the first projection, in degrees", "degree"),
    "angle_last": _number("Angle of the last projection, in degrees", "degree"),
}
# fmt: on


def schema_of(facts: Mapping[str, Json]) -> JsonSchema:
    """Return the schema of an object with these facts, all of them optional, and others."""
    return {"type": "object", "properties": {**facts}}


def declares(facts: Mapping[str, Json]) -> FieldInfo:
    """Return what shows these facts in the schemas of a surface."""
    return Field(json_schema_extra={"properties": {**facts}})
