from collections.abc import Callable, Generator
from typing import Any

from . import Msg

class SupplementalData:
    def __init__(self, *, baseline: list[Any]) -> None: ...
    def __call__(self, plan: Any) -> Any: ...

def plan_mutator(
    plan: Generator[Msg, Any, Any],
    msg_proc: Callable[[Msg], tuple[Generator[Msg, Any, Any] | None, None]],
) -> Generator[Msg, Any, Any]: ...
def finalize_wrapper(
    plan: Generator[Msg, Any, Any], final_plan: Generator[Msg, Any, Any]
) -> Generator[Msg, Any, Any]: ...
