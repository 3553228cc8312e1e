"""The picture of the house: its rooms from top to bottom, and which room imports which."""

import tomllib
from html import escape
from pathlib import Path

import grimp

from beamkeep.deployment.parts import PARTS

ROOT = Path(__file__).parent.parent
WIDTH, ROW, TOP, MARGIN = 900, 74, 16, 24
BOX_HEIGHT, GAP = 34, 10
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1f24}"
    "rect{fill:#eef2f7;stroke:#8795a5;rx:6}.part rect{fill:#fdf4e3}"
    "path{fill:none;stroke:#8795a5;stroke-opacity:.45}"
)

type Box = tuple[float, float, float]
"""The left edge, the upper edge and the width of a room."""


def house_picture() -> str:
    """Return the picture as SVG, drawn from the contract of the layers and the import graph."""
    rows = [[PARTS_ROOM] if row == [PARTS_ROOM] else row for row in _layers()]
    boxes: dict[str, Box] = {}
    for number, row in enumerate(rows):
        names = [f"{PARTS_ROOM}.{part.name}" for part in PARTS] if row == [PARTS_ROOM] else row
        boxes |= _placed(names, TOP + number * ROW)
    lines = [_line(boxes[upper], boxes[lower]) for upper, lower in sorted(_imports(boxes))]
    drawn = [_room(name, box) for name, box in boxes.items()]
    height = TOP + len(rows) * ROW
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>Rooms of the house; a line leads from a room to one that it imports</title>",
            f"<style>{STYLE}</style>",
            *lines,
            *drawn,
            "</svg>\n",
        ]
    )


PARTS_ROOM = "parts"


def _layers() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    floors = next(each for each in contracts["contracts"] if each["name"].startswith("Floors"))
    return [layer.split(" | ") for layer in floors["layers"] if layer != "__main__"]


def _placed(names: list[str], y: float) -> dict[str, Box]:
    width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
    width = min(width, 200.0)
    left = (WIDTH - width * len(names) - GAP * (len(names) - 1)) / 2
    return {name: (left + number * (width + GAP), y, width) for number, name in enumerate(names)}


def _imports(boxes: dict[str, Box]) -> set[tuple[str, str]]:
    """Return the pairs of rooms of which one imports the other."""
    graph, found = grimp.build_graph("beamkeep", cache_dir=None), set[tuple[str, str]]()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            pair = _room_of(module, boxes), _room_of(imported, boxes)
            if pair[0] and pair[1] and pair[0] != pair[1]:
                found.add(pair)
    return found


def _room_of(module: str, boxes: dict[str, Box]) -> str:
    names = module.split(".")[1:]
    return next((room for n in (2, 1) if (room := ".".join(names[:n])) in boxes), "")


def _line(upper: Box, lower: Box) -> str:
    x, y = upper[0] + upper[2] / 2, upper[1] + BOX_HEIGHT
    to_x, to_y = lower[0] + lower[2] / 2, lower[1]
    middle = f"{(y + to_y) / 2:.0f}"
    bend = f"C{x:.0f} {middle} {to_x:.0f} {middle} {to_x:.0f} {to_y:.0f}"
    return f'<path d="M{x:.0f} {y:.0f} {bend}"/>'


def _room(name: str, box: Box) -> str:
    x, y, width = box
    short = escape(name.removeprefix(f"{PARTS_ROOM}."))
    is_part = ' class="part"' if short != name else ""
    size = ' style="font-size:10px"' if width < 90 else ""
    at = f'x="{x + width / 2:.0f}" y="{y + 22:.0f}" text-anchor="middle"'
    return (
        f'<g{is_part}><rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX_HEIGHT}"/>'
        f"<text {at}{size}>{short}</text></g>"
    )
