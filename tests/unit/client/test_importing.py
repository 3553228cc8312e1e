"""A beamline entered from a file: proposed, applied, applied again, and refused with its line."""

import json
import re
from pathlib import Path
from random import Random
from textwrap import dedent

import httpx2
import pytest
from click.testing import CliRunner, Result

from beamkeep.parts.importing.beamline import Beamline, read
from beamkeep.parts.importing.changes import Existing, PendingId, changes_of
from beamkeep.parts.importing.happi import beamline_of
from beamkeep.parts.importing.parsing import FaultyFileError, parse
from beamkeep_client.cli import command_line

NOTHING: Existing = {"family": {}, "model": {}, "enclosure": {}, "asset": {}}
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
        families: [Rotary stage]
    """)


def faults(text: str, known: Existing = NOTHING) -> list[tuple[int, str]]:
    """What is wrong with a file, by line."""

    def proposed() -> None:
        found = parse(text)
        changes_of(read(found), found, known)

    with pytest.raises(FaultyFileError) as faulty:
        proposed()
    return [(fault.line, fault.key) for fault in faulty.value.faults]


def changed(old: str, new: str) -> str:
    assert old in SMALL
    return SMALL.replace(old, new)


def test_a_fresh_service_gets_everything_in_an_order_that_works():
    found = parse(SMALL)
    steps = changes_of(read(found), found, NOTHING).steps
    assert [(step.operation, step.subject) for step in steps] == [
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
        "family_ids": [PendingId("family", "Rotary stage")],
        "alternate_identifiers": [
            {"kind": "EPICS_PV", "value": "TOMO:ROT"},
            {"kind": "Other", "value": "import:local:rotation"},
        ],
        "parent_id": PendingId("asset", "tomography"),
        "model_id": PendingId("model", "RS-100"),
        "located_in_enclosure_id": PendingId("enclosure", "Hutch A"),
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
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, expected: list[tuple[int, str]]):
    assert faults(changed(old, new)) == expected


def test_every_fault_is_named_at_once():
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
    found = parse(text)
    beamline: Beamline = read(beamline_of(found, "local"))
    assert [family.name for family in beamline.families] == [
        "Beamline",
        "Camera",
        "EpicsMotor",
        "EpicsSignalRO",
    ]
    units = {unit.name: [device.id for device in unit.children] for unit in beamline.assets}
    assert units == {"32ID": ["m1", "cam"], "Beamline": ["ring"]}
    (pv,) = beamline.assets[0].children[0].alternate_identifiers
    assert (pv.kind, pv.value) == ("EPICS_PV", "X:m1")


def test_a_happi_entry_without_its_class_is_named_with_its_line():
    text = '{\n "m1": {"name": "m1", "device_class": "a.B"},\n "m2": {"name": "m2"}\n}'
    with pytest.raises(FaultyFileError) as faulty:
        beamline_of(parse(text), "local")
    assert [(fault.line, fault.key) for fault in faulty.value.faults] == [(3, "m2")]


LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)
MALFORMED: dict[str, bytes] = {
    "a bomb of aliases": LAUGHS.encode(),
    "an alias of itself": b"assets: &a [*a, *a]",
    "a name that is an alias of itself": b"&a {? *a : 1}",
    "10,000 brackets": b"[" * 10_000,
    "100,000 brackets": b"[" * 100_000,
    "10,000 braces": b"{a: " * 10_000,
    "70 deep": b"[" * 70 + b"]" * 70,
    "no UTF-8": b"facility: \xff",
    "UTF-16": SMALL.encode("utf-16"),
    "a null byte": b"facility: \x00",
    "a control character": b"facility: \x1b[31m",
    "half a surrogate pair": b'facility: "\\ud800"',
    "half a surrogate pair as a name": b'"\\udfff": 1',
    "a day that is none": b"facility: 2030-99-99",
    "a day": b"facility: 2030-01-31",
    "a time": b"facility: 2030-01-31T07:30:00Z",
    "a number that is none": b"facility: !!int five",
    "a float that is none": b"facility: !!float five",
    "a time that is none": b"facility: !!timestamp five",
    "a truth that is none": b"facility: !!bool five",
    "5,000 digits": b"facility: " + b"9" * 5_000,
    "not a number": b"facility: .nan",
    "infinity": b"facility: -.inf",
    "bytes": b"facility: !!binary aGVsbG8=",
    "bytes that are none": b"facility: !!binary =",
    "a set": b"facility: !!set {a, b}",
    "a list as a name": b"? [a, b]\n: 1",
    "a Python object": b"facility: !!python/object/apply:os.system [date]",
    "a tag of nobody": b"facility: !mine x",
    "an alias of nothing": b"facility: *nothing",
    "two documents": b"facility: a\n---\nfacility: b",
    "a directive of nobody": b"%YAML 9.9\n---\nfacility: a",
    "a merge": b"base: &b {facility: a}\n<<: *b",
    "a tab": b"facility:\n\t- a",
    "a number": b"5",
    "a list": b"[]",
    "nothing": b"",
    "a comment": b"# nothing",
    "17 MiB": b"#" * (17 * 1024 * 1024),
}


@pytest.mark.parametrize("kind", [("yaml",), ("happi", "--facility", "local")], ids=lambda k: k[0])
@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_a_file_that_is_wrong_is_refused_in_lines(
    kind: tuple[str, ...], content: bytes, tmp_path: Path
):
    ran = imported(content, tmp_path, kind)
    assert (ran.exit_code, type(ran.exception)) == (1, SystemExit)
    *lines, last = ran.stderr.splitlines()
    assert lines
    assert all(re.match(rf"{re.escape(str(tmp_path))}/file:[0-9]+: .", line) for line in lines)
    assert last == "The file has errors. Nothing was written."
    assert len(ran.stderr) < 20_000


def test_no_change_of_a_good_file_makes_the_import_fail_otherwise(tmp_path: Path):
    random = Random(10)  # noqa: S311
    pieces = [
        b"&a ",
        b"*a",
        b"!!int ",
        b"!!binary ",
        b"? ",
        b"- ",
        b"{",
        b"[",
        b'"\\ud800"',
        b"\xff",
    ]
    pieces += [b"2030-01-01", b".nan", b"<<: ", b"---\n", b"%", b"\x00", b"~", b"\t", b": ", b"|\n"]
    for kind in (("yaml",), ("happi", "--facility", "local")):
        for _ in range(300):
            content = bytearray(SMALL.encode())
            for _ in range(random.randint(1, 4)):
                at = random.randrange(len(content))
                content[at : at + random.randint(0, 3)] = random.choice(pieces)
            ran = imported(bytes(content), tmp_path, kind)
            assert ran.exit_code in {0, 1}, content
            assert isinstance(ran.exception, SystemExit | None), content


def imported(content: bytes, folder: Path, kind: tuple[str, ...]) -> Result:
    """Import a file into a service that has nothing yet."""
    file = folder / "file"
    file.write_bytes(content)
    empty = httpx2.MockTransport(
        lambda _: httpx2.Response(200, json={"items": [], "next_cursor": None})
    )
    return CliRunner().invoke(
        command_line(),
        ["import", *kind, str(file)],
        env={"BEAMKEEP_TOKEN": None},
        obj=empty,
    )
