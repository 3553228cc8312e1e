"""Clocks that are wrong, and what trusts them though it should not."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.tail import PAGE

HOUR = 3600
SHIFTS = (2 * HOUR, -2 * HOUR, 24 * HOUR, -24 * HOUR)
"""By how many seconds a clock is wrong."""

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))


class JumpingClock:
    """The clock of a process: right, but for a shift that may change at any moment."""

    def __init__(self) -> None:
        self.shift = 0

    def now(self) -> datetime:
        """The time, as the clock seam tells it."""
        return datetime.now(UTC) + timedelta(seconds=self.shift)

    def new_id(self) -> UUID:
        """An id made of that time, as a process makes it that has just begun."""
        return uuid7(nanoseconds=int(self.now().timestamp() * 1e9))


class FakedTime:
    """The clock of another process, shifted through libfaketime."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "shift"
        self.set(0)

    def set(self, seconds: int) -> None:
        """Let the clock be wrong by so much from now on."""
        self._file.write_text(f"{seconds:+d}\n")

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process is started with to have this clock; its stopwatch stays right."""
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }


class SelfDatedConnections(Connections):
    """Dates every record by the clock of the process that writes it."""

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        dated = statement.replace(
            "causation_id, occurred_at)", "causation_id, occurred_at, recorded_at)"
        )
        dated = re.sub(r"(\$\d+::timestamptz)(?=\s+FROM new_event)", r"\1, \1", dated)
        assert dated != statement or "INSERT INTO bk.events" not in statement
        return await super().fetch(dated, *arguments)


class TimelyConnections(Connections):
    """Reads every page of the tail by the time at which its events are said to have happened."""

    async def read(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        assert "ORDER BY e.transaction_id, e.position" in PAGE
        timely = re.sub(
            r"ORDER BY (\w)\.transaction_id, \w\.position", r"ORDER BY \1.occurred_at", statement
        )
        timely = timely.replace(
            "e.schema_version, e.payload\n", "e.schema_version, e.payload, e.occurred_at\n"
        )
        return await super().read(timely, *arguments)
