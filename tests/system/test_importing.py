"""A beamline entered from a file into a running service: once, however often it is imported."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.examples.federation import OWN_SITE

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import Server, running_server

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Generator[Server]:
    with running_server(cluster) as server:
        yield server


def imported(server: Server, *words: str) -> tuple[int, str, str]:
    """Run `beamkeep import`, and give back its code and what it said."""
    environment = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.admin}
    ran = server.run("import", *words, **environment)
    return ran.returncode, ran.stdout, ran.stderr


OLDEST = {"order": "oldest", "limit": 100}


def assets(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    headers, cursor = {"Authorization": f"Bearer {server.admin}"}, {}
    with httpx2.Client(base_url=server.url, headers=headers) as http:
        while True:
            page = http.get("/assets", params=OLDEST | cursor).raise_for_status().json()
            found += page["items"]
            if page["next_cursor"] is None:
                return found
            cursor = {"cursor": page["next_cursor"]}


def beamline_of_60(unit: str) -> dict[str, Any]:
    """Three stations with nineteen devices each: sixty assets, and the unit they belong to."""
    return {
        "facility": OWN_SITE,
        "families": [
            {
                "name": f"Axis of {unit}",
                "affordances": ["Translatable", "Homeable"],
                "settings_schema": {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "type": "object",
                    "properties": {
                        "travel": {
                            "type": "number",
                            "minimum": 0,
                            "description": "Travel of the axis, 0 mm or more",
                            "unit": {"system": "udunits", "code": "mm"},
                        }
                    },
                    "additionalProperties": False,
                },
            }
        ],
        "enclosures": [{"name": f"Hutch of {unit}"}],
        "assets": [
            {
                "id": f"{unit}.{station}",
                "name": f"Station {station}",
                "tier": "Unit",
                "families": [f"Axis of {unit}"],
                "children": [
                    {
                        "id": f"{unit}.{station}.{n}",
                        "name": f"Axis {n}",
                        "families": [f"Axis of {unit}"],
                        "enclosure": f"Hutch of {unit}",
                        "settings": {"travel": n},
                        "alternate_identifiers": [
                            {"kind": "EPICS_PV", "value": f"{unit}:{station}:m{n}"}
                        ],
                    }
                    for n in range(19)
                ],
            }
            for station in range(3)
        ],
    }


def test_sixty_devices_are_entered_once_however_often_they_are_imported(
    server: Server, tmp_path: Path
):
    described, file = beamline_of_60("tomo"), tmp_path / "tomo.yaml"
    file.write_text(json.dumps(described, indent=1))
    before = len(assets(server))

    code, said, told = imported(server, "yaml", str(file))
    assert (code, said.count("register_asset")) == (0, 60)
    assert "Nothing was written" in told
    assert len(assets(server)) == before

    code, _, told = imported(server, "yaml", str(file), "--apply")
    assert code == 0, told
    assert "[119/119]" in told
    registered = assets(server)
    assert len(registered) == before + 60

    assert imported(server, "yaml", str(file), "--apply") == (
        0,
        "No changes: 62 objects match.\n",
        "",
    )
    assert assets(server) == registered

    axis = described["assets"][1]["children"][4]
    axis |= {"name": "Vertical", "settings": {"travel": 250}}
    described["assets"][2]["children"].append(described["assets"][1]["children"].pop(7))
    file.write_text(json.dumps(described, indent=1))
    code, said, _ = imported(server, "yaml", str(file), "--apply")
    assert (code, sorted(said.splitlines())) == (
        0,
        [
            "relocate_asset asset tomo.1.7",
            "rename_asset asset tomo.1.4",
            "update_asset_settings asset tomo.1.4",
        ],
    )
    assert imported(server, "yaml", str(file)) == (0, "No changes: 62 objects match.\n", "")


def test_a_typo_in_one_device_is_reported_with_its_line_and_nothing_is_written(
    server: Server, tmp_path: Path
):
    described, file = beamline_of_60("optics"), tmp_path / "optics.yaml"
    described["assets"][2]["children"][11]["settings"]["travel"] = "long"
    text = json.dumps(described, indent=1)
    file.write_text(text)
    before = assets(server)
    at = text[: text.index('"travel": "long"')].rindex('"settings"')
    line = text[:at].count("\n") + 1
    code, said, told = imported(server, "yaml", str(file), "--apply")
    assert (code, said) == (1, "")
    assert told.startswith(f"{file}:{line}: assets[2].children[11].settings: ")
    assert "Nothing was written" in told
    assert assets(server) == before


def test_a_happi_database_is_entered_once(server: Server, tmp_path: Path):
    entries = {
        f"m{n}": {"name": f"m{n}", "device_class": "ophyd.EpicsMotor", "prefix": f"X:m{n}"}
        for n in range(5)
    }
    file = tmp_path / "db.json"
    file.write_text(json.dumps(entries, indent=1))
    before = len(assets(server))
    code, _, told = imported(server, "happi", str(file), "--facility", OWN_SITE, "--apply")
    assert code == 0, told
    again = imported(server, "happi", str(file), "--facility", OWN_SITE, "--apply")
    assert again == (0, "No changes: 8 objects match.\n", "")
    assert len(assets(server)) == before + 6
