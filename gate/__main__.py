"""Run suites or the whole gate, and say what they cost and whose turn it is."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from gate import turns
from gate.plan import Plan
from gate.quick import quick
from gate.reach import import_graph
from gate.running import Verdict, run_all, slowness
from gate.suites import BUILT, CORE, SLICES, Suite, named
from gate.times import table

BEGAN = float(os.environ.get("BEAMKEEP_GATE_BEGAN") or time.time())


def say(text: str) -> None:
    """Print at once, also into a file."""
    print(text, flush=True)


def planned(everything: bool = False) -> Plan:
    """Return the plan of the gate at this commit."""
    known = turns.taken(turns.TURNS.read_text())
    turn, base = turns.current(known, turns.days_of_commits()), turns.base(known)
    say(f"turn {turn} of .ci/turns, {turn % turns.CYCLE + 1} of {turns.CYCLE}")
    if everything:
        return Plan([*CORE, *SLICES], (), turn, {})
    if not turns.known(base):
        say("the commit of the turn before is not in this clone: no slice counts as touched")
        return Plan(CORE, SLICES, turn, {})
    changed = turns.changed_since(base)
    say(f"{len(changed)} files changed since {base}")
    return Plan(CORE, SLICES, turn, turns.touched(SLICES, changed, import_graph()))


def ci(everything: bool) -> bool:
    """Run the core and the slices that fit, and report what ran and what was left."""
    plan = planned(everything)

    def pick(ended: list[Verdict]) -> Suite | None:
        is_built = any(each.suite is BUILT for each in ended)
        return plan.pick(time.time() - BEGAN, slowness(ended), is_built=is_built)

    verdicts = run_all(pick, say)
    say("\n== slices that ran")
    for each in plan.begun or ["all" if everything else "none"]:
        say(f"   {each if isinstance(each, str) else plan.line_of(each)}")
    say("== slices that wait for their turn")
    for each in plan.left:
        say(f"   {plan.line_of(each)}")
    return judged(verdicts)


def judged(verdicts: Sequence[Verdict]) -> bool:
    """Report what failed, and how many tests passed and failed in all."""
    failed = [each.suite.name for each in verdicts if not each.passed]
    counts = [each.counts for each in verdicts]
    passed, wrong = sum(each[0] for each in counts), sum(each[1] for each in counts)
    say(f"\n{table()}\n")
    for name in failed:
        say(f"FAILED: {name} (build/gate/{name}.log)")
    say(f"{passed} passed, {wrong or len(failed)} failed")
    return not failed


def run_named(names: Sequence[str]) -> bool:
    """Run these suites, side by side."""
    waiting = sorted(named(names), key=lambda suite: -suite.seconds)
    return judged(run_all(lambda _: waiting.pop(0) if waiting else None, say))


def main() -> bool:
    """Do what the command line asks for; say whether all was well."""
    parser = argparse.ArgumentParser(prog="python -m gate", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    running = verbs.add_parser("run", help="run suites by name; a name may end in *")
    running.add_argument("names", nargs="+")
    everything = verbs.add_parser("ci", help="run the core and the slices whose turn it is")
    everything.add_argument("--all", action="store_true", help="run all slices")
    verbs.add_parser("plan", help="say which slices a gate would run now")
    verbs.add_parser("quick", help="check what differs from the last commit")
    verbs.add_parser("times", help="say what every suite cost in its last run")
    verbs.add_parser("turn", help="take the next turn; commit .ci/turns with the change")
    options = parser.parse_args()
    match options.verb:
        case "run":
            return run_named(options.names)
        case "ci":
            return ci(options.all)
        case "plan":
            plan = planned()
            say("\n".join(plan.line_of(each) for each in plan.left))
        case "quick":
            return quick()
        case "times":
            say(table())
        case _:
            say(f"{turns.take(datetime.now(UTC).date())}")
    return True


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
