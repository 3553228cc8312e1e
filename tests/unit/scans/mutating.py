"""Damages scan files at random, and reads each in a closed process of its own.

A program, since a process with threads must not fork: each closed process is a fork of this one,
which costs milliseconds where a new interpreter costs a quarter of a second.
"""

import argparse
import json
import math
import os
import random
import select
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import msgspec
import numpy as np

from beamkeep.parts.scans.child import Channel, rehearse, serve
from beamkeep.parts.scans.reading import MOST_ANSWERED, SECONDS, FoundScan, ScanAnswer
from beamkeep.testing.seeds import dice

from . import files

type OpenPart = Callable[[str], int | None]


class Outcome(NamedTuple):
    """How the reading of one file ended."""

    ended: str
    scan: FoundScan | None
    processor_seconds: float
    wall_seconds: float
    memory_bytes: int


def variants() -> Iterator[tuple[str, Callable[[Path], Path]]]:
    """Return the twenty files that are damaged."""
    yield "nxtomo.nx", files.nxtomo
    yield "two.nx", files.two_entries
    yield "virtual.nx", files.virtual
    yield "linked.nxs", files.linked
    yield "eiger_master.h5", files.master
    yield "exchange.h5", files.data_exchange
    for number, options in enumerate(OPTIONS):
        yield f"variant{number}.nx", lambda path, options=options: _variant(path, **options)


OPTIONS: tuple[dict[str, Any], ...] = (
    {"libver": "earliest"},
    {"libver": "latest"},
    {"libver": "earliest", "packed": {"compression": "gzip", "shuffle": True}},
    {"libver": "latest", "packed": {"compression": "gzip", "fletcher32": True}},
    {"libver": "latest", "packed": {"compression": "lzf"}},
    {"libver": "earliest", "packed": {"chunks": (2,), "maxshape": (None,)}},
    {"libver": "latest", "packed": {"chunks": (2,), "maxshape": (None,)}},
    {"libver": "latest", "packed": {"scaleoffset": 3}},
    {"libver": "earliest", "userblock_size": 512},
    {"libver": "latest", "attributes": 40},
    {"libver": "earliest", "attributes": 40},
    {"libver": "latest", "entries": 12},
    {"libver": "earliest", "entries": 12, "track_order": True},
    {"libver": "latest", "soft": True},
)


def _variant(
    path: Path,
    packed: dict[str, Any] | None = None,
    attributes: int = 0,
    entries: int = 1,
    soft: bool = False,
    **opened: Any,
) -> Path:
    with h5py.File(path, "w", **opened) as file:
        for number in range(entries):
            entry = files.entry_of(file, f"entry{number:03}")
            entry["instrument/detector/image_key"] = np.zeros(6, ">i8")
            angles = np.linspace(0, 180, 6)
            entry.create_dataset("sample/rotation_angle", data=angles, **(packed or {}))
            frames = np.arange(6 * 4 * 4, dtype="f4").reshape(6, 4, 4)
            where = "frames" if soft else "instrument/detector/data"
            entry.create_dataset(where, data=frames, chunks=(1, 4, 4), compression="gzip")
            if soft:
                entry["instrument/detector/data"] = h5py.SoftLink("../../frames")
                entry["again"] = h5py.SoftLink("/entry000/frames")
                entry["data/data"] = h5py.SoftLink("/entry000/again")
            for attribute in range(attributes):
                entry.attrs[f"note{attribute}"] = f"text {attribute}"
    return path


def damaged(content: bytes, thrown: random.Random) -> bytes:
    """Flip one to sixteen bits, half of them where something is written."""
    changed = bytearray(content)
    written = [index for index, byte in enumerate(content) if byte]
    for _ in range(thrown.choice((1, 1, 2, 4, 16))):
        index = thrown.choice(written) if thrown.random() < 0.5 else thrown.randrange(len(changed))
        changed[index] ^= 1 << thrown.randrange(8)
    return bytes(changed)


