"""The texts by which agents find operations; the search is that of the command line."""

from collections.abc import Mapping
from functools import cache

from beamkeep.kernel import Catalogue, Operation, Question
from beamkeep_client.words import OperationIndex, OperationTexts


@cache
def operation_index(catalogue: Catalogue) -> OperationIndex:
    """Return the search of a catalogue."""
    found: Mapping[str, OperationTexts] = {
        name: _texts(row) for name, row in catalogue.named.items()
    }
    return OperationIndex(found)


def _texts(row: Operation | Question) -> OperationTexts:
    model = row.command if isinstance(row, Operation) else row.query
    parameters = " ".join([*row.route.fields, *model.model_fields])
    return OperationTexts(f"{row.name} {row.aggregate.noun}", row.doc, parameters)
