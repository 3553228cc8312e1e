"""The figures of the fault tests, kept together in `build/faults.json` and `build/faults.md`."""

import fcntl
import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "build" / "faults.json"
PAGE = REPORT.with_suffix(".md")
TOGETHER = 720
BEGAN = time.monotonic()

MUTANTS = frozenset(
    {
        "T1 without the xmin rule",
        "T2 fsync off",
        "T2 no flush",
        "T2 synchronous_commit off",
        "T3 without compare-and-set",
        "T4 without the predecessor guard",
        "T5 act, then remember",
        "T6 a list for the truth",
        "T7 without the xmin rule",
        "T8 optimistic only",
        "T9 a boastful store",
        "T30 beam lost under kills without_versions",
        "T30 supervision in_two_appends",
        "T30 supervision without_claims",
        "T30 supervision without_recovering",
        "T30 supervision without_resuming",
        "T30 supervision without_settling",
        "T30 supervision without_versions",
        "T31 stored events replayed",
        "T32 without the lease",
        "memberships by marks",
        "T33 without the lock",
        "T34 witness without a memory",
        "T34 witness without the condition",
        "T35 moving first",
        "T35 a new key each time",
        "T10 a blind store",
        "T11 trusting the process clock",
        "T12 act, then remember",
        "T12 append without the check of versions",
        "T12 append without the check of what was read",
        "T12 blind retry after a lost answer",
        "T12 tail without the watermark",
        "T13 in place",
        "T14 bookmarks without the fence",
        "T14 dump without the fence",
        "T15 acts first",
        "T15 without asking",
        "T15 without fence",
        "T16 without the xmin rule",
        "T17 without the expected last sequence",
        "custody without the lock",
        "gates append without the check of what was read",
        "logbook mirror without looking first",
    }
)
"""Variants that are known to be bad; what is not named here must have nothing wrong."""

ALLOWED = {"most_effects": 1} | dict.fromkeys(
    (
        "below_their_rule",
        "copied_twice",
        "debriefed_twice",
        "decided_twice",
        "inferred_twice",
        "misnamed",
        "over",
        "uncopied",
        "uncounted",
        "undecided",
        "without_a_winner",
        "without_entry",
        "deferred_twice",
        "held_twice",
        "never_held",
        "overruled",
        "too_late",
        "too_soon",
        "unexplained",
        "with_beam",
        "without_effect",
        "without_permission",
        "differing",
        "doubled",
        "duplicated",
        "events_passed_while_held",
        "false_alarms",
        "forgotten",
        "fresh_answers_forgotten",
        "grants_differing",
        "holes",
        "holes_or_twins",
        "leaked",
        "listed_wrongly",
        "lost",
        "lost_at_each",
        "misnumbered",
        "misordered",
        "never_ended",
        "no_winner",
        "not_on_record",
        "reads_differing",
        "refused_though_good",
        "taken_by_the_old_key",
        "recorded_backwards",
        "recorded_elsewhen",
        "rows_differing",
        "rows_differing_from_rebuilt",
        "skipped",
        "stale_writes_accepted",
        "started_on_what_had_moved",
        "started_under_a_lost_gate",
        "tail_out_of_order",
        "torn",
        "two_winners",
        "unaccounted",
        "unasked",
        "unsaid",
        "written_though_refused",
    ),
    0,
)
"""Figures that say something is wrong when they are higher than this."""


def asked(name: str, default: int) -> int:
    """A figure that the environment may raise for a longer run."""
    return int(os.environ.get(f"BEAMKEEP_{name}") or default)


def rounds(name: str, usual: int, fewest: int, seconds: float) -> Iterator[int]:
    """As many rounds as the environment asks for; unasked, the usual number.

    A slow machine stops when the seconds are over, but not before the fewest that prove something.
    """
    count, limit = size(name, usual, seconds)
    until = time.monotonic() + limit
    for number in range(count):
        if number >= fewest and time.monotonic() > until:
            return
        yield number


