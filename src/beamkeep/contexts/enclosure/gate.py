"""The enclosure gate: which enclosures permit work, by reports that are not stale."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.trust.freshness import as_stale, is_stale
from beamkeep.kernel import Record

from .enclosure import FRESHNESS, Enclosure, EnclosureLifecycle, PermitStatus, enclosures


class EnclosurePermit(Record):
    """An enclosure, with the age of the last report on its permit."""

    enclosure: Enclosure
    stale: bool
    """Whether the permit counts as Unknown, whatever is recorded."""
    age: timedelta | None
    last_reported_at: datetime | None

    @property
    def holds(self) -> bool:
        """Whether the enclosure is Active and Permitted."""
        permitted = self.enclosure.permit_status is PermitStatus.PERMITTED and not self.stale
        return permitted and self.enclosure.lifecycle is EnclosureLifecycle.ACTIVE

    @property
    def state(self) -> str:
        """The permit status that counts and the lifecycle, for a person."""
        status = as_stale(self.age) if self.stale else self.enclosure.permit_status
        return f"{status}, {self.enclosure.lifecycle}"


async def permits(ids: Iterable[UUID], read: Reader) -> Mapping[UUID, EnclosurePermit]:
    """Return the permits of these enclosures; a permit without a fresh report is stale."""
    found = await read.many(enclosures, ids)
    rows = await read.rows(FRESHNESS, enclosure_id={*found}) if found else ()
    heard = {row.enclosure_id: (row.age, row.last_reported_at) for row in rows}
    known = dict[UUID, EnclosurePermit]()
    for id, each in found.items():
        age, reported_at = heard.get(id, (None, None))
        stale = _is_stale(each, age, read)
        known[id] = EnclosurePermit(each, stale, age, last_reported_at=reported_at)
    return known


def _is_stale(enclosure: Enclosure, age: timedelta | None, read: Reader) -> bool:
    known = enclosure.permit_status is not PermitStatus.UNKNOWN
    return is_stale(age, read.facts.stale_after) or (known and age is None)
