"""Lint: advice to the authors of schemas that refuses nothing."""

import re

from beamkeep.kernel import Advice

from .bounds import path_text
from .nodes import CLOSING, NUMERIC, JsonSchema, below, nodes, properties

UNIT_ENDINGS = (
    *("_mm", "_um", "_nm", "_deg", "_rad", "_mrad", "_urad", "_sec", "_ms", "_us", "_ns"),
    *("_ev", "_kev", "_hz", "_khz", "_ma", "_pa", "_mbar"),
)
CONTROL_WORDS = (
    *("ads", "areadetector", "bacnet", "bluesky", "canopen", "channel access", "doocs"),
    *(
        "epics",
        "ethercat",
        "ethernet/ip",
        "gpib",
        "icepap",
        "ioc",
        "modbus",
        "mqtt",
        "opc",
        "opcua",
    ),
    *("ophyd", "profibus", "profinet", "pva", "pvaccess", "rs232", "rs485", "scpi", "serial port"),
    *("sardana", "spec", "taco", "tango", "tcp", "udp", "visa"),
)
_SNAKE_CASE = "[a-z][a-z0-9]*(?:_[a-z0-9]+)*"
_NAME = re.compile(rf"{_SNAKE_CASE}(?:\.{_SNAKE_CASE})?")
_CONTROL_WORD = re.compile(
    rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, CONTROL_WORDS))})(?![a-z0-9])", re.IGNORECASE
)


def lint_schema(schema: JsonSchema) -> list[Advice]:
    """Return every departure of a declared schema from the authoring rules."""
    found: list[Advice] = []
    for path, at, _ in nodes(schema):
        node = below(at)
        description = node.get("description")
        if "properties" in node and not node.keys() >= CLOSING:
            found.append(Advice(path_text(path), "close every object level"))
        if node.get("type") in NUMERIC and not description:
            found.append(Advice(path_text(path), "describe quantity, range and unit of a number"))
        if isinstance(description, str) and _CONTROL_WORD.search(description):
            found.append(Advice(path_text(path), "name no transport, driver or control system"))
        for name in properties(node):
            place = path_text((*path, "properties", name))
            if not _NAME.fullmatch(name):
                found.append(Advice(place, "name in lower snake_case, or as vendor.name"))
            if name.endswith(UNIT_ENDINGS):
                found.append(Advice(place, "keep units out of names"))
    return found
