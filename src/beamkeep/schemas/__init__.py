"""JSON Schemas that contexts declare, and the values that are checked against them. Pure."""

from .bounds import Json, JsonObject
from .canonical import canonical_text
from .carrying import (
    UnitChange,
    carry,
    carry_settings,
    carry_whole,
    changed_units,
    merge_patch,
    untouched,
)
from .declaring import declare, require_same_units
from .lint import lint_schema
from .nodes import JsonSchema
from .subset import require_subset

__all__ = [
    "Json",
    "JsonObject",
    "JsonSchema",
    "UnitChange",
    "canonical_text",
    "carry",
    "carry_settings",
    "carry_whole",
    "changed_units",
    "declare",
    "lint_schema",
    "merge_patch",
    "require_same_units",
    "require_subset",
    "untouched",
]
