"""Delivery: whatever happens on the way, each run and each observation arrives once."""

import logging
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from tests.support.bluesky_documents import Named, a_scan, described, measured, started, stopped
from tests.support.stand_in_runs import TOKEN, Fault, Runs, serving_runs
from tests.unit.recording.conftest import Record

from beamkeep_client.bluesky import Recorder, spool
from beamkeep_client.bluesky import recorder as recorder_module
from beamkeep_client.bluesky.sender import BATCH_SIZE
from beamkeep_client.bluesky.translation import CRASHED, POINTS

LONG = 20.0


REFS = {"bluesky": "0123456789", "bluesky_scan": "7"}
"""What the run is called in Bluesky."""


def tell(recorder: Recorder, documents: Iterable[Named]) -> None:
    for document in documents:
        recorder(*document)


def deliver(recorder: Recorder, documents: Iterable[Named]) -> None:
    tell(recorder, documents)
    assert recorder.flush(LONG)


def values(runs: Runs) -> list[Any]:
    every = runs.only.observations.values()
    return [each["value"] for each in every if each["channel_name"] != POINTS]


def wait_until(is_so: Callable[[], bool]) -> None:
    late = time.monotonic() + LONG
    while not is_so():
        assert time.monotonic() < late
        time.sleep(0.01)


def once(fault: Fault, *ends: str) -> Callable[[str], Fault | None]:
    """The first call whose path ends like one of these goes wrong, for each of them."""
    left = [*ends]

    def fails(called: str) -> Fault | None:
        found = [end for end in left if called.endswith(end)]
        for end in found:
            left.remove(end)
        return fault if found else None

    return fails


def full(*_: object) -> int:
    """A write on a full disk."""
    raise OSError("no space left")


def test_a_run_is_started_observed_and_completed(record: Record, runs: Runs):
    deliver(record(), a_scan(3, uid="0123456789"))
    body = {"name": "scan 7 01234567", "plan_id": "p", "external_refs": REFS}
    assert runs.only.body == body | {"progress": {"channel_name": "points", "of": 3.0}}
    assert values(runs) == [1, 2, 3]
    assert runs.only.status == "Completed"


def test_a_run_whose_points_are_known_counts_them(record: Record, runs: Runs):
    start = started(num_points=5)
    stream, other = described(start, det=None), described(start, "monitored", current=None)
    events = [measured(stream, 2.0 * n, det=1.0) for n in range(1, 4)]
    for number, (_, event) in enumerate(events, 1):
        event["seq_num"] = number
    deliver(record(), [start, stream, other, *events, measured(other, current=400.0)])
    every = runs.only.observations.values()
    counted = [each["value"] for each in every if each["channel_name"] == POINTS]
    assert counted == [1.0, 2.0, 3.0]


def test_a_run_may_count_its_progress_by_another_channel(record: Record, runs: Runs):
    own = {"channel_name": "det", "of": 9.0}
    start = started(num_points=5, beamkeep={"progress": own})
    stream = described(start, det=None)
    deliver(record(), [start, stream, measured(stream, det=1.0)])
    assert runs.only.body["progress"] == own
    assert [each["channel_name"] for each in runs.only.observations.values()] == ["det"]


def test_what_a_run_says_of_itself_goes_before_what_the_recorder_says(record: Record, runs: Runs):
    said = {"plan_id": "q", "raid": "z", "name": "Dark field", "external_refs": {"tiled": "t1"}}
    start = started(beamkeep=said)
    stream = described(start, det=None)
    deliver(
        record(start={"subject_id": "s", "raid": "r"}, simulated=True),
        [start, stream, measured(stream, det=1)],
    )
    refs = {"bluesky": start[1]["uid"], "bluesky_scan": "7", "tiled": "t1"}
    assert runs.only.body == {**said, "subject_id": "s", "external_refs": refs}
    assert [each["simulated"] for each in runs.only.observations.values()] == [True]


@pytest.mark.parametrize("said", ["yes", 7, ["plan_id"]])
def test_a_run_that_says_nonsense_of_itself_is_recorded_as_the_recorder_says(
    said: object, record: Record, runs: Runs, caplog: pytest.LogCaptureFixture
):
    deliver(record(), [started("0123456789", beamkeep=said)])
    assert runs.only.body == {"name": "scan 7 01234567", "plan_id": "p", "external_refs": REFS}
    assert "The beamkeep metadata of run 0123456789 are not a mapping." in caplog.text


