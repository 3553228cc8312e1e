"""A long run of the real thing: mixed load over HTTP while its parts are restarted by turns."""

import argparse
import asyncio
import contextlib
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import uvloop

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Refusal
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.installation import FACILITY_CODE
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.server import ADMINISTRATOR, LocalDeployment, deployment
from beamkeep.testing.waiting import until

from .lanes import AsFast, AtRate, Lanes, Tally
from .mix import EntryPoint, Mix
from .picture import Line, Mark, Panel, picture
from .soak_audit import WRONG, End, audit

REPORT, PICTURE = Path("build/soak.json"), Path("build/soak.svg")
SERVER = {"shared_buffers": "1GB", "max_wal_size": "4GB", "max_connections": "100"}
LANES, LOAD = 16, 0.7
TOKEN_FOR = 1800
STOPPING, STARTING = 120.0, 300.0
# What a restart does to the figures is over after this long; what it does is shown apart.
DISTURBED = 30
LAG_EVERY = 0.25
LIFE = 60
USUAL_SECONDS = 600
MOST_GROWTH, TELLING_GROWTH, TELLING_LAG = 0.20, 0.05, 0.25
MEGABYTE = 2**20


# Whether some worker holds the log.
HELD = """
SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted
   AND (classid::bigint << 32 | objid::bigint) = hashtextextended('shard', -1)
"""


class Restart(NamedTuple):
    """When a part was asked to stop, when it had, and when it was there again."""

    what: str
    began: float
    stopped: float
    back: float


class Process:
    """One verb of the service as a process of its own, which must not end by itself."""

    def __init__(self, made: LocalDeployment, verb: str) -> None:
        self._made, self._verb, self.log = made, verb, made.folder / f"{verb}.log"
        self.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def memory(self) -> float | None:
        """Megabytes it holds; nothing while it is not there."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except FileNotFoundError:
            return None
        _, found, rest = status.partition("VmRSS:")
        return int(rest.split()[0]) / 1024 if found else None

    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    async def stop(self) -> None:
        """End it as an operator would; it must end well."""
        self._process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(self._process.wait, STOPPING)
        if code:
            raise RuntimeError(f"{self._verb} ended with {code}:\n{self.log.read_text()[-2000:]}")

    def close(self) -> None:
        """End it for good."""
        if not self.ended():
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOPPING)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(STOPPING)

    def start(self) -> None:
        """Start it; it may not answer yet."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "beamkeep", self._verb],
                cwd=self._made.folder,
                env=self._made.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


class Ground:
    """A cluster, a database in it, and the two processes of the service on it."""

    def __init__(self, cluster: Cluster, made: LocalDeployment) -> None:
        self.cluster, self.made = cluster, made
        self.work, self.serve = Process(made, "work"), Process(made, "serve")
        self.restarts: list[Restart] = []
        self.busy = False
        self._token, self._until = "", 0.0

    @property
    def port(self) -> int:
        return int(self.made.url.rpartition(":")[2])

    def token(self) -> str:
        """A token of the administrator that is still good for a while."""
        if time.monotonic() > self._until:
            self._token = self.made.token(ADMINISTRATOR, TOKEN_FOR)
            self._until = time.monotonic() + TOKEN_FOR / 2
        return self._token

    async def ready(self) -> None:
        """Wait until the service answers."""
        deadline = time.monotonic() + STARTING
        async with httpx2.AsyncClient(base_url=self.made.url) as http:
            while True:
                with contextlib.suppress(httpx2.TransportError):
                    if (await http.get("/ready")).is_success:
                        return
                if self.serve.ended() or time.monotonic() > deadline:
                    raise RuntimeError(f"no service:\n{self.serve.log.read_text()[-2000:]}")
                await asyncio.sleep(0.05)

    async def following(self) -> None:
        """Wait until a worker has the log: one that starts while the database is away gives up."""
        deadline = time.monotonic() + STARTING
        while not self.made.database.ask(HELD):
            if self.work.ended() or time.monotonic() > deadline:
                raise RuntimeError(f"no worker:\n{self.work.log.read_text()[-2000:]}")
            await asyncio.sleep(0.1)

    async def restart(self, what: str) -> None:
        """Restart one part, and note how long it was away."""
        began, self.busy = time.monotonic(), True
        if what == "database":
            await asyncio.to_thread(self.cluster.stop)
            stopped = time.monotonic()
            await asyncio.to_thread(self.cluster.resume)
        else:
            process = self.serve if what == "serve" else self.work
            await process.stop()
            stopped = time.monotonic()
            process.start()
            await (self.ready() if what == "serve" else self.following())
        self.busy = False
        self.restarts.append(Restart(what, began, stopped, time.monotonic()))

    def require_alive(self) -> None:
        """Fail if a process has ended that nobody asked to end."""
        for process in (self.serve, self.work):
            if not self.busy and process.ended():
                raise RuntimeError(f"ended by itself:\n{process.log.read_text()[-2000:]}")


