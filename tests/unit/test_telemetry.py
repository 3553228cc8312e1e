"""What can be seen of a call from outside."""

import json
import logging
from collections.abc import Generator
from math import inf, isnan
from typing import Any
from uuid import uuid4

import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import get_current_span
from structlog.contextvars import bind_contextvars

from beamkeep.telemetry import Telemetry, configure_logging
from beamkeep.testing.tokens import Clock

CORRELATION_ID = uuid4()


@pytest.fixture
def as_before() -> Generator[None]:
    before = structlog.get_config()
    root = logging.getLogger()
    found, level = list(root.handlers), root.level
    yield
    structlog.configure(**before)
    root.handlers[:] = found
    root.setLevel(level)


def test_a_call_is_counted_and_timed_under_its_outcome():
    telemetry = Telemetry()
    for refusal_code in (None, "VisitCannotStartError", None):
        with telemetry.call("start_visit", "HTTP", CORRELATION_ID) as seen:
            seen.answered(409 if refusal_code else 204, refusal_code)
    labels = {"name": "start_visit", "surface": "HTTP"}
    counted = telemetry.registry.get_sample_value
    assert counted("beamkeep_calls_total", {**labels, "outcome": "2xx"}) == 2
    assert counted("beamkeep_calls_total", {**labels, "outcome": "VisitCannotStartError"}) == 1
    assert counted("beamkeep_call_seconds_count", {"name": "start_visit"}) == 3


def test_a_call_is_in_the_buckets_of_its_duration_and_above(monkeypatch: pytest.MonkeyPatch):
    telemetry, times = Telemetry(), iter([0.0, 0.25, 1.0, 41.0])
    monkeypatch.setattr("beamkeep.telemetry.time.perf_counter", lambda: next(times))
    for _ in range(2):
        with telemetry.call("start_visit", "HTTP", CORRELATION_ID) as seen:
            seen.answered(204)
    counted = telemetry.registry.get_sample_value
    bounds = ("0.1", "0.25", "30.0", "+Inf")
    buckets = [
        counted("beamkeep_call_seconds_bucket", {"name": "start_visit", "le": bound})
        for bound in bounds
    ]
    assert buckets == [0, 1, 1, 2]
    assert counted("beamkeep_call_seconds_sum", {"name": "start_visit"}) == 40.25


def test_the_age_of_the_last_look_is_not_known_until_it_is_measured_and_grows_then():
    telemetry = Telemetry()

    def age() -> float:
        found = telemetry.registry.get_sample_value("beamkeep_staleness_watch_age_seconds")
        assert found is not None
        return found

    assert isnan(age())
    telemetry.watched(30.0)
    first = age()
    assert 30 < first < age()
    telemetry.watched(inf)
    assert age() == inf


def test_a_call_nobody_answered_is_counted_as_cut_off():
    telemetry = Telemetry()
    with pytest.raises(KeyboardInterrupt), telemetry.call("start_visit", "HTTP", CORRELATION_ID):
        raise KeyboardInterrupt
    assert b'outcome="cut off"' in telemetry.exposition()


def test_metrics_are_made_once_a_second_however_often_they_are_asked_for():
    clock = Clock()
    telemetry = Telemetry(clock=clock)
    before = telemetry.exposition()
    with telemetry.call("start_visit", "HTTP", CORRELATION_ID) as seen:
        seen.answered(204)
    clock.now += 0.9
    assert telemetry.exposition() is before
    clock.now += 0.2
    assert b"start_visit" in telemetry.exposition()


def test_two_services_in_one_process_count_apart():
    one, other = Telemetry(), Telemetry()
    with one.call("start_visit", "HTTP", CORRELATION_ID) as seen:
        seen.answered(204)
    assert b"start_visit" in one.exposition()
    assert b"start_visit" not in other.exposition()


def test_a_call_is_a_span_that_holds_no_words_of_the_caller():
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(provider.get_tracer("beamkeep"))

    def failing() -> None:
        with telemetry.call("start_visit", "HTTP", CORRELATION_ID) as seen:
            assert get_current_span().is_recording()
            seen.answered(500, "InternalError")
            raise RuntimeError("Grace")

    with pytest.raises(RuntimeError):
        failing()
    (span,) = exporter.get_finished_spans()
    assert span.name == "start_visit"
    assert span.attributes == {
        "surface": "HTTP",
        "outcome": "InternalError",
        "correlation_id": str(CORRELATION_ID),
    }
    assert (span.events, span.status.description) == ((), None)


@pytest.mark.usefixtures("as_before")
def test_a_line_is_json_with_what_happened(capfdbinary: pytest.CaptureFixture[bytes]):
    configure_logging(json=True, level="info")
    with Telemetry().call("start_visit", "HTTP", CORRELATION_ID) as seen:
        bind_contextvars(principal_id=CORRELATION_ID)
        seen.answered(204)
    line: dict[str, Any] = json.loads(capfdbinary.readouterr().err)
    assert line.pop("ms") >= 0
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "call",
        "level": "info",
        "name": "start_visit",
        "surface": "HTTP",
        "status": 204,
        "outcome": "2xx",
        "correlation_id": str(CORRELATION_ID),
        "principal_id": str(CORRELATION_ID),
    }


@pytest.mark.usefixtures("as_before")
def test_a_line_below_the_level_is_not_written(capfdbinary: pytest.CaptureFixture[bytes]):
    configure_logging(json=False, level="warning")
    with Telemetry().call("start_visit", "HTTP", CORRELATION_ID) as seen:
        seen.answered(204)
    assert capfdbinary.readouterr().err == b""


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.usefixtures("as_before")
def test_a_logged_exception_shows_no_local_variables(
    as_json: bool, capfdbinary: pytest.CaptureFixture[bytes]
):
    configure_logging(json=as_json, level="info")
    heard = "gra" + "ce"
    try:
        raise RuntimeError(str(len(heard)))
    except RuntimeError:
        structlog.get_logger().exception("call failed")
    written = capfdbinary.readouterr().err
    assert b"RuntimeError" in written
    assert b"grace" not in written


@pytest.mark.usefixtures("as_before")
def test_what_a_library_logs_has_the_same_form(capfdbinary: pytest.CaptureFixture[bytes]):
    configure_logging(json=True, level="info")
    logging.getLogger("some.library").warning("Invalid %s received.", "request")
    line: dict[str, Any] = json.loads(capfdbinary.readouterr().err)
    del line["timestamp"]
    assert line == {
        "event": "Invalid request received.",
        "level": "warning",
        "logger": "some.library",
    }
