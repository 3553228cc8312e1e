"""One checkout's half of `benchmarks.against`: prepares a path, then works when it is asked to.

It is run by its file name with the packages of any checkout on the path, so it uses nothing of its
own package and only what benchmarks of all ages have.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, Never, TextIO

import uvloop

SLICE_SECONDS = 0.5

type Say = Callable[[dict[str, Any]], None]


class Ended(Exception):
    """No more slices are wanted."""


class Captured:
    """Stands in for the meter of a path, and hands its first comparison over to the parent."""

    def __init__(self, postmaster: int, say: Say, orders: TextIO) -> None:
        self._postmaster, self._say, self._orders = postmaster, say, orders

    async def compare(self, bare: Any, ours: Any, plan: Any) -> Never:
        """Work on the side that is the service, slice by slice, until the parent has enough."""
        await ours.prepare()
        await ours.run(SLICE_SECONDS)
        code = str(import_module("beamkeep").__file__)
        self._say({"pid": ours.pid, "postmaster": self._postmaster, "code": code})
        while line := await asyncio.to_thread(self._orders.readline):
            wanted = json.loads(line)
            if wanted is None:
                await ours.prepare()
                self._say({})
            else:
                self._say({"done": await ours.run(wanted)})
        raise Ended


async def work(path: str, say: Say, orders: TextIO) -> None:
    """Prepare a path such as `benchmarks.append:measure`, and serve its slices."""
    here = asyncio.current_task()
    assert here
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, here.cancel)
    try:
        module, _, function = path.partition(":")
        rigs, measures = import_module("benchmarks.rig"), import_module("benchmarks.measure")
        measure = getattr(import_module(module), function)
        # Before there was a third size, the argument was whether the run is a full one.
        size = rigs.Size.QUICK if hasattr(rigs, "Size") else False
        with rigs.Cluster.start(None, **rigs.SERVER) as cluster:
            rig = await rigs.Rig.on(cluster, measures.Plan(1, 0, SLICE_SECONDS), size)
            rig.meter = Captured(cluster.pid, say, orders)
            await measure(rig)
            raise RuntimeError("this path compares nothing that can be measured in turns")
    except Ended:
        return
    except Exception as error:
        print("".join(traceback.format_exception(error)), file=sys.stderr, flush=True)
        say({"failed": f"{type(error).__name__}: {error}".splitlines()[0]})


def main() -> None:
    """Answer on what was standard output; whatever a path prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    uvloop.run(work(sys.argv[1], say, sys.stdin))


if __name__ == "__main__":
    main()
