from collections.abc import Callable
from typing import Any

det: Any
det1: Any
motor: Any

class SynSignal:
    def __init__(self, *, name: str, func: Callable[[], Any]) -> None: ...
