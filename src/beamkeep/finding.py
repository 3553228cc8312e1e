"""How operations are found by words, and by the context that they belong to."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from beamkeep.kernel import Aggregate, Catalogue, Operation, Question
from beamkeep_client.words import OperationIndex, OperationTexts


@cache
def operation_index(catalogue: Catalogue) -> OperationIndex:
    """Return the search of a catalogue, which is that of the command line."""
    found: Mapping[str, OperationTexts] = {
        name: _texts(row) for name, row in catalogue.named.items()
    }
    return OperationIndex(found)


def _texts(row: Operation | Question) -> OperationTexts:
    model = row.command if isinstance(row, Operation) else row.query
    parameters = " ".join([*row.route.fields, *model.model_fields])
    return OperationTexts(f"{row.name} {row.aggregate.noun}", row.doc, parameters)


def context_of(aggregate: Aggregate[Any, Any, Any]) -> str:
    """Return the name of the context that an aggregate belongs to."""
    return aggregate.begin.__module__.split(".")[-2]
