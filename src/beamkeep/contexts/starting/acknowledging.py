"""Cautions at a start: which are shown, and what is kept of them."""

from collections.abc import Iterable, Sequence

from beamkeep.contexts.caution.caution import Caution, CautionSeverity, cautions
from beamkeep.contexts.run.run import AcknowledgedCaution, CautionTarget
from beamkeep.contexts.seams.installation import Reader

MOST_CAUTIONS = 200
SHOWN = frozenset({CautionSeverity.CAUTION, CautionSeverity.WARNING})


class ShownCaution(AcknowledgedCaution):
    """A caution as it is shown at a start."""

    text: str
    workaround: str


def shown(found: Iterable[Caution]) -> list[Caution]:
    """Return those of the cautions that are shown at a start."""
    return [caution for caution in found if caution.severity in SHOWN][:MOST_CAUTIONS]


def acknowledgement(caution: Caution) -> AcknowledgedCaution:
    """Return what an event keeps of a caution: not its text, which may name people."""
    target = CautionTarget.of(caution.target)
    return AcknowledgedCaution.of(caution, caution_id=caution.id, target=target)


def as_shown(caution: Caution) -> ShownCaution:
    """Return a caution with its text and workaround."""
    return ShownCaution.of(caution, caution_id=caution.id, target=CautionTarget.of(caution.target))


async def shown_again(
    acknowledged: Sequence[AcknowledgedCaution], read: Reader
) -> tuple[ShownCaution, ...]:
    """Return acknowledged cautions with their texts, which never change."""
    found = await read.many(cautions, [each.caution_id for each in acknowledged])
    return tuple(map(as_shown, found.values()))