@contextlib.asynccontextmanager
async def ground() -> AsyncGenerator[Ground]:
    """Everything that is soaked, on a fresh cluster with durability on."""
    with (
        Cluster.start(None, **SERVER) as cluster,
        deployment(cluster, True, project_in_serve="false") as made,
    ):
        whole = Ground(cluster, made)
        try:
            await whole.ready()
            await _until_followed(whole)
            yield whole
        finally:
            whole.serve.close()
            whole.work.close()


class Watch:
    """What is seen of the processes, the machine and the lists, second by second."""

    def __init__(self, ground: Ground, start: float) -> None:
        self._ground, self._start = ground, start
        self.memory: dict[str, list[tuple[int, float]]] = {"serve": [], "work": []}
        """For each second since the start the process and its megabytes; none while it is away."""
        self.lag: dict[int, float] = {}
        self.lags: list[tuple[float, float]] = []
        self.steal: list[float] = []

    async def look(self, stop: asyncio.Event) -> None:
        """Look at processes and machine every second."""
        before = _ticks()
        while not stop.is_set():
            await asyncio.sleep(self._start + len(self.steal) + 1 - time.monotonic())
            self._ground.require_alive()
            for name in self.memory:
                process: Process = getattr(self._ground, name)
                self.memory[name].append((process.pid, process.memory or math.nan))
            now = _ticks()
            whole = sum(now) - sum(before)
            self.steal.append(100 * (now[7] - before[7]) / whole if whole else 0.0)
            before = now

    async def follow(self, stop: asyncio.Event) -> None:
        """Ask the database how far the lists are behind, while it answers."""
        connections = Connections(self._ground.made.database.url("bk_projector"), 1)
        projections = PostgresProjections(connections)
        while not stop.is_set():
            with contextlib.suppress(Refusal):
                behind = max((await projections.lag()).values(), default=0.0)
                since = time.monotonic() - self._start
                self.lags.append((since, behind))
                self.lag[int(since)] = max(behind, self.lag.get(int(since), 0.0))
            await asyncio.sleep(LAG_EVERY)
        await connections.close()


def _ticks() -> list[int]:
    return [int(each) for each in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]


async def soak(
    seconds: int, rate: float | None, every: float, chosen: int, probe: float
) -> dict[str, Any]:
    """Run it all, and give back every figure."""
    async with ground() as whole:
        history_file = whole.made.folder / "history"
        with history_file.open("w") as history:
            place = await _furnish(whole)
            before = End.of(whole.made.database)
            mix = Mix(dice(chosen, "mix"), place)
            lanes = Lanes(whole.port, whole.token, mix, history, LANES)
            most = await _most(whole, lanes, probe)
            held = rate or LOAD * most["requests_per_second"]
            print(f"most: {most}\nnow {held:.0f} a second for {seconds} s", flush=True)
            tally, watch = await _drive(whole, lanes, held, seconds, every)
        caught_up = await _until_followed(whole)
        audited = await audit(whole.made.database, history_file, before)
        found = _figures(tally, watch, whole.restarts, seconds)
        return {
            "seed": chosen,
            "seconds": seconds,
            "most": most,
            "rate": round(held, 1),
            **found,
            "caught_up_seconds": caught_up,
            "audit": audited,
            "logged": {each.log.stem: _logged(each.log) for each in (whole.serve, whole.work)},
        }


