"""What the documents of a run become: observations, a verb and a body."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import TypeAdapter
from tests.support.bluesky_documents import (
    START,
    Named,
    collected,
    described,
    measured,
    started,
    stopped,
)

from beamkeep.contexts.run.observation import Reading
from beamkeep_client.bluesky.translation import (
    CRASHED,
    MAX_SECONDS,
    ObservationEntry,
    Translation,
    ending,
    observation_id,
    unit,
)

SAID: dict[str, Any] = {"body": {}, "simulated": False, "units": {}}
RUN = started(beamkeep=SAID)
STREAM, BASELINE = described(RUN, det="mm"), described(RUN, "baseline", temperature="K")


def observed(*documents: Named, start: Named = RUN) -> list[ObservationEntry]:
    """What all of these add to a run."""
    translation = Translation(start[1])
    return [each for document in documents for each in translation.take(*document)]


def values(*documents: Named) -> list[Any]:
    return [each["value"] for each in observed(*documents)]


def test_a_reading_of_a_stream_is_a_monitor_observation():
    event = measured(STREAM, 2.0, det=1.5)
    (seen,) = observed(STREAM, event)
    assert seen == {
        "observation_id": str(observation_id(START + 2.0, event[1]["uid"], "det")),
        "channel_name": "det",
        "value": 1.5,
        "unit": {"system": "udunits", "code": "mm", "label": "mm"},
        "sampling_procedure": "monitor",
        "sampled_at": datetime.fromtimestamp(START + 1.99, UTC).isoformat(),
        "simulated": False,
    }


def test_a_reading_of_the_baseline_is_a_baseline_observation():
    (seen,) = observed(BASELINE, measured(BASELINE, temperature=290))
    assert seen["sampling_procedure"] == "baseline"


def test_how_a_device_is_set_is_a_baseline_observation_with_its_unit():
    stream = configured(velocity=2)
    (seen,) = observed(stream)
    assert (seen["channel_name"], seen["value"]) == ("velocity", 2.0)
    assert seen["sampling_procedure"] == "baseline"
    assert seen["unit"] == unit("mm/s")


def configured(**data: Any) -> Named:
    """A stream of a device that is set like this."""
    keys = {name: {"units": "mm/s"} for name in data}
    device = {"data": data, "timestamps": {}, "data_keys": keys}
    name, document = described(RUN)
    return name, {**document, "configuration": {"motor": device}}


def test_a_setting_is_sent_again_only_when_it_has_changed():
    assert values(configured(speed=2), configured(speed=2), configured(speed=3)) == [2, 3]


def test_a_stream_that_is_declared_again_tells_nothing():
    before, after = configured(speed=2), configured(speed=3)
    assert values(before, after, before) == [2, 3]


@pytest.mark.parametrize(
    "value", ["open", None, True, [1.0, 2.0], {"a": 1}, float("nan"), float("inf"), 10**400]
)
def test_what_is_no_finite_number_is_no_observation(value: Any):
    assert observed(STREAM, measured(STREAM, det=value)) == []


@pytest.mark.parametrize("name", ["", " det", "a\nb", "x" * 256])
def test_what_has_no_usable_name_is_no_observation(name: str):
    assert values(STREAM, measured(STREAM, **{name: 1.0, "y": 2.0})) == [2.0]


def test_a_channel_has_one_reading_a_second():
    fast = [measured(STREAM, n / 10, det=n) for n in range(100)]
    assert len(observed(STREAM, *fast)) == 11  # the run begins within a second


def test_the_first_reading_of_a_second_counts_and_each_channel_has_its_own():
    first, second = measured(STREAM, 1.0, a=1), measured(STREAM, 1.1, a=2, b=3)
    assert values(STREAM, first, second) == [1, 3]


def test_a_document_that_comes_again_adds_nothing():
    event, snapshot = measured(STREAM, det=1), measured(BASELINE, temperature=290)
    once = STREAM, BASELINE, event, snapshot
    assert observed(*once, *once) == observed(*once)


def test_a_reading_that_comes_late_counts():
    early, late = measured(STREAM, 10, det=1), measured(STREAM, 5, det=2)
    assert values(STREAM, early, late, early, late) == [1, 2]


def test_a_reading_that_comes_later_than_is_remembered_is_left_out():
    many = [measured(STREAM, n, det=n) for n in range(MAX_SECONDS + 10)]
    assert len(observed(STREAM, *many, *many)) == len(many)


def test_an_event_of_an_unknown_stream_adds_nothing():
    assert observed(measured(STREAM, det=1)) == []


def test_a_page_of_events_is_as_good_as_the_events():
    events = [measured(STREAM, n, det=n) for n in (1, 2)]
    page = {
        "descriptor": STREAM[1]["uid"],
        **{key: [event[key] for _, event in events] for key in ("uid", "time", "seq_num")},
        "data": {"det": [1, 2]},
        "timestamps": {"det": [event["timestamps"]["det"] for _, event in events]},
    }
    assert observed(STREAM, ("event_page", page)) == observed(STREAM, *events)


def test_what_a_flyer_gives_at_once_counts_by_the_second_it_was_sampled_in():
    page = collected(STREAM, "det", {1.0: 1, 1.1: 2, 2.0: 3, 3.0: 4})
    assert values(STREAM, page, page) == [1, 3, 4]


def test_readings_given_at_once_that_nobody_timed_are_one_reading():
    name, page = collected(STREAM, "det", {1.0: 1, 2.0: 2})
    assert values(STREAM, (name, {**page, "timestamps": {"det": [0, 0]}})) == [1]


@pytest.mark.parametrize("its_time", [0, 631_152_000.0, START - 1, START + 3, None])
def test_a_time_outside_of_the_run_so_far_is_not_believed(its_time: float | None):
    name, event = measured(STREAM, 2, det=1)
    (seen,) = observed(STREAM, (name, {**event, "timestamps": {"det": its_time}}))
    assert seen["sampled_at"] == datetime.fromtimestamp(START + 2, UTC).isoformat()


def test_what_a_simulator_produced_says_so():
    start = started(beamkeep={**SAID, "simulated": True})
    (seen,) = observed(STREAM, measured(STREAM, det=1), start=start)
    assert seen["simulated"] is True


def test_a_site_says_what_its_units_are_called():
    start = started(beamkeep={**SAID, "units": {"C": "degC"}})
    stream = described(RUN, bath="C")
    (seen,) = observed(stream, measured(stream, bath=4), start=start)
    assert seen["unit"] == {"system": "udunits", "code": "degC", "label": "degC"}


@pytest.mark.parametrize("text", ["photons/s", "pixel", "steps", "arbs", "m" * 50])
def test_a_unit_that_udunits_does_not_know_is_stored_as_the_device_calls_it(text: str):
    stream = described(RUN, det=text)
    (seen,) = observed(stream, measured(stream, det=4))
    assert seen["unit"] == {"system": None, "code": text, "label": text}


def test_blanks_around_a_unit_do_not_count():
    assert (unit(" mm "), unit("pixel ")) == (unit("mm"), unit("pixel"))


def test_every_unit_that_is_recorded_is_one_the_service_takes():
    texts = ("mm", " mm", "photons/s", "m" * 50, "m" + ".m" * 30, "m" * 51, "a\0b", "", None)
    for text in texts:
        stream = described(RUN, det=text)
        (seen,) = observed(stream, measured(stream, det=4))
        assert TypeAdapter(Reading).validate_python(seen).value == 4


@pytest.mark.parametrize("text", [None, "", " ", "m" * 51, "m" * 101, "pix\0el", 7])
def test_what_the_service_would_not_take_is_no_unit(text: Any):
    assert unit(text) is None


def test_the_id_of_a_reading_is_a_uuid_of_version_7_that_never_changes():
    made = observation_id(START, "e", "det")
    assert made == UUID("01a3185c-50fa-7e88-bf51-43ddbb48b6f1")
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert made.int >> 80 == int(START * 1000)


def test_ids_differ_by_event_and_by_channel():
    made = {observation_id(START, uid, channel) for uid in "ab" for channel in "xy"}
    assert len(made) == 4


END = stopped(RUN)[1]


NOTHING: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("end", "called"),
    [
        (NOTHING, ("complete", NOTHING)),
        ({"num_events": {"primary": 9}}, ("complete", NOTHING)),
        ({"reason": "Enough."}, ("stop", {"reason": "Enough."})),
        ({"exit_status": "abort", "reason": "Smoke."}, ("abort", {"reason": "Smoke."})),
        ({"exit_status": "fail", "reason": "x" * 600}, ("abort", {"reason": "x" * 500})),
        ({"exit_status": "fail", "reason": " a\n\tb\0 "}, ("abort", {"reason": "a b"})),
        (
            {"exit_status": "abort"},
            ("abort", {"reason": "Bluesky ended the run with exit status abort."}),
        ),
    ],
)
def test_the_end_of_a_run_follows_from_its_stop_document(end: dict[str, Any], called: Any):
    assert ending(RUN[1], "stop", {**END, **end}) == called


@pytest.mark.parametrize("counts", [{"primary": 3, "baseline": 50}, {}, None])
def test_a_run_that_lacks_points_it_announced_was_stopped(counts: dict[str, int] | None):
    start = started(num_points=10)[1]
    taken = (counts or {}).get("primary", 0)
    said = {"reason": f"Ended after {taken} of 10 points."}
    assert ending(start, "stop", {**END, "num_events": counts}) == ("stop", said)


def test_the_first_end_of_a_run_is_its_end():
    translation, again = Translation(RUN[1]), stopped(RUN, "fail")
    translation.take("interrupted", {"time": START})
    translation.take(*again)
    assert translation.end == ("interrupted", {"time": START})


def test_an_interrupted_run_is_truncated_at_its_last_document():
    at = datetime.fromtimestamp(START, UTC).isoformat()
    called = ending(RUN[1], "interrupted", {"time": START})
    assert called == ("truncate", {"reason": CRASHED, "interrupted_at": at})
