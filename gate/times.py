"""What every suite cost in its last run."""

import json
from typing import Any

from gate.suites import TIMES

PHASES = ("collect", "prepare", "run", "whole")
MOST_FILES = 15


def table() -> str:
    """Return processor and wall clock of every suite by phase, and the files that cost most."""
    head = "".join(f"{phase:>14}" for phase in PHASES)
    lines = ["Seconds of processor / wall clock, by suite", f"{'':<24}{head}"]
    files: list[tuple[float, float, int, str]] = []
    whole = [0.0, 0.0]
    for path in sorted(TIMES.glob("*.json")):
        stored: dict[str, Any] = json.loads(path.read_text())
        cells = [stored["phases"].get(phase) for phase in PHASES]
        shown = "".join(f"{f'{c[0]:.1f}/{c[1]:.1f}' if c else '-':>14}" for c in cells)
        lines.append(f"{path.stem:<24}{shown}")
        whole = [sum(pair) for pair in zip(whole, stored["phases"]["whole"], strict=True)]
        files += [(*cost, name) for name, cost in stored.get("files", {}).items()]
    lines.append(f"{'all':<24}{'':42}{f'{whole[0]:.1f}/{whole[1]:.1f}':>14}")
    lines.append(f"\n{'processor':>10}{'wall':>8}{'tests':>7}  the files that cost most")
    files.sort(reverse=True)
    lines += [f"{c:>10.1f}{w:>8.1f}{n:>7}  {name}" for c, w, n, name in files[:MOST_FILES]]
    return "\n".join(lines)
