"""The cautions a run is started under: which are shown, what is kept of them, what is answered."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from beamkeep.contexts.caution.caution import Caution, CautionSeverity, cautions
from beamkeep.contexts.run.run import AcknowledgedCaution, CautionTarget, runs
from beamkeep.kernel import Reader, Record

from .advising import advised
from .checks import Fact

MOST_CAUTIONS = 200
SHOWN = frozenset({CautionSeverity.CAUTION, CautionSeverity.WARNING})


def shown(found: Iterable[Caution]) -> list[Caution]:
    """Those of the cautions that whoever starts a run is shown."""
    return [caution for caution in found if caution.severity in SHOWN][:MOST_CAUTIONS]


def acknowledgement(caution: Caution) -> AcknowledgedCaution:
    """What the run keeps of a caution: not its text, which may name people."""
    target = CautionTarget(caution.target.kind, caution.target.id)
    return AcknowledgedCaution(caution.id, target, caution.category, caution.severity)


class ShownCaution(Record):
    """A caution as it is shown at a start."""

    caution_id: UUID
    target: CautionTarget
    category: str
    severity: str
    text: str
    workaround: str


def as_shown(caution: Caution) -> ShownCaution:
    """A caution with what it says."""
    kept = acknowledgement(caution)
    parts = kept.caution_id, kept.target, kept.category, kept.severity
    return ShownCaution(*parts, caution.text, caution.workaround)


class Acknowledged(Record):
    acknowledged_cautions: tuple[ShownCaution, ...]
    advisories: tuple[Fact, ...]
    """What was worth knowing at the start and refused nothing."""


async def acknowledged(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, Acknowledged]:
    """What was shown at the start of each run: cautions with their texts, which never change."""
    started = await read.many(runs, ids)
    kept = {id: [c.caution_id for c in run.acknowledged_cautions] for id, run in started.items()}
    found = await read.many(cautions, sorted({id for each in kept.values() for id in each}))
    return {
        id: Acknowledged(
            tuple(as_shown(found[each]) for each in theirs), await advised(started[id], read)
        )
        for id, theirs in kept.items()
    }
