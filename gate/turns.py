"""Which slices a gate runs: what the change touches, and what has waited longest.

Nothing is remembered outside the repository. `.ci/turns` has a line for each turn that was taken
with `make turn`: its number, its day and the commit. A day with commits that took none counts as
a turn as well.
"""

import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from gate.reach import Graph, reached_by
from gate.suites import ROOT, Suite

CYCLE = 5
"""Every slice runs at least once in as many turns."""
TURNS = ROOT / ".ci/turns"


class Turn(NamedTuple):
    """A turn that was taken."""

    number: int
    day: date
    commit: str

    def __str__(self) -> str:
        return f"{self.number} {self.day} {self.commit}"


def taken(text: str) -> list[Turn]:
    """Return the turns of a file of turns, oldest first."""
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return [Turn(int(number), date.fromisoformat(day), commit) for number, day, commit in rows]


def current(turns: Sequence[Turn], days: Iterable[date]) -> int:
    """Return the number of the turn at a commit, given the days of all commits up to it."""
    if not turns:
        return len({*days})
    return turns[-1].number + len({day for day in days if day > turns[-1].day})


def base(turns: Sequence[Turn]) -> str | None:
    """Return the commit that the last gate but this one has seen."""
    return turns[-2:][0].commit if turns else None


def groups(slices: Iterable[Suite]) -> list[list[Suite]]:
    """Divide the slices into one group for each turn of a cycle, equally long."""
    found: list[list[Suite]] = [[] for _ in range(CYCLE)]
    for each in sorted(slices, key=lambda suite: (-suite.seconds, suite.name)):
        min(found, key=lambda group: sum(suite.seconds for suite in group)).append(each)
    return found


def waited(slices: Iterable[Suite], turn: int) -> dict[str, int]:
    """Return how many turns ago each slice was due; 0 is now."""
    grouped = enumerate(groups(slices))
    return {suite.name: (turn - place) % CYCLE for place, group in grouped for suite in group}


def touched(slices: Iterable[Suite], changed: Collection[str], graph: Graph) -> Mapping[str, int]:
    """Return the slices that a change can reach, with the number of imports between."""
    distances = reached_by([each for each in changed if each.endswith(".py")], graph)
    found: dict[str, int] = {}
    for suite in slices:
        by_subject = [0 for each in changed if suite.subjects and each.startswith(suite.subjects)]
        by_import = (
            [distance for file, distance in distances.items() if file.startswith(suite.tests)]
            if suite.tests
            else []
        )
        if near := [*by_subject, *by_import]:
            found[suite.name] = min(near)
    return found


def git(*arguments: str) -> str:
    """Return what git prints in this checkout."""
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True)


def days_of_commits(commit: str = "HEAD") -> set[date]:
    """Return the days on which the commits up to this one were made."""
    return {date.fromisoformat(each) for each in git("log", "--format=%cs", commit).split()}


def changed_since(commit: str | None) -> set[str]:
    """Return the files that differ from a commit, those not yet committed included."""
    asked = ["diff", "--name-only", *([commit] if commit else ["HEAD"])]
    new = git("ls-files", "--others", "--exclude-standard")
    return {*git(*asked).split("\n"), *new.split("\n")} - {""}


def known(commit: str | None) -> bool:
    """Say whether a commit is part of this clone."""
    asked = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return commit is not None and not subprocess.call(asked, cwd=ROOT, stderr=subprocess.DEVNULL)


def take(today: date) -> Turn:
    """Take the next turn at the last commit, and write it down."""
    turns = taken(TURNS.read_text())
    number = current(turns, days_of_commits()) + 1
    turn = Turn(number, today, git("rev-parse", "--short=12", "HEAD").strip())
    TURNS.write_text(f"{TURNS.read_text()}{turn}\n")
    return turn
