"""Runs simulations from one seed to another in a process of its own, and tells what they showed."""

import gc
import logging
import sys
import time
from collections import Counter
from typing import Any

import msgspec
import structlog

from tests.faults.simulation import End, simulate
from tests.faults.simulation_audit import audit


def main(first: int, count: int, seconds: float) -> dict[str, Any]:
    """The figures of the runs there is time for, added up, and the faults of each by its seed."""
    until = time.monotonic() + seconds
    faults: dict[int, list[str]] = {}
    digests: list[str] = []
    figures: Counter[str] = Counter()
    # What a run leaves behind is collected now and then; looking for it all the time costs more.
    gc.freeze()
    gc.disable()
    for seed in range(first, first + count):
        if time.monotonic() > until:
            break
        if seed % 100 == 0:
            gc.collect()
        run = simulate(seed)
        if found := audit(run):
            faults[seed] = found
        digests.append(run.digest())
        ends = Counter(attempt.end for attempt in run.attempts)
        figures.update(
            seeds=1,
            attempts=len(run.attempts),
            acknowledged=ends[End.ACKNOWLEDGED],
            replayed=sum(bool(a.answered and a.answered.replayed) for a in run.attempts),
            refused=ends[End.REFUSED],
            unknown=ends[End.UNKNOWN],
            events=len(run.database.log()) - run.beginning,
            looks=len(run.looks),
            lost_exchanges=run.lost,
            crashes=run.crashes,
            simulated_seconds=int(run.seconds),
        )
    return {"figures": figures, "faults": faults, "digests": digests}


if __name__ == "__main__":
    silent = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=silent, cache_logger_on_first_use=False)
    told = main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    sys.stdout.buffer.write(msgspec.json.encode(told))
