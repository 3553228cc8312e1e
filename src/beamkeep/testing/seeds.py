"""Random numbers that can be drawn again."""

import os
import random
from functools import cache


@cache
def seed() -> int:
    """Return the seed of this process: that of BEAMKEEP_SEED, or a random one."""
    return int(os.environ.get("BEAMKEEP_SEED") or random.SystemRandom().getrandbits(32))


def dice(seed: int, *names: object) -> random.Random:
    """Return a generator for one part of a run, so that parts do not disturb each other."""
    return random.Random(repr((seed, *names)))  # noqa: S311
