"""Metrics, spans, and one log line per call."""

import logging
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from itertools import accumulate
from math import nan
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

import msgspec
import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    start_http_server,
)
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from structlog.contextvars import bind_contextvars

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

log: structlog.stdlib.BoundLogger = structlog.get_logger()

EXPOSED_FOR = 1.0
"""Seconds for which one exposition of the metrics is reused."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
BOUNDS = (*map(str, map(float, BUCKETS)), "+Inf")
MODEL_BUCKETS = (0.5, 1, 2.5, 5, 10, 20, 40, 80, 120, 270)

# The variables behind `bind_contextvars`: to find them by name for each line costs more than to
# write it. The ellipsis stands for no value.
_BOUND = bind_contextvars(correlation_id=..., principal_id=...)
CORRELATION_ID: ContextVar[Any] = _BOUND["correlation_id"].var
PRINCIPAL_ID: ContextVar[Any] = _BOUND["principal_id"].var


class Telemetry:
    """The collectors of one service. They see names, outcomes and times, never an argument."""

    def __init__(
        self, tracer: "Tracer | None" = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock, self._exposed, self._exposed_at = clock, b"", float("-inf")
        self.registry = CollectorRegistry()
        self._tracer = tracer
        self._info = Gauge(
            "beamkeep_info",
            "Always 1; the label is the version of the server.",
            ("version",),
            registry=self.registry,
        )
        self._calls = _Calls(self.registry)
        self.projection_lag = Gauge(
            "beamkeep_projection_lag_seconds",
            "Lag of a projection behind the event log.",
            ("projection",),
            registry=self.registry,
        )
        self.projection_blocked_by = Gauge(
            "beamkeep_projection_blocked_by_seconds",
            "Age of the oldest transaction that projections wait for, by process.",
            ("pid", "database"),
            registry=self.registry,
        )
        self.relay_lag = Gauge(
            "beamkeep_relay_lag_seconds",
            "Lag of the message bus behind the event log; 0 in a process that does not relay.",
            registry=self.registry,
        )
        self._staleness_watch_age = Gauge(
            "beamkeep_staleness_watch_age_seconds",
            "Seconds since the staleness watch last checked every enclosure; +Inf if it never did,"
            " NaN while that is unknown.",
            registry=self.registry,
        )
        self._staleness_watch_age.set(nan)
        self._loop_age = Gauge(
            "beamkeep_loop_age_seconds",
            "Seconds since a loop of this process last succeeded; +Inf if it never did.",
            ("loop",),
            registry=self.registry,
        )
        self._heartbeat_age = Gauge(
            "beamkeep_worker_heartbeat_age_seconds",
            "Seconds since a worker last was on time in any process; +Inf if it never ran.",
            ("worker",),
            registry=self.registry,
        )
        self.conducts_held = Gauge(
            "beamkeep_conducts_held",
            "Conducts that this process carries out now.",
            registry=self.registry,
        )
        self._conducts = Counter(
            "beamkeep_conducts_ended",
            "Conducts that this process ended, by outcome.",
            ("outcome",),
            registry=self.registry,
        )
        self._steps = Counter(
            "beamkeep_conduct_step_rows",
            "Rows of steps that this process recorded, by kind of step and stage.",
            ("step_kind", "stage"),
            registry=self.registry,
        )
        # Finding the counter by its labels takes longer than counting.
        self._step_rows = dict[tuple[str, str], Counter]()
        self.work = Gauge(
            "beamkeep_work",
            "Durable work that has not ended, by kind and state: waiting, held, or dead, which"
            " means that it was claimed in vain too often and is left to people.",
            ("kind", "state"),
            registry=self.registry,
        )
        self.work_oldest = Gauge(
            "beamkeep_work_oldest_seconds",
            "How long the oldest waiting work has been due, by kind.",
            ("kind",),
            registry=self.registry,
        )
        self._deliveries = Counter(
            "beamkeep_deliveries",
            "Deliveries that this process settled, by subscription and status.",
            ("subscription_id", "status"),
            registry=self.registry,
        )
        self._delivery_lag = Gauge(
            "beamkeep_delivery_lag_seconds",
            "Seconds between an event and the end of its delivery, by subscription.",
            ("subscription_id",),
            registry=self.registry,
        )
        self._passed_over = Counter(
            "beamkeep_agent_passed_over",
            "Events and items that an agent passed over, by kind of agent and reason.",
            ("kind", "reason"),
            registry=self.registry,
        )
        self._model_tokens = Counter(
            "beamkeep_model_tokens",
            "Tokens that language models were billed for, by kind of agent and direction.",
            ("kind", "direction"),
            registry=self.registry,
        )
        self._model_usd = Counter(
            "beamkeep_model_usd",
            "Cost of calls of language models in USD, where a price is set, by kind of agent.",
            ("kind",),
            registry=self.registry,
        )
        self._model_seconds = Histogram(
            "beamkeep_model_call_seconds",
            "Duration of calls of language models, by kind of agent.",
            ("kind",),
            registry=self.registry,
            buckets=MODEL_BUCKETS,
        )
        self._model_refusals = Counter(
            "beamkeep_model_refusals",
            "Calls of language models that were not made or gave no usable answer, by kind of agent"
            " and error.",
            ("kind", "error"),
            registry=self.registry,
        )
        self.providers_down = Gauge(
            "beamkeep_identity_providers_down",
            "Identity providers that cannot verify a token now. `beamkeep check` names them.",
            registry=self.registry,
        )
        self._tokens = Counter(
            "beamkeep_tokens_refused",
            "Calls refused because of their access token, by reason.",
            ("reason",),
            registry=self.registry,
        )

    def show_version(self, version: str) -> None:
        """Show the version of the server."""
        self._info.labels(version).set(1)

    def refuse_token(self, reason: str, **cause: str) -> None:
        """Count and log an access token that was not accepted."""
        self._tokens.labels(reason).inc()
        log.warning("token refused", reason=reason, **cause)

    def count_conduct(self, outcome: str) -> None:
        """Count a conduct that ended."""
        self._conducts.labels(outcome).inc()

    def count_step(self, step_kind: str, stage: str) -> None:
        """Count a row of a step."""
        if (counter := self._step_rows.get((step_kind, stage))) is None:
            counter = self._step_rows[step_kind, stage] = self._steps.labels(step_kind, stage)
        counter.inc()

    def count_delivery(self, subscription_id: UUID, status: str, lag: float) -> None:
        """Count a delivery that was settled, and show how late it was."""
        self._deliveries.labels(str(subscription_id), status).inc()
        self._delivery_lag.labels(str(subscription_id)).set(lag)

    def count_passed_over(self, kind: str, reason: str) -> None:
        """Count an event or item that an agent passed over."""
        self._passed_over.labels(kind, reason).inc()

    def count_model_tokens(
        self, kind: str, input_tokens: int, output_tokens: int, usd: float | None
    ) -> None:
        """Count what an answer of a language model is billed for."""
        self._model_tokens.labels(kind, "input").inc(input_tokens)
        self._model_tokens.labels(kind, "output").inc(output_tokens)
        self._model_usd.labels(kind).inc(usd or 0.0)

    def time_model_call(self, kind: str, seconds: float) -> None:
        """Record how long a call of a language model took."""
        self._model_seconds.labels(kind).observe(seconds)

    def refuse_model_call(self, kind: str, error: str) -> None:
        """Count a call of a language model that was not made or gave no usable answer."""
        self._model_refusals.labels(kind, error).inc()

    def call(self, name: str, surface: str, correlation_id: UUID) -> "CallRecord":
        """Return a context manager that records one call; set its outcome with `answered`."""
        metrics = self._calls.of(name, surface)
        span = self._tracer and self._tracer.start_as_current_span(
            name,
            attributes={"surface": surface, "correlation_id": str(correlation_id)},
            # The text of an exception may contain arguments of the caller.
            record_exception=False,
            set_status_on_exception=False,
        )
        return CallRecord(metrics, correlation_id, span)

    def watched(self, age: float) -> None:
        """Set the age of the staleness watch's last check, which grows until it is set again."""
        since = time.monotonic() - age
        self._staleness_watch_age.set_function(lambda: time.monotonic() - since)

    def show_loop(self, name: str, age: Callable[[], float]) -> None:
        """Show how long ago a loop last succeeded, asking each time the metrics are read."""
        self._loop_age.labels(name).set_function(age)

    def show_heartbeats(self, ages: Mapping[str, float]) -> None:
        """Show how long ago each worker last was on time; these grow until they are set again."""
        self._heartbeat_age.clear()
        read_at = self._clock()
        for worker, age in ages.items():

            def grown(age: float = age) -> float:
                return age + self._clock() - read_at

            self._heartbeat_age.labels(worker).set_function(grown)

    def serve(self, host: str, port: int) -> None:
        """Serve the metrics on a port of their own until the process ends."""
        start_http_server(port, host, self.registry)

    def exposition(self) -> bytes:
        """Return every metric in the Prometheus text format, at most a second old."""
        if self._clock() - self._exposed_at >= EXPOSED_FOR:
            self._exposed, self._exposed_at = generate_latest(self.registry), self._clock()
        return self._exposed


