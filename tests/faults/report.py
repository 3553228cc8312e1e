"""The figures of the fault tests, kept together in `build/faults.json`."""

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "build" / "faults.json"


def asked(name: str, default: int) -> int:
    """A figure that the environment may raise for a longer run."""
    return int(os.environ.get(f"BEAMKEEP_{name}") or default)


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
