"""Which tools are listed: all of a few, the everyday ones of many, or the toolsets asked for."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen, MinLen
from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict

from beamkeep.kernel import Catalogue, NotFound, Operation, Question
from beamkeep.surfaces.tools.finding import context_of, operation_index

MOST_LISTED = 40
"""Up to this number all tools are listed."""

EVERYDAY = (
    "get_status",
    "get_shift_handover",
    "get_plan_readiness",
    "search",
    "start_run",
    "list_runs",
    "hold_run",
    "resume_run",
    "complete_run",
    "stop_run",
    "abort_run",
    "append_run_logbook_entry",
    "list_supplies",
    "fault_asset",
)
"""The toolset `everyday`: what a shift asks and does most, in few enough characters."""


HTTP_ONLY = frozenset({"approve_proposal"})
"""What is refused over MCP always, because a person approves on another surface."""
NEEDS_APPROVAL = "Needs approval. "
"""What the description of a tool begins with that the caller may only propose."""


class UnknownToolsetError(NotFound):
    """There is no toolset of this name."""


class FindOperation(BaseModel):
    """The arguments of `find_operation`."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    words: Annotated[str, MinLen(1), MaxLen(500)]
    """What you want to do or know, such as `pause the scan` or `which hutch is open`."""
    limit: Annotated[int, Ge(1), Le(20)] = 5
    """Most definitions to return."""


class CallOperation(BaseModel):
    """The arguments of `call_operation`."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    name: str
    """Name, as find_operation returned it."""
    arguments: dict[str, Any] = {}
    """Its arguments, as its input schema says."""


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    fields = schema["properties"].items()
    schema["properties"] = {
        name: {k: v for k, v in field.items() if k != "title"} for name, field in fields
    }
    return {key: each for key, each in schema.items() if key not in {"title", "description"}}


FIND_OPERATION = Tool(
    name="find_operation",
    title="Find operation",
    description=(
        "Find by words operations and questions that you may call. Return their definitions, best"
        " first."
    ),
    input_schema=_schema(FindOperation),
    output_schema={
        "type": "object",
        "properties": {"operations": {"type": "array", "items": {"type": "object"}}},
        "required": ["operations"],
        "additionalProperties": False,
    },
    annotations=ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
)
CALL_OPERATION = Tool(
    name="call_operation",
    title="Call operation",
    description=(
        "Call an operation or question by its name. Permissions, checks and answers are those of"
        " its own tool. Find its definition with find_operation first."
    ),
    input_schema=_schema(CallOperation),
    output_schema={"type": "object"},
    # It may call anything, so its hints are those of the most dangerous operation.
    annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False),
)


class Toolbox:
    """The tools of a catalogue: which of them a caller is shown, and which words find."""

    def __init__(self, catalogue: Catalogue, tools: Mapping[str, Tool]) -> None:
        self._tools, self._index = tools, operation_index(catalogue)
        self._proposed = {
            name: tools[name].model_copy(
                update={"description": f"{NEEDS_APPROVAL}{tools[name].description}"}
            )
            for name in catalogue.proposable
        }
        self._toolsets = {name: _toolsets(row) for name, row in catalogue.named.items()}

    def listed(
        self, permitted: Collection[str], toolsets: str, proposable: Collection[str] = ()
    ) -> list[Tool]:
        """Return the tools to list, in the catalogue's order, of those that are permitted.

        `toolsets` are names with commas between them: `everyday`, nouns of aggregates, names of
        contexts. Without any, all tools are listed if they are few; otherwise the everyday ones,
        and the two tools that reach the others.
        """
        shown = self._shown(proposable)
        named = [name for name in self._tools if name in permitted]
        if asked := {each.strip() for each in toolsets.split(",")} - {""}:
            self._require_known(asked)
            return [shown[name] for name in named if self._toolsets[name] & asked]
        if len(named) <= MOST_LISTED:
            return [shown[name] for name in named]
        everyday = [shown[name] for name in named if name in EVERYDAY]
        return [*everyday, FIND_OPERATION, CALL_OPERATION]

    def _shown(self, proposable: Collection[str]) -> Mapping[str, Tool]:
        return {**self._tools, **{name: self._proposed[name] for name in proposable}}

    def find(
        self, asked: FindOperation, permitted: Collection[str], proposable: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the definitions that words find, of the tools that are permitted."""
        names = self._index.find(asked.words, permitted, asked.limit)
        shown = self._shown(proposable)
        found = [shown[name] for name in names]
        dumped = [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in found]
        return {"operations": dumped}

    def _require_known(self, asked: Collection[str]) -> None:
        every = frozenset[str]().union(*self._toolsets.values())
        if unknown := sorted(set(asked) - every):
            known = ", ".join(sorted(every))
            raise UnknownToolsetError(f"{unknown[0][:50]!r} is none of {known}.")


def _toolsets(row: Operation | Question) -> frozenset[str]:
    """Return the toolsets of an operation or question."""
    everyday = {"everyday"} if row.name in EVERYDAY else set[str]()
    return frozenset({row.aggregate.noun, context_of(row.aggregate), *everyday})
