"""Two commits are compared in turns, and what cannot be compared is named."""

import os
import subprocess
from importlib.metadata import distributions
from pathlib import Path

import pytest
from benchmarks.against import (
    PLAN,
    USUAL,
    SideError,
    Tree,
    Trees,
    Turn,
    alternate,
    arguments,
    checked_out,
    compare_paths,
    compared,
    different_packages,
    row,
    take_turns,
    verdict,
    write_entry_points,
)
from benchmarks.measure import Plan, Slice


def costing(*seconds: float) -> list[Slice]:
    """Slices of a hundred operations that take so much processor time."""
    return [Slice(100, 1.0, client=each / 2, server=each / 2) for each in seconds]


def turns(here: tuple[float, ...], there: tuple[float, ...], noise: float) -> list[Turn]:
    """Turns in which the same code differs from itself by up to a part."""
    twin = [each * (1 + noise * part) for each, part in zip(here, (-1, 0, 1), strict=True)]
    sides = costing(*here), costing(*there), costing(*twin)
    return [Turn(*slices) for slices in zip(*sides, strict=True)]


def test_the_ratio_is_the_time_here_divided_by_the_time_there():
    found = compared(turns((2.0, 3.0, 4.0), (1.0, 1.0, 1.0), noise=0.01))
    assert (found["ratio"], found["interval"]) == (3.0, [2.0, 4.0])
    assert (found["here_us"], found["there_us"]) == (30_000.0, 10_000.0)
    assert found["alike"]["ratio"] == 1.0
    assert found["alike"]["interval"] == [0.99, 1.01]


@pytest.mark.parametrize(
    ("here", "noise", "told"),
    [
        ((1.1, 1.2, 1.3), 0.05, "costs more here"),
        ((0.7, 0.8, 0.9), 0.05, "costs less here"),
        ((0.9, 1.0, 1.1), 0.05, "no difference"),
        ((1.1, 1.2, 1.3), 0.15, "no difference"),
        ((0.7, 0.8, 0.9), 0.15, "no difference"),
    ],
)
def test_a_difference_is_more_than_that_of_the_same_code(
    here: tuple[float, ...], noise: float, told: str
):
    found = compared(turns(here, (1.0, 1.0, 1.0), noise))
    assert verdict(found) == told
    assert row("append", found).endswith(told)


class Recorded:
    """A side that notes when a slice of it was taken."""

    def __init__(self, name: str, taken: list[str]) -> None:
        self._name, self._taken = name, taken

    async def slice(self, seconds: float) -> Slice:
        self._taken.append(self._name)
        return Slice(ord(self._name), seconds, client=seconds, server=0.0)


@pytest.mark.anyio
async def test_the_sides_take_turns_and_the_warm_up_is_dropped():
    taken: list[str] = []
    here, there, twin = (Recorded(name, taken) for name in "hot")
    found = await alternate(here, there, twin, plan=Plan(4, 1, 0.5))
    assert "".join(taken) == "hottoh" + "othhto" + "thooht" + "hottoh"
    assert [[chr(slice.done // 2) for slice in turn] for turn in found] == [["h", "o", "t"]] * 3


def test_the_usual_paths_are_compared_unless_others_are_named():
    assert arguments(["v1"]).only == list(USUAL)
    assert arguments(["v1", "--only", "fold,walk"]).only == ["fold", "walk"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "the following arguments are required: REF"),
        (["v1", "--only", "apend"], "apend; there are agent_read, append, "),
        (["v1", "--only", "counts"], "counts; there are "),
        (["v1", "--lives", "0"], "at least one life"),
        (["v1", "--turns", str(PLAN.dropped)], "at least one life and 2 turns"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    given: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit):
        arguments(given)
    assert told in capsys.readouterr().err


def test_different_requirements_are_listed_with_both_versions():
    here = "asyncpg==0.31.0 \\\n    --hash=sha256:1\nmsgspec==0.20.0\nuvloop==0.22.1\n"
    there = "asyncpg==0.30.0 \\\n    --hash=sha256:2\npsycopg[binary]==3.2.1\nuvloop==0.22.1\n"
    assert different_packages(here, there) == [
        "asyncpg 0.31.0 here, 0.30.0 there",
        "msgspec 0.20.0 here, missing there",
        "psycopg[binary] missing here, 3.2.1 there",
    ]


def test_the_code_of_a_tree_is_found_before_what_is_installed(tmp_path: Path):
    code, drivers = tmp_path / "code", tmp_path / "drivers"
    path = Tree("there", code, drivers).environment["PYTHONPATH"].split(os.pathsep)
    assert path == [str(drivers), f"{code}/src", f"{code}/client/src"]


def test_a_tree_has_the_entry_points_of_its_own_commit(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "beamkeep"\nversion = "0.0.7"\n'
        '[project.scripts]\nbeamkeep = "old:main"\n'
        '[project.entry-points."beamkeep.verbs"]\nserve = "old:serve"\n'
    )
    write_entry_points(tmp_path)
    (found,) = distributions(name="beamkeep", path=[str(tmp_path / "src")])
    assert found.version == "0.0.7"
    assert {each.value for each in found.entry_points} == {"old:main", "old:serve"}


@pytest.mark.parametrize("end", [None, KeyboardInterrupt, SystemExit])
def test_the_other_commit_is_removed_however_it_ends(
    end: type[BaseException] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def git(*arguments: str) -> str:
        about = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return subprocess.check_output(["git", *about, *arguments], cwd=tmp_path, text=True)

    git("init", "--quiet")
    (tmp_path / "code").write_text("old")
    git("add", "code")
    git("commit", "--quiet", "--message", "Old")
    (tmp_path / "code").write_text("new")
    monkeypatch.setattr("benchmarks.against.ROOT", tmp_path)
    ended, tree = None, Path()
    try:
        with checked_out("HEAD") as tree:
            assert (tree / "code").read_text() == "old"
            if end:
                raise end
    except BaseException as error:
        ended = type(error)
    assert ended is end
    assert not tree.exists()
    assert len(git("worktree", "list").splitlines()) == 1
    assert (tmp_path / "code").read_text() == "new"


def lacking(folder: Path) -> Trees:
    """Trees without any code."""
    here, there = Tree("here", folder, folder), Tree("there", folder, folder)
    return Trees(here, there, there)


@pytest.mark.anyio
async def test_a_side_that_does_not_start_is_named(tmp_path: Path):
    with pytest.raises(SideError, match="here: ModuleNotFoundError: No module named 'benchmarks'"):
        await take_turns(lacking(tmp_path), "fold", PLAN, 1)


@pytest.mark.anyio
async def test_a_path_that_fails_is_reported_and_the_next_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    failed = await compare_paths(lacking(tmp_path), ["fold", "append"], PLAN, 1)
    assert failed == ["fold", "append"]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines] == [
        [path, "not", "compared:", "here:"] for path in failed
    ]
