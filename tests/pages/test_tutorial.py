"""The tutorial that adds a transition: what its page shows is all it takes, on every surface."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs/tutorials/add-a-transition.md"
MOST_LINES = 25
NAME, VERB, PATH = "defer_visit", ("visit", "defer"), "/visits/{visit_id}/defer"


def test_the_tutorial_adds_a_transition_to_one_file_and_every_surface_has_it_at_once(
    tmp_path: Path,
):
    patch = the_change()
    assert re.findall(r"^\+\+\+ b/(.*)$", patch, re.MULTILINE) == [
        "src/beamkeep/contexts/trust/visit.py"
    ]
    assert len(re.findall(r"^\+(?!\+\+ )", patch, re.MULTILINE)) <= MOST_LINES
    for folder in ("src", "client/src"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    applied = ["git", "apply", "-"]
    subprocess.run(applied, input=patch, cwd=tmp_path, check=True, text=True)

    found = in_the_copy(tmp_path, "-m", "tests.pages.test_tutorial")
    assert json.loads(found.splitlines()[-1]) == {
        "where": str(tmp_path / "src/beamkeep"),
        "rest": [204, "Planned", 409, "VisitCannotDeferError"],
        "without a grant": [403, "UnauthorizedError"],
        "policy with an unknown name": [400, "InvalidPolicyPermittedCommandsError"],
        "with a grant": 409,
        "tool": "Defer a visit to a later day.",
        "tool answers": "Planned",
        "openapi": [NAME, ["200", "204"]],
        "history": ["VisitRegistered", "VisitArrived", "VisitDeferred"],
        "metrics": ["2xx", "UnauthorizedError", "VisitCannotDeferError"],
    }
    written = in_the_copy(
        tmp_path,
        "-c",
        "from beamkeep.surfaces.tools.command_line import as_file, catalogue_rows;"
        "print(as_file(catalogue_rows()))",
    )
    (tmp_path / "client/src/beamkeep_client/catalogue.json").write_text(written)
    assert "Defer a visit to a later day." in in_the_copy(
        tmp_path, "-m", "beamkeep", *VERB, "--help"
    )


def the_change() -> str:
    """The change of the service that the page shows."""
    return changes()[0]


def changes() -> tuple[str, str]:
    """The change of the service, and the change of its test, that the page shows."""
    shown = re.findall(
        r"^( *)```diff\n(.*?)^ *```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL
    )
    change, test = [re.sub(f"^{indent}", "", text, flags=re.MULTILINE) for indent, text in shown]
    return change, test


def in_the_copy(copy: Path, *arguments: str) -> str:
    """What a Python says that finds the changed packages before the installed ones."""
    paths = copy / "src", copy / "client/src", ROOT
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    ran = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


async def probe() -> dict[str, Any]:
    """What the surfaces of the package at hand say of the transition."""
    from tests.support.rest_client import RestClient

    import beamkeep
    from beamkeep.contexts.trust import seeded
    from beamkeep.kernel import SurfaceKind
    from beamkeep.testing.installation import ISSUER
    from beamkeep.testing.service import call, memory_service, policy
    from beamkeep.testing.web import http_client, rest_application

    http = str(seeded.SURFACES[SurfaceKind.HTTP])
    service, store = await memory_service()
    login = {"issuer": ISSUER, "subject": "bob"}
    bob = (await call(service, "register_actor", {"name": "Bob", "identities": [login]})).id
    async with http_client(rest_application(service)) as plain:
        client = RestClient(plain, service.catalogue, store)

        async def arrived() -> dict[str, str]:
            listed = await client.do("list_policies", {"surface_id": http})
            visit = {
                "policy_id": listed["items"][0]["policy_id"],
                "parent_surface_id": http,
                "type": "user",
                "planned_start_at": "2030-03-04T08:00:00Z",
                "planned_end_at": "2030-03-06T08:00:00Z",
            }
            made = await client.do("register_visit", visit)
            await client.do("record_visit_arrival", made)
            return made

        visit = await arrived()
        denied = await client.send(NAME, visit, token="bob")
        deferred = await client.send(NAME, visit)
        shown = await client.do("get_visit", visit)
        again = await client.send(NAME, visit)

        unknown = await client.send("define_policy", policy("Odd", http, bob, "postpone_visit"))
        await client.do("define_policy", policy("Deferring", http, bob, NAME))
        granted = await client.send(NAME, visit, token="bob")

        described = (await client.http.get("/openapi.json")).json()["paths"][PATH]["post"]
        history = await client.do("get_visit_history", visit)
        metrics = (await client.http.get("/metrics")).text
        outcomes = re.findall(
            rf'beamkeep_calls_total{{name="{NAME}",outcome="(\w+)",surface="HTTP"}}', metrics
        )
        seen = await by_mcp(service, await arrived())
    return {
        "where": str(Path(beamkeep.__file__).parent),
        "rest": [deferred.status_code, shown["status"], again.status_code, again.json()["code"]],
        "without a grant": [denied.status_code, denied.json()["code"]],
        "policy with an unknown name": [unknown.status_code, unknown.json()["code"]],
        "with a grant": granted.status_code,
        **seen,
        "openapi": [
            described["operationId"],
            [status for status in described["responses"] if status.startswith("2")],
        ],
        "history": [event["event_type"] for event in history["items"]],
        "metrics": sorted(outcomes),
    }


async def by_mcp(service: Any, visit: dict[str, str]) -> dict[str, str]:
    """The tool's text, and the visit's status after the tool was called."""
    from mcp import Client

    from beamkeep.kernel import SurfaceKind
    from beamkeep.surfaces.tools.server import server
    from beamkeep.testing.service import by

    async def ada(_: object) -> Any:
        return by("ada", SurfaceKind.MCP_STREAMABLE_HTTP)

    async with Client(server(service, ada, asked="visit")) as mcp:
        (tool,) = [tool for tool in (await mcp.list_tools()).tools if tool.name == NAME]
        answer: Any = await mcp.call_tool(NAME, visit)
        assert not answer.is_error, answer
        shown: Any = await mcp.call_tool("get_visit", visit)
    return {"tool": tool.description or "", "tool answers": shown.structured_content["status"]}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(probe())))
