"""Times as people write them."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from .catalogue import Entry

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
BEFORE = re.compile(r"-?([0-9]{1,6})([smhdw])")
CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
FORMS = "2h or -2h (ago), 14:05, yesterday, or 2030-01-31T14:05"


def now() -> datetime:
    """Return the time in the zone of this machine."""
    return datetime.now().astimezone()


def time_of(text: str) -> datetime | None:
    """Return the time that a text means, in the local zone unless it names one."""
    here = now()
    if found := BEFORE.fullmatch(text):
        return here - timedelta(**{UNITS[found[2]]: int(found[1])})
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in DAYS:
        return midnight + timedelta(days=DAYS[text])
    if found := CLOCK.fullmatch(text):
        return midnight.replace(hour=int(found[1]), minute=int(found[2]))
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        return None


def with_times(entry: Entry, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments that are given; a time may be a datetime or written as `-12h`."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return {name: _sent(value, entry.fields[name].format) for name, value in given.items()}


def _sent(value: object, format: str | None) -> object:
    meant = time_of(value) if isinstance(value, str) and format == "date-time" else value
    return meant.astimezone().isoformat() if isinstance(meant, datetime) else value
