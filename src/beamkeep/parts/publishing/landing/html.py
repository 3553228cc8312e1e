"""HTML of a landing page: readable without scripts, with its description as JSON-LD."""

import json
from collections.abc import Iterable
from html import escape

from beamkeep.kernel import Record
from beamkeep.schemas import JsonObject


class Linked(Record):
    """A text that leads to an address."""

    text: str
    address: str


type Shown = str | Linked | None


class Section(Record):
    """A heading with rows of names and what belongs to them, or with a table below its titles."""

    heading: str
    facts: tuple[tuple[str, tuple[Shown, ...]], ...] = ()
    titles: tuple[str, ...] = ()
    rows: tuple[tuple[Shown, ...], ...] = ()


class LandingPage(Record):
    """A page about one published thing."""

    kind: str
    """What the thing is, above its title."""
    title: str
    notice: str | None
    """What a reader must know first, such as that it was withdrawn."""
    cited_as: str | None
    cite_address: str | None
    description: str | None
    sections: tuple[Section, ...]
    json_ld: JsonObject


def html_of(page: LandingPage) -> bytes:
    """Return the page as HTML."""
    # The text of a script element ends at the first end tag, wherever it stands.
    json_ld = json.dumps(page.json_ld, ensure_ascii=False).replace("<", "\\u003c")
    parts = [
        f'<p class="kind">{escape(page.kind)}</p>',
        f"<h1>{escape(page.title)}</h1>",
        *([f'<p class="notice">{escape(page.notice)}</p>'] if page.notice else []),
        *([f'<p class="description">{escape(page.description)}</p>'] if page.description else []),
        *_cited(page),
        *(_section(each) for each in page.sections),
    ]
    text = _document(
        page.title, "\n".join(parts), f'<script type="application/ld+json">{json_ld}</script>'
    )
    return text.encode()


def nothing_here() -> bytes:
    """Return the page for everything that is not published, or does not exist."""
    body = "<h1>Nothing is published here</h1>\n<p>The address may be misspelt.</p>"
    return _document("Nothing is published here", body, "").encode()


def _document(title: str, body: str, head: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="stylesheet" href="/pages/page.css">
{head}
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _cited(page: LandingPage) -> Iterable[str]:
    if page.cited_as is None:
        return
    yield "<h2>Cite as</h2>"
    address = page.cite_address
    link = f" {_shown(Linked(address, address))}" if address else ""
    yield f'<p class="citation">{escape(page.cited_as)}{link}</p>'


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.heading)}</h2>"]
    rows = [(name, [each for each in values if each is not None]) for name, values in section.facts]
    if any(values for _, values in rows):
        parts.append("<dl>")
        for name, values in rows:
            parts += [f"<dt>{escape(name)}</dt>"] if values else []
            parts += [f"<dd>{_shown(value)}</dd>" for value in values]
        parts.append("</dl>")
    if section.rows:
        heads = "".join(f'<th scope="col">{escape(each)}</th>' for each in section.titles)
        parts.append(f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>")
        for row in section.rows:
            cells = zip(section.titles, row, strict=True)
            shown = "".join(f'<td data-title="{escape(t)}">{_shown(c)}</td>' for t, c in cells)
            parts.append(f"<tr>{shown}</tr>")
        parts.append("</tbody>\n</table>")
    return "\n".join(parts)


def _shown(value: Shown) -> str:
    match value:
        case Linked(text, address) if address.startswith(("https://", "http://", "/")):
            return f'<a href="{escape(address)}">{escape(text)}</a>'
        case Linked(text):
            return escape(text)
        case None:
            return ""
        case text:
            return escape(text)
