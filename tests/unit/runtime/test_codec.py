"""Every event survives the journey to the store and back."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rows import is_wanted

from beamkeep.contexts.agent.agent import AgentBudget
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.data.acquisition import AcquisitionEvidence, AcquisitionSettings
from beamkeep.contexts.equipment.placement import Placement
from beamkeep.contexts.recipe.plan import Window
from beamkeep.contexts.recipe.recipe import Steps
from beamkeep.contexts.recipe.steps import (
    Equals,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeComputeStep,
    RecipeSetpointStep,
    WithinTolerance,
)
from beamkeep.contexts.trust.team import MemberRole, Membership
from beamkeep.kernel import Aggregate, Event, NotFound, Record, Upcast
from beamkeep.kernel.values import FreeText
from beamkeep.runtime.codec import BrokenStreamError, Codec, encode
from beamkeep.runtime.store import StoredEvent
from beamkeep.schemas import Json, JsonObject, JsonSchema

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ID, EVENT_ID = UUID(int=1), UUID(int=2)

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
TIMES = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=ZONES)  # noqa: DTZ001
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
JSON = st.recursive(SCALARS, lambda held: st.lists(held) | st.dictionaries(st.text(), held))
OBJECTS = st.dictionaries(st.text(), JSON)
TEXTS = st.dictionaries(st.text(), st.text())
FINITE = st.floats(allow_nan=False, allow_infinity=False)
st.register_type_strategy(
    Placement, st.builds(Placement, st.uuids(), FINITE, FINITE, FINITE, FINITE, FINITE, FINITE)
)
st.register_type_strategy(
    AgentBudget, st.builds(AgentBudget, st.none() | FINITE, st.none() | st.integers(0, 10**9))
)
st.register_type_strategy(Window, st.builds(Window, st.none() | TIMES, st.none() | TIMES))
ROLES = st.sampled_from(MemberRole)
st.register_type_strategy(
    Membership, st.builds(Membership, st.uuids(), ROLES, st.none() | TIMES, st.none() | TIMES)
)
CRITERIA = st.builds(Equals, JSON) | st.builds(WithinTolerance, JSON, FINITE)
STEPS: st.SearchStrategy[Steps] = st.lists(
    st.builds(RecipeSetpointStep, st.text(), JSON, st.booleans(), FINITE)
    | st.builds(RecipeActionStep, st.text(), OBJECTS)
    | st.builds(RecipeCheckStep, st.text(), CRITERIA)
    | st.builds(RecipeCaptureStep, st.text(), st.text())
    | st.builds(RecipeComputeStep, st.text(), OBJECTS, st.lists(JSON, max_size=2).map(tuple)),
    max_size=2,
).map(tuple)
STRATEGIES: dict[Any, st.SearchStrategy[Any]] = {
    datetime: TIMES,
    float: FINITE,
    FreeText: st.text(),
    JsonObject: OBJECTS,
    AcquisitionSettings: OBJECTS,
    AcquisitionEvidence: OBJECTS,
    JsonSchema: OBJECTS,
    Mapping[str, str]: TEXTS,
    Steps: STEPS,
    Json: JSON,
}
"""What makes the values of types that hypothesis does not make as events have them."""
KINDS = [kind for kind in CATALOGUE.streams if is_wanted(kind.__module__)]
EXAMPLES = 30
CODEC = Codec(CATALOGUE.aggregates.values())


@cache
def made(strategy: st.SearchStrategy[Any]) -> Sequence[Any]:
    """Return values that a strategy makes, once for all events that have such a field."""
    found: list[Any] = []

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(strategy)
    def keep(value: Any) -> None:
        found.append(value)

    keep()
    return found


def strategy_of(hint: Any) -> st.SearchStrategy[Any] | None:
    """Return what makes the values of a type, or of its part that is not null, in this table."""
    (part, *others) = [each for each in get_args(hint) if each is not NoneType] or [hint]
    return STRATEGIES.get(part if NoneType in get_args(hint) and not others else hint)


@cache
def values_of(hint: Any) -> Sequence[Any]:
    """Return values of a type."""
    strategy = strategy_of(hint)
    if strategy is None:
        return made(st.from_type(hint))
    return [None, *made(strategy)] if NoneType in get_args(hint) else made(strategy)


def events_of(kind: type[Event]) -> Iterator[Event]:
    """Yield events with different values in every field that has no default."""
    hints = get_type_hints(kind)
    required = {field.name for field in msgspec.structs.fields(kind) if field.required}
    fields = {
        name: values_of(hint)
        for name, hint in hints.items()
        if name in required or strategy_of(hint) is not None
    }
    for number in range(max(map(len, fields.values()))):
        places = enumerate(fields.items())
        yield kind(**{name: of[(number + shift) % len(of)] for shift, (name, of) in places})


def test_there_and_back(subtests: pytest.Subtests):
    for kind in KINDS:
        with subtests.test(kind.__name__):
            for version, event in enumerate(events_of(kind), 1):
                require_survival(event, version)


def require_survival(event: Event, version: int) -> None:
    """Fail unless the event that is read back is the event that was written."""
    kind = type(event)
    stored = CODEC.encode(event, version, EVENT_ID)
    aggregate = CATALOGUE.streams[kind]
    assert stored.stream == (aggregate.name, getattr(event, aggregate.id_field))
    assert (stored.version, stored.event_id) == (version, EVENT_ID)
    recorded = StoredEvent(version, stored.event_type, stored.schema_version, stored.payload)
    (back,) = CODEC.decode(aggregate.name, [recorded])
    assert back == event
    assert type(back) is kind
    assert CODEC.encode(back, version, EVENT_ID) == stored


STREAMS = """
Acquisition Actor Agent Asset Attestation Calibration Campaign Capability Caution Clearance Conduit
Credential Dataset Decision Distribution Edition Enclosure Facility Family Frame Method Model Mount
Permit Plan Policy Practice Procedure Proposal Recipe Run Seal Subject Subscription Supply Surface
Team Visit Zone
"""


def test_the_streams_on_record():
    """Stored names never change: this list only grows."""
    assert sorted(CATALOGUE.aggregates) == STREAMS.split()


def test_a_reason_is_marked_as_a_text_in_which_a_person_may_be_named(subtests: pytest.Subtests):
    for kind in KINDS:
        with subtests.test(kind.__name__):
            hints = get_type_hints(kind, include_extras=True)
            assert hints.get("reason", FreeText) in (FreeText, FreeText | None)


class LampLit(Event):
    lamp_id: UUID
    colour: str
    watts: int


class LampDimmed(Event):
    lamp_id: UUID


class LampNotFoundError(NotFound):
    """The lamp does not exist."""


class Lamp(Record):
    colour: str
    watts: int
    dimmed: int = 0


def begin(event: LampLit) -> Lamp:
    return Lamp(event.colour, event.watts)


def evolve(lamp: Lamp, event: LampDimmed) -> Lamp:
    return Lamp(lamp.colour, lamp.watts, lamp.dimmed + 1)


def with_colour(old: dict[str, object]) -> dict[str, object]:
    return old | {"colour": "white"}


def in_watts(old: dict[str, object]) -> dict[str, object]:
    kept = {name: value for name, value in old.items() if name != "kilowatts"}
    return kept | {"watts": int(str(old["kilowatts"])) * 1000}


lamps: Aggregate[Lamp, Any, Any] = Aggregate(
    "Lamp",
    begin,
    evolve,
    LampNotFoundError,
    upcasts=(Upcast("LampLit", 1, with_colour), Upcast("LampLit", 2, in_watts)),
)
LAMPS = Codec([lamps])


def lit(version: int, schema_version: int, **payload: object) -> StoredEvent:
    body: Mapping[str, object] = {"occurred_at": NOW, "lamp_id": ID, **payload}
    return StoredEvent(version, "LampLit", schema_version, encode(body))


DIMMED = encode({"occurred_at": NOW, "lamp_id": ID})


def test_an_event_is_stored_in_its_present_form():
    assert LAMPS.encode(LampLit(NOW, ID, "red", 5), 1, EVENT_ID).schema_version == 3
    assert LAMPS.encode(LampDimmed(NOW, ID), 1, EVENT_ID).schema_version == 1


def test_an_old_event_is_brought_to_its_present_form_step_by_step():
    for recorded, expected in (
        (lit(1, 1, kilowatts=2), LampLit(NOW, ID, "white", 2000)),
        (lit(1, 2, colour="red", kilowatts=3), LampLit(NOW, ID, "red", 3000)),
        (lit(1, 3, colour="red", watts=5), LampLit(NOW, ID, "red", 5)),
    ):
        assert LAMPS.decode("Lamp", [recorded]) == [expected]
        assert LAMPS.fold(lamps, [recorded]) == begin(expected)


def test_the_events_of_a_stream_fold_into_its_state():
    stream = [lit(1, 1, kilowatts=2), StoredEvent(2, "LampDimmed", 1, DIMMED)]
    assert LAMPS.fold(lamps, stream) == Lamp("white", 2000, 1)
    assert LAMPS.fold(lamps, []) is None


def test_a_field_added_later_takes_its_default():
    class ZoneDefined(Event):
        zone_id: UUID
        colour: str = "grey"

    def found(event: ZoneDefined) -> ZoneDefined:
        return event

    def kept(zone: ZoneDefined, event: LampDimmed) -> ZoneDefined:
        return zone

    zones: Aggregate[Any, Any, Any] = Aggregate("Zone", found, kept, LampNotFoundError)
    payload = encode({"occurred_at": NOW, "zone_id": ID, "unknown": 1})
    assert Codec([zones]).fold(zones, [StoredEvent(1, "ZoneDefined", 1, payload)]) == ZoneDefined(
        NOW, ID, "grey"
    )


def test_a_stream_with_a_hole_is_not_folded():
    first, third = lit(1, 1, kilowatts=2), StoredEvent(3, "LampDimmed", 1, DIMMED)
    with pytest.raises(BrokenStreamError, match="Lamp lacks version 2"):
        LAMPS.fold(lamps, [first, third])
    with pytest.raises(BrokenStreamError, match="Lamp lacks version 1"):
        LAMPS.fold(lamps, [third])


@pytest.mark.parametrize(("event_type", "form"), [("LampSold", 1), ("LampDimmed", 2)])
def test_an_unknown_event_is_not_guessed(event_type: str, form: int):
    unknown = StoredEvent(2, event_type, form, DIMMED)
    saying = f"Lamp has the unknown event {event_type} in form {form}"
    with pytest.raises(BrokenStreamError, match=saying):
        LAMPS.decode("Lamp", [unknown])
    with pytest.raises(BrokenStreamError, match=saying):
        LAMPS.fold(lamps, [lit(1, 1, kilowatts=2), unknown])


def test_the_events_until_a_version_or_a_time():
    later = encode({"occurred_at": NOW + timedelta(days=1), "lamp_id": ID})
    stream = [lit(1, 1, kilowatts=2), StoredEvent(2, "LampDimmed", 1, later)]
    assert LAMPS.until("Lamp", stream, 1) == stream[:1]
    assert LAMPS.until("Lamp", stream, 2) == stream
    assert LAMPS.until("Lamp", stream, 3) == stream
    assert LAMPS.until("Lamp", stream, NOW) == stream[:1]
    assert LAMPS.until("Lamp", stream, NOW + timedelta(days=1)) == stream
    assert LAMPS.until("Lamp", stream, NOW - timedelta(microseconds=1)) == []
