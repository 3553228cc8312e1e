"""Call one tool of a running service over MCP: `mcp_client.py list_visits '{"limit": 5}'`."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult


async def main(tool: str, arguments: str = "{}") -> int:
    """Call the tool and print what it answers; the exit code says whether it was refused."""
    headers = {"Authorization": f"Bearer {os.environ['BEAMKEEP_TOKEN']}"}
    url = f"{os.environ['BEAMKEEP_URL']}/mcp"
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        answer = await client.call_tool(tool, json.loads(arguments))
    assert isinstance(answer, CallToolResult)  # noqa: S101
    print(json.dumps(answer.structured_content, indent=2))
    return int(bool(answer.is_error))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
