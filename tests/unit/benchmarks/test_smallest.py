"""`python -m benchmarks` runs the paths asked for, and names those that fail."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from benchmarks.__main__ import PATHS, PLANS, arguments, main, measured, missed
from benchmarks.measure import Plan
from benchmarks.rig import Rig, Size

from beamkeep.testing.cluster import Cluster


def rig(size: Size = Size.SMALLEST) -> Rig:
    return Rig(cast("Cluster", SimpleNamespace(pid=1)), Plan(1, 0, 0.0), size)


async def sound(rig: Rig) -> dict[str, Any]:
    return {"counts_hold": True}


async def broken(rig: Rig) -> dict[str, Any]:
    raise ValueError("there is no such column")


async def miscounted(rig: Rig) -> dict[str, Any]:
    return {"counts_hold": False}


def test_the_smallest_run_has_every_path():
    options = arguments(["--smallest"])
    assert (options.only, options.size) == (list(PATHS), Size.SMALLEST)


@pytest.mark.parametrize(
    ("given", "size"),
    [([], Size.FULL), (["--quick"], Size.QUICK), (["--smallest"], Size.SMALLEST)],
)
def test_a_run_is_full_unless_another_size_is_given(given: list[str], size: Size):
    assert arguments(given).size is size
    assert size in PLANS


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--quick", "--smallest"], "not allowed with argument"),
        (["--smallest", "--gate"], "--smallest measures no time"),
        (["--only", "append,apend"], "apend; there are counts, "),
    ],
)
def test_options_that_do_not_fit_are_refused(
    given: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit):
        arguments(given)
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "picked", "extended"),
    [(Size.FULL, 3, True), (Size.QUICK, 2, False), (Size.SMALLEST, 1, True)],
)
def test_only_a_quick_run_leaves_parts_out(size: Size, picked: int, extended: bool):
    assert rig(size).pick(full=3, quick=2, smallest=1) == picked
    assert rig(size).extended is extended


@pytest.mark.anyio
async def test_a_path_that_fails_is_named_and_the_others_still_run():
    found = await measured({"broken": broken, "miscounted": miscounted, "sound": sound}, rig())
    assert list(found["paths"]) == ["miscounted", "sound"]
    assert missed(found, gates=False) == [
        "broken: ValueError: there is no such column",
        "miscounted: counts are not as expected",
    ]


@pytest.mark.anyio
async def test_nothing_is_missed_if_all_paths_run():
    assert missed(await measured({"sound": sound}, rig()), gates=False) == []


@pytest.mark.parametrize(("failed", "status"), [({}, 0), ({"fold": "AssertionError"}, 1)])
def test_the_exit_status_tells_whether_a_path_failed(
    failed: dict[str, str],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    async def run(wanted: object, size: Size) -> dict[str, Any]:
        return {"paths": {}, "failed": failed}

    monkeypatch.setattr("benchmarks.__main__._run", run)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--smallest"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == status
    assert ("fold: AssertionError" in capsys.readouterr().out) == bool(failed)


def test_a_gate_is_missed_only_by_a_whole_interval():
    paths = {
        "append": {"gate": 0.4, "interval": [0.3, 0.39]},
        "fold": {"gate": 0.6, "interval": [0.5, 0.61]},
    }
    report = {"paths": paths, "failed": {}}
    assert missed(report, gates=True) == ["append: [0.3, 0.39] is below 0.4"]
    assert missed(report, gates=False) == []
