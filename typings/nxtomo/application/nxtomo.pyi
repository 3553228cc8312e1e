"""The part of nxtomo that the tests use."""

from datetime import datetime
from typing import Any

class NXtomo:
    title: str
    start_time: datetime
    end_time: datetime
    instrument: Any
    sample: Any
    def save(self, file_path: str, data_path: str) -> None: ...
