"""The figures of the fault tests, kept together in `build/faults.json`."""

import json
import math
import os
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "build" / "faults.json"
TOGETHER = 720


def asked(name: str, default: int) -> int:
    """A figure that the environment may raise for a longer run."""
    return int(os.environ.get(f"BEAMKEEP_{name}") or default)


def rounds(name: str, usual: int, fewest: int, seconds: float) -> Iterator[int]:
    """As many rounds as the environment asks for; unasked, the usual number.

    A slow machine stops when the seconds are over, but not before the fewest that prove something.
    """
    count, limit = size(name, usual, seconds)
    until = time.monotonic() + limit
    for number in range(count):
        if number >= fewest and time.monotonic() > until:
            return
        yield number


def size(name: str, usual: int, seconds: float) -> tuple[int, float]:
    """How many, and in how many seconds: what the environment asks for takes what it takes.

    The seconds are a share of the twelve minutes that all tests may take together; whoever has
    less for all of them says so in BEAMKEEP_FAULT_SECONDS.
    """
    count = asked(name, 0)
    together = asked("FAULT_SECONDS", TOGETHER)
    return (count, math.inf) if count else (usual, seconds * together / TOGETHER)


def seed() -> int:
    """The seed of this run: the one asked for by BEAMKEEP_SEED, or a new one."""
    return asked("SEED", random.SystemRandom().getrandbits(32))


def dice(seed: int, *names: object) -> random.Random:
    """A generator of its own for each part of a run, so that parts do not disturb each other."""
    return random.Random(repr((seed, *names)))  # noqa: S311


def merge(key: str, figures: Mapping[str, Any]) -> str:
    """Put the figures of one test among those of the others, and give them back as a line."""
    REPORT.parent.mkdir(exist_ok=True)
    known: dict[str, Any] = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    known[key] = dict(figures)
    REPORT.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    return f"{key}: " + ", ".join(f"{name} {value}" for name, value in figures.items())