def test_an_open_run_is_delivered_as_far_as_it_is(record: Record, runs: Runs):
    deliver(record(), a_scan(3)[:-1])
    assert (runs.only.status, values(runs)) == ("Running", [1, 2, 3])


def test_batches_have_at_most_500_observations(record: Record, runs: Runs):
    start = started()
    stream = described(start)
    many = measured(stream, **{f"channel{n}": n for n in range(2 * BATCH_SIZE + 1)})
    deliver(record(), [start, stream, many, stopped(start)])
    assert len(runs.only.observations) == 2 * BATCH_SIZE + 1
    assert runs.calls.count(next(c for c in runs.calls if c.endswith("append"))) == 3


@pytest.mark.parametrize(
    "fault",
    [
        "drop",
        "lose",
        "garble",
        (500, "InternalError"),
        (503, "StoreUnavailableError"),
        (503, "OutcomeUnknownError"),
        (429, "TooManyRequestsError"),
        (408, "RequestTimeoutError"),
        (425, "TooEarlyError"),
        (401, "ExpiredTokenError"),
        (409, "ConcurrencyError"),
        (409, "IdempotencyInFlightError"),
        (404, ""),
    ],
)
def test_a_call_that_fails_for_now_is_repeated(fault: Fault, record: Record, runs: Runs):
    runs.fault = once(fault, "/runs", "/append", "/complete")
    deliver(record(), a_scan(3))
    assert (runs.only.status, values(runs)) == ("Completed", [1, 2, 3])


@pytest.mark.parametrize("seed", range(2))
def test_through_any_mixture_of_failures_everything_arrives_once(
    seed: int, record: Record, runs: Runs
):
    chance = random.Random(seed)  # noqa: S311
    faults: list[Fault] = ["drop", "lose", "garble", (503, "StoreUnavailableError")]
    runs.fault = lambda _: chance.choice([*faults, None, None])
    recorder = record()
    for points in range(1, 7):
        tell(recorder, [document for document in a_scan(points) for _ in range(2)])
    assert recorder.flush(60)
    # Each point has a reading and its number.
    assert [len(run.observations) for run in runs.runs.values()] == [2 * n for n in range(1, 7)]
    assert {run.status for run in runs.runs.values()} == {"Completed"}


def test_a_service_that_is_away_gets_everything_when_it_is_back(record: Record, runs: Runs):
    with serving_runs(Runs()) as gone:
        url = gone.url
    recorder = record(url=url)
    tell(recorder, a_scan(3))
    assert not recorder.flush(0.2)
    with serving_runs(Runs(), port=int(url.rpartition(":")[2])) as back:
        assert recorder.flush(LONG)
        assert (back.only.status, values(back)) == ("Completed", [1, 2, 3])


def test_a_service_that_hangs_does_not_slow_the_plan(record: Record, runs: Runs):
    runs.lock.acquire()
    recorder = record()
    try:
        tell(recorder, [started("first")])
        time.sleep(0.1)
        since = time.perf_counter()
        start = started("second")
        stream = described(start)
        tell(recorder, [start, stream, *(measured(stream, n, det=n) for n in range(1000))])
        assert time.perf_counter() - since < 5
    finally:
        runs.lock.release()
    assert recorder.flush(LONG)


def test_a_token_is_asked_for_at_every_call(record: Record, runs: Runs):
    tokens = iter(["expired", *[TOKEN] * 100])
    deliver(record(token=lambda: next(tokens)), a_scan())
    assert runs.only.status == "Completed"


def test_a_token_that_is_not_to_be_had_is_waited_for(record: Record, runs: Runs):
    attempts = iter(range(100))

    def token() -> str:
        if next(attempts) < 3:
            raise OSError("no identity provider")
        return TOKEN

    deliver(record(token=token), a_scan())
    assert runs.only.status == "Completed"


