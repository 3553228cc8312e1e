"""An example of reading the log."""

from typing import Any

from tests.support.examples.making import Do, Example
from tests.support.examples.run import a_held_run


async def list_events(do: Do) -> dict[str, Any]:
    await a_held_run(do)
    return {"type": ["RunHeld"], "stream_type": ["Run"], "limit": 5}


EXAMPLES: dict[str, Example] = {"list_events": list_events}
