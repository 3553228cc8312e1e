"""The gate of work in enclosures: which of them permit it, by reports that still count."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from uuid import UUID

from beamkeep.contexts.trust.freshness import as_stale, is_stale
from beamkeep.kernel import Reader, Record

from .enclosure import FRESHNESS, Enclosure, EnclosureLifecycle, PermitStatus, enclosures


class Permit(Record):
    """What an enclosure says of work in it."""

    enclosure: Enclosure
    stale: bool
    """Whether it counts as `Unknown`, whatever is on record."""
    age: timedelta | None
    """How old the last report is."""

    @property
    def holds(self) -> bool:
        """Whether work may proceed."""
        permitted = self.enclosure.permit_status is PermitStatus.PERMITTED and not self.stale
        return permitted and self.enclosure.lifecycle is EnclosureLifecycle.ACTIVE

    @property
    def state(self) -> str:
        """`Permitted, Active`, as a refusal may show it."""
        status = as_stale(self.age) if self.stale else self.enclosure.permit_status
        return f"{status}, {self.enclosure.lifecycle}"


async def permits(ids: Iterable[UUID], read: Reader) -> Mapping[UUID, Permit]:
    """What these enclosures say now; whatever is not known to be fresh is not known."""
    found = await read.many(enclosures, ids)
    rows = await read.rows(FRESHNESS, enclosure_id={*found}) if found else ()
    ages = {row.enclosure_id: row.age for row in rows}
    return {
        id: Permit(each, _counts_no_more(each, ages.get(id), read), ages.get(id))
        for id, each in found.items()
    }


def _counts_no_more(enclosure: Enclosure, age: timedelta | None, read: Reader) -> bool:
    known = enclosure.permit_status is not PermitStatus.UNKNOWN
    return is_stale(age, read.installation.stale_after) or (known and age is None)
