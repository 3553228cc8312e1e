"""Documents on disk: what a crash leaves, and what the next recorder makes of it."""

import errno
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beamkeep_client.bluesky import spool as spool_module
from beamkeep_client.bluesky.spool import Spool, SpoolInUseError

START = {"time": 5.0}


@pytest.fixture(autouse=True)
def closing(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Close every spool in the end."""
    made: list[Spool] = []
    begin = Spool.__init__

    def begun(spool: Spool, folder: Path) -> None:
        begin(spool, folder)
        made.append(spool)

    monkeypatch.setattr(Spool, "__init__", begun)
    yield
    for spool in made:
        with suppress(OSError):
            spool.close()


def names(spool: Spool, run: str = "r") -> list[str]:
    return [line.name for line in spool.entries(run)]


def left_by_a_crash(folder: Path, *texts: str, run: str = "r") -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{run}.jsonl").write_text("".join(texts))


LEFT_START, LEFT_EVENT = '["start",{"time":5.0}]\n', '["event",{"time":7.5}]\n'
LEFT_STOP = '["stop",{"time":9.0}]\n'


def test_what_is_appended_is_read_in_order(tmp_path: Path):
    spool = Spool(tmp_path)
    spool.append("r", "start", START)
    spool.append("r", "event", {"value": 1})
    assert [(line.name, line.document) for line in spool.entries("r")] == [
        ("start", START),
        ("event", {"value": 1}),
    ]


def test_reading_continues_after_any_line(tmp_path: Path):
    spool = Spool(tmp_path)
    for number in range(3):
        spool.append("r", "event", {"value": number})
    first, *rest = spool.entries("r")
    assert list(spool.entries("r", first.end)) == rest


def test_a_process_that_is_killed_leaves_every_document(tmp_path: Path):
    program = f"""
import os, pathlib
from beamkeep_client.bluesky.spool import Spool
spool = Spool(pathlib.Path({str(tmp_path)!r}))
for number in range(1000):
    spool.append("r", "event" if number else "start", {{"time": float(number)}})
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    lines = list(Spool(tmp_path).entries("r"))
    assert [line.document["time"] for line in lines[:1000]] == list(range(1000))


@pytest.mark.parametrize("length", [1, 9, len(LEFT_EVENT) - 1])
def test_a_torn_last_line_is_not_read(length: int, tmp_path: Path):
    spool = Spool(tmp_path)
    left_by_a_crash(tmp_path, LEFT_START, LEFT_EVENT[:length])
    assert names(spool) == ["start"]


def test_what_comes_after_a_torn_line_is_read(tmp_path: Path):
    left_by_a_crash(tmp_path, LEFT_START, LEFT_EVENT[:9])
    spool = Spool(tmp_path)
    spool.append("r", "event", {"time": 8.0})
    assert names(spool) == ["start", "interrupted", "event"]


@pytest.mark.parametrize("line", ["\0\0\0\n", "{}\n", '["event"]\n', "\n", "\xff\n"])
def test_a_line_that_cannot_be_read_is_passed_over(line: str, tmp_path: Path):
    left_by_a_crash(tmp_path, LEFT_START, line, LEFT_STOP)
    assert names(Spool(tmp_path)) == ["start", "stop"]


def test_a_run_whose_process_died_was_interrupted_at_its_last_document(tmp_path: Path):
    left_by_a_crash(tmp_path, LEFT_START, LEFT_EVENT)
    *_, last = Spool(tmp_path).entries("r")
    assert (last.name, last.document) == ("interrupted", {"time": 7.5})


def test_a_page_of_events_is_as_old_as_its_last_event(tmp_path: Path):
    left_by_a_crash(tmp_path, LEFT_START, '["event_page",{"time":[6.0,8.5]}]\n')
    *_, last = Spool(tmp_path).entries("r")
    assert last.document == {"time": 8.5}


def test_a_run_is_interrupted_once(tmp_path: Path):
    left_by_a_crash(tmp_path, LEFT_START)
    Spool(tmp_path).close()
    assert names(Spool(tmp_path)) == ["start", "interrupted"]


def test_a_run_that_has_ended_was_not_interrupted(tmp_path: Path):
    left_by_a_crash(tmp_path, LEFT_START, LEFT_STOP)
    assert names(Spool(tmp_path)) == ["start", "stop"]


def test_what_is_left_waits_in_the_order_in_which_it_began(tmp_path: Path):
    for run, began in {"b": 3.0, "a": 2.0, "c": 1.0}.items():
        left_by_a_crash(tmp_path, LEFT_START.replace("5.0", str(began)), run=run)
    assert Spool(tmp_path).waiting() == ["c", "a", "b"]


def test_a_run_without_its_start_is_set_aside(tmp_path: Path):
    left_by_a_crash(tmp_path, LEFT_EVENT)
    assert Spool(tmp_path).waiting() == []
    assert (tmp_path / "refused" / "r.jsonl").read_text() == LEFT_EVENT


def test_a_delivered_run_takes_no_room_and_no_further_documents(tmp_path: Path):
    spool = Spool(tmp_path)
    spool.append("r", "start", START)
    spool.move("r", "delivered")
    spool.append("r", "start", START)
    assert spool.waiting() == []
    assert (tmp_path / "delivered" / "r.jsonl").read_bytes() == b""


def test_a_refused_run_continues_to_be_written(tmp_path: Path):
    spool = Spool(tmp_path)
    spool.append("r", "start", START)
    spool.move("r", "refused")
    spool.append("r", "stop", {"time": 9.0})
    assert spool.waiting() == []
    assert (tmp_path / "refused" / "r.jsonl").read_text() == LEFT_START + LEFT_STOP


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> dict[Path, int]:
    """How long each file was when it was last synced, by those who wait for that."""
    lengths: dict[Path, int] = {}

    def sync(path: Path) -> None:
        lengths[path] = path.stat().st_size

    def idle(_: object) -> None: ...

    monkeypatch.setattr(spool_module, "_sync", sync)
    monkeypatch.setattr(Spool, "_sync_all", idle)
    return lengths


def test_what_follows_on_a_refusal_can_be_synced(tmp_path: Path, synced: dict[Path, int]):
    spool = Spool(tmp_path)
    spool.append("r", "start", START)
    spool.move("r", "refused")
    spool.append("r", "stop", {"time": 9.0})
    spool.sync("r")
    assert synced[tmp_path / "refused" / "r.jsonl"] == len(LEFT_START + LEFT_STOP)


def test_a_run_that_is_moved_is_synced_to_its_last_line(tmp_path: Path, synced: dict[Path, int]):
    spool = Spool(tmp_path)
    spool.append("r", "start", START)
    spool.move("r", "refused")
    assert synced[tmp_path / "refused" / "r.jsonl"] == len(LEFT_START)


def test_a_full_disk_loses_a_document_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spool = Spool(tmp_path)
    spool.append("r", "start", START)
    write = os.write

    def full(descriptor: int, line: bytes) -> int:
        write(descriptor, line[:5])
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="full"):
            spool.append("r", "event", {"time": 7.0})
    spool.append("r", "stop", {"time": 9.0})
    assert names(spool) == ["start", "stop"]


