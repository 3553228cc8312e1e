"""The control system of the example beamline: a soft IOC, and the settings that lead to it."""

import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from beamkeep.testing.ioc import Ioc, IocRecord, loopback_network

RECONSTRUCT = Path(__file__).with_name("reconstruct.py")
ROUTE = {
    "prefix": "TOMO:",
    "substrate": "epics_ca",
    "simulated": True,
    "writable": True,
    "inline": True,
}
"""Every record of the IOC may be written, also by steps that are not of a recipe."""


def moved(name: str, initial: float, follows: str, calc: str) -> tuple[IocRecord, IocRecord]:
    """Return a record to write, and one computed from it (A) and from its own last value (B)."""
    inputs = {"CALC": calc, "INPA": name, "INPB": follows}
    return (
        IocRecord(name, "aOut", initial, fields={"FLNK": follows}),
        IocRecord(follows, "calc", initial, fields=inputs),
    )


RECORDS = (
    IocRecord("TOMO:SHUTTER", "boolOut", initial=0, labels=("Closed", "Open")),
    *moved("TOMO:MONO:ENERGY", 18.0, follows="TOMO:MONO:ENERGY_RBV", calc="A"),
    # The dial of the hexapod is wrong after a reboot, until somebody sets it.
    IocRecord("TOMO:HEX:REBOOT", "aOut", 0.0),
    IocRecord("TOMO:HEX:Y", "aOut", 0.35),
    # One correction of the rotation axis leaves a quarter of the distance to column 1024.
    IocRecord("TOMO:ROT:CORRECT", "aOut", 0.0, fields={"FLNK": "TOMO:ROT:CENTER"}),
    IocRecord(
        "TOMO:ROT:CENTER",
        "calc",
        1030.4,
        fields={"CALC": "1024+(B-1024)/4", "INPB": "TOMO:ROT:CENTER"},
    ),
    *moved("TOMO:FOCUS", 0.0, follows="TOMO:FOCUS:SHARPNESS", calc="1/(1+(A-0.5)^2)"),
    # The stage of the camera is stiff: a move ends 1 % short, and a second one arrives.
    *moved("TOMO:CAM:X", 0.0, follows="TOMO:CAM:X_RBV", calc="B+(A-B)*0.99"),
)


@dataclass(frozen=True)
class ControlSystem:
    """A running IOC, and the settings and variables of a service that conducts through it."""

    ioc: Ioc
    environment: Mapping[str, str]
    data: Path
    """The folder with the disks of the beamline."""


@contextmanager
def control_system(folder: Path) -> Generator[ControlSystem]:
    """Run the IOC on loopback until the end; jobs get their directories in the folder."""
    data = (folder / "data").resolve()
    data.mkdir(parents=True, exist_ok=True)
    job = {"name": "reconstruct", "command": [sys.executable, str(RECONSTRUCT)]}
    settings = {
        "CONTROL_ROUTES": json.dumps([ROUTE]),
        "CONDUCT_SLOTS": "4",
        "COMPUTE_JOBS": json.dumps([job]),
        "COMPUTE_DIRECTORY": str(folder / "jobs"),
        "DATA_ROOTS": json.dumps([str(data)]),
    }
    with loopback_network() as network, Ioc(network.ports[0], *RECORDS) as ioc:
        yield ControlSystem(ioc, {**settings, **network.environment}, data)
