"""An example of what one shift leaves to the next."""

from datetime import UTC, datetime, timedelta
from typing import Any

from beamkeep.testing.examples import CallExample, Do
from tests.support.examples.run import a_held_run


async def get_shift_handover(do: Do) -> dict[str, Any]:
    await a_held_run(do)
    now = datetime.now(UTC)
    return {
        "from": (now - timedelta(hours=8)).isoformat(),
        "to": (now + timedelta(minutes=5)).isoformat(),
    }


EXAMPLES: dict[str, CallExample] = {"get_shift_handover": get_shift_handover}