async def _furnish(whole: Ground) -> EntryPoint:
    """Make what the first requests need."""
    async with httpx2.AsyncClient(base_url=whole.made.url, timeout=STARTING) as http:

        async def made(path: str, **arguments: Any) -> str:
            head = {"authorization": f"Bearer {whole.token()}"}
            answer = await http.post(path, json=arguments, headers=head)
            assert answer.status_code == 201, answer.text
            return next(iter(answer.json().values()))

        entry = str(seeded.ENTRY)
        someone = await made("/actors", name="Grace")
        surface = await made("/surfaces", name="Console", kind="HTTP", conduit_id=entry)
        policy = await made(
            "/policies",
            name="Users",
            conduit_id=entry,
            surface_id=surface,
            permitted_principal_ids=[someone],
            permitted_commands=["get_visit"],
            object_scope="Own",
        )
        family = await made("/families", name="Beamline", affordances=[])
        unit = {"name": "Beamline", "tier": "Unit", "facility_code": FACILITY_CODE}
        asset = await made("/assets", **unit, family_ids=[family])
    return EntryPoint(surface, policy, asset, family)


async def _most(whole: Ground, lanes: Lanes, seconds: float) -> dict[str, Any]:
    """How many requests a second are answered when each connection sends the next at once."""
    await lanes.run(AsFast(min(3.0, seconds)), Tally())
    names = {"serve": whole.serve.pid, "work": whole.work.pid, "client": os.getpid()}
    used = {name: _used(pid) for name, pid in names.items()}
    server, tally, since = _server_used(whole.cluster.pid), Tally(), time.monotonic()
    await lanes.run(AsFast(seconds), tally)
    elapsed, done = time.monotonic() - since, sum(tally.answered.values())
    spent = {name: _used(pid) - used[name] for name, pid in names.items()}
    spent["database"] = _server_used(whole.cluster.pid) - server
    return {
        "requests_per_second": round(done / elapsed, 1),
        "failures": dict(sum(tally.failures.values(), Counter[str]())),
        "processor_us_per_request": {n: round(1e6 * s / done) for n, s in spent.items()},
        **_latency(
            each for by in tally.latencies.values() for part in by.values() for each in part
        ),
    }


async def _drive(
    whole: Ground, lanes: Lanes, rate: float, seconds: int, every: float
) -> tuple[Tally, Watch]:
    """Send at the rate, restart by turns, and watch."""
    stop, feed, tally = asyncio.Event(), AtRate(rate, seconds), Tally()
    tally.start = feed.start
    watch = Watch(whole, feed.start)

    async def disturb() -> None:
        for number, what in enumerate(cycle(("serve", "work", "database")), 1):
            at = feed.start + number * every
            if at > feed.start + seconds - min(every, DISTURBED) / 2:
                return
            await asyncio.sleep(at - time.monotonic())
            await whole.restart(what)
            done = whole.restarts[-1]
            stopping, starting = done.stopped - done.began, done.back - done.stopped
            print(f"{what} stopped in {stopping:.1f} s, was back in {starting:.1f}", flush=True)

    async with asyncio.TaskGroup() as tasks:
        watching = [tasks.create_task(watch.look(stop)), tasks.create_task(watch.follow(stop))]
        disturbing = tasks.create_task(disturb())
        await lanes.run(feed, tally)
        await disturbing
        stop.set()
        await asyncio.wait(watching)
    return tally, watch


async def _until_followed(whole: Ground) -> float:
    """How long the lists needed to show everything, after the last request."""
    connections = Connections(whole.made.database.url("bk_projector"), 1)
    projections, since = PostgresProjections(connections), time.monotonic()

    async def followed() -> bool:
        behind = await projections.lag()
        return len(behind) == len(CATALOGUE.views) and not any(behind.values())

    await until(followed, "the lists show everything")
    await connections.close()
    return round(time.monotonic() - since, 2)


