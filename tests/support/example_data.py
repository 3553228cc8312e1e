"""The examples on the page at /docs: every example is called, and its answer is kept.

`python -m tests.support.example_data` writes them into the package.
"""

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from logging import CRITICAL
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import structlog

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Many, Question
from beamkeep_client.catalogue import catalogue
from tests.support.examples import EXAMPLES
from tests.support.rest_client import RestClient, rest_client

FILE = Path(__file__).parents[2] / "src/beamkeep/surfaces/http/reference_page/files/examples.json"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
SEEDED = "00000000-0000-7000-8000-"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
VARYING = {
    # Codes that examples make up, because each can be taken only once.
    r"\bf-[0-9a-f]{28}": "hall-2",
    r"\bscan_[0-9a-f]{32}": "scan",
    r"\bimaging exchange [0-9a-f]{8}\b": "imaging exchange",
    # Times, hashes and signatures of leaves and checkpoints.
    r"\\n\d{16}(?=\\n)": r"\\n1900000000000000",
    r'("|\\n)[A-Za-z0-9+/]{43}=': r"\1" + "A" * 43 + "=",
    r"(/witness )[A-Za-z0-9+/]{91}=": r"\1" + "A" * 91 + "=",
    # Signatures over ids and times.
    r'"[A-Za-z0-9_-]{86}"': '"' + "A" * 86 + '"',
    # Checksums of bytes that no other example has.
    r"\b[0-9a-f]{64}\b": sha256(b"").hexdigest(),
    r'"((?:next_)?cursor)": "[^"]+"': r'"\1": "kG6B…"',
    r'"(publication_?[Yy]ear)": ("?)\d{4}': r'"\1": \g<2>2030',
    r'"inode": "\d+"': '"inode": "4711"',
    r'"secret": "[^"]+"': '"secret": "whsec_…"',
    r"file:///[^\"]*/beamkeep-data-[^/]+/": "file:///data/",
}
"""What else differs from one run to the next, and what is shown instead."""
NOW = datetime(2030, 1, 31, 8, tzinfo=UTC)
"""The time at which every example takes place."""
RECENT = timedelta(days=60)
"""A time that is further away is written in an example and stays as it is."""


async def examples() -> dict[str, Any]:
    """Return the example of every operation and question, as the page shows it."""
    found: dict[str, Any] = {}
    async with rest_client() as shared:
        for name in EXAMPLES:
            if isinstance(CATALOGUE.named[name], Question):
                # Its answer also shows what other examples left behind.
                async with rest_client() as own:
                    found[name] = await _example(name, own)
            else:
                found[name] = await _example(name, shared)
    return found


async def _example(name: str, rest: RestClient) -> dict[str, Any]:
    row = CATALOGUE.named[name]
    if isinstance(row, Question) and isinstance(row.source, Many):
        arguments = await _listed(row, rest)
    else:
        arguments = await EXAMPLES[name](rest)
    answer = await rest.send(name, arguments)
    assert answer.is_success, (name, answer.text)
    request, entry = answer.request, catalogue()[name]
    example = {
        "words": f"{entry.noun} {entry.short or entry.verb}".strip(),
        "url": unquote(request.url.raw_path.decode()).replace(" ", "%20"),
        "body": json.loads(request.content or b"null"),
        "status": f"{answer.status_code} {HTTPStatus(answer.status_code).phrase}",
        "answer": answer.json() if answer.content else None,
    }
    return _steady({key: value for key, value in example.items() if value is not None})


async def _listed(row: Question, rest: RestClient) -> dict[str, Any]:
    """Make something that a list shows, and return arguments that show one row of it."""
    made = (o for o in CATALOGUE.operations if o.aggregate is row.aggregate and o.genesis)
    if operation := next(made, None):
        await rest.do(operation.name, await EXAMPLES[operation.name](rest))
    return {"limit": 1}


def _steady(example: dict[str, Any]) -> dict[str, Any]:
    """Return an example without what differs from one run to the next."""
    ids: dict[str, str] = {}
    now = datetime.now(UTC)

    def id(found: re.Match[str]) -> str:
        if found[0].startswith(SEEDED):
            return found[0]
        return ids.setdefault(found[0], f"01996c3e-8a50-7d21-9b04-{len(ids) + 1:012x}")

    def time(found: re.Match[str]) -> str:
        meant = datetime.fromisoformat(found[0])
        if abs(meant - now) > RECENT:
            return found[0]
        hours = round((meant - now) / timedelta(hours=1))
        return (NOW + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")

    text = TIME.sub(time, ID.sub(id, json.dumps(example)))
    # Dates without a time are those of today, or of yesterday when it is just after midnight.
    for day in (now, now - timedelta(days=1)):
        text = text.replace(f'"{day.date()}"', f'"{NOW.date()}"')
    for made, shown in VARYING.items():
        text = re.sub(made, shown, text)
    return json.loads(text)


def text_of(found: dict[str, Any]) -> str:
    """Return the file: one line for each example."""
    lines = [f'"{name}": {json.dumps(each, ensure_ascii=False)}' for name, each in found.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(CRITICAL))
    FILE.write_text(text_of(asyncio.run(examples())))
