# The part of aioca that Beamkeep uses; the package itself ships no types.
from collections.abc import Callable

from .types import AugmentedValue

DBE_ALARM: int
DBE_VALUE: int
DBR_ENUM_STR: int
FORMAT_CTRL: int
FORMAT_TIME: int

class CANothing(Exception):
    ok: bool
    errorcode: int

class CAInfo:
    state: int
    write: bool
    count: int
    datatype: int

class ChannelInfo:
    name: str
    connected: bool
    subscriber_count: int

class Subscription:
    CLOSED: int
    state: int
    def close(self) -> None: ...

async def caget(pv: str, format: int = ..., timeout: float | None = ...) -> AugmentedValue: ...
async def cainfo(pv: str, timeout: float | None = ...) -> CAInfo: ...
async def caput(
    pv: str, value: object, datatype: int = ..., wait: bool = ..., timeout: float | None = ...
) -> CANothing: ...
def camonitor(
    pv: str,
    callback: Callable[[AugmentedValue | CANothing], None],
    events: int = ...,
    datatype: int = ...,
    format: int = ...,
    all_updates: bool = ...,
    notify_disconnect: bool = ...,
    connect_timeout: float | None = ...,
) -> Subscription: ...
def get_channel_infos() -> list[ChannelInfo]: ...
def purge_channel_caches() -> None: ...
