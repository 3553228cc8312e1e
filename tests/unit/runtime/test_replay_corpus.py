"""Streams that earlier builds wrote fold into the same states in this one."""

import shutil
from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.corpus import FOLDER, LINES, differences, digest, file_of, read
from tests.corpus.record import record, renew

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Aggregate, Event, Record, replace
from beamkeep.runtime.codec import BrokenStreamError, Codec, encode

AGGREGATES = CATALOGUE.aggregates
CODEC = Codec(AGGREGATES.values())
EVERY_AGGREGATE = pytest.mark.parametrize("name", AGGREGATES)
HOW_TO_ADD = (
    "Give the command that writes it an example in tests/support/examples and run"
    " `python -m tests.corpus.record`: it appends, and rewrites nothing."
)


def with_evolve(name: str, **wrong: Any) -> Mapping[str, Aggregate[Any, Any, Any]]:
    """Every aggregate, one of them with a fold that sets these fields whatever happens."""
    right = AGGREGATES[name]

    def evolve(state: Any, event: Any) -> Any:
        return replace(right.evolve(state, event), **wrong)

    evolve.__annotations__ = right.evolve.__annotations__
    return {**AGGREGATES, name: replace(right, evolve=evolve)}


def test_every_stream_on_record_folds_into_the_states_it_always_did():
    assert list(differences(FOLDER, AGGREGATES)) == []


def test_every_event_is_on_record_in_every_form_it_was_ever_stored_in():
    known = {
        (line.event, line.form)
        for aggregate in AGGREGATES.values()
        for stream in read(FOLDER, aggregate)
        for line in stream
    }
    lacking = sorted(forms() - known)
    assert not lacking, f"No stream in tests/corpus has {lacking}. {HOW_TO_ADD}"


def test_the_fields_on_record_are_those_of_the_events():
    """A stored name never changes, and every field is on record, so that this is seen."""
    on_record = defaultdict[str, set[str]](set)
    for aggregate in AGGREGATES.values():
        for line in chain.from_iterable(read(FOLDER, aggregate)):
            if (line.event, line.form + 1) not in forms():
                on_record[line.event] |= msgspec.json.decode(line.payload, type=dict).keys()
    fields = {event.__name__: {*event.__struct_fields__} for event in CATALOGUE.streams}
    assert on_record == fields, HOW_TO_ADD


def forms() -> set[tuple[str, int]]:
    """Every event by name, with each of its forms."""
    return {
        (event.__name__, form)
        for event, aggregate in CATALOGUE.streams.items()
        for form in range(1, 2 + sum(u.event_type == event.__name__ for u in aggregate.upcasts))
    }


def test_every_file_belongs_to_an_aggregate():
    files = {file_of(FOLDER, aggregate) for aggregate in AGGREGATES.values()}
    assert set(FOLDER.glob("*.jsonl")) == files


@EVERY_AGGREGATE
def test_the_lines_of_a_file_are_in_order_and_in_one_form(name: str):
    text = file_of(FOLDER, AGGREGATES[name]).read_bytes()
    lines = LINES.decode_lines(text)
    assert b"".join(encode(line) + b"\n" for line in lines) == text
    places = [(line.stream, line.version) for line in lines]
    assert places == sorted(set(places))
    assert [stream for stream, version in places if version == 1] == sorted({s for s, _ in places})


def test_recording_appends_what_is_lacking_and_rewrites_nothing(tmp_path: Path):
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py"))
    zones, visits = (file_of(tmp_path, AGGREGATES[name]) for name in ("Zone", "Visit"))
    *others, last = read(FOLDER, AGGREGATES["Visit"])
    whole = visits.read_bytes()
    # Whatever stands there already stays, even if it is wrong.
    kept = whole[: whole.index(b'{"stream":%d,' % last[0].stream)]
    kept = kept.replace(others[0][0].state.encode(), b"0" * 16, 1)
    visits.write_bytes(kept)
    zones.unlink()
    assert [each.split(":")[0] for each in record(tmp_path)] == [
        "Zone 1",
        f"Visit {len(others) + 1}",
    ]
    assert zones.read_bytes() == file_of(FOLDER, AGGREGATES["Zone"]).read_bytes()
    assert visits.read_bytes().startswith(kept)
    assert len(visits.read_bytes()) == len(whole)
    assert record(tmp_path) == []
    (found,) = differences(tmp_path, AGGREGATES)
    assert found.startswith("visit.jsonl, stream 1: VisitRegistered at version 1 leads to Visit(")


def test_only_the_digests_are_rewritten_for_a_state_that_gained_a_field(tmp_path: Path):
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py"))
    zones = file_of(tmp_path, AGGREGATES["Zone"])
    whole, first = zones.read_bytes(), read(FOLDER, AGGREGATES["Zone"])[0][0]
    zones.write_bytes(whole.replace(first.state.encode(), b"0" * 16, 1))
    renew(tmp_path, "Zone")
    assert zones.read_bytes() == whole


def test_a_fold_that_was_changed_is_found_with_the_event_it_folds_otherwise():
    found = list(differences(FOLDER, with_evolve("Actor", active=True)))
    assert [each.partition(" leads")[0] for each in found] == [
        "actor.jsonl, stream 1: ActorDeactivated at version 2",
        "actor.jsonl, stream 2: ActorDeactivated at version 3",
        "actor.jsonl, stream 2: ActorProfileForgotten at version 4",
    ]


class Lamp(Record):
    watts: int
    colour: str = "white"


class LampWithShade(Record):
    watts: int
    colour: str = "white"
    shade: tuple[str, ...] = ()


def test_a_field_that_is_added_with_a_default_changes_no_state_on_record():
    assert digest(Lamp(5, "red")) == digest(LampWithShade(5, "red"))
    assert digest(Lamp(5, "red")) != digest(Lamp(5))
    assert digest(Lamp(5)) != digest(LampWithShade(5, shade=("paper",)))


@EVERY_AGGREGATE
@pytest.mark.parametrize("event", ["Unheard", None])
def test_an_event_or_a_form_that_nobody_knows_is_refused(name: str, event: str | None):
    aggregate = AGGREGATES[name]
    *before, last = (line.recorded for line in read(FOLDER, aggregate)[0])
    unknown = last._replace(event_type=event or last.event_type, schema_version=99)
    saying = f"{name} has the unknown event {event or last.event_type} in form 99"
    with pytest.raises(BrokenStreamError, match=f"^{saying}$"):
        CODEC.fold(aggregate, [*before, unknown])


def test_an_event_that_is_not_on_record_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch):
    class ZonePainted(Event):
        zone_id: UUID

    streams = {**CATALOGUE.streams, ZonePainted: AGGREGATES["Zone"]}
    monkeypatch.setitem(vars(CATALOGUE), "streams", streams)
    with pytest.raises(AssertionError, match=r"ZonePainted.*python -m tests\.corpus\.record"):
        test_every_event_is_on_record_in_every_form_it_was_ever_stored_in()
