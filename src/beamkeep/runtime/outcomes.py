"""What rules return: events, rows and what goes with them."""

from collections.abc import Mapping

from beamkeep import kernel
from beamkeep.kernel import Event, Identified, Outcome, Rows, replace

WRITES_NO_ROW = (Event, Identified, kernel.Fenced, kernel.Advice, kernel.Reply)


def side_writes_of(outcome: Outcome) -> list[kernel.SideWrite | Rows]:
    """Return the rows that an outcome writes with its events."""
    return [part for part in outcome if not isinstance(part, WRITES_NO_ROW)]


def events_of(outcome: Outcome) -> list[Event]:
    """Return the events of an outcome."""
    parts = (part.event if isinstance(part, Identified) else part for part in outcome)
    return [part for part in parts if isinstance(part, Event)]


def one_of[P](outcome: Outcome, kind: type[P]) -> P | None:
    """Return the part of an outcome that is of this kind, if there is one."""
    for part in outcome:
        if isinstance(part, kind):
            return part
    return None


def without_stored(outcome: Outcome, stored: Mapping[object, object]) -> Outcome:
    """Return an outcome without rows that are stored already, and with how many are new."""
    parts = list(outcome)
    for number, part in enumerate(outcome):
        if isinstance(part, Rows):
            if not stored:
                parts.append(kernel.Appended(len(part.rows), 0))
                continue
            keyed = [(getattr(row, part.table.key[0]), row) for row in part.rows]
            if any(stored.get(k, under := getattr(row, part.under)) != under for k, row in keyed):
                raise part.taken
            fresh = [row for key, row in keyed if key not in stored]
            parts[number] = replace(part, rows=fresh)
            parts.append(kernel.Appended(len(fresh), len(keyed) - len(fresh)))
    return parts
