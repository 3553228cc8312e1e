"""Runs of a real RunEngine with simulated devices, recorded."""

import signal
import subprocess
import sys
import time
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from bluesky import Msg, RunEngine
from bluesky import plan_stubs as bps
from bluesky import plans as bp
from bluesky import preprocessors as bpp
from bluesky.utils import RequestStop, RunEngineInterrupted
from ophyd import sim
from tests.support.bluesky_documents import Witness
from tests.support.stand_in_runs import TOKEN, Fault, Run, Runs, serving_runs
from tests.unit.recording.conftest import Record

from beamkeep_client.bluesky import Recorder

LONG = 20.0
type Plan = Generator[Msg, Any, Any]


@pytest.fixture
def engine() -> RunEngine:
    return RunEngine(context_managers=[])


@pytest.fixture
def recorder(record: Record, engine: RunEngine) -> Recorder:
    made = record(simulated=True)
    engine.subscribe(made)
    return made


def channels(runs: Runs, procedure: str) -> set[str]:
    each = runs.only.observations.values()
    return {seen["channel_name"] for seen in each if seen["sampling_procedure"] == procedure}


def test_a_scan_is_a_completed_run(engine: RunEngine, recorder: Recorder, runs: Runs):
    engine(bp.scan([sim.det], sim.motor, -1, 1, 3))
    assert recorder.flush(LONG)
    assert runs.only.status == "Completed"
    assert runs.only.body["name"].startswith("scan 1 ")
    assert channels(runs, "monitor") == {"det", "motor", "motor_setpoint", "points"}


def test_settings_of_devices_are_the_baseline(engine: RunEngine, recorder: Recorder, runs: Runs):
    engine(bp.scan([sim.det], sim.motor, -1, 1, 3))
    assert recorder.flush(LONG)
    assert {"motor_velocity", "det_sigma"} <= channels(runs, "baseline")
    assert "det_noise" not in channels(runs, "baseline")  # a word, not a number


def test_a_baseline_stream_is_read_at_both_ends(engine: RunEngine, recorder: Recorder, runs: Runs):
    engine.preprocessors.append(bpp.SupplementalData(baseline=[sim.det1]))
    engine(bp.count([sim.det]))
    assert recorder.flush(LONG)
    seen = [each["channel_name"] for each in runs.only.observations.values()]
    assert seen.count("det1") == 2
    assert "det1" in channels(runs, "baseline")


def test_a_fast_scan_has_one_reading_a_second(engine: RunEngine, recorder: Recorder, runs: Runs):
    began = time.time()
    engine(bp.count([sim.det], 50))
    seconds = int(time.time()) - int(began) + 1
    assert recorder.flush(LONG)
    seen = [each["channel_name"] for each in runs.only.observations.values()]
    assert 1 <= seen.count("det") <= seconds


def test_images_and_words_are_left_out(engine: RunEngine, recorder: Recorder, runs: Runs):
    picture = sim.SynSignal(name="picture", func=lambda: np.zeros((4, 4)))
    word = sim.SynSignal(name="word", func=lambda: "open")
    engine(bp.count([picture, word, sim.det]))
    assert recorder.flush(LONG)
    assert channels(runs, "monitor") == {"det", "points"}


def test_the_metadata_of_a_run_name_its_plan(engine: RunEngine, recorder: Recorder, runs: Runs):
    engine(bp.count([sim.det]), beamkeep={"plan_id": "q", "subject_id": "s"})
    assert recorder.flush(LONG)
    assert (runs.only.body["plan_id"], runs.only.body["subject_id"]) == ("q", "s")


def test_metadata_of_every_kind_do_no_harm(engine: RunEngine, recorder: Recorder, runs: Runs):
    engine(bp.count([sim.det]), odd={"all": {3}, "none": None}, array=np.zeros(3))
    assert recorder.flush(LONG)
    assert runs.only.status == "Completed"


def test_a_plan_that_fails_is_an_aborted_run(engine: RunEngine, recorder: Recorder, runs: Runs):
    def failing() -> Plan:
        yield from bps.open_run()
        raise OSError("The hexapod does not answer.")

    with pytest.raises(OSError, match="hexapod"):
        engine(bpp.finalize_wrapper(failing(), bps.null()))
    assert recorder.flush(LONG)
    assert runs.only.status == "Aborted"
    assert runs.only.ending == {"reason": "The hexapod does not answer."}


def paused(engine: RunEngine) -> None:
    """A scan of a hundred points that stands still after two."""
    seen = iter(range(100))

    def take(detectors: Any, step: Any, pos_cache: Any) -> Plan:
        if next(seen) == 2:
            yield from bps.pause()
        yield from bps.one_nd_step(detectors, step, pos_cache)

    with pytest.raises(RunEngineInterrupted):
        engine(bp.scan([sim.det], sim.motor, -1, 1, 100, per_step=take))


