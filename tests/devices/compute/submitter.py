"""A worker that submits one job, prints its id, and stays until it is killed."""

import asyncio
import sys
from pathlib import Path
from uuid import UUID

from tests.devices.compute.benches import compute_on, job


def main() -> None:
    kind, directory, name, key = sys.argv[1:]
    compute = compute_on(kind, Path(directory))
    sys.stdin.readline()
    print(asyncio.run(compute.submit(job(name, UUID(key)))), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
