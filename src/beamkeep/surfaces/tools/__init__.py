"""What agents are shown: the definitions of tools, which of them are listed, and a search."""

from .compact import compact, unfold
from .definitions import INSTRUCTIONS, CallOptions, ChangeOptions, options_of, tool_definition
from .prompts import get_prompt, list_prompts
from .resources import Resources
from .results import tool_result
from .selection import (
    CALL_OPERATION,
    EVERYDAY,
    FIND_OPERATION,
    HTTP_ONLY,
    MOST_LISTED,
    CallOperation,
    FindOperation,
    Toolbox,
    UnknownToolsetError,
)

__all__ = [
    "CALL_OPERATION",
    "EVERYDAY",
    "FIND_OPERATION",
    "HTTP_ONLY",
    "INSTRUCTIONS",
    "MOST_LISTED",
    "CallOperation",
    "CallOptions",
    "ChangeOptions",
    "FindOperation",
    "Resources",
    "Toolbox",
    "UnknownToolsetError",
    "compact",
    "get_prompt",
    "list_prompts",
    "options_of",
    "tool_definition",
    "tool_result",
    "unfold",
]