def test_a_scan_that_is_aborted_says_so(engine: RunEngine, recorder: Recorder, runs: Runs):
    paused(engine)
    engine.abort("Vacuum is lost.")
    assert recorder.flush(LONG)
    # The plans that come with Bluesky do not pass the reason on.
    said = {"reason": "Bluesky ended the run with exit status abort."}
    assert (runs.only.status, runs.only.ending) == ("Aborted", said)


def test_a_run_that_is_aborted_says_why(engine: RunEngine, recorder: Recorder, runs: Runs):
    def standing() -> Plan:
        yield from bps.open_run()
        yield from bps.pause()

    with pytest.raises(RunEngineInterrupted):
        engine(standing())
    engine.abort("Vacuum is lost.")
    assert recorder.flush(LONG)
    assert (runs.only.status, runs.only.ending) == ("Aborted", {"reason": "Vacuum is lost."})


def test_a_run_that_is_stopped_was_ended_early_and_is_valid(
    engine: RunEngine, recorder: Recorder, runs: Runs
):
    paused(engine)
    engine.stop()
    assert recorder.flush(LONG)
    said = {"reason": "Ended after 2 of 100 points."}
    assert (runs.only.status, runs.only.ending) == ("Stopped", said)


def test_a_plan_that_stops_itself_is_a_stopped_run(
    engine: RunEngine, recorder: Recorder, runs: Runs
):
    def enough() -> Plan:
        yield from bps.open_run({"num_points": 5})
        raise RequestStop

    engine(bpp.finalize_wrapper(enough(), bps.null()))
    assert recorder.flush(LONG)
    assert runs.only.status == "Stopped"


def test_a_run_that_is_halted_is_an_aborted_run(engine: RunEngine, recorder: Recorder, runs: Runs):
    paused(engine)
    engine.halt()
    assert recorder.flush(LONG)
    assert runs.only.status == "Aborted"


def test_twenty_scans_while_the_service_dies_twice_are_twenty_runs(
    engine: RunEngine, record: Record
):
    witness, runs = Witness(), Runs()
    lost = iter([*["lose"] * 3, *[None] * 1000])
    runs.fault = lambda _: cast("Fault | None", next(lost))

    def scan(times: int) -> None:
        for _ in range(times):
            engine(bp.scan([sim.det], sim.motor, -1, 1, 3))

    with serving_runs(runs):
        recorder = record(url=runs.url, simulated=True)
        engine.subscribe(recorder)
        engine.subscribe(witness)
        scan(4)
    port = int(runs.url.rpartition(":")[2])
    scan(3)
    with serving_runs(runs, port):
        scan(4)
    scan(3)
    with serving_runs(runs, port):
        scan(6)
        assert recorder.flush(LONG)
    assert len(runs.runs) == 20
    assert {run.status for run in runs.runs.values()} == {"Completed"}
    assert {run.body["name"]: facts(run) for run in runs.runs.values()} == witness.observed


def facts(run: Run) -> list[tuple[str, str, float]]:
    parts = ("sampling_procedure", "channel_name", "value")
    return sorted(tuple(each[part] for part in parts) for each in run.observations.values())


def test_the_recorder_stops_no_plan_whatever_happens_to_it(
    engine: RunEngine, recorder: Recorder, runs: Runs
):
    recorder.close()
    uids = engine(bp.count([sim.det]))
    assert len(uids) == 1


DYING = """
import os, sys
from bluesky import RunEngine
from bluesky import plans as bp
from ophyd import sim
from beamkeep_client.bluesky import Recorder

url, token, spool = sys.argv[1:]
engine = RunEngine(context_managers=[])
engine.subscribe(Recorder(url, token, "p", spool))

def die(name, document):
    if name == "event" and document["seq_num"] == 3:
        os.kill(os.getpid(), 9)

engine.subscribe(die)
engine(bp.scan([sim.det], sim.motor, -1, 1, 100))
"""


def test_a_run_whose_process_is_killed_is_truncated_by_the_next_recorder(
    record: Record, runs: Runs, tmp_path: Path
):
    before = datetime.now(UTC)
    words = [sys.executable, "-c", DYING, runs.url, TOKEN, str(tmp_path / "spool")]
    died = subprocess.run(words, check=False, timeout=120)
    assert died.returncode == -signal.SIGKILL
    (spooled,) = (tmp_path / "spool").glob("*.jsonl")
    assert spooled.read_text().count('["event"') == 3
    assert record().flush(LONG)
    assert runs.only.status == "Truncated"
    assert runs.only.ending is not None
    assert before < datetime.fromisoformat(runs.only.ending["interrupted_at"]) < datetime.now(UTC)
