"""Two requests have one fingerprint when they ask for the same, and only then."""

import subprocess
import sys
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Command, Operation
from beamkeep.runtime.fingerprint import fingerprint
from beamkeep.runtime.parsing import parse

ID = UUID("0193abcd-0000-7000-8000-0000000000ef")
ASSET = {
    "name": "Stage",
    "tier": "Device",
    "family_ids": [str(ID), str(UUID(int=1)), str(UUID(int=2))],
    "alternate_identifiers": [
        {"kind": "EPICS_PV", "value": "BL:X"},
        {"kind": "EPICS_PV", "value": "BL:Y"},
        {"kind": "InventoryNumber", "value": "BL:X"},
    ],
}
VISIT = {
    "policy_id": str(ID),
    "parent_surface_id": str(ID),
    "type": "user",
    "planned_start_at": "2030-01-31T07:30:00Z",
    "planned_end_at": "2030-01-31T15:30:00Z",
}
RUN = {"name": "Night 1", "plan_id": str(ID)}
ENERGY = {"override_parameters": {"energy": 26, "mode": None, "motors": [1, 2]}}


def fingerprint_of(name: str, arguments: dict[str, Any]) -> bytes:
    operation = CATALOGUE.named[name]
    assert isinstance(operation, Operation)
    return fingerprint(name, parse(operation.command, arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "otherwise"),
    [
        ("start_run", RUN, {"plan_id": str(ID).upper()}),
        ("start_run", RUN, {"plan_id": f"urn:uuid:{ID}"}),
        ("start_run", RUN, {"subject_id": None, "pinned_calibration_ids": []}),
        ("start_run", RUN, {"override_parameters": {}}),
        (
            "start_run",
            RUN | ENERGY,
            {"override_parameters": {"mode": None, "motors": [1.0, 2], "energy": 26.0}},
        ),
        ("register_visit", VISIT, {"planned_start_at": "2030-01-31T08:30:00+01:00"}),
        ("register_asset", ASSET, {"family_ids": ASSET["family_ids"][::-1]}),
        ("register_asset", ASSET, {"alternate_identifiers": ASSET["alternate_identifiers"][::-1]}),
    ],
)
def test_a_request_in_another_form_has_the_same_fingerprint(
    name: str, arguments: dict[str, Any], otherwise: dict[str, Any]
):
    assert fingerprint_of(name, arguments) == fingerprint_of(name, arguments | otherwise)


@pytest.mark.parametrize(
    ("name", "arguments", "other"),
    [
        ("start_run", RUN, {"name": "Night 2"}),
        ("start_run", RUN, {"subject_id": str(ID)}),
        ("start_run", RUN | ENERGY, {"override_parameters": {}}),
        (
            "start_run",
            RUN | ENERGY,
            {"override_parameters": {"energy": 26.5, "mode": None, "motors": [1, 2]}},
        ),
        ("start_run", RUN | ENERGY, {"override_parameters": {"energy": 26, "motors": [1, 2]}}),
        (
            "start_run",
            RUN | ENERGY,
            {"override_parameters": {"energy": "26", "mode": None, "motors": [1, 2]}},
        ),
        (
            "start_run",
            RUN | ENERGY,
            {"override_parameters": {"energy": 26, "mode": None, "motors": [2, 1]}},
        ),
        (
            "start_run",
            RUN | ENERGY,
            {"override_parameters": {"energy": 26, "mode": None, "motors": [True, 2]}},
        ),
        ("register_visit", VISIT, {"planned_start_at": "2030-01-31T07:30:00.000001Z"}),
        ("register_asset", ASSET, {"family_ids": []}),
        ("register_asset", ASSET, {"alternate_identifiers": ASSET["alternate_identifiers"][:2]}),
    ],
)
def test_another_request_has_another_fingerprint(
    name: str, arguments: dict[str, Any], other: dict[str, Any]
):
    assert fingerprint_of(name, arguments) != fingerprint_of(name, arguments | other)


def test_the_same_arguments_of_another_command_have_another_fingerprint():
    arguments = {"asset_id": str(ID)}
    assert fingerprint_of("activate_asset", arguments) != fingerprint_of(
        "decommission_asset", arguments
    )


def test_a_step_of_another_kind_has_another_fingerprint():
    recipe = {"name": "Energy change", "capability_id": str(ID)}
    steps = [{"kind": kind, "name": "dark", "job": "dark"} for kind in ("action", "compute")]
    steps[0].pop("job")
    steps[1].pop("name")
    assert fingerprint_of("define_recipe", recipe | {"steps": steps[:1]}) != fingerprint_of(
        "define_recipe", recipe | {"steps": steps[1:]}
    )


class Earlier(Command):
    """A command before a release adds a field to it."""

    name: str


class Added(Command):
    """The same command with the new field."""

    name: str
    colour: str | None = None
    tags: tuple[str, ...] = ()


def test_a_field_that_a_later_release_adds_changes_no_stored_fingerprint():
    before, after = Earlier(name="Hutch"), Added(name="Hutch")
    assert fingerprint("define_zone", before) == fingerprint("define_zone", after)
    assert fingerprint("define_zone", before) != fingerprint(
        "define_zone", Added(name="Hutch", colour="red")
    )


def test_the_fingerprint_is_the_same_in_every_process():
    expected = fingerprint_of("register_asset", ASSET).hex()
    program = (
        "from tests.unit.runtime.test_fingerprint import ASSET, fingerprint_of;"
        "print(fingerprint_of('register_asset', ASSET).hex())"
    )
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        told = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        )
        assert told.stdout.decode().strip() == expected


def test_the_fingerprint_is_the_same_in_every_release():
    # It is kept in databases: with another digest, a repeated request would conflict with itself.
    command = Added(name="Hutch", tags=("b", "a"))
    written = b'["define_zone",{"name":"Hutch","tags":["b","a"]}]'
    assert fingerprint("define_zone", command) == sha256(written).digest()
