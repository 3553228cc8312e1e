"""Times as people write them."""

import re
from datetime import datetime, timedelta
from typing import Any

import click

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


class TimeParameter(click.ParamType[str]):
    """A time, sent as the service reads it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        meant = time_of(str(value))
        return meant.isoformat() if meant else self.fail(f"Write a time as {FORMS}.", param, ctx)
