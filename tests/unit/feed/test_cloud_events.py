"""An event of the log as a CloudEvent, and the cursor that names it."""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from msgspec import Raw

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import zone
from beamkeep.feed.cursors import FeedCursors
from beamkeep.feed.events import CloudEvents
from beamkeep.feed.log import START, LogPlace
from beamkeep.kernel import Catalogue, Upcast, replace
from beamkeep.runtime.codec import Codec, encode
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.runtime.store import Envelope, Position

CODEC = Codec(CATALOGUE.aggregates.values())
CURSORS = FeedCursors(b"k" * 32)
EVENTS = CloudEvents(CATALOGUE, CODEC, CURSORS, base_url="https://lab.test/")
ID, EVENT_ID, CAUSE = UUID(int=1), UUID(int=2 << 64), UUID(int=3)
HELD = Envelope(
    event_id=EVENT_ID,
    stream_type="Zone",
    stream_id=ID,
    version=1,
    transaction_id=700,
    position=12,
    event_type="ZoneDefined",
    schema_version=1,
    principal_id=UUID(int=4),
    command_name="define_zone",
    surface_id=None,
    correlation_id=UUID(int=5),
    causation_id=CAUSE,
    recorded_at=datetime(2030, 1, 1, 12, 0, 1, tzinfo=UTC),
    occurred_at=datetime(2030, 1, 1, 12, tzinfo=UTC),
    payload=Raw(b'{"zone_id":"%b","name":"Hall"}' % str(ID).encode()),
)


def told(envelope: Envelope) -> dict[str, Any]:
    return json.loads(encode(EVENTS.of(envelope)))


def test_an_event_is_published_with_these_attributes_and_no_others():
    assert told(HELD) == {
        "specversion": "1.0",
        "id": str(EVENT_ID),
        "source": f"https://lab.test/zones/{ID}",
        "type": "beamkeep.ZoneDefined",
        "subject": str(ID),
        "time": "2030-01-01T12:00:00Z",
        "dataschema": "https://lab.test/events/schemas/ZoneDefined/1",
        "datacontenttype": "application/json",
        "streamtype": "Zone",
        "streamid": str(ID),
        "streamversion": 1,
        "recordedtime": "2030-01-01T12:00:01Z",
        "principalid": str(UUID(int=4)),
        "commandname": "define_zone",
        "correlationid": str(UUID(int=5)),
        "causationid": str(CAUSE),
        "cursor": CURSORS.write(LogPlace(Position(700, 12), EVENT_ID)),
        "positiontoken": "700-12",
        "data": {"zone_id": str(ID), "name": "Hall"},
    }


def test_an_event_without_a_cause_has_no_causationid():
    assert "causationid" not in told(replace(HELD, causation_id=None))


def test_an_old_event_is_published_in_its_newest_form():
    def in_capitals(fields: dict[str, object]) -> dict[str, object]:
        return fields | {"name": str(fields["name"]).upper()}

    changed = replace(zone.zones, upcasts=(Upcast("ZoneDefined", 1, in_capitals),))
    questions = [replace(question, aggregate=changed) for question in zone.QUESTIONS]
    catalogue = Catalogue((), questions)
    codec = Codec(catalogue.aggregates.values())
    events = CloudEvents(catalogue, codec, CURSORS, base_url="https://lab.test")
    payload = Raw(encode(zone.ZoneDefined(HELD.occurred_at, ID, "Hall")))
    event = events.of(replace(HELD, payload=payload))
    assert event.data["name"] == "HALL"
    assert event.dataschema.endswith("/ZoneDefined/2")


def test_the_names_of_attributes_are_those_that_cloudevents_allows():
    assert [name for name in told(HELD) if not re.fullmatch("[a-z0-9]{1,20}", name)] == []


def test_a_cursor_names_its_event_and_is_short():
    largest = LogPlace(Position(2**63 - 1, 2**63 - 1), UUID(int=2**128 - 1))
    for place in (START, LogPlace(Position(728, 4), EVENT_ID), largest):
        cursor = CURSORS.write(place)
        assert len(cursor) <= 80
        assert re.fullmatch("[A-Za-z0-9_-]+", cursor)
        assert CURSORS.read(cursor).stands_at(place)


def test_a_cursor_does_not_stand_at_another_event_in_the_same_place():
    place = LogPlace(Position(728, 4), EVENT_ID)
    named = CURSORS.read(CURSORS.write(place))
    assert not named.stands_at(place._replace(event_id=UUID(int=7 << 64)))


def test_a_text_that_is_not_a_cursor_of_this_deployment_is_refused():
    cursor = CURSORS.write(LogPlace(Position(728, 4), EVENT_ID))
    moved = bytearray(urlsafe_b64decode(cursor + "=="))
    moved[23] ^= 1
    foreign = FeedCursors(b"f" * 32).write(LogPlace(Position(728, 4), EVENT_ID))
    bent = urlsafe_b64encode(moved).decode().rstrip("=")
    for text in ("", "later", "é", cursor[:-1], f"{cursor}=", f"{cursor}A", bent, foreign):
        with pytest.raises(MalformedRequestError):
            CURSORS.read(text)
