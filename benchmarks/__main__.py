"""Measure the service against the bare engine beneath it, and write down what was found."""

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import uvloop

from beamkeep.testing.cluster import Cluster

from . import (
    agent_read,
    append,
    calls,
    catch_up,
    checksum,
    conducting,
    counts,
    data,
    feed,
    fold,
    growth,
    list_rare,
    listing,
    long_stream,
    observations,
    over_http,
    search,
    teams,
    witness,
)
from .measure import Plan
from .rig import SERVER, SMALL_SERVER, Rig, Size

type Measure = Callable[[Rig], Awaitable[dict[str, Any]]]

PATHS: dict[str, Measure] = {
    "counts": counts.measure,
    "calls": calls.measure,
    "agent_read": agent_read.measure,
    "append": append.measure,
    "observations": observations.measure,
    "fold": fold.measure,
    "list": listing.measure,
    "list_rare": list_rare.measure,
    "search": search.measure,
    "teams": teams.measure,
    "data": data.measure,
    "checksum": checksum.measure,
    "http_command": over_http.measure_command,
    "http_get": over_http.measure_get,
    "catch_up": catch_up.measure,
    "catch_up_interleaved": catch_up.measure_interleaved,
    "walk": conducting.measure,
    "walk_channel_access": conducting.measure_channel_access,
    "feed": feed.measure,
    "growth": growth.measure,
    "long_stream": long_stream.measure,
    "witness": witness.measure,
}
UPPER = {"growth": ("log", "policies"), "long_stream": ("command", "get")}
"""Paths whose gate is the most a ratio may be, with their parts."""
PLANS = {
    Size.FULL: Plan(20, 2, 0.5),
    Size.QUICK: Plan(5, 1, 0.3),
    Size.SMALLEST: Plan(1, 0, 0.01),
}
MOST_SECONDS = {Size.SMALLEST: 300}
"""How long one path may take, by the size of the run."""
REPORT = Path("build/bench.json")
COLUMNS = (
    f"{'':<24} {'ratio':>6} {'CI95':>15} {'min':>6} {'max':>6} {'A/A CI95':>15} {'bare/s':>8}"
    f" {'ours/s':>8} {'client µs':>13} {'server µs':>13}  {'gate':>5}"
)


def main() -> None:
    """Run the paths asked for, print a table, write the report, and judge it."""
    since = time.monotonic()
    options = arguments(sys.argv[1:])
    paths = PATHS | {"growth": partial(growth.measure, events=options.events)}
    report = uvloop.run(_run({name: paths[name] for name in options.only}, options.size))
    if options.size is not Size.SMALLEST:
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(json.dumps(report, indent=2) + "\n")
        print(f"\nwritten to {REPORT}")
    print(f"took {time.monotonic() - since:.0f} s and {_used():.0f} s of processor time")
    wrong = missed(report, options.gate)
    print("\n".join(wrong) or "nothing failed")
    sys.exit(1 if wrong else 0)


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.set_defaults(size=Size.FULL)
    sizes = parser.add_mutually_exclusive_group()
    for size, help in (
        (Size.QUICK, "a few slices of each path"),
        (Size.SMALLEST, "every path on as few rows as it takes; judge only exact counts"),
    ):
        option = f"--{size.value}"
        sizes.add_argument(option, action="store_const", dest="size", const=size, help=help)
    parser.add_argument("--only", type=_names, default=list(PATHS), help="paths, with commas")
    parser.add_argument(
        "--events", type=_sizes, default=growth.EVENTS, help="sizes of the log in a full `growth`"
    )
    parser.add_argument(
        "--gate", action="store_true", help="fail where a whole interval is below its gate"
    )
    options = parser.parse_args(given)
    if options.gate and options.size is Size.SMALLEST:
        parser.error("--smallest measures no time that a gate could judge")
    return options


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - PATHS.keys():
        raise argparse.ArgumentTypeError(
            f"{', '.join(sorted(unknown))}; there are {', '.join(PATHS)}"
        )
    return names


def _sizes(text: str) -> list[int]:
    return sorted(map(int, text.split(",")))


async def _run(wanted: Mapping[str, Measure], size: Size) -> dict[str, Any]:
    plan = PLANS[size]
    is_small = size is Size.SMALLEST
    server = SERVER | (SMALL_SERVER if is_small else {})
    with Cluster.start(_memory() if is_small else None, **server) as cluster:
        rig = await Rig.on(cluster, plan, size)
        about = {
            "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "cores": os.cpu_count(),
            "server": await rig.settings(),
            "fsync_us": _fsync_micros(cluster.data),
            "size": size.value,
            "plan": plan._asdict(),
            "before": _conditions(),
        }
        print("\n".join(f"{name}: {value}" for name, value in about.items()))
        print("" if size is Size.SMALLEST else f"\n{COLUMNS}")
        found = await measured(wanted, rig)
        about["after"] = _conditions()
    return about | found


