"""Small constrained values: their bounds, and how a text is trimmed."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from beamkeep.kernel import Command, Invalid, Record
from beamkeep.kernel.values import (
    Name,
    Reason,
    Timestamp,
    Trimmed,
    declared_refusals,
    trimmed,
)


class InvalidWordError(Invalid):
    """The word is not usable."""


class InvalidNoteError(Invalid):
    """The note is not usable."""


class Note(Record):
    text: Annotated[str, Trimmed(InvalidNoteError)]


type Notes = Note | list[Notes]


class WriteNotes(Command):
    word: Annotated[str, Trimmed(InvalidWordError)] | None
    again: Annotated[str, Trimmed(InvalidWordError)]
    notes: tuple[Notes, ...]


def test_the_fields_of_a_command_and_of_its_records_declare_refusals_each_once():
    assert set(declared_refusals(WriteNotes)) == {InvalidWordError, InvalidNoteError}
    assert len(declared_refusals(WriteNotes)) == 2


def test_blanks_around_a_text_are_dropped_and_those_inside_stay():
    assert trimmed(" \t\n two  words \u00a0", InvalidWordError) == "two  words"


@pytest.mark.parametrize("text", ["", " ", "\t\r\n", "\u2003\u00a0"])
def test_a_blank_text_is_refused(text: str):
    with pytest.raises(InvalidWordError) as refused:
        trimmed(text, InvalidWordError)
    assert str(refused.value) == ("The word is not usable. Enter at least one visible character.")


@pytest.mark.parametrize(("shape", "most"), [(Name, 200), (Reason, 500)])
def test_a_text_has_bounds(shape: Any, most: int):
    words: TypeAdapter[str] = TypeAdapter(shape)
    assert words.validate_python("x" * most)
    for text in ("", "x" * (most + 1), 1, None):
        with pytest.raises(ValidationError):
            words.validate_python(text)


TIMES: TypeAdapter[datetime] = TypeAdapter(Timestamp)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2030-01-31T07:30:00Z", datetime(2030, 1, 31, 7, 30, tzinfo=UTC)),
        ("2030-01-31T07:30:00.5+02:00", datetime(2030, 1, 31, 5, 30, 0, 500_000, tzinfo=UTC)),
        ("2030-01-31 07:30Z", datetime(2030, 1, 31, 7, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_written_out_with_its_zone(text: str, time: datetime):
    assert TIMES.validate_python(text) == time


def test_a_time_may_come_as_one():
    time = datetime(2030, 1, 31, tzinfo=UTC) + timedelta(hours=1)
    assert TIMES.validate_python(time) == time


@pytest.mark.parametrize(
    "unclear",
    [
        "2030-01-31T07:30:00",
        "2030-01-31",
        "1893456000",
        "-1.5",
        "1e9",
        1893456000,
        1.5,
        True,
        "now",
        "",
        None,
    ],
)
def test_a_time_without_a_zone_or_as_a_number_is_refused(unclear: object):
    with pytest.raises(ValidationError):
        TIMES.validate_python(unclear)
