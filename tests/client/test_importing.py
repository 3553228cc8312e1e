"""A beamline entered from a file: proposed, applied, applied again, and refused with its line."""

import json
from textwrap import dedent

import pytest

from beamkeep.client.importing.described import Beamline, read
from beamkeep.client.importing.happi import beamline_of
from beamkeep.client.importing.lines import FaultyFileError, located
from beamkeep.client.importing.proposing import Existing, Made, propose

NOTHING = Existing({}, {}, {}, {})
SMALL = dedent("""\
    facility: local
    families:
      - name: Rotary stage
        affordances: [Rotatable]
        settings_schema:
          $schema: https://json-schema.org/draft/2020-12/schema
          type: object
          properties: {backlash: {type: number, minimum: 0, description: Backlash of the gear}}
          additionalProperties: false
    models:
      - name: RS-100
        manufacturer: {name: Acme}
        part_number: RS-100
        families: [Rotary stage]
    enclosures:
      - name: Hutch A
    assets:
      - id: tomography
        name: Tomography
        tier: Unit
        children:
          - id: rotation
            name: Rotation
            families: [Rotary stage]
            model: RS-100
            enclosure: Hutch A
            settings: {backlash: 0.5}
            alternate_identifiers: [{kind: EPICS_PV, value: "TOMO:ROT"}]
    """)


def faults(text: str, known: Existing = NOTHING) -> list[tuple[int, str]]:
    """What is wrong with a file, by line."""

    def proposed() -> None:
        found = located(text)
        propose(read(found), found, known)

    with pytest.raises(FaultyFileError) as faulty:
        proposed()
    return [(fault.line, fault.where) for fault in faulty.value.faults]


def changed(old: str, new: str) -> str:
    assert old in SMALL
    return SMALL.replace(old, new)


def test_a_fresh_service_is_told_everything_in_an_order_that_works():
    found = located(SMALL)
    steps = propose(read(found), found, NOTHING).steps
    assert [(step.operation, step.about) for step in steps] == [
        ("define_family", "family Rotary stage"),
        ("define_model", "model RS-100"),
        ("register_enclosure", "enclosure Hutch A"),
        ("register_asset", "asset tomography"),
        ("register_asset", "asset rotation"),
        ("update_asset_settings", "asset rotation"),
    ]
    assert steps[4].arguments == {
        "name": "Rotation",
        "tier": "Device",
        "family_ids": [Made("family", "Rotary stage")],
        "alternate_identifiers": [
            {"kind": "EPICS_PV", "value": "TOMO:ROT"},
            {"kind": "Other", "value": "import:local:rotation"},
        ],
        "parent_id": Made("asset", "tomography"),
        "model_id": Made("model", "RS-100"),
        "located_in_enclosure_id": Made("enclosure", "Hutch A"),
    }


CHILD = "assets[0].children[0]"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("tier: Unit", "tier: Unot", [(20, "assets[0].tier")]),
        ("name: Rotation", "nmae: Rotation", [(22, f"{CHILD}.name"), (23, f"{CHILD}.nmae")]),
        ("[Rotatable]", "[Rotateable]", [(4, "families[0].affordances[0]")]),
        ("stage]\n        model", "stag]\n        model", [(24, f"{CHILD}.families[0]")]),
        ("model: RS-100", "model: RS-200", [(25, f"{CHILD}.model")]),
        ("enclosure: Hutch A", "enclosure: Hutch B", [(26, f"{CHILD}.enclosure")]),
        ("backlash: 0.5", "backlash: -1", [(27, f"{CHILD}.settings")]),
        ("type: number", "type: nubmer", [(5, "families[0].settings_schema")]),
        ("id: rotation", "id: tomography", [(22, CHILD)]),
        ("part_number: RS-100", "name: RS-100", [(13, "models[0].name")]),
        ("facility: local\n", "", [(1, "facility")]),
        (SMALL, "", [(1, "")]),
        (SMALL, "facility: [", [(1, "")]),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, expected: list[tuple[int, str]]):
    assert faults(changed(old, new)) == expected


def test_every_fault_is_told_at_once():
    text = changed("tier: Unit", "tier: Unot").replace("[Rotatable]", "[Rotateable]")
    assert [line for line, _ in faults(text)] == [4, 20]


def test_a_happi_database_is_a_beamline_of_devices():
    at = {"beamline": "32ID"}
    text = json.dumps(
        {
            "m1": {"name": "m1", "device_class": "ophyd.EpicsMotor", "prefix": "X:m1", **at},
            "cam": {"name": "cam", "device_class": "devices.areadetector.Camera", **at},
            "ring": {"name": "ring", "device_class": "ophyd.EpicsSignalRO"},
        },
        indent=1,
    )  # fmt: skip
    found = located(text)
    beamline: Beamline = read(beamline_of(found, "local"))
    assert [family.name for family in beamline.families] == [
        "Camera",
        "EpicsMotor",
        "EpicsSignalRO",
    ]
    units = {unit.name: [device.id for device in unit.children] for unit in beamline.assets}
    assert units == {"32ID": ["m1", "cam"], "Beamline": ["ring"]}
    (pv,) = beamline.assets[0].children[0].alternate_identifiers
    assert (pv.kind, pv.value) == ("EPICS_PV", "X:m1")


def test_a_happi_entry_without_its_class_is_told_with_its_line():
    text = '{\n "m1": {"name": "m1", "device_class": "a.B"},\n "m2": {"name": "m2"}\n}'
    with pytest.raises(FaultyFileError) as faulty:
        beamline_of(located(text), "local")
    assert [(fault.line, fault.where) for fault in faulty.value.faults] == [(3, "m2")]
