"""Reports: whether the monitor of an enclosure was ever heard of, according to the events.

A report that repeats the last one leaves no event, so that events do not say when the last was.
"""

from uuid import UUID

from beamkeep.kernel import Record, replace

from . import enclosure


class Heard(Record):
    """Whether the row of an enclosure has the time of a report."""

    enclosure_id: UUID
    is_reported: bool = False


def begin(event: enclosure.EnclosureRegistered) -> Heard:
    return Heard(event.enclosure_id)


def evolve(heard: Heard, event: enclosure.EnclosureChanged) -> Heard:
    if isinstance(event, enclosure.EnclosureDecommissioned):
        return replace(heard, is_reported=False)
    if not isinstance(event, enclosure.EnclosurePermitObserved):
        return heard
    is_report = event.to_permit_status is not enclosure.PermitStatus.UNKNOWN
    return replace(heard, is_reported=heard.is_reported or is_report)


def heard_of(row: enclosure.Freshness) -> Heard:
    """Return what the events say of a row."""
    return Heard(row.enclosure_id, row.last_reported_at is not None)