def _figures(
    tally: Tally, watch: Watch, restarts: Sequence[Restart], seconds: int
) -> dict[str, Any]:
    """Everything measured, each second and together, with and without the restarts' doing."""
    began = [restart.began - tally.start for restart in restarts]

    def undisturbed(second: float) -> bool:
        return not any(at - 1 <= second < at + DISTURBED for at in began)

    def latencies(kind: str | None, calm: bool) -> Iterable[float]:
        for second, by in tally.latencies.items():
            if not calm or undisturbed(second):
                for name, part in by.items():
                    if kind is None or kind == name:
                        yield from part

    rows = [_second(n, tally, watch) for n in range(max(seconds, len(watch.steal)))]
    calm_lags = [lag for at, lag in watch.lags if undisturbed(at)]
    return {
        "requests": sum(len(part) for by in tally.latencies.values() for part in by.values()),
        "given_up": tally.given_up,
        "failures": dict(sum(tally.failures.values(), Counter[str]())),
        "latency": _latency(latencies(None, calm=False)),
        "latency_between_restarts": {
            kind or "all": _latency(latencies(kind, calm=True))
            for kind in (None, "command", "get", "list", "history")
        },
        "lag_seconds": _quantiles([lag for _, lag in watch.lags]),
        "lag_seconds_between_restarts": _quantiles(calm_lags),
        "memory": {name: _growth(samples) for name, samples in watch.memory.items()},
        "steal_percent": round(statistics.mean(watch.steal or [0.0]), 1),
        "load": round(os.getloadavg()[0], 2),
        "restarts": [
            {
                "what": r.what,
                "at": round(r.began - tally.start, 1),
                "stopping": round(r.stopped - r.began, 2),
                "starting": round(r.back - r.stopped, 2),
            }
            for r in restarts
        ],
        "by_second": rows,
    }


def _second(number: int, tally: Tally, watch: Watch) -> dict[str, Any]:
    parts = tally.latencies.get(number, {})
    memory = {
        f"{name}_mb": None
        if number >= len(samples) or math.isnan(samples[number][1])
        else round(samples[number][1], 1)
        for name, samples in watch.memory.items()
    }
    lag = watch.lag.get(number)
    return {
        "second": number,
        "answered": tally.answered[number],
        "failures": dict(tally.failures.get(number, {})),
        **_latency(each for part in parts.values() for each in part),
        **memory,
        "lag_ms": None if lag is None else round(1000 * lag, 1),
        "steal_percent": round(watch.steal[number], 1) if number < len(watch.steal) else None,
    }


def _latency(seconds: Iterable[float]) -> dict[str, float | None]:
    found = _quantiles(list(seconds))
    return {
        f"{name}_ms": None if value is None else round(1000 * value, 2)
        for name, value in found.items()
    }


def _quantiles(values: Sequence[float]) -> dict[str, float | None]:
    ordered = sorted(values)

    def at(part: float) -> float | None:
        return (
            round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 5) if ordered else None
        )

    return {"p50": at(0.5), "p99": at(0.99), "max": at(1.0)}


