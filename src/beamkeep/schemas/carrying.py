"""Carrying: values are checked against the schema of their declarer when they are written."""

from collections.abc import Mapping

from beamkeep.kernel import Record, Refusal

from .bounds import MAX_LEVELS, Json, JsonObject, JsonPath, path_text, refused, require_bounded
from .nodes import JsonSchema, below, closed, is_number, properties, unit
from .validating import violation


def carry(
    values: object, schema: JsonSchema | None, refusal: type[Refusal], declarer: str
) -> JsonObject:
    """Return the values unchanged; raise the refusal when they do not fit the declarer's schema."""
    carried = require_bounded(values, refusal)
    if carried and schema is None:
        raise _undeclared(carried, refusal, declarer)
    return _taken(carried, schema, refusal) if carried and schema is not None else carried


def carry_whole(values: object, schema: JsonSchema, refusal: type[Refusal]) -> JsonObject:
    """Return the values as `carry` does, but check the schema for an empty object too."""
    return _taken(require_bounded(values, refusal), schema, refusal)


def carry_settings(
    values: object, schemas: Mapping[str, JsonSchema | None], refusal: type[Refusal]
) -> JsonObject:
    """Return the settings unchanged; raise the refusal when they do not fit a family's schema."""
    carried = require_bounded(values, refusal)
    present = {family: schema for family, schema in schemas.items() if schema is not None}
    if carried and not present:
        raise _undeclared(carried, refusal, "a family")
    for family, schema in present.items():
        part = {name: carried[name] for name in carried.keys() & properties(schema).keys()}
        if part and (found := violation(part, schema)):
            path, rule, why = found
            raise refused(refusal, path, rule, f"{why} (family {family})")
    declared = {name for schema in present.values() for name in properties(schema)}
    if (other := carried.keys() - declared) and all(map(closed, present.values())):
        name = min(other)
        why = f"no family declares `{name[:100]}`"
        raise refused(refusal, (name,), "additionalProperties", why)
    return carried


def merge_patch(values: JsonObject, patch: JsonObject) -> JsonObject:
    """Return the values with a JSON merge patch (RFC 7396) applied."""
    merged = dict(values)
    pending = [(merged, patch, 1)]
    while pending:
        into, changes, level = pending.pop()
        for name, change in changes.items():
            if change is None:
                into.pop(name, None)
            # Nothing is merged below the deepest level of values, because `carry` refuses it.
            elif isinstance(change, dict) and level < MAX_LEVELS:
                present: Json = into.get(name)
                inner = dict(present) if isinstance(present, dict) else {}
                into[name] = inner
                pending.append((inner, change, level + 1))
            else:
                into[name] = change
    return merged


def untouched(values: JsonObject, patch: JsonObject) -> JsonObject:
    """Return the values that a merge patch does not name."""
    left: JsonObject = {}
    for name, value in values.items():
        change = patch.get(name)
        if name not in patch:
            left[name] = value
        elif isinstance(value, dict) and isinstance(change, dict):
            left[name] = untouched(value, change)
    return left


class UnitChange(Record):
    """A number whose declared unit has changed since the number was written."""

    path: str
    value: Json
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.value} was written in {self.before}; the unit is now {self.now}"


def changed_units(
    values: JsonObject, before: JsonSchema | None, now: JsonSchema | None
) -> list[UnitChange]:
    """Return the numbers among the values whose unit differs between two schemas."""
    found: list[UnitChange] = []
    if before is None or now is None:
        return found  # without a schema there are no values
    pending: list[tuple[JsonPath, Json, JsonObject, JsonObject]] = [((), values, before, now)]
    while pending:
        path, value, old, new = pending.pop()
        if isinstance(value, dict):
            then, today = properties(old), properties(new)
            pending += [
                ((*path, name), value[name], below(then.get(name)), below(today.get(name)))
                for name in reversed(value)
            ]
        elif isinstance(value, list):
            items = below(old.get("items")), below(new.get("items"))
            pending += [((*path, n), value[n], *items) for n in reversed(range(len(value)))]
        elif is_number(value) and unit(old) != unit(new):
            texts = _unit_text(old), _unit_text(new)
            found.append(UnitChange(path_text(path), value, before=texts[0], now=texts[1]))
    return found


def _unit_text(node: JsonObject) -> str:
    found = unit(node)
    return f"{found[1]} ({found[0]})" if found else "no unit"


def _taken(carried: JsonObject, schema: JsonSchema, refusal: type[Refusal]) -> JsonObject:
    if found := violation(carried, schema):
        raise refused(refusal, *found)
    return carried


def _undeclared(values: JsonObject, refusal: type[Refusal], declarer: str) -> Refusal:
    names = ", ".join(f"`{name}`" for name in sorted(values))
    first = f"declare one on {declarer} first ({{}} for no constraint)"
    return refused(refusal, (), "schema", f"no schema is declared for {names}; {first}")
