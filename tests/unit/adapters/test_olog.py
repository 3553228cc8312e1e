"""Phoebus Olog: an entry is found by our own id, and every answer is told apart."""

import os
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from markdown_it import MarkdownIt
from tests.support.olog import LOGBOOK, PASSWORD, USER, Olog, id_of
from tests.support.receiving import answer

from beamkeep.kernel import replace
from beamkeep.parts.logbook.mirroring import EntryCopy, MirrorAwayError, MirrorRefusedError
from beamkeep.parts.logbook.olog import OlogAccount, OlogMirror, literal

pytestmark = pytest.mark.anyio
REAL = ("OLOG_URL", "OLOG_LOGBOOK", "OLOG_USER", "OLOG_PASSWORD")
ENTRY = EntryCopy(
    id=UUID(int=1),
    entry_id=UUID(int=2),
    logbook="Run",
    subject_id=UUID(int=3),
    title="Run scan 7: Note",
    text="Shutter stuck.",
    recorded_at=datetime(2030, 1, 1, tzinfo=UTC),
)


@pytest.fixture
async def olog(tmp_path: Path) -> AsyncGenerator[Olog]:
    made = Olog(tmp_path / "olog.jsonl")
    await made.serve()
    yield made
    await made.close()


@pytest.fixture
def mirror(olog: Olog) -> OlogMirror:
    account = OlogAccount(olog.url, LOGBOOK, user=USER, password=PASSWORD)
    return OlogMirror(account, timeout=5.0)


async def test_an_entry_is_written_and_found_by_its_id(olog: Olog, mirror: OlogMirror):
    assert await mirror.find(ENTRY.id) is None
    number = await mirror.write(ENTRY, None)
    assert (number, await mirror.find(ENTRY.id)) == ("1", "1")
    (made,) = olog.entries
    assert (made["title"], made["description"]) == ("Run scan 7: Note", r"Shutter stuck\.")
    assert made["logbooks"] == [{"name": LOGBOOK}]
    assert made["events"] == [{"name": "recorded_at", "instant": 1893456000000}]
    assert (made["markup"], made["inReplyTo"]) == ("commonmark", None)


async def test_what_merely_names_an_id_is_not_that_entry(mirror: OlogMirror):
    await mirror.write(replace(ENTRY, id=uuid4(), subject_id=ENTRY.id), None)
    assert await mirror.find(ENTRY.id) is None


async def test_an_entry_of_the_same_run_is_a_reply(olog: Olog, mirror: OlogMirror):
    first = await mirror.write(ENTRY, None)
    await mirror.write(replace(ENTRY, id=uuid4()), first)
    assert olog.entries[1]["inReplyTo"] == first


async def test_a_reply_to_a_removed_entry_is_an_entry_of_its_own(olog: Olog, mirror: OlogMirror):
    assert await mirror.write(ENTRY, "404") == "1"
    assert olog.entries[0]["inReplyTo"] is None


@pytest.mark.parametrize("status", [302, 401, 403, 404, 408, 425, 429, 502, 503, 504])
async def test_what_every_entry_would_meet_is_tried_again(
    status: int, olog: Olog, mirror: OlogMirror
):
    for asked in (mirror.write(ENTRY, None), mirror.find(ENTRY.id)):
        olog.spoiled = [answer(status, "later", retry_after="7", location=f"{olog.url}/elsewhere")]
        with pytest.raises(MirrorAwayError) as found:
            await asked
        assert (found.value.retry_after, found.value.for_all) == (7, True)
    assert olog.entries == []


async def test_what_may_be_the_fault_of_one_entry_is_distinguished(olog: Olog, mirror: OlogMirror):
    for spoiled in (answer(500), answer(200, "<html>"), answer(200, "[]")):
        for asked in (mirror.write(ENTRY, None), mirror.find(ENTRY.id)):
            olog.spoiled = [spoiled]
            with pytest.raises(MirrorAwayError) as found:
                await asked
            assert not found.value.for_all


async def test_a_broken_connection_is_tried_again(olog: Olog, mirror: OlogMirror):
    olog.spoiled = [None]
    with pytest.raises(MirrorAwayError) as found:
        await mirror.write(ENTRY, None)
    assert found.value.for_all


async def test_a_silent_olog_is_not_waited_for(olog: Olog):
    account = OlogAccount(olog.url, LOGBOOK, user=USER, password=PASSWORD)
    olog.stalls = 1
    with pytest.raises(MirrorAwayError, match="Timeout"):
        await OlogMirror(account, timeout=0.1).write(ENTRY, None)


async def test_a_logbook_that_is_missing_is_named(olog: Olog, mirror: OlogMirror):
    olog.logbooks = ["Other"]
    with pytest.raises(MirrorAwayError, match="There is no logbook 'Operations'") as found:
        await mirror.write(ENTRY, None)
    assert found.value.for_all


async def test_a_refused_entry_is_reported_without_its_text(mirror: OlogMirror):
    with pytest.raises(MirrorRefusedError, match=r"^Status 400$"):
        await mirror.write(replace(ENTRY, title=" "), None)


async def test_a_wrong_password_is_tried_again(olog: Olog):
    account = OlogAccount(olog.url, LOGBOOK, user=USER, password="wrong")
    with pytest.raises(MirrorAwayError, match="401"):
        await OlogMirror(account).write(ENTRY, None)


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://evil.test/?id=1) [a](b) <img src=x> <https://evil.test> &amp; `code`",
        "# heading\n- item\n1. item\n> quote\n***\n    code\n\tcode\n~~~\nfence",
        "two\nlines\n\nand a paragraph\n===\n\n\n    indented after a gap\\",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "[ref]: https://evil.test\n\n[ref]",
    ],
)
def test_markdown_is_shown_as_it_was_written(text: str):
    html = MarkdownIt("commonmark").render(literal(text))
    shown = html.replace("<br />\n", "\n").replace("</p>\n<p>", "\n\n")
    shown = shown.removeprefix("<p>").removesuffix("</p>\n")
    assert "<" not in shown
    # A renderer may drop the blanks at the beginning of a paragraph.
    told, wanted = (
        [line.strip() for line in each.split("\n") if line] for each in (unescape(shown), text)
    )
    assert told == wanted


def test_what_cannot_be_seen_is_left_out():
    assert literal("a\u202eb\u200bc\x1b[31md\x00\ufeff\r\ne") == "abc\\[31md\\\ne"


@pytest.mark.skipif(
    not all(os.environ.get(name) for name in REAL), reason=f"{', '.join(REAL)} are not set"
)
async def test_a_real_olog_does_the_same():
    url, logbook, user, password = (os.environ[name] for name in REAL)
    real = OlogMirror(OlogAccount(url, logbook, user=user, password=password))
    entry = replace(ENTRY, id=uuid4())
    assert await real.find(entry.id) is None
    number = await real.write(entry, None)
    assert await real.find(entry.id) == number
    account = OlogAccount(url, str(uuid4()), user=user, password=password)
    with pytest.raises(MirrorAwayError, match="There is no logbook"):
        await OlogMirror(account).write(entry, None)


def test_the_stand_in_keeps_our_id():
    properties = [{"name": "beamkeep", "attributes": [{"name": "id", "value": "x"}]}]
    assert id_of({"properties": properties}) == "x"