@pytest.mark.parametrize("token", ["geheimé", "gehe\nim", "gehe im", "geheim\x7f", ""])
def test_a_token_that_fits_no_header_is_waited_for_and_not_shown(
    token: str, record: Record, runs: Runs, caplog: pytest.LogCaptureFixture
):
    tokens = iter([token, *[TOKEN] * 100])
    deliver(record(token=lambda: next(tokens)), a_scan())
    assert runs.only.status == "Completed"
    assert "waits for a retry: Malformed access token." in caplog.text
    assert "gehe" not in caplog.text


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("Bearer geheim"), "ValueError"),
        (httpx2.LocalProtocolError("Bearer geheim"), "LocalProtocolError"),
        (httpx2.ConnectError("no route"), "no route"),
        (httpx2.ReadTimeout("too late"), "too late"),
    ],
)
def test_the_report_of_a_failed_call_holds_nothing_of_the_token(
    error: Exception,
    told: str,
    record: Record,
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    def fails(*_: object, **__: object) -> None:
        raise error

    recorder = record()
    with monkeypatch.context() as patched:
        patched.setattr(httpx2.Client, "request", fails)
        tell(recorder, a_scan())
        wait_until(lambda: "waits" in caplog.text)
    assert recorder.flush(LONG)
    assert f"waits for a retry: The service at {runs.url} does not answer: {told}" in caplog.text
    assert "geheim" not in caplog.text


@pytest.mark.parametrize(
    ("code", "told"),
    [("InternalError", "InternalError: No."), ("", "HTTP 500: Internal Server Error")],
)
def test_a_run_that_always_fails_does_not_hold_up_the_others(
    code: str, told: str, record: Record, runs: Runs, caplog: pytest.LogCaptureFixture
):
    first = started("first")
    recorder = record()
    deliver(recorder, [first])
    (run_id,) = runs.runs
    runs.fault = lambda path: (500, code) if run_id in path else None
    tell(recorder, [stopped(first), *a_scan(uid="second")])
    wait_until(lambda: "Completed" in [run.status for run in runs.runs.values()])
    assert not recorder.flush(0.1)
    assert [run.status for run in runs.runs.values()] == ["Running", "Completed"]
    assert f"Run first waits for a retry: {told}" in caplog.text


@pytest.mark.parametrize(
    "fault", ["drop", "garble", (401, "ExpiredTokenError"), (429, "Slow"), (503, "Down")]
)
def test_what_every_run_would_meet_with_is_tried_with_one(
    fault: Fault, record: Record, runs: Runs, caplog: pytest.LogCaptureFixture
):
    runs.fault = lambda _: fault
    recorder = record()
    tell(recorder, [started("first"), started("second")])
    wait_until(lambda: "Run first waits" in caplog.text)
    assert not recorder.flush(0.1)
    assert "Run second waits" not in caplog.text


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/runs", (400, "InvalidRunNameError")),
        ("/append", (403, "UnauthorizedError")),
        ("/complete", (409, "RunCannotCompleteError")),
    ],
)
def test_a_refused_run_is_set_aside_with_the_problem_and_the_next_one_is_delivered(
    path: str,
    fault: tuple[int, str],
    record: Record,
    runs: Runs,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
):
    runs.fault = once(fault, path)
    recorder = record()
    tell(recorder, a_scan(3, uid="first"))
    deliver(recorder, a_scan(2, uid="second"))
    flushed = recorder.flush(LONG)
    assert flushed.delivered == ("second",)
    assert {uid: why.split(":")[0] for uid, why in flushed.refused.items()} == {"first": fault[1]}
    aside = (tmp_path / "spool" / "refused" / "first.jsonl").read_text()
    (why,) = (line for line in aside.splitlines() if line.startswith('["refused"'))
    assert fault[1] in why
    assert ["first" in r.getMessage() for r in caplog.records if r.levelno == logging.ERROR] == [
        True
    ]
    assert [*runs.runs.values()][-1].status == "Completed"


def test_a_refused_run_that_is_put_back_is_delivered_by_the_next_recorder(
    record: Record, runs: Runs, tmp_path: Path
):
    runs.fault = once((403, "UnauthorizedError"), "/append")
    recorder, folder = record(), tmp_path / "spool"
    deliver(recorder, a_scan(3, uid="first"))
    recorder.close()
    (folder / "refused" / "first.jsonl").rename(folder / "first.jsonl")
    assert record().flush(LONG)
    assert (runs.only.status, values(runs)) == ("Completed", [1, 2, 3])


