"""Marks: whatever fits a query has a mark of every way in which the query is answered."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.filtering import fits
from beamkeep.adapters.postgres.listing import number
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.caution.caution import CautionStatus
from beamkeep.contexts.safety.clearance import ClearanceStatus
from beamkeep.feed.lists.marks import END, marks_of, read_by, times_of, ways
from beamkeep.kernel import Record, Sight, View
from beamkeep.runtime.store import ListFilter

NOW = datetime(2030, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
VIEWS: dict[str, View[Any]] = {view.name: view for view in CATALOGUE.views}
STATUSES: dict[str, Any] = {"clearance": ClearanceStatus, "caution": CautionStatus}
MOST_WAYS = 128


class Seen(Record):
    status: str


def a_time(draw: random.Random) -> datetime:
    """A time near now, or years away, or beyond every span."""
    reach = draw.choice([1e-6, 1, 3600, 1e5, 1e7, 3e8, 3e9])
    return NOW + timedelta(seconds=draw.uniform(-reach, reach))


def a_query(view: View[Any], draw: random.Random) -> ListFilter:
    compared = [(*how, a_time(draw)) for how in view.compared.values() if draw.random() < 0.7]
    period = (view.period, draw.random() < 0.5) if view.period and draw.random() < 0.7 else None
    return ListFilter(a_time(draw), compared=tuple(compared), period=period)


@pytest.mark.parametrize("name", ["clearance", "caution", "run", "decision"])
def test_a_row_that_fits_has_a_mark_of_every_way(name: str):
    view, draw = VIEWS[name], random.Random(name)  # noqa: S311
    fitting = 0
    for _ in range(3000):
        times = {f: a_time(draw) if draw.random() < 0.9 else None for f in times_of(view)}
        status = draw.choice([*STATUSES.get(name, ["Running"])])
        id, owner_id = uuid7(), uuid7()
        row = msgspec.to_builtins({**times, "status": status})
        facets = [f"status={status}"]
        marks = marks_of(view, id, owner_id, facets, Seen(status), times)
        list_filter = a_query(view, draw)
        if fits(list_filter, facets, row):
            fitting += 1
            for sight in (None, Sight(owner_id), Sight(owner_id, teams=True)):
                for way in ways(view, list_filter, sight):
                    assert marks.intersection(way), (row, list_filter, sight)
    assert fitting > 300


def test_one_who_owns_itself_is_found_by_its_own_id_and_by_who_made_it():
    view, id, maker = VIEWS["actor"], uuid7(), uuid7()
    marks = marks_of(view, id, maker, ["active=true"], None, {})
    for owner_id in (id, maker):
        for teams in (False, True):
            (way,) = ways(view, ListFilter(NOW), Sight(owner_id, teams=teams))
            assert marks.intersection(way)


def test_a_row_of_a_team_is_found_by_the_mark_that_the_store_adds_for_each_member():
    view, owner_id, member_id = VIEWS["run"], uuid7(), uuid7()
    nothing = dict.fromkeys(times_of(view))
    marks = marks_of(view, uuid7(), owner_id, [], Seen("Running"), nothing)
    sight, list_filter = Sight(member_id, teams=True), ListFilter(NOW, owner_id=owner_id)
    # A row does not say who is in its team: no fold of events gives it the mark of a reader.
    of_owner, in_sight = ways(view, list_filter, sight)
    assert marks.intersection(of_owner)
    assert not marks.intersection(in_sight)
    stored = {*marks, read_by(member_id)}
    assert stored.intersection(in_sight)
    for another in (Sight(member_id), Sight(uuid7(), teams=True)):
        (way,) = ways(view, ListFilter(NOW), another)
        assert not stored.intersection(way)


def test_who_sees_own_objects_only_is_not_looked_for_twice():
    view, me = VIEWS["run"], uuid7()
    assert len(ways(view, ListFilter(NOW, owner_id=me), Sight(me))) == 1


def test_a_span_of_time_is_covered_by_few_marks():
    draw = random.Random(1)  # noqa: S311
    for _ in range(1000):
        for way in ways(VIEWS["clearance"], a_query(VIEWS["clearance"], draw), None):
            assert len(way) <= MOST_WAYS


def test_every_span_that_is_looked_for_ends_in_time():
    late = datetime.fromtimestamp(END, UTC) + timedelta(days=365)
    times: dict[str, datetime | None] = {"created_at": late}
    marks = marks_of(VIEWS["run"], UUID(int=1), UUID(int=2), [], Seen("Running"), times)
    (way,) = ways(VIEWS["run"], ListFilter(NOW, compared=(("created_at", ">=", NOW),)), None)
    assert marks.intersection(way)


def test_marks_are_stored_as_numbers_that_never_change():
    assert number("status=Planned") == NUMBER
    assert -(2**63) <= number("owner_id=") < 2**63


NUMBER = 7742285899374482335
