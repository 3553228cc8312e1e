"""A happi database, converted to the description of a beamline."""

from typing import Any, cast

from .parsing import FaultyFileError, KeyPath, ParsedFile

DEVICE_CLASS = "device_class"
UNIT_FAMILY = "Beamline"


def beamline_of(found: ParsedFile, facility: str) -> ParsedFile:
    """Return the devices as a beamline file describes them, each with its line."""
    data: Any = found.data
    if not isinstance(data, dict):
        raise FaultyFileError(
            found.fault((), "A happi database must be an object of devices by name.")
        )
    entries: dict[str, dict[str, Any]] = {
        name: entry if isinstance(entry, dict) else {}
        for name, entry in cast("dict[str, Any]", data).items()
    }
    faults = [
        found.fault((key,), f"{missing} is missing.")
        for key, entry in entries.items()
        for missing in ("name", DEVICE_CLASS)
        if not entry.get(missing)
    ]
    if faults:
        raise FaultyFileError(*faults)
    lines: dict[KeyPath, int] = {(): 1}
    units: dict[str, list[dict[str, object]]] = {}
    for key, entry in entries.items():
        unit = str(entry.get("beamline") or "Beamline")
        devices = units.setdefault(unit, [])
        lines["assets", [*units].index(unit), "children", len(devices)] = found.lines[key,]
        devices.append(_device(key, entry))
    families = sorted({UNIT_FAMILY, *map(_family, entries.values())})
    whole: dict[str, object] = {
        "facility": facility,
        "families": [{"name": name, "affordances": []} for name in families],
        "assets": [
            {
                "id": f"beamline:{name}",
                "name": name,
                "tier": "Unit",
                "families": [UNIT_FAMILY],
                "children": devices,
            }
            for name, devices in units.items()
        ],
    }
    return ParsedFile(whole, lines)


def _device(key: str, entry: dict[str, Any]) -> dict[str, object]:
    prefix = entry.get("prefix")
    return {
        "id": key,
        "name": entry["name"],
        "families": [_family(entry)],
        "alternate_identifiers": [{"kind": "EPICS_PV", "value": prefix}] if prefix else [],
    }


def _family(entry: dict[str, Any]) -> str:
    return str(entry[DEVICE_CLASS]).rpartition(".")[2]