def test_the_rest_of_a_refused_run_is_stored_with_it(record: Record, runs: Runs, tmp_path: Path):
    runs.fault = once((409, "RunOutsidePlanWindowError"), "/runs")
    recorder = record()
    scan = a_scan(3, uid="first")
    deliver(recorder, scan[:2])
    deliver(recorder, scan[2:])
    kept = (tmp_path / "spool" / "refused" / "first.jsonl").read_text().splitlines()
    assert [line[2:7] for line in kept] == ["start", "descr", "refus", *["event"] * 3, 'stop"']


def test_trouble_is_reported_when_it_begins_and_when_it_ends(
    record: Record, runs: Runs, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "beamkeep_client.bluesky")
    left = [(503, "StoreUnavailableError")] * 5
    runs.fault = lambda _: left.pop() if left else None
    deliver(record(), a_scan())
    said = [r.levelname for r in caplog.records if r.name == "beamkeep_client.bluesky"]
    assert said == ["WARNING", "INFO"]


@pytest.mark.parametrize(
    "url", ["http://lab.test", "HTTP://10.0.0.5:8000", "http://localhost.evil.test", "http://[lab"]
)
def test_a_token_is_not_sent_in_the_clear(record: Record, runs: Runs, url: str):
    with pytest.raises(ValueError, match="Give an https:// address"):
        record(url=url)
    # Nothing is left behind that would keep the next one from recording.
    deliver(record(), a_scan())


# A process that dies, and the one after it.


def test_the_next_recorder_delivers_what_the_last_one_left(record: Record, runs: Runs):
    away = record(url="http://127.0.0.1:9")
    tell(away, a_scan(3))
    assert not away.close(timeout=0)
    assert record().flush(LONG)
    assert (runs.only.status, values(runs)) == ("Completed", [1, 2, 3])


def test_what_is_repeated_says_the_same_though_the_recorder_is_set_up_again(
    record: Record, runs: Runs
):
    runs.fault = lambda path: "lose" if path == "/runs" else None
    first = record()
    tell(first, a_scan(3))
    assert not first.close(timeout=0.2)
    runs.fault = lambda _: None
    assert record(plan_id="another", simulated=True).flush(LONG)
    assert (runs.only.body["plan_id"], runs.only.status) == ("p", "Completed")


@pytest.mark.parametrize("forgotten", [1, 3, 5])
def test_a_crash_between_sending_and_remembering_sends_again_and_adds_nothing(
    forgotten: int, record: Record, runs: Runs, tmp_path: Path
):
    first = record()
    scan = a_scan(3, uid="r")
    path = tmp_path / "spool" / "r.jsonl"
    for document in scan[:forgotten]:
        deliver(first, [document])
    first.close()
    # All lines but those of the crash's own moment.
    lines = path.read_text().splitlines(keepends=True)
    last_place = max((n for n, line in enumerate(lines) if "delivered" in line), default=None)
    path.write_text("".join(line for n, line in enumerate(lines) if n != last_place))
    before = dict(runs.only.observations)
    assert record().flush(LONG)
    assert runs.only.observations == before
    assert runs.only.status == "Truncated"