@pytest.mark.parametrize("ended", [False, True])
def test_files_of_runs_that_ended_do_not_stay_open(ended: bool, tmp_path: Path):
    spool, before = Spool(tmp_path), len(os.listdir("/proc/self/fd"))
    for number in range(20):
        spool.append(str(number), "start", START)
        if ended:
            spool.append(str(number), "stop", {"time": 9.0})
            spool.append(str(number), "delivered", {"offset": 0})
    kept = len(os.listdir("/proc/self/fd")) - before
    assert (kept < 5) is ended


def test_a_spool_has_one_recorder_at_a_time(tmp_path: Path):
    spool = Spool(tmp_path)
    with pytest.raises(SpoolInUseError):
        Spool(tmp_path)
    spool.close()
    Spool(tmp_path).close()


def test_a_closed_spool_takes_nothing(tmp_path: Path):
    spool = Spool(tmp_path)
    spool.close()
    with pytest.raises(ValueError, match="closed"):
        spool.append("r", "start", START)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (float("nan"), None),
        ((1, 2), [1, 2]),
        (np.float64(1.5), 1.5),
        (np.int32(3), 3),
        (np.zeros(3), None),
        (object(), None),
    ],
)
def test_numbers_of_numpy_are_numbers_and_what_json_cannot_say_is_left_out(
    value: Any, written: Any, tmp_path: Path
):
    spool = Spool(tmp_path)
    spool.append("r", "event", {"value": value})
    assert [line.document for line in spool.entries("r")] == [{"value": written}]
