"""What a gate runs: the core, then slices as long as they fit."""

from collections.abc import Mapping, Sequence

from gate.suites import BUILT, Suite
from gate.turns import waited

BUDGET = 19 * 60
"""Seconds after which no touched slice is to run: a gate takes 20 minutes on a quiet machine."""
LATEST = 60 * 60
"""Seconds after which no slice begins, however slow the machine is."""


class Plan:
    """The order of a gate, from which suites are picked one by one."""

    def __init__(
        self,
        core: Sequence[Suite],
        slices: Sequence[Suite],
        turn: int,
        touched: Mapping[str, int],
    ) -> None:
        self._core = [BUILT, *sorted(core, key=lambda suite: -suite.seconds)]
        self._touched, self._waited = touched, waited(slices, turn)
        near = sorted(
            (each for each in slices if each.name in touched), key=lambda each: touched[each.name]
        )
        due = sorted(
            (each for each in slices if self._is_due(each)), key=lambda suite: -suite.seconds
        )
        rest = sorted(slices, key=lambda each: -self._waited[each.name])
        self.left = list(dict.fromkeys([*near, *due, *rest]))
        """Slices that have not begun: touched, due, and then those that waited longest."""
        self.begun: list[Suite] = []

    def pick(self, elapsed: float, slowness: float, is_built: bool = True) -> Suite | None:
        """Return the suite to begin now, if there is one that fits."""
        if self._core:
            ready = next((each for each in self._core if is_built or each.independent), None)
            if ready:
                self._core.remove(ready)
            return ready
        found = next((each for each in self.left if self._fits(each, elapsed, slowness)), None)
        if found:
            self.left.remove(found)
            self.begun.append(found)
        return found

    def _fits(self, suite: Suite, elapsed: float, slowness: float) -> bool:
        if self._is_due(suite):
            return elapsed < LATEST
        # What is due has its time, whatever else the change touches. The longest takes one lane.
        due = [each.seconds for each in self.left if self._is_due(each)]
        reserved = max(sum(due) / 2, *due, 0)
        return elapsed + slowness * (suite.seconds + reserved) < BUDGET

    def _is_due(self, suite: Suite) -> bool:
        return not self._waited[suite.name]

    def line_of(self, suite: Suite) -> str:
        """Return the line of a slice: why it runs, or when it was due."""
        ago = self._waited[suite.name]
        near = self._touched.get(suite.name)
        touched = "" if near is None else f", {near} imports from the change"
        due = f"due {ago} turns ago" if ago else "due"
        return f"{suite.name} ({due}{touched})"