def test_a_crash_after_the_end_was_sent_and_before_that_was_stored_is_harmless(
    record: Record, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def crash(*_: object) -> None:
        raise OSError("the process is gone")

    first = record()
    with monkeypatch.context() as patched:
        patched.setattr(spool.Spool, "move", crash)
        tell(first, a_scan(3))
        assert not first.close(timeout=0.5)
    assert runs.only.status == "Completed"
    assert record().flush(LONG)
    assert (runs.only.status, values(runs)) == ("Completed", [1, 2, 3])
    assert not [*(tmp_path / "spool").glob("*.jsonl")]


def test_what_was_delivered_is_not_sent_again_by_the_next_recorder(record: Record, runs: Runs):
    first = record()
    tell(first, a_scan(3)[:-1])
    assert first.close(timeout=LONG)
    before = len(runs.calls)
    assert record().flush(LONG)
    assert [path.rpartition("/")[2] for path in runs.calls[before:]] == ["truncate"]


def test_a_run_whose_process_died_is_truncated_at_its_last_document(record: Record, runs: Runs):
    first = record()
    tell(first, a_scan(3)[:-1])
    first.close()
    assert runs.only.status == "Running"
    assert record().flush(LONG)
    assert runs.only.status == "Truncated"
    assert runs.only.ending is not None
    assert runs.only.ending["interrupted_at"] == "2027-01-15T08:00:06.250000+00:00"


def test_the_end_of_a_run_is_on_the_disk_before_it_is_sent(
    record: Record, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, synced, safe = tmp_path / "spool" / "r.jsonl", dict[Path, int](), list[bool]()

    def sync(path: Path) -> None:
        synced[path] = path.stat().st_size

    def idle(_: object) -> None: ...

    def called(url: str) -> None:
        if url.endswith("/complete"):
            safe.append(synced[path] == path.stat().st_size)

    monkeypatch.setattr(spool, "_sync", sync)
    monkeypatch.setattr(spool.Spool, "_sync_all", idle)
    runs.fault = called
    recorder = record()
    *scan, stop = a_scan(uid="r")
    deliver(recorder, scan)
    deliver(recorder, [stop])
    assert safe == [True]


@pytest.mark.parametrize("anew", [False, True])
def test_what_comes_late_does_not_spoil_a_run_whose_end_was_sent_and_not_answered(
    anew: bool, record: Record, runs: Runs, tmp_path: Path
):
    runs.fault = lambda path: "lose" if path.endswith("/complete") else None
    recorder = record()
    start = started(uid="r")
    stream = described(start, det="mm")
    tell(recorder, [start, stream, measured(stream, 1.0, det=1), stopped(start)])
    wait_until(lambda: [run.status for run in runs.runs.values()] == ["Completed"])
    recorder(*measured(stream, 5.0, det=5))
    if anew:
        recorder.close(timeout=0)
    runs.fault = lambda _: None
    assert (record() if anew else recorder).flush(LONG)
    assert values(runs) == [1]
    assert [*(tmp_path / "spool" / "delivered").iterdir()]
    assert not [*(tmp_path / "spool" / "refused").iterdir()]


def test_a_full_disk_does_not_keep_the_end_of_a_run(
    record: Record, runs: Runs, monkeypatch: pytest.MonkeyPatch
):
    runs.fault = lambda path: (500, "InternalError") if path.endswith("/append") else None
    recorder = record()
    tell(recorder, a_scan())
    wait_until(lambda: any(path.endswith("/append") for path in runs.calls))
    monkeypatch.setattr(os, "write", full)
    runs.fault = lambda _: None
    assert recorder.flush(LONG)
    assert runs.only.status == "Completed"


def interrupted(record: Record) -> Recorder:
    """The recorder after one that died in a run."""
    first = record()
    tell(first, a_scan(3)[:-1])
    assert first.close(timeout=LONG)
    return record()


def test_a_run_that_died_ahead_of_the_clock_of_the_service_is_truncated_without_a_time(
    record: Record, runs: Runs
):
    runs.fault = once((400, "InvalidRunInterruptedAtError"), "/truncate")
    assert interrupted(record).flush(LONG)
    assert (runs.only.status, runs.only.ending) == ("Truncated", {"reason": CRASHED})


def test_a_truncation_without_a_time_is_found_again_when_the_clock_has_caught_up(
    record: Record, runs: Runs, tmp_path: Path
):
    faults: list[Fault] = ["lose", (400, "InvalidRunInterruptedAtError")]
    runs.fault = lambda path: faults.pop() if path.endswith("/truncate") and faults else None
    assert interrupted(record).flush(LONG)
    assert (runs.only.status, runs.only.ending) == ("Truncated", {"reason": CRASHED})
    assert not [*(tmp_path / "spool" / "refused").iterdir()]


# Documents that come late, again, or in another order.


def test_documents_that_come_again_add_nothing(record: Record, runs: Runs):
    recorder = record()
    scan = a_scan(3)
    deliver(recorder, scan)
    deliver(recorder, scan)
    assert len(runs.runs) == 1
    assert (runs.only.status, values(runs)) == ("Completed", [1, 2, 3])


def test_documents_of_a_delivered_run_that_come_to_the_next_recorder_add_nothing(
    record: Record, runs: Runs
):
    scan = a_scan(3)
    for _ in range(2):
        recorder = record()
        deliver(recorder, scan)
        recorder.close()
    assert len(runs.runs) == 1


@pytest.mark.parametrize("seed", range(3))
def test_documents_in_any_order_make_the_same_run(seed: int, record: Record, runs: Runs):
    recorder = record()
    scan = a_scan(5)
    random.Random(seed).shuffle(scan)  # noqa: S311
    runs.lock.acquire()
    try:
        tell(recorder, scan)
    finally:
        runs.lock.release()
    assert recorder.flush(LONG)
    assert (runs.only.status, sorted(values(runs))) == ("Completed", [1, 2, 3, 4, 5])


def test_of_events_that_wait_for_their_stream_the_latest_remain(
    record: Record, runs: Runs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(recorder_module, "MAX_HELD", 3)
    start = started()
    stream, other = described(start), described(start)
    early = [measured(stream, n, det=n) for n in (1, 2, 3)]
    deliver(record(), [start, *early, measured(other, 4, det=4), stream, other])
    assert values(runs) == [2, 3, 4]
    assert caplog.text.count("An event of an unknown stream was not recorded.") == 1


def test_an_event_that_waits_does_not_change(record: Record, runs: Runs):
    recorder = record()
    start = started()
    stream = described(start)
    name, event = measured(stream, det=1, image=np.zeros((4, 4)))
    tell(recorder, [start, (name, event)])
    event["data"]["det"] = 2
    deliver(recorder, [stream])
    assert values(runs) == [1]


def test_a_run_whose_start_is_missing_is_not_read_from_the_beginning_again_and_again(
    record: Record, runs: Runs, monkeypatch: pytest.MonkeyPatch
):
    read, lines = list[int](), spool.Spool.entries

    def noted(self: spool.Spool, run: str, offset: int = 0) -> Iterator[spool.SpoolEntry]:
        for line in lines(self, run, offset):
            read.append(line.end)
            yield line

    monkeypatch.setattr(spool.Spool, "entries", noted)
    recorder = record()
    start, *rest = a_scan(3)
    for document in rest:
        deliver(recorder, [document])
        assert recorder.flush(LONG)
    assert len(read) == len(rest)
    deliver(recorder, [start])
    assert (runs.only.status, values(runs)) == ("Completed", [1, 2, 3])


def test_runs_within_a_run_are_runs_of_their_own(record: Record, runs: Runs):
    outer, inner = a_scan(2), a_scan(4)
    deliver(record(), [*outer[:3], *inner, *outer[3:]])
    assert [len(run.observations) for run in runs.runs.values()] == [2 * 2, 2 * 4]
    assert {run.status for run in runs.runs.values()} == {"Completed"}


@pytest.mark.parametrize(
    "document",
    [
        ("start", {}),
        ("start", {"uid": 5, "time": 1.0}),
        ("start", {"uid": "x", "time": None}),
        ("descriptor", {"uid": "y"}),
        ("event", {}),
        ("stop", {"run_start": None}),
        ("resource", {"uid": "z"}),
        ("nonsense", {}),
        ("event", {"descriptor": "never declared"}),
    ],
)
def test_a_document_that_makes_no_sense_stops_nothing(document: Named, record: Record, runs: Runs):
    recorder = record()
    deliver(recorder, [document, *a_scan(3), document])
    assert (runs.only.status, values(runs)) == ("Completed", [1, 2, 3])


@pytest.mark.parametrize("part", ["time", "data", "uid"])
def test_an_event_that_lacks_a_part_is_passed_over(part: str, record: Record, runs: Runs):
    scan = a_scan(3)
    del scan[3][1][part]
    deliver(record(), scan)
    assert (runs.only.status, values(runs)) == ("Completed", [1, 3])


def test_a_full_disk_does_not_stop_the_plan(
    record: Record, runs: Runs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    recorder = record()
    scan = a_scan(3)
    deliver(recorder, scan[:3])
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        recorder(*scan[3])
    deliver(recorder, scan[4:])
    assert (runs.only.status, values(runs)) == ("Completed", [1, 3])
    assert "The event document was not recorded." in caplog.text


def test_a_closed_recorder_stops_no_plan(record: Record, runs: Runs):
    recorder = record()
    assert recorder.close()
    assert recorder.close()
    tell(recorder, a_scan())
    assert runs.calls == []


def test_a_uid_may_be_any_text(record: Record, runs: Runs, tmp_path: Path):
    deliver(record(), a_scan(uid="../../é /"))
    assert runs.only.status == "Completed"
    assert [path.name for path in (tmp_path / "spool" / "delivered").iterdir()] == [
        "..%2F..%2F%C3%A9%20%2F.jsonl"
    ]
