"""Examples of changes that need no preparation but a move to the state that they begin in."""

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, get_args, get_origin

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation
from beamkeep.runtime.remedies import moves_of
from beamkeep.testing.examples import CallExample, Do


def derived(written: Mapping[str, CallExample]) -> dict[str, CallExample]:
    """Return an example of every change that nobody has written one of and that can be made."""
    missing = [row for row in CATALOGUE.operations if row.name not in written]
    found = {row.name: _example(row, written) for row in missing}
    return {name: example for name, example in found.items() if example}


def _example(row: Operation, written: Mapping[str, CallExample]) -> CallExample | None:
    """Return an example that first carries out the example of the move before."""
    aggregate = row.aggregate
    fields = row.command.model_fields.items()
    required = [
        name for name, field in fields if field.is_required() and name != aggregate.id_field
    ]
    values = {name: _value(name, row.command.model_fields[name].annotation) for name in required}
    if None in values.values():
        return None
    before = next((each for each in _before(row) if each.name in written), None)
    if before is None:
        return None
    prepare = written[before.name]

    async def example(do: Do) -> dict[str, Any]:
        arguments = await prepare(do)
        answer = await do(before.name, arguments)
        id = (answer if before.genesis else arguments)[aggregate.id_field]
        return {aggregate.id_field: id, **values}

    return example


def _value(name: str, annotation: Any) -> Any:
    """Return an argument that is probably not what the object has, or None if none is known."""
    while get_origin(annotation) is Annotated or hasattr(annotation, "__value__"):
        annotation = getattr(annotation, "__value__", None) or get_args(annotation)[0]
    if annotation is str:
        return f"Another {name.replace('_', ' ')}"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [*annotation][-1].value
    return True if annotation is bool else None


def _before(row: Operation) -> list[Operation]:
    """Return the operations that lead to a state from which this one is allowed."""
    of = row.aggregate
    sources = [(move.axis, state) for move in moves_of(row, of.axes) for state in move.sources]
    found = [
        each
        for each in CATALOGUE.operations
        if each.aggregate is of and each is not row
        if each.genesis
        or any((move.axis, move.target) in sources for move in moves_of(each, of.axes))
    ]
    # A move that leads there is sure to. The first command may lead elsewhere.
    return sorted(found, key=lambda each: each.genesis)
