"""The program of the IOC's own process: makes its records, then obeys each line.

One JSON array a line comes in, and `done` goes out for each; the end of input is its end.
"""
# pyright: basic

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from epicscorelibs.ioc import dbCore
from softioc import alarm, asyncio_dispatcher, builder, softioc

ACCESS = """
ASG(DEFAULT) { RULE(1, READ) RULE(1, WRITE) }
ASG(HIDDEN) { RULE(0, NONE) }
ASG(LOCKED) { RULE(1, READ) }
"""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    # EPICS prints as it likes; only answers may reach the test.
    os.dup2(2, 1)
    dispatcher = asyncio_dispatcher.AsyncioDispatcher()
    released = asyncio.Event()

    async def put(value: Any, name: str, slow: bool) -> None:
        with open(os.environ["PUT_LOG"], "a") as log:
            taken = getattr(value, "tolist", lambda: value)()
            print(json.dumps([name, taken, time.time()]), file=log)
        if slow:
            await released.wait()

    records = {each[0]: _record(*each, put=put) for each in json.loads(sys.stdin.readline())}
    builder.LoadDatabase()
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "access.acf")
        rules.write_text(ACCESS)
        dbCore.asSetFilename(os.fsencode(rules))
        softioc.iocInit(dispatcher, enable_pva=False)
    print("done", file=answers, flush=True)
    for line in sys.stdin:
        match json.loads(line):
            case ["put", name, *values]:
                for value in values:
                    records[name].set(value)
            case ["alarm", name, severity, status]:
                codes = (getattr(alarm, f"{each}_ALARM") for each in (severity, status))
                records[name].set_alarm(*codes)
            case ["field", name, field, value]:
                records[name].set_field(field, value)
            case ["release"]:
                # The puts that wait are woken, and the next put waits again.
                dispatcher.loop.call_soon_threadsafe(released.set)
                dispatcher.loop.call_soon_threadsafe(released.clear)
            case unknown:
                raise ValueError(unknown)
        print("done", file=answers, flush=True)
    # The orderly way out waits for threads that serve nobody any more.
    os._exit(0)


def _record(
    name: str,
    kind: str,
    initial: object,
    labels: list[str],
    fields: dict[str, Any],
    slow: bool,
    *,
    put: Callable[..., Any],
) -> Any:
    if kind.islower():
        # A record of EPICS itself, such as a `calc`, which nothing in Python takes part in.
        return getattr(builder.records, kind)(name, VAL=initial, **fields)
    make = getattr(builder, kind)
    if not kind.endswith("In"):
        taken = partial(put, name=name, slow=slow)
        fields |= {"on_update": taken, "always_update": True, "blocking": slow}
    if kind.startswith("bool") and labels:
        fields |= {"ZNAM": labels[0], "ONAM": labels[1]}
        labels = []
    return make(name, *labels, initial_value=initial, **fields)


if __name__ == "__main__":
    main()
