"""The parts the service is made of: locked, bounded, known by their licence, and asked about."""

import re
import tomllib
from pathlib import Path
from typing import Any

import httpx2
import pytest
from requirements import audit
from requirements.audit import LOCKS, Part, asked, faults, parts, sbom, vulnerable, withdrawn

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PROJECTS: list[dict[str, Any]] = [
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text()) for folder in (".", "client")
]
OF_THE_CLIENT = {
    f"requirements-{name}.txt" for name in ("bluesky", "client", "federation", "pandas", "polars")
}
LOCKED = {each.name: each.read_text() for each in (ROOT / "requirements").glob("*.txt")}
HASH = "a" * 64
PART = Part("starlette", "1.10.0", (HASH,))
LINK = f'<a href="https://files.test/starlette-1.10.0.whl#sha256={HASH}"%s>starlette</a>'


def declared(project: dict[str, Any]) -> list[str]:
    """Every requirement that a pyproject.toml names."""
    own = project["project"]
    groups = [*own["optional-dependencies"].values()]
    groups += project.get("dependency-groups", {}).values()
    build = project["build-system"]["requires"]
    return [*own["dependencies"], *build, *(each for group in groups for each in group)]


EVERYTHING = [each for project in PROJECTS for each in declared(project)]


def test_every_requirement_has_an_upper_bound():
    unbounded = [each for each in EVERYTHING if not re.search(r",<\d", each)]
    # Client and server come from one checkout, in one version.
    (server, client) = (project["project"]["version"] for project in PROJECTS)
    assert server == client
    assert unbounded == [f"beamkeep-client=={client}"]


def test_the_client_brings_at_most_ten_packages_and_no_part_of_the_server():
    names = {part.name for part in parts([LOCKED["requirements-client.txt"]])}
    on_a_machine = names - {"httpx2-jsfetch"}  # this one is for a browser
    assert len(on_a_machine) <= 10
    recorder = {part.name for part in parts([LOCKED["requirements-bluesky.txt"]])}
    assert not {"asyncpg", "mcp", "starlette", "uvicorn"} & (names | recorder)


def test_only_the_parts_of_the_server_that_are_used_are_installed():
    assert not [each for each in EVERYTHING if "[standard]" in each]
    for name, text in LOCKED.items():
        if name not in OF_THE_CLIENT:
            assert {"httptools", "uvloop"} <= {part.name for part in parts([text])}
        assert not {"websockets", "watchfiles"} & {part.name for part in parts([text])}


def test_every_lock_file_names_the_same_versions_and_no_index():
    assert LOCKED.keys() == {*LOCKS, "requirements-dev.txt"}
    developed = set(parts([LOCKED["requirements-dev.txt"]]))
    assert [part for part in parts(LOCKED[name] for name in LOCKS) if part not in developed] == []
    assert not [line for text in LOCKED.values() for line in text.split() if "://" in line]


def test_every_locked_part_has_hashes_and_a_licence_that_is_allowed():
    found = parts(LOCKED[name] for name in LOCKS)
    assert len(found) > 70
    assert faults(found) == []


def test_a_part_without_a_hash_or_a_known_licence_is_named(monkeypatch: pytest.MonkeyPatch):
    assert faults([Part("starlette", "1", ())]) == [
        "pkg:pypi/starlette@1 has no hash. Run `make lock`."
    ]
    monkeypatch.setattr(audit, "ALLOWED", frozenset({"MIT"}))
    assert faults([PART]) == [
        "pkg:pypi/starlette@1.10.0 is under BSD-3-Clause, which nobody has allowed."
    ]


def test_the_list_of_parts_names_each_with_its_version_hashes_and_licence():
    (component,) = sbom([PART])["components"]
    assert component["purl"] == "pkg:pypi/starlette@1.10.0"
    assert component["hashes"] == [{"alg": "SHA-256", "content": HASH}]
    assert component["licenses"] == [{"expression": "BSD-3-Clause"}]


def test_what_the_index_has_against_a_part_is_named():
    assert withdrawn(PART, LINK % "") == []
    assert withdrawn(PART, LINK % ' data-yanked="broken"') == [
        "pkg:pypi/starlette@1.10.0 was withdrawn."
    ]
    assert "none of the locked files" in withdrawn(PART, LINK.replace(HASH, "b" * 64) % "")[0]
    known = [{"id": "CVE-1", "fixed_in": ["1.10.1"]}, {"id": "CVE-2", "withdrawn": "2030-01-01"}]
    assert vulnerable(PART, {"vulnerabilities": known}) == [
        "pkg:pypi/starlette@1.10.0: CVE-1, mended in 1.10.1."
    ]


async def test_an_index_that_does_not_answer_is_no_failure_and_is_not_passed_over(
    monkeypatch: pytest.MonkeyPatch,
):
    def answer(request: httpx2.Request) -> httpx2.Response:
        simple = request.url.path.startswith("/simple")
        return httpx2.Response(200, text=LINK % "") if simple else httpx2.Response(404)

    real = httpx2.AsyncClient

    def client(**settings: Any) -> httpx2.AsyncClient:
        return real(transport=httpx2.MockTransport(answer), **settings)

    monkeypatch.setattr(httpx2, "AsyncClient", client)
    assert await asked([PART]) == ([], ["NOT ASKED: vulnerabilities of 1 parts"])
