"""The pictures in the documentation show the console as it is, in both themes and both sizes.

A screen may differ from its picture in one of a thousand pixels. What no two days share is left
out: times and lengths of time, ids and checksums, addresses with a port, and what is drawn on an
axis of time. `make pictures` writes all pictures anew.
"""

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from tests.console.screens import paths, show_at_once, themed
from tests.console.visit import PICTURES, ROOT, Beamline, Visits

IN_THE_DOCUMENTATION = ROOT / "docs/explanations/pictures"
BESIDE_THE_TESTS = Path(__file__).parent / "pictures"
"""The other theme, in the smallest window in which people send commands."""
LEFT_OUT = BESIDE_THE_TESTS / "left_out.json"
WRITING = os.environ.get("BEAMKEEP_WRITE_PICTURES") == "1"
LARGE, SMALL = (1600, 1000), (1280, 800)
MOST_BYTES, COLOURS = 130_000, 200
MOST_DIFFERENT, MOST_LEFT_OUT = 0.001, 0.35
"""Shares of all pixels."""
VISIBLE_STEP = 48
"""Of 255: two machines may smooth the edge of a letter differently."""
WITHOUT_COLOUR = {"board", "states"}
"""Also kept as people see them who do not tell red from green, and in grey."""
PALETTE = "palette"
DARK = {PALETTE, *WITHOUT_COLOUR}
"""Shown in the dark theme in the documentation, as in a control room; the others in the light."""
DATE = r"\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
VARYING = r"""() => {
  const varies = new RegExp([
    String.raw`\d{1,2}:\d{2}`,
    String.raw`(?<![\d.])\d+ (?:h|min|s|ms|days?)\b`,
    String.raw`\bDATE`,
    String.raw`\b20\d\d-\d\d-\d\d`,
    String.raw`\b(?=[a-f]*\d)[0-9a-f]{7,}\b|[0-9a-f]{4}…[0-9a-f]{4}`,
    String.raw`127\.0\.0\.1`,
  ].join("|"));
  const boxes = [], margin = 3;
  const add = rects => {
    for (const {left, top, right, bottom} of rects)
      if (right > left && bottom > top)
        boxes.push([left - margin, top - margin, right + margin, bottom + margin].map(Math.round));
  };
  // What is drawn on an axis of time, and what stands beside a time as wide as it happens to be.
  const drawn = "canvas, .lanes .track, .slide-track, .slide-axis";
  const beside = ".live, .readiness > footer, .board .progress, .run > header .chip, "
    + ".live-channel > .row > .row";
  for (const each of document.querySelectorAll(`${drawn}, ${beside}`))
    add([each.getBoundingClientRect()]);
  for (const each of document.querySelectorAll("input"))
    if (varies.test(each.value)) add([each.getBoundingClientRect()]);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const found = varies.exec(text.data);
    if (!found) continue;
    let block = text.parentElement;
    while (getComputedStyle(block).display === "inline") block = block.parentElement;
    const range = document.createRange();
    range.selectNodeContents(block);
    const {textAlign} = getComputedStyle(block);
    const isPushed = block.previousElementSibling !== null
      && getComputedStyle(block.parentElement).display.includes("flex");
    // What stands before a time stays in its place unless the text is not aligned at its start.
    if (["start", "left"].includes(textAlign) && !isPushed) range.setStart(text, found.index);
    add(range.getClientRects());
  }
  return boxes;
}""".replace("DATE", DATE)
type Box = tuple[int, int, int, int]
type Where = NDArray[np.bool_]


SETTLED = r"""folder => {
  const day = /\b((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?DATE/g;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const settled = text.data.replaceAll(folder, "")
      .replace(day, (_, weekday) => weekday ? "Wed 18 Nov" : "18 Nov");
    if (settled !== text.data) text.data = settled;
  }
}""".replace("DATE", DATE)
"""Gives texts one length: the folder of a test is no part of what is shown, and a column is as wide
as its dates."""


class Picture(NamedTuple):
    """A picture of a screen that is kept."""

    name: str
    theme: str
    size: tuple[int, int]
    vision: str = "none"

    @property
    def file(self) -> Path:
        suffix = "" if self.vision == "none" else f"-{self.vision}"
        folder = IN_THE_DOCUMENTATION if self.size == LARGE else BESIDE_THE_TESTS
        return folder / f"{self.name}{suffix}.png"

    @property
    def label(self) -> str:
        """Name the picture in a message."""
        return f"{self.file.stem}-{self.size[0]}"