def size(name: str, usual: int, seconds: float) -> tuple[int, float]:
    """How many, and in how many seconds: what the environment asks for takes what it takes.

    The seconds are a share of the twelve minutes that all tests may take together; whoever has
    less for all of them says so in BEAMKEEP_FAULT_SECONDS. A test that begins when they are over
    does the fewest that prove something: its size is cut, not its presence.
    """
    count = asked(name, 0)
    together = asked("FAULT_SECONDS", TOGETHER)
    left = max(0.0, together - (time.monotonic() - BEGAN))
    return (count, math.inf) if count else (usual, min(left, seconds * together / TOGETHER))


def merge(key: str, figures: Mapping[str, Any]) -> str:
    """Put the figures of one test among those of the others, and give them back as a line."""
    REPORT.parent.mkdir(exist_ok=True)
    # Another slice may add its figures at the same time.
    with REPORT.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known: dict[str, Any] = json.loads(REPORT.read_text()) if REPORT.exists() else {}
        known[key] = dict(figures)
        REPORT.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
        PAGE.write_text(page(known))
    return f"{key}: " + ", ".join(f"{name} {value}" for name, value in figures.items())


def page(known: Mapping[str, Mapping[str, Any]]) -> str:
    """All figures for reading: what was counted and what never occurred, then the bad variants."""
    rows = sorted(known.items(), key=lambda row: (_number(row[0]), row[0]))
    tests = [_test(key, figures) for key, figures in rows if key not in MUTANTS]
    mutants = [_mutant(key, figures) for key, figures in rows if key in MUTANTS]
    return "\n".join(
        [
            "# What the fault tests found",
            "",
            "| test | seed | seconds | counted | never | wrong |",
            "|---|---|---|---|---|---|",
            *tests,
            "",
            "## Variants known to be bad, each of which must be found out",
            "",
            "| variant | seed | seconds | found |",
            "|---|---|---|---|",
            *mutants,
            "",
        ]
    )


def _test(key: str, figures: Mapping[str, Any]) -> str:
    wrong = _wrong(figures)
    rest = {name: figures[name] for name in figures.keys() - {"seed", "seconds"} - wrong.keys()}
    counted = {name: value for name, value in sorted(rest.items()) if _high(value) != 0}
    never = ", ".join(_words(name) for name in sorted(rest.keys() - counted.keys()))
    return _row(key, figures, _said(counted), never, f"**{_said(wrong)}**" if wrong else "nothing")


def _mutant(key: str, figures: Mapping[str, Any]) -> str:
    """A bad variant, by what it found in words, else in figures."""
    words = "; ".join(map(str, figures.get("found", ())))
    return _row(key, figures, words or _said(_wrong(figures)) or "**nothing**")


def _wrong(figures: Mapping[str, Any]) -> dict[str, Any]:
    # Where somebody wins a race, those who lose it lost nothing else.
    race = {"lost"} if "won" in figures else set[str]()
    return {
        name: value
        for name, value in sorted(figures.items())
        if name in ALLOWED.keys() - race and _high(value) > ALLOWED[name]
    }


def _high(value: Any) -> float:
    """A figure as a number; of several the highest, of what is none at all something."""
    if isinstance(value, list | tuple):
        return max(map(_high, value), default=0)  # pyright: ignore[reportUnknownArgumentType]
    return value if isinstance(value, int | float) else math.inf


def _row(key: str, figures: Mapping[str, Any], *cells: str) -> str:
    texts = key, figures.get("seed", ""), figures.get("seconds", ""), *cells
    return "| " + " | ".join(str(text).replace("|", "\\|") for text in texts) + " |"


def _said(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{_words(name)} {value}" for name, value in figures.items())


def _words(name: str) -> str:
    return name.replace("_", " ")


def _number(key: str) -> int:
    found = re.match(r"T(\d+)", key)
    return int(found[1]) if found else 0
