"""A happi database read as a described beamline."""

from typing import Any, cast

from .lines import FaultyFileError, Located, Path

DEVICE_CLASS = "device_class"


def beamline_of(found: Located, facility: str) -> Located:
    """The same devices as a beamline's file would describe them, each on its own line still."""
    data: Any = found.data
    if not isinstance(data, dict):
        raise FaultyFileError(found.fault((), "a happi database is an object of devices by name"))
    entries: dict[str, dict[str, Any]] = {
        name: entry if isinstance(entry, dict) else {}
        for name, entry in cast("dict[str, Any]", data).items()
    }
    faults = [
        found.fault((key,), f"{lacking} is missing")
        for key, entry in entries.items()
        for lacking in ("name", DEVICE_CLASS)
        if not entry.get(lacking)
    ]
    if faults:
        raise FaultyFileError(*faults)
    lines: dict[Path, int] = {(): 1}
    units: dict[str, list[dict[str, object]]] = {}
    for key, entry in entries.items():
        unit = str(entry.get("beamline") or "Beamline")
        devices = units.setdefault(unit, [])
        lines["assets", [*units].index(unit), "children", len(devices)] = found.lines[key,]
        devices.append(_device(key, entry))
    families = sorted({_family(entry) for entry in entries.values()})
    whole: dict[str, object] = {
        "facility": facility,
        "families": [{"name": name, "affordances": []} for name in families],
        "assets": [
            {"id": f"beamline:{name}", "name": name, "tier": "Unit", "children": devices}
            for name, devices in units.items()
        ],
    }
    return Located(whole, lines)


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
