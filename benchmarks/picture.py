"""Figures as SVG: panels under or next to one another, each with two axes, lines and marks."""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 860, 150
LEFT, RIGHT, TOP, BOTTOM = 78, 18, 34, 36
HEADING, FOOTING = 34, 24
MOST_POINTS = 700
TICKS = 6
COLOURS = ("#1f5fa8", "#c2571a", "#2e7d4f", "#8a3a8f", "#555555")
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}"'
    ' font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="11" fill="#222">'
    '<rect width="100%" height="100%" fill="#fff"/>'
)

type Point = tuple[float, float | None]


class Line(NamedTuple):
    """One quantity: points from left to right; where one has no value, the line is broken."""

    name: str
    points: Sequence[Point]
    intervals: Sequence[tuple[float, float]] = ()
    """For each point the least and the most it may be; such a line is drawn with its points."""


class Mark(NamedTuple):
    """A moment at which something was done; marks of one name have one colour."""

    x: float
    name: str


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    lines: Sequence[Line]
    x_label: str = ""
    log_x: bool = False
    log_y: bool = False
    marks: Sequence[Mark] = ()
    limit: float | None = None
    """A value that should not be passed, drawn across."""
    bottom: float | None = None
    """The lowest value shown; without it as low as the points reach, on a linear axis 0."""
    top: float | None = None


def picture(title: str, panels: Sequence[Panel], note: str = "", columns: int = 1) -> str:
    """All panels as one SVG document."""
    rows = math.ceil(len(panels) / columns)
    width, each = WIDTH // columns, HEIGHT + TOP + BOTTOM
    height = HEADING + rows * each + FOOTING
    parts = [HEAD.format(width * columns, height), _text(LEFT, 22, title, size=15)]
    for number, panel in enumerate(panels):
        x, y = number % columns * width, HEADING + number // columns * each
        # Marks are the same in all panels and named in the first.
        inner = _panel(panel, width, naming_marks=not number)
        parts += [f'<g transform="translate({x},{y})">', *inner, "</g>"]
    parts += [_text(LEFT, height - 8, note, fill="#666"), "</svg>"]
    return "\n".join(parts) + "\n"


class Scale:
    """From values to places on the paper."""

    def __init__(self, low: float, high: float, start: float, end: float, log: bool) -> None:
        self.low, self.high, self.log = low, high, log
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        """Where a value is drawn; beyond the axis, at its end."""
        held = min(max(value, self.low), self.high)
        if self.log:
            part = math.log(held / self.low) / math.log(self.high / self.low)
        else:
            part = (held - self.low) / (self.high - self.low)
        return self._start + part * (self._end - self._start)

    def ticks(self) -> list[float]:
        """A few round values within the axis."""
        found = log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high)
        return [tick for tick in found if self.low <= tick <= self.high]


