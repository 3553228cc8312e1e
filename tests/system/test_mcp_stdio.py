"""`beamkeep mcp`: the tools of a running service on standard input and output."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters
from tests.support.pseudo_terminal import BEAMKEEP

from beamkeep.testing.server import Server
from beamkeep_client.logins import Login, file_of, store

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

type Mode = Literal["auto", "legacy"]
MODES: list[Mode] = ["auto", "legacy"]


@asynccontextmanager
async def connected(*words: str, mode: Mode = "auto", **environment: str) -> AsyncGenerator[Client]:
    """The official client, and `beamkeep mcp` as its server."""
    parameters = StdioServerParameters(
        command=BEAMKEEP, args=["mcp", *words], env=environment, cwd=str(Path(sys.prefix))
    )
    async with Client(parameters, mode=mode) as client:
        yield client


def structured(answer: Any) -> dict[str, Any]:
    assert not answer.is_error, answer
    return answer.structured_content


@pytest.mark.parametrize("mode", MODES)
async def test_tools_resources_and_prompts_of_the_service_are_those_of_the_program(
    server: Server, mode: Mode
):
    way_in = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.admin}
    async with connected(mode=mode, **way_in) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"start_run", "find_operation", "call_operation"} <= {*names}
        made = structured(await client.call_tool("define_zone", {"name": "Réserve"}))
        read = await client.read_resource(f"beamkeep://zone/{made['zone_id']}")
        assert "Réserve" in str(read)
        assert "shift_handover" in [each.name for each in (await client.list_prompts()).prompts]
        me = structured(await client.call_tool("get_self", {}))
        assert (me["name"], me["surface"]["kind"]) == ("Ada", "MCP_STREAMABLE_HTTP")


async def test_the_toolsets_asked_for_are_listed(server: Server):
    way_in = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.admin}
    async with connected("--toolsets", "zone", mode="auto", **way_in) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["define_zone", "get_zone", "get_zone_history", "list_zones"]


async def test_a_url_and_a_login_are_enough(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    login = Login(
        url=server.url,
        resource=server.url,
        client_id="cli",
        token_endpoint="https://idp.test/token",
        access_token=server.admin,
        expires_at=4e9,
    )
    store("default", login)
    assert file_of("default").exists()
    async with connected(BEAMKEEP_URL=server.url, XDG_CONFIG_HOME=str(tmp_path)) as client:
        assert structured(await client.call_tool("get_self", {}))["name"] == "Ada"


@pytest.mark.parametrize("mode", MODES)
async def test_a_refusal_is_the_error_of_the_call(server: Server, mode: Mode):
    way_in = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.token("nobody")}
    unregistered = pytest.RaisesExc(
        MCPError, check=lambda error: error.data["code"] == "UnregisteredLoginError"
    )
    with pytest.RaisesGroup(unregistered, flatten_subgroups=True):
        async with connected(mode=mode, **way_in):
            pass