def pictures_of(name: str) -> Sequence[Picture]:
    """Return the pictures of a screen."""
    usual, other = ("dark", "light") if name in DARK else ("light", "dark")
    seen = [
        Picture(name, usual, LARGE, vision)
        for vision in ("deuteranopia", "achromatopsia")
        if name in WITHOUT_COLOUR
    ]
    return [Picture(name, usual, LARGE), Picture(name, other, SMALL), *seen]


def pixels(picture: Image.Image) -> NDArray[np.int16]:
    return np.asarray(picture.convert("RGB"), dtype=np.int16)


def reduced(picture: Image.Image) -> Image.Image:
    """Return a picture with as many colours as fit in one byte for each pixel."""
    return picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


def compared(taken: Image.Image, kept: Image.Image, boxes: Sequence[Box]) -> tuple[Where, Where]:
    """Return which pixels differ, and which are left out."""
    left_out = Image.new("1", taken.size)
    draw = ImageDraw.Draw(left_out)
    for box in boxes:
        draw.rectangle(box, fill=1)
    differs = (np.abs(pixels(taken) - pixels(kept)) > VISIBLE_STEP).any(axis=2)
    is_left_out = np.asarray(left_out)
    return differs & ~is_left_out, is_left_out


def mark(picture: Picture, taken: Image.Image, differs: Where, is_left_out: Where) -> None:
    """Keep a picture in build/console in which every difference is magenta."""
    marked = pixels(taken)
    marked[is_left_out] //= 3
    marked[differs] = (255, 0, 255)
    PICTURES.mkdir(parents=True, exist_ok=True)
    Image.fromarray(marked.astype(np.uint8)).save(PICTURES / f"different-{picture.label}.png")


class Gallery:
    """All pictures that are kept, and what is left out of each."""

    def __init__(self) -> None:
        told = LEFT_OUT.read_text() if LEFT_OUT.exists() else "{}"
        self.left_out: dict[str, list[Box]] = json.loads(told)
        self.shares: dict[str, float] = {}
        self.faults: list[str] = []

    def add(self, page: Page, picture: Picture) -> None:
        """Compare what a page shows with a picture, or keep it as that picture."""
        boxes: list[Box] = page.evaluate(VARYING)
        taken = Image.open(io.BytesIO(page.screenshot()))
        if WRITING:
            BESIDE_THE_TESTS.mkdir(exist_ok=True)
            reduced(taken).save(picture.file, optimize=True)
            self.left_out[picture.label] = boxes
            if picture.file.stat().st_size > MOST_BYTES:
                self.faults.append(f"{picture.label} has {picture.file.stat().st_size} bytes")
            LEFT_OUT.write_text(json.dumps(self.left_out, sort_keys=True).replace("]], ", "]],\n"))
        kept = Image.open(picture.file)
        if taken.size != kept.size:
            self.faults.append(f"{picture.label} is {taken.size}, not {kept.size}")
            return
        differs, is_left_out = compared(taken, kept, [*boxes, *self.left_out[picture.label]])
        self.shares[picture.label] = float(differs.mean())
        if differs.mean() > MOST_DIFFERENT:
            mark(picture, taken, differs, is_left_out)
            self.faults.append(f"{differs.mean():.2%} of {picture.label} differ")
        if is_left_out.mean() > MOST_LEFT_OUT:
            self.faults.append(f"{is_left_out.mean():.0%} of {picture.label} are left out")


def open_palette(page: Page) -> None:
    """Open the form of a command in the palette."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search or run a command")).to_be_focused()
    page.keyboard.type("hold run")
    page.get_by_role("option", name="Hold Run 1").click()
    expect(page.get_by_role("dialog")).to_contain_text("nothing written")


def test_every_screen_looks_as_its_pictures_in_both_themes(visit: Visits, beamline: Beamline):
    pages = {theme: visit("ada", script=themed(theme)).page for theme in ("dark", "light")}
    visions = {theme: page.context.new_cdp_session(page) for theme, page in pages.items()}
    gallery = Gallery()
    # The Board comes last: by then the styles of all screens are loaded.
    for name, path in reversed({PALETTE: "/", **paths(beamline)}.items()):
        pictures = pictures_of(name)
        for picture in pictures:
            width, height = picture.size
            pages[picture.theme].set_viewport_size({"width": width, "height": height})
        show_at_once(pages.values(), path)
        for page in pages.values():
            if name == PALETTE:
                open_palette(page)
            page.evaluate("document.fonts.ready")
            page.evaluate(SETTLED, str(beamline.demo.folder))
        for picture in pictures:
            visions[picture.theme].send(  # pyright: ignore[reportUnknownMemberType]
                "Emulation.setEmulatedVisionDeficiency", {"type": picture.vision}
            )
            gallery.add(pages[picture.theme], picture)
    print({label: f"{share:.3%}" for label, share in gallery.shares.items()})
    assert gallery.faults == []