async def measured(wanted: Mapping[str, Measure], rig: Rig) -> dict[str, Any]:
    """Measure one path after another; one that fails is noted, and the others still run."""
    paths, failed = dict[str, Any](), dict[str, str]()
    for name, measure in wanted.items():
        since, load = time.monotonic(), _conditions()
        try:
            async with asyncio.timeout(MOST_SECONDS.get(rig.size)):
                found = await measure(rig)
        except Exception as error:
            failed[name] = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"{name} FAILED\n{''.join(traceback.format_exception(error))}", flush=True)
            continue
        paths[name] = found | {"conditions": {"before": load, "after": _conditions()}}
        rows = [*_rows(name, found)]
        # Ratios of a few operations tell nothing.
        print("\n".join([name] if rig.size is Size.SMALLEST else rows), flush=True)
        print(f"  took {time.monotonic() - since:.0f} s, load {os.getloadavg()[0]:.2f}")
    return {"paths": paths, "failed": failed}


def _memory() -> Path | None:
    """A folder in memory with room for a small cluster, where there is one."""
    memory = Path("/dev/shm")  # noqa: S108
    is_roomy = memory.is_dir() and shutil.disk_usage(memory).free >= 2**31
    return memory if is_roomy else None


def _used() -> float:
    """Processor seconds of this process and of everything it has started and waited for."""
    return sum(os.times()[:4])


def _conditions() -> dict[str, float]:
    """How busy the machine is, and how much of it was given to others since it started."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return {"load": round(os.getloadavg()[0], 2), "steal": round(ticks[7] / sum(ticks), 4)}


def _fsync_micros(directory: Path) -> float:
    """How long the disk takes to say that a page is kept."""
    file, times = os.open(directory / "fsync_probe", os.O_CREAT | os.O_WRONLY), list[float]()
    try:
        for _ in range(100):
            since = time.perf_counter()
            os.pwrite(file, bytes(8192), 0)
            os.fdatasync(file)
            times.append(time.perf_counter() - since)
    finally:
        os.close(file)
        (directory / "fsync_probe").unlink()
    return round(1e6 * sorted(times)[50])


def _rows(name: str, found: dict[str, Any]) -> Iterator[str]:
    """A path as lines of the table: itself, then what was measured with it."""
    if "ratio" in found:
        yield _row(name, found)
    for key, part in _parts(found):
        if "ratio" in part and key not in {"cpu_ratio", "wall"}:
            yield _row(f"  {name} {key}", part)
            for size, each in part.get("sizes", {}).items():
                yield _row(f"    {int(size):,} {key}", each)
        elif "statements" in part:
            yield f"  {key:<22} {part}"
    for question, part in found.get("questions", {}).items():
        yield f"    {part['processor_ms']:>8.2f} ms {part['ms']:>8.2f} ms  {question}"
    for searched, part in found.get("searches", {}).items():
        figures = f"p50 {part['p50_ms']:>7.2f} ms, p95 {part['p95_ms']:>7.2f} ms"
        yield f"    {figures} (at most {part['most_ms']:.0f})  {searched}"
    for call, part in found.get("calls", {}).items():
        yield f"  {call:<22} {part}"
    for figure, value in found.get("figures", {}).items():
        yield f"  {name} {figure:<36} {value:>8}"
    if "log_bytes_ratio" in found:
        verdict = "as expected" if found["reached"] else "NOT AS EXPECTED"
        yield f"  log bytes {found['log_bytes_ratio']} of a bare INSERT's; {verdict}"


def _parts(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, value in found.items():
        if isinstance(value, dict):
            yield key, cast("dict[str, Any]", value)


def _row(name: str, found: dict[str, Any]) -> str:
    def both(key: str) -> str:
        return " / ".join(f"{value:.0f}" for value in found.get(key, {}).values())

    def bounds(key: str) -> str:
        return "[{:.2f}, {:.2f}]".format(*found[key]) if key in found else ""

    gate = found.get("gate")
    verdict = "" if gate is None else f"{gate:>5} {'reached' if found['reached'] else 'MISSED'}"
    rates = f"{found.get('bare_per_second', ''):>8} {found.get('ours_per_second', ''):>8}"
    return (
        f"{name:<24} {found['ratio']:>6.2f} {bounds('interval'):>15} {found['min']:>6.2f}"
        f" {found['max']:>6.2f} {bounds('aa_interval'):>15} {rates}"
        f" {both('client_cpu_us'):>13} {both('server_cpu_us'):>13}  {verdict}"
    )


def missed(report: Mapping[str, Any], gates: bool) -> list[str]:
    """Return why the run fails: a failed path, a wrong count, an interval beyond its gate."""
    paths: dict[str, Any] = report["paths"]
    found = [f"{name}: {text}" for name, text in report["failed"].items()]
    found += [
        f"{name}: counts are not as expected"
        for name, path in paths.items()
        if not path.get("counts_hold", True)
    ]
    found += [f"{name}: {text}" for name, path in paths.items() for text in path.get("wrong", ())]
    found += [
        f"{name}: slower than its gate"
        for name in ("search", "data", "teams")
        if gates and not paths.get(name, {"reached": True})["reached"]
    ]
    for name, path in paths.items() if gates else ():
        gate = path.get("gate")
        if name in UPPER:
            found += [
                f"{name} {part}: {path[part]['interval']} is above {gate}"
                for part in UPPER[name]
                if path[part]["interval"][0] > gate
            ]
        elif isinstance(gate, float) and path["interval"][1] < gate:
            found.append(f"{name}: {path['interval']} is below {gate}")
    return found


if __name__ == "__main__":
    main()