def ticks(low: float, high: float) -> list[float]:
    """Round values, about six of them."""
    rough = (high - low) / TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough)
    first = math.ceil(low / step - 1e-9)
    return [step * n for n in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 between them where there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    between = (1, 2, 5) if last - first <= 2 else (1,)
    every = math.ceil((last - first + 1) / 8)
    return [each * 10.0**power for power in range(first, last + 1, every) for each in between]


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """No more points than can be distinguished: of each few neighbours the highest."""
    few = math.ceil(len(points) / most) if points else 1
    groups = (points[n : n + few] for n in range(0, len(points), few))
    return [
        max(group, key=lambda point: -1.0 if point[1] is None else point[1]) for group in groups
    ]


def _panel(panel: Panel, width: int, naming_marks: bool) -> Iterator[str]:
    right, foot = width - RIGHT, TOP + HEIGHT
    across = _scale([x for line in panel.lines for x, _ in line.points], LEFT, right, panel.log_x)
    up = _upward(panel, foot)
    yield _text(LEFT, TOP - 10, panel.title, size=12)
    yield _text(LEFT + (right - LEFT) / 2, foot + 30, panel.x_label, anchor="middle", fill="#666")
    for tick in up.ticks():
        yield _rule(LEFT, up(tick), right, up(tick), "#e4e4e4")
        yield _text(LEFT - 6, up(tick) + 4, label(tick), anchor="end")
    for tick in across.ticks():
        yield _rule(across(tick), foot, across(tick), foot + 4, "#888")
        yield _text(across(tick), foot + 16, label(tick), anchor="middle")
    if panel.limit is not None:
        yield _rule(LEFT, up(panel.limit), right, up(panel.limit), "#b00020", dash="5 4")
    names = list(dict.fromkeys(mark.name for mark in panel.marks))
    for mark in panel.marks:
        colour = COLOURS[::-1][names.index(mark.name)]
        yield _rule(across(mark.x), TOP, across(mark.x), foot, colour, dash="2 3")
    for number, line in enumerate(panel.lines):
        yield from _line(line, across, up, COLOURS[number])
    yield _rule(LEFT, foot, right, foot, "#888")
    yield _rule(LEFT, TOP, LEFT, foot, "#888")
    yield from _legend(panel, names if naming_marks else [], right)


def _legend(panel: Panel, marks: Sequence[str], right: float) -> Iterator[str]:
    """The names of lines and marks, from the right end of the title's line."""
    entries = [(line.name, COLOURS[n], "") for n, line in enumerate(panel.lines) if line.name]
    entries += [(name, COLOURS[::-1][n], "2 3") for n, name in enumerate(marks)]
    for name, colour, dash in reversed(entries):
        right -= 6.4 * len(name)
        yield _text(right, TOP - 10, name)
        yield _rule(right - 20, TOP - 14, right - 4, TOP - 14, colour, dash=dash, width=2)
        right -= 30


def _line(line: Line, across: Scale, up: Scale, colour: str) -> Iterator[str]:
    run: list[str] = []
    for x, y in [*thinned(line.points), (0.0, None)]:
        if y is not None:
            run.append(f"{across(x):.1f},{up(y):.1f}")
        elif run:
            yield (
                f'<polyline points="{" ".join(run)}" fill="none" stroke="{colour}"'
                ' stroke-width="1.4" stroke-linejoin="round" stroke-linecap="round"/>'
            )
            run = []
    for (x, y), (low, high) in zip(line.points, line.intervals, strict=False):
        if y is not None:
            yield _rule(across(x), up(low), across(x), up(high), colour)
            yield f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3.5" fill="{colour}"/>'


def _upward(panel: Panel, foot: float) -> Scale:
    values = [y for line in panel.lines for _, y in line.points if y is not None]
    values += [bound for line in panel.lines for interval in line.intervals for bound in interval]
    values += [panel.limit] if panel.limit is not None else []
    if panel.log_y:
        values = [value for value in values if value > 0]
    if panel.bottom is not None:
        values.append(panel.bottom)
    elif not panel.log_y:
        values.append(0.0)
    scale = _scale(values, foot, TOP, panel.log_y)
    low = scale.low if panel.bottom is None else panel.bottom
    high = panel.top if panel.top is not None else scale.high * (1 if panel.log_y else 1.05)
    return Scale(low, high, foot, TOP, panel.log_y)


def _scale(values: Iterable[float], start: float, end: float, log: bool) -> Scale:
    known = list(values) or [1.0]
    low, high = min(known), max(known)
    if low == high:
        low, high = (low / 2, high * 2) if log else (low, low + 1)
    if log:
        # A little room, so that the first and the last point do not lie on the frame.
        room = (high / low) ** 0.03
        low, high = low / room, high * room
    return Scale(low, high, start, end, log)


def label(value: float) -> str:
    """A value as short as it can be read."""
    if value and abs(value) >= 1e5 and math.log10(abs(value)).is_integer():
        superscript = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
        return f"10{str(round(math.log10(abs(value)))).translate(superscript)}"
    return f"{value:,.6g}"


def _text(x: float, y: float, text: str, size: int = 0, anchor: str = "", fill: str = "") -> str:
    given = {"font-size": str(size or ""), "text-anchor": anchor, "fill": fill}
    about = "".join(f' {name}="{value}"' for name, value in given.items() if value)
    return f'<text x="{x:.1f}" y="{y:.1f}"{about}>{escape(text)}</text>' if text else ""


def _rule(
    x1: float, y1: float, x2: float, y2: float, colour: str, dash: str = "", width: float = 1
) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
        f' stroke-width="{width}"{dashed}/>'
    )
