"""The table of the reference, the service as it runs, and nothing more on either side."""

from collections.abc import Generator

import pytest
from demo.run import Demo, running
from tests.compare_catalogue import TABLE, compare, expected

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Demo]:
    with running(tmp_path_factory.mktemp("service")) as demo:
        yield demo


def test_the_table_is_read_whole():
    rows = [
        line for line in TABLE.read_text().splitlines() if "| `POST " in line or "| `GET " in line
    ]
    assert len(expected(TABLE.read_text())) == len(rows)


def test_every_operation_of_the_table_is_on_every_surface_and_no_other(service: Demo):
    assert compare(service.url, service.token, TABLE.read_text()) == []


def test_a_surplus_on_either_side_is_found(service: Demo):
    head, row, rest = TABLE.read_text().partition(
        "| `void_visit` | `POST /visits/{visit_id}/void` | change | 204 |"
    )
    assert row
    invented = row.replace("void", "bless")
    found = compare(service.url, service.token, head + invented + rest)
    for surface in ("OpenAPI", "MCP", "the command line"):
        assert any(line.startswith(f"{surface} lacks") and "bless_visit" in line for line in found)
        assert any(line.endswith(f"which {surface} has") and "void_visit" in line for line in found)


def test_a_wrong_status_is_found(service: Demo):
    table = TABLE.read_text().replace("/zones` | create | 201", "/zones` | create | 204")
    found = compare(service.url, service.token, table)
    assert len(found) == 2
    assert all("define_zone" in line for line in found)
