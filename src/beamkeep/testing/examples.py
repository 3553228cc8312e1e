"""What examples are made with: `do(name, arguments)` makes a call on any surface."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from beamkeep.kernel import Event, SideWrite


class Do(Protocol):
    """Makes one call that must succeed, and gives back its answer, nothing for an empty one."""

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any: ...

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Make one call as the machine account that is permitted everything."""
        ...

    async def put(self, part: Event | SideWrite, *, owned: bool = False) -> None:
        """Put on record an event that begins a stream, or a row, that no call can write.

        The stream belongs to nobody who calls, unless it is to be owned by the caller.
        """
        ...

    async def facility(self, code: str) -> str:
        """Return the id of a facility, for any caller."""
        ...


type CallExample = Callable[[Do], Awaitable[dict[str, Any]]]
"""Makes the world ready for a call, and gives back the arguments of that call."""
type Make = Callable[[Do], Awaitable[Any]]


def given(**parts: Make | str | list[str]) -> CallExample:
    """Arguments of which some, those that are functions, are made first."""

    async def example(do: Do) -> dict[str, Any]:
        return {
            name: part if isinstance(part, str | list) else await part(do)
            for name, part in parts.items()
        }

    return example


def made(command: str, example: CallExample, id_field: str) -> Make:
    """What a command creates by its example, as its id."""

    async def make(do: Do) -> Any:
        return (await do(command, await example(do)))[id_field]

    return make


def changed(command: str, example: CallExample, id_field: str) -> Make:
    """What a command changes by its example, as its id."""

    async def make(do: Do) -> Any:
        arguments = await example(do)
        await do(command, arguments)
        return arguments[id_field]

    return make
