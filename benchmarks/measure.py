"""How two ways of doing the same work are compared: short slices, turn about, and medians."""

import asyncio
import os
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

RESAMPLES = 4000
LEAST_TICKS = 5
TICKS = os.sysconf("SC_CLK_TCK")

type Step = Callable[[], Awaitable[object]]


class Side(Protocol):
    """One of the two ways."""

    pid: int
    """The process whose time is the client's."""

    async def prepare(self) -> None:
        """Get ready for a slice, outside the time measured."""
        ...

    async def run(self, seconds: float) -> int:
        """Work this long, and say how many operations were done."""
        ...


class Steps:
    """A side that repeats one step on each of its connections."""

    def __init__(self, steps: Sequence[Step], ready: Step | None = None) -> None:
        self._steps, self._ready, self.pid = steps, ready, os.getpid()

    async def prepare(self) -> None:
        """Make what the steps use up."""
        if self._ready:
            await self._ready()

    async def run(self, seconds: float) -> int:
        """Repeat every step until the time is over."""
        end = time.perf_counter() + seconds

        async def repeat(step: Step) -> int:
            done = 0
            while time.perf_counter() < end:
                await step()
                done += 1
            return done

        return sum(await asyncio.gather(*map(repeat, self._steps)))


class Plan(NamedTuple):
    """How much is measured: quads of slices, of which the first are dropped as warm-up."""

    quads: int
    dropped: int
    seconds: float

    def cut(self, quads: int) -> "Plan":
        """The same with no more quads than this, for what no gate rests on."""
        return Plan(min(self.quads, quads), min(self.dropped, 1), self.seconds)

    def alike(self) -> "Plan":
        """Enough quads to see how far a side strays from itself."""
        return self.cut(max(4, self.quads // 2))


class Slice(NamedTuple):
    """What was done in one slice or several, and what it took."""

    done: int
    seconds: float
    client: float
    server: float

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.done / self.seconds

    @property
    def cpu(self) -> float:
        """Processor seconds for one operation, of client and server together."""
        return (self.client + self.server) / self.done


class Quad(NamedTuple):
    """Two slices of each side, taken ABBA or BAAB."""

    bare: Slice
    ours: Slice


async def there_and_back[S](
    take: Callable[[S], Awaitable[Slice]], sides: Sequence[S]
) -> list[Slice]:
    """Take a slice of each side and then of each in reverse order, and add up those of a side."""
    first = [await take(side) for side in sides]
    second = [await take(side) for side in reversed(sides)]
    return [_sum(*both) for both in zip(first, reversed(second), strict=True)]


class Meter:
    """Takes slices, reading the processor time of the server and of each side's client."""

    def __init__(self, postmaster: int, least_ticks: int = LEAST_TICKS) -> None:
        self._postmaster, self._least = postmaster, least_ticks / TICKS

    async def compare(self, bare: Side, ours: Side, plan: Plan) -> list[Quad]:
        """Take the planned quads, and leave out those fixed in advance as warm-up."""

        async def take(side: Side) -> Slice:
            return await self.slice(side, plan.seconds)

        quads: list[Quad] = []
        for number in range(plan.quads):
            if number % 2 == 0:
                quads.append(Quad(*await there_and_back(take, (bare, ours))))
            else:
                quads.append(Quad(*reversed(await there_and_back(take, (ours, bare)))))
        return quads[plan.dropped :]

    async def slice(self, side: Side, seconds: float) -> Slice:
        """Take one slice of one side, or more where its processor time is too short."""
        found = Slice(0, 0.0, 0.0, 0.0)
        while found.client + found.server < self._least:
            found = _sum(found, await self._slice(side, seconds))
        return found

    async def _slice(self, side: Side, seconds: float) -> Slice:
        await side.prepare()
        client, server, since = used(side.pid), self.served(), time.perf_counter()
        done = await side.run(seconds)
        elapsed = time.perf_counter() - since
        return Slice(done, elapsed, used(side.pid) - client, self.served() - server)

    def served(self) -> float:
        """Processor seconds of the postmaster, its living children and those it has buried."""
        children = Path(f"/proc/{self._postmaster}/task/{self._postmaster}/children").read_text()
        return used(self._postmaster, buried=True) + sum(map(used, map(int, children.split())))


def _sum(one: Slice, two: Slice) -> Slice:
    done, seconds, client, server = (a + b for a, b in zip(one, two, strict=True))
    return Slice(int(done), seconds, client, server)


def used(pid: int, buried: bool = False) -> float:
    """Processor seconds of a process, and of the children it has waited for where asked."""
    try:
        # The name in brackets may itself hold spaces and brackets.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11 : 15 if buried else 13])) / TICKS


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The middle 95 % of the medians of many samples drawn from these values."""
    draw = random.Random(1)  # noqa: S311
    medians = sorted(
        statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    return medians[int(RESAMPLES * 0.025)], medians[int(RESAMPLES * 0.975)]


def spread(ratios: Sequence[float]) -> dict[str, Any]:
    """The median of some ratios, and how far they and it may stray."""
    return {
        "ratio": round(statistics.median(ratios), 3),
        "interval": [round(bound, 3) for bound in interval(ratios)],
        "min": round(min(ratios), 3),
        "max": round(max(ratios), 3),
    }


def throughput(quads: Sequence[Quad]) -> dict[str, Any]:
    """Our rate as a part of the bare one, both rates, and what one operation costs."""
    return {
        **spread([quad.ours.rate / quad.bare.rate for quad in quads]),
        "bare_per_second": round(statistics.median(quad.bare.rate for quad in quads)),
        "ours_per_second": round(statistics.median(quad.ours.rate for quad in quads)),
        "cpu_ratio": spread([quad.bare.cpu / quad.ours.cpu for quad in quads]),
        "client_cpu_us": {
            "bare": _micros([quad.bare.client / quad.bare.done for quad in quads]),
            "ours": _micros([quad.ours.client / quad.ours.done for quad in quads]),
        },
        "server_cpu_us": {
            "bare": _micros([quad.bare.server / quad.bare.done for quad in quads]),
            "ours": _micros([quad.ours.server / quad.ours.done for quad in quads]),
        },
    }


def _micros(seconds: Sequence[float]) -> float:
    return round(1e6 * statistics.median(seconds), 1)


def against_itself(quads: Sequence[Quad]) -> dict[str, Any]:
    """The interval of the ratio of a side to itself: what noise alone makes of this path."""
    wall = interval([quad.ours.rate / quad.bare.rate for quad in quads])
    cpu = interval([quad.bare.cpu / quad.ours.cpu for quad in quads])
    return {
        "aa_interval": [round(bound, 3) for bound in wall],
        "aa_cpu_interval": [round(bound, 3) for bound in cpu],
    }


def gated(figures: dict[str, Any], gate: float, method: str) -> dict[str, Any]:
    """A path's figures with the least its ratio may be."""
    return {**figures, "gate": gate, "reached": figures["ratio"] >= gate, "method": method}
