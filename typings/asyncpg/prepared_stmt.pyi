from typing import Any

from . import Record

class PreparedStatement:
    async def fetch(self, *args: Any, timeout: float | None = None) -> list[Record]: ...