def _growth(samples: Sequence[tuple[int, float]]) -> dict[str, float | None]:
    """How much memory grew: within the longest life of a process, and from life to life."""
    lives: dict[int, list[float]] = {}
    for pid, megabytes in samples:
        lives.setdefault(pid, []).append(megabytes)
    known = [[each for each in life if not math.isnan(each)] for life in lives.values()]
    # The first fifth of a life is its warming up. A life cut short by the end is still one.
    longest = max(map(len, known), default=0)
    lasting = [life for life in known if len(life) >= max(LIFE, 0.6 * longest)]
    if not lasting:
        return {"within": None, "across": None, "most_mb": None}
    within = [_level(life[-10:]) / _level(life[len(life) // 5 :][:10]) - 1 for life in lasting]
    age = min(map(len, lasting))
    at_one_age = [_level(life[age - 10 : age]) for life in lasting]
    return {
        "within": round(max(within), 3),
        "across": round(at_one_age[-1] / at_one_age[0] - 1, 3) if len(lasting) > 1 else None,
        "most_mb": round(max(map(max, lasting)), 1),
    }


def _level(values: Sequence[float]) -> float:
    return statistics.median(values)


def _used(pid: int) -> float:
    """Processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _server_used(postmaster: int) -> float:
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
    total = 0.0
    for pid in (postmaster, *map(int, children.split())):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            total += _used(pid)
    return total


def _logged(log: Path) -> dict[str, int]:
    """What a process complained of, by the words it used."""
    found: Counter[str] = Counter()
    with log.open("rb") as lines:
        for line in lines:
            if b'"level":"info"' not in line:
                try:
                    said = json.loads(line)
                    found[f"{said['level']}: {said['event']}"] += 1
                except (ValueError, KeyError):
                    found["not a log line"] += 1
    return dict(found)


def faults(found: dict[str, Any]) -> list[str]:
    """What makes the run fail."""
    wrong = [f"{name}: {found['audit'][name]}" for name in WRONG if found["audit"][name]]
    answered = found["failures"] | found["most"]["failures"]
    wrong += [
        f"{count} times {status} was answered"
        for status, count in answered.items()
        if status[0] == "5" and status != "503"
    ]
    if found["seconds"] >= USUAL_SECONDS:
        wrong += [
            f"{name} grew by {100 * growth:.0f} %"
            for name, growth in _grown(found)
            if growth > MOST_GROWTH
        ]
    return wrong


def remarks(found: dict[str, Any]) -> list[str]:
    """What is worth a look and no failure."""
    said = [
        f"{name} grew by {100 * growth:.0f} %"
        for name, growth in _grown(found)
        if growth > TELLING_GROWTH
    ]
    lag = found["lag_seconds_between_restarts"]["p99"]
    if lag is not None and lag > TELLING_LAG:
        said.append(f"the lists were {1000 * lag:.0f} ms behind between restarts (p99)")
    if found["given_up"]:
        said.append(f"{found['given_up']} requests were given up")
    if found["audit"]["refused"]:
        said.append(f"{found['audit']['refused']} commands were refused, though none should be")
    return said


def _grown(found: dict[str, Any]) -> list[tuple[str, float]]:
    return [
        (f"{process} {how} lives", growth[how])
        for process, growth in found["memory"].items()
        for how in ("within", "across")
        if growth[how] is not None
    ]


def drawn(found: dict[str, Any]) -> str:
    """The run as a picture."""
    rows = found["by_second"]
    marks = [Mark(each["at"], f"{each['what']} restarted") for each in found["restarts"]]

    def line(name: str, key: str, least: float | None = None) -> Line:
        def value(row: dict[str, Any]) -> float | None:
            given = row[key]
            return given if given is None or least is None else max(given, least)

        return Line(name, [(row["second"], value(row)) for row in rows])

    failed = Line("failures", [(row["second"], sum(row["failures"].values())) for row in rows])
    most = found["most"]["requests_per_second"]
    note = (
        f"{os.cpu_count()} cores, {found['steal_percent']} % of them stolen; at most {most:.0f}"
        f" requests/s were answered; seed {found['seed']}"
    )
    return picture(
        f"{found['seconds']} s at {found['rate']:.0f} mixed requests a second",
        [
            Panel(
                "latency, ms",
                [line("p50", "p50_ms"), line("p99", "p99_ms")],
                log_y=True,
                marks=marks,
            ),
            Panel(
                "answers and failures a second", [line("answers", "answered"), failed], marks=marks
            ),
            Panel("memory, MB", [line("serve", "serve_mb"), line("work", "work_mb")], marks=marks),
            Panel(
                "lists behind the log, ms (below 1 as 1)",
                [line("oldest waiting event", "lag_ms", least=1.0)],
                log_y=True,
                marks=marks,
                limit=1000 * TELLING_LAG,
            ),
            Panel(
                "processor time given to others by the host, %",
                [line("steal", "steal_percent")],
                marks=marks,
                x_label="seconds",
            ),
        ],
        note,
    )


def main() -> None:
    """Soak, write the figures and the picture, and judge."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--seconds", type=int, default=USUAL_SECONDS, help="28800 is eight hours")
    parser.add_argument(
        "--rate", type=float, help="requests a second; 70 %% of the most without it"
    )
    parser.add_argument("--every", type=float, default=60.0, help="seconds between restarts")
    parser.add_argument(
        "--smallest",
        action="store_true",
        help="restart each part once in a few seconds, and judge only what was stored",
    )
    options = parser.parse_args()
    seconds, every = (6, 1.5) if options.smallest else (options.seconds, options.every)
    probe = 1.0 if options.smallest else min(20.0, max(5.0, seconds / 10))
    found = uvloop.run(soak(seconds, options.rate, every, chosen=seed(), probe=probe))
    wrong, said = faults(found), remarks(found)
    report, made = json.dumps(found | {"wrong": wrong, "remarks": said}, indent=1), drawn(found)
    shown = {name: value for name, value in found.items() if name not in {"by_second", "restarts"}}
    print(json.dumps(shown, indent=1))
    if not options.smallest:
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(report + "\n")
        PICTURE.write_text(made)
        print(f"written to {REPORT} and {PICTURE}")
    print("\n".join([*(f"remark: {each}" for each in said), *wrong]) or "nothing is wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