def read(content: bytes, open_part: OpenPart) -> Outcome:
    """Read a file in a closed process."""
    master = in_memory(content)
    ours, theirs = socket.socketpair()
    answers, written = os.pipe()
    began = time.monotonic()
    if (child := os.fork()) == 0:
        _child(theirs, written)
    os.close(written)
    theirs.close()
    try:
        ended, scan = _converse(ours, answers, master, open_part)
    finally:
        os.close(master)
        os.close(answers)
        ours.close()
        if ended_by_us := _is_running(child, began):
            os.kill(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
    if ended_by_us:
        ended = "overran"
    elif os.WIFSIGNALED(status):
        ended = f"died of {signal.Signals(os.WTERMSIG(status)).name}"
    spent = used.ru_utime + used.ru_stime
    return Outcome(ended, scan, spent, time.monotonic() - began, used.ru_maxrss << 10)


def _is_running(child: int, began: float) -> bool:
    while time.monotonic() - began < SECONDS:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return False
        select.select([], [], [], 0.001)
    return True


def _child(files: socket.socket, answers: int) -> None:
    try:
        serve(Channel(files, answers))
    finally:
        os._exit(0)


def _converse(
    ours: socket.socket, answers: int, master: int, open_part: OpenPart
) -> tuple[str, FoundScan | None]:
    """Do as the service does: give files, and take nothing but answers of its form."""
    lines, until = _lines(answers), time.monotonic() + SECONDS
    try:
        told = _told(next(lines))
        assert told.landlock is not None
        socket.send_fds(ours, [b"{}"], [master])
        while time.monotonic() < until:
            told = _told(next(lines))
            if told.open is None:
                break
            if (part := open_part(told.open)) is None:
                return "part absent", None
            socket.send_fds(ours, [b"{}"], [part])
            os.close(part)
    except (StopIteration, msgspec.DecodeError, OSError) as error:
        return f"no answer ({type(error).__name__})", None
    if told.scan:
        return "read", told.scan
    return ("refused" if told.refused else "being written"), None


def _told(line: bytes) -> ScanAnswer:
    return msgspec.json.decode(line, type=ScanAnswer)


def _lines(answers: int) -> Iterator[bytes]:
    held, until = b"", time.monotonic() + SECONDS
    while len(held) <= MOST_ANSWERED:
        while b"\n" in held:
            line, _, held = held.partition(b"\n")
            yield line
        if not select.select([answers], [], [], max(0.0, until - time.monotonic()))[0]:
            return
        if not (more := os.read(answers, 1 << 16)):
            return
        held += more


def in_memory(content: bytes) -> int:
    """Return a descriptor of these bytes, for reading."""
    held = os.memfd_create("scan")
    os.write(held, content)
    try:
        return os.open(f"/proc/self/fd/{held}", os.O_RDONLY)
    finally:
        os.close(held)


def contradictions(scan: FoundScan) -> list[str]:
    """Return what no reading may say, whatever the file contains."""
    found = list[str]()
    for entry in scan.entries:
        told: dict[str, Any] = entry.evidence
        numbers = [*entry.settings.values(), told.get("angle_first"), told.get("angle_last")]
        if not all(number is None or isfinite(number) for number in numbers):
            found.append("a number is not finite")
        if told["frame_count"] < 1 or min(told["frame_shape"]) < 1:
            found.append("there is no frame")
        if scan.layout != "NXmx" and not 1 <= told["projection_count"] <= told["frame_count"]:
            found.append("there are more projections than frames, or none")
        if scan.layout != "NXmx" and told["angle_count"] != told["projection_count"]:
            found.append("projections and angles differ")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--fewest", type=int, default=0)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--canary", required=True)
    given = parser.parse_args()
    thrown, ended, wrong = dice(given.seed, "damage"), Counter[str](), list[str]()
    worst = {"processor_seconds": 0.0, "wall_seconds": 0.0, "memory_bytes": 0}
    with tempfile.TemporaryDirectory() as folder:
        seeds = [make(Path(folder) / name) for name, make in variants()]
        rehearse()
        began = time.monotonic()
        for number in range(given.count):
            if number >= given.fewest and time.monotonic() - began > given.seconds:
                break
            seed = seeds[number % len(seeds)]
            beside = [each for each in seed.parent.rglob(f"{_stem(seed)}*") if each.is_file()]
            victim = thrown.choice([seed, seed, *(each for each in beside if each != seed)])
            content = damaged(victim.read_bytes(), thrown)

            parts = partial(_part, seed.parent, victim, content)
            outcome = read(content if victim == seed else seed.read_bytes(), parts)
            ended[outcome.ended] += 1
            for key, value in worst.items():
                worst[key] = max(value, getattr(outcome, key))
            if outcome.scan:
                wrong += [f"{number}: {each}" for each in contradictions(outcome.scan)]
                if given.canary in str(outcome.scan):
                    wrong.append(f"{number}: the canary was read")
    seconds = time.monotonic() - began
    json.dump({"ended": ended, "wrong": wrong, "seconds": seconds, **worst}, sys.stdout)


def _part(folder: Path, victim: Path, content: bytes, name: str) -> int | None:
    """Return a file that a seed names, damaged if it is the victim."""
    path = folder / name.lstrip("/")
    if path == victim:
        return in_memory(content)
    return os.open(path, os.O_RDONLY) if "\0" not in name and path.is_file() else None


def _stem(seed: Path) -> str:
    return seed.stem.removesuffix("_master")


if __name__ == "__main__":
    main()
