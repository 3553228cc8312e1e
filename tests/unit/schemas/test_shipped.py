"""Every schema the project ships keeps the rules it asks of every author."""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support.examples import EXAMPLES
from tests.support.rest_client import rest_client

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Invalid
from beamkeep.schemas import declare, lint_schema

ROOT = Path(__file__).parents[3]
FENCED = re.compile(r"^```json\n(.*?)^```", re.DOTALL | re.MULTILINE)
DECLARING = [
    (operation, field)
    for operation in CATALOGUE.operations
    for field in operation.command.model_fields
    if field.endswith("_schema")
]


def require_exemplary(schema: Any) -> None:
    assert lint_schema(declare(schema, Invalid) or {}) == []


def in_pages() -> Iterator[tuple[str, Any]]:
    """The schemas written out in the documentation."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for text in FENCED.findall(page.read_text()):
            if '"$schema"' in text:
                yield page.name, json.loads(text)


def in_code() -> Iterator[tuple[str, Any]]:
    """The schemas written out in programs, but for those put together when they run."""
    for folder in ("src", "demo", "benchmarks", "tests/support"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                match node:
                    case ast.Dict(keys=[ast.Constant(value="$schema"), *_]):
                        with suppress(ValueError):
                            yield path.name, ast.literal_eval(node)
                    case _:
                        pass


WRITTEN_OUT = [*in_pages(), *in_code()]


def test_the_schemas_are_found():
    assert {name for name, _ in WRITTEN_OUT} >= {"schemas.md", "equipment.py"}
    assert {operation.name for operation, _ in DECLARING} >= {"define_family", "version_family"}


@pytest.mark.parametrize(("name", "schema"), WRITTEN_OUT, ids=[name for name, _ in WRITTEN_OUT])
def test_a_schema_that_is_written_out_is_exemplary(name: str, schema: Any):
    require_exemplary(schema)


@pytest.mark.anyio
async def test_a_schema_in_an_example_is_exemplary():
    async with rest_client() as rest:
        for operation, field in DECLARING:
            require_exemplary((await EXAMPLES[operation.name](rest.do))[field])