def tracer(endpoint: str | None) -> "Tracer | None":
    """Return a tracer that exports to the endpoint, if there is one."""
    if endpoint is None:
        return None
    # The exporter takes long to import, and most deployments have no endpoint.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    provider = TracerProvider(resource=Resource.create({"service.name": "beamkeep"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider.get_tracer("beamkeep")


class _Calls(Collector):
    """Numbers and durations of calls. The collectors of the library take a lock for each count."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._metrics: dict[tuple[str, str], _CallMetrics] = {}
        self._seconds: dict[str, _Seconds] = {}
        registry.register(self)

    def of(self, name: str, surface: str) -> "_CallMetrics":
        """Return where the calls of one name on one surface are counted."""
        if (metrics := self._metrics.get((name, surface))) is None:
            seconds = self._seconds.setdefault(name, _Seconds())
            metrics = self._metrics[name, surface] = _CallMetrics(name, surface, seconds)
        return metrics

    def collect(self) -> Iterator[Metric]:
        """Yield both metrics as the library shows them."""
        calls = CounterMetricFamily(
            "beamkeep_calls",
            "Calls answered, by outcome: the status class of a success, the code of a refusal.",
            labels=("name", "surface", "outcome"),
        )
        for (name, surface), metrics in [*self._metrics.items()]:
            for outcome, (count, since) in [*metrics.outcomes.items()]:
                calls.add_metric((name, surface, outcome), count, created=since)
        yield calls
        took = HistogramMetricFamily(
            "beamkeep_call_seconds", "Duration of calls.", labels=("name",)
        )
        for name, seconds in [*self._seconds.items()]:
            counts = zip(BOUNDS, accumulate(seconds.counts), strict=True)
            took.add_metric((name,), [*counts], seconds.total)
            took.add_sample("beamkeep_call_seconds_created", {"name": name}, seconds.since)
        yield took


class _Seconds:
    """The durations of the calls of one name."""

    def __init__(self) -> None:
        self.counts, self.total, self.since = [0] * len(BOUNDS), 0.0, time.time()


class _CallMetrics:
    """The calls of one name on one surface."""

    def __init__(self, name: str, surface: str, seconds: _Seconds) -> None:
        self._seconds = seconds
        self.log: structlog.stdlib.BoundLogger = structlog.get_logger(name=name, surface=surface)
        self.log = self.log.bind()
        self.outcomes: dict[str, list[float]] = {}
        """The number of calls by outcome, and when each outcome was first seen."""

    def count(self, outcome: str, seconds: float) -> None:
        if (known := self.outcomes.get(outcome)) is None:
            known = self.outcomes[outcome] = [0, time.time()]
        known[0] += 1
        self._seconds.counts[bisect_left(BUCKETS, seconds)] += 1
        self._seconds.total += seconds


class CallRecord:
    """The outcome and duration of one call."""

    def __init__(
        self,
        metrics: _CallMetrics,
        correlation_id: UUID,
        spanning: "AbstractContextManager[Span] | None",
    ) -> None:
        self._metrics, self._correlation_id, self._spanning = metrics, correlation_id, spanning
        self.outcome, self.status, self._discarded = "cut off", 0, False

    def answered(self, status: int, refusal_code: str | None = None) -> None:
        """Set the outcome."""
        self.status, self.outcome = status, refusal_code or f"{status // 100}xx"

    def discard(self) -> None:
        """Neither count nor log this call, because a call within it is recorded."""
        self._discarded = True

    def __enter__(self) -> Self:
        self._since = time.perf_counter()
        self._outer = _attribute(self._correlation_id)
        self._span = self._spanning.__enter__() if self._spanning else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._since
        if self._spanning and self._span:
            self._span.set_attribute("outcome", self.outcome)
            self._spanning.__exit__(kind, error, trace)
        if not self._discarded:
            self._metrics.count(self.outcome, seconds)
            ms = round(seconds * 1000, 2)
            self._metrics.log.info("call", status=self.status, outcome=self.outcome, ms=ms)
        _reset(self._outer)


@contextmanager
def attributed(correlation_id: UUID) -> Generator[None]:
    """Add the correlation id, and the principal once it is known, to every line logged within."""
    outer = _attribute(correlation_id)
    try:
        yield
    finally:
        _reset(outer)


type _Outer = tuple[Token[Any], Token[Any]]


def _attribute(correlation_id: UUID) -> _Outer:
    # The principal of the call before in the same task is removed.
    return CORRELATION_ID.set(correlation_id), PRINCIPAL_ID.set(...)


def _reset(outer: _Outer) -> None:
    CORRELATION_ID.reset(outer[0])
    PRINCIPAL_ID.reset(outer[1])


def configure_logging(json: bool, level: str) -> None:
    """Send every log line to standard error, as JSON or as text for a terminal."""
    to_json = msgspec.json.Encoder(enc_hook=repr).encode
    # The default formatter prints local variables, and with them arguments of callers.
    render = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)

    def write(
        logger: object, method: str, line: structlog.typing.EventDict
    ) -> structlog.typing.ProcessorReturnValue:
        # One processor: a list of them costs more than what they do.
        if (correlation_id := CORRELATION_ID.get()) is not ...:
            line.setdefault("correlation_id", correlation_id)
        if (principal_id := PRINCIPAL_ID.get()) is not ...:
            line.setdefault("principal_id", principal_id)
        line["level"], line["timestamp"] = method, datetime.now(UTC)
        if not json:
            return render(logger, method, line)
        if "exc_info" in line:
            line = structlog.processors.format_exc_info(logger, method, line)
        return to_json(line)

    structlog.configure(
        processors=[write],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.BytesLoggerFactory(sys.stderr.buffer)
        if json
        else structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    # Libraries log a lot; only warnings and errors are kept.
    least = max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()])
    logging.basicConfig(handlers=[_LibraryLogs()], level=least, force=True)


class _LibraryLogs(logging.Handler):
    """Passes the log lines of libraries on, so that every line has one format."""

    def __init__(self) -> None:
        super().__init__()
        self._log: structlog.stdlib.BoundLogger = structlog.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        text, error = record.getMessage(), record.exc_info
        if record.name.startswith("mcp."):
            text = text.partition(": ")[0]  # arguments of the caller follow
        self._log.log(
            record.levelno, text, logger=record.name, **({"exc_info": error} if error else {})
        )
