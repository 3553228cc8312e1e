"""Resources: every object at `beamkeep://<noun>/<id>`, as its question shows it."""

import re
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from beamkeep.kernel import Catalogue

ADDRESS = re.compile(r"beamkeep://([a-z_]+)/([0-9a-fA-F-]{36})")
JSON = "application/json"


class Resources:
    """The objects of a catalogue by their addresses."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._gets = {row.aggregate.noun: row for row in catalogue.gets.values()}

    async def listed(
        self, context: object, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return no object: those of a facility are too many to list, and tools find them.

        A client reads objects only from a server that answers this question.
        """
        return types.ListResourcesResult(resources=[])

    async def templates(
        self, context: object, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the address of each kind of object."""
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    name=noun,
                    title=noun.replace("_", " ").capitalize(),
                    uri_template=f"beamkeep://{noun}/{{{row.aggregate.id_field}}}",
                    mime_type=JSON,
                )
                for noun, row in self._gets.items()
            ]
        )

    def question(self, uri: str) -> types.CallToolRequestParams:
        """Return the call that reads an address. Raise MCPError when it is no address of ours."""
        found = ADDRESS.fullmatch(uri)
        row = self._gets.get(found[1]) if found else None
        if found is None or row is None:
            text = "A resource is beamkeep://<noun>/<id>, with a noun of resources/templates/list."
            raise MCPError(types.INVALID_PARAMS, text)
        arguments = {row.aggregate.id_field: found[2]}
        return types.CallToolRequestParams(name=row.name, arguments=arguments)

    def contents(self, uri: str, answer: types.CallToolResult) -> types.ReadResourceResult:
        """Return what a call answered. Raise MCPError with the problem when it was refused."""
        body = answer.content[0]
        if answer.is_error or not isinstance(body, types.TextContent):
            problem: dict[str, Any] = answer.structured_content or {}
            raise MCPError(types.INVALID_PARAMS, str(problem.get("detail", "")), problem)
        shown = types.TextResourceContents(uri=uri, mime_type=JSON, text=body.text)
        return types.ReadResourceResult(contents=[shown])
