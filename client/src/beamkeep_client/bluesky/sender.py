"""Delivers the documents of a spool in order and retries until the service has them all."""

import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Condition, Event, Thread
from urllib.parse import quote, unquote

from beamkeep_client.http import ServiceError
from beamkeep_client.synchronous.http import HttpClient

from .spool import Spool, SpoolEntry
from .translation import ObservationEntry, Translation, ending

BATCH_SIZE = 500
MIN_PAUSE, MAX_PAUSE = 0.5, 30.0
"""Seconds between two passes over the spool; the pause doubles after each failed pass."""
UNAVAILABLE = frozenset({None, 401, 429, 502, 503, 504})
"""Statuses that every run would get: no answer, an expired token, or an overloaded service."""
CLOCK_CODES = frozenset({"InvalidRunInterruptedAtError", "RunCannotTruncateError"})
"""Codes that a clock ahead of the service's can cause; the run is then truncated without a time."""
MAX_REPORTED = 10_000
"""The most runs whose end a sender remembers."""
log: logging.Logger = logging.getLogger("beamkeep_client.bluesky")


@dataclass(frozen=True)
class Flushed:
    """What became of the runs that a recorder was given; true if nothing waits."""

    is_complete: bool
    """Whether every document so far is delivered or refused."""
    delivered: tuple[str, ...]
    """The uids of the runs that the service has whole, from start to end."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """The uids of the runs that were set aside, and why."""

    def __bool__(self) -> bool:
        return self.is_complete


class Delivery:
    """The delivery of one run to the service."""

    def __init__(self, run: str, spool: Spool, client: HttpClient) -> None:
        self._run, self._spool, self._client = run, spool, client
        self._translation: Translation | None = None
        self._run_id: str | None = None
        self._searched = self._offset = 0
        self._is_ending = False
        self._unsent: list[ObservationEntry] = []

    def advance(self) -> bool:
        """Deliver what is spooled of the run; return whether the run is complete."""
        known = self._translation or self._resumed()
        if known is None:
            return False
        if self._run_id is None:
            # A power cut must not lose a run that the service has started.
            self._spool.sync(self._run)
            key = f"bluesky-{self._run}-start"
            body = known.start["beamkeep"]["body"]
            started = self._client.request("POST", "/runs", json=body, idempotency_key=key)
            self._run_id = started.json()["run_id"]
            self._save()
            self._spool.sync(self._run)
        if not self._is_ending:
            self._observe(known)
        if known.end is None:
            return False
        if not self._is_ending:
            # From the first attempt on the run may have ended: no more observations are sent.
            self._is_ending = True
            self._save()
        # After a power cut, a run that has ended must not look interrupted.
        self._spool.sync(self._run)
        self._end(*ending(known.start, *known.end))
        return True

    def _observe(self, known: Translation) -> None:
        self._send()
        for entry in self._spool.entries(self._run, self._offset):
            self._unsent += _taken(known, entry)
            self._offset = entry.end
            if len(self._unsent) >= BATCH_SIZE:
                self._send()
        self._send()

    def _end(self, verb: str, body: dict[str, str]) -> None:
        key = f"bluesky-{self._run}-end"
        try:
            self._post(verb, body, key)
        except ServiceError as error:
            if error.code not in CLOCK_CODES:
                raise
            self._post(verb, {"reason": body["reason"]}, f"{key}-undated")

    def _resumed(self) -> Translation | None:
        """Return the run as far as it was delivered; None while its start document is missing."""
        for entry in self._spool.entries(self._run, self._searched):
            if entry.name == "start":
                self._translation = self._translation or Translation(entry.document)
            elif entry.name == "delivered":
                self._run_id, self._offset = entry.document["run_id"], entry.document["offset"]
                self._is_ending = entry.document.get("is_ending", False)
            self._searched = entry.end
        if self._translation is None:
            return None
        for entry in self._spool.entries(self._run):
            if entry.end > self._offset:
                break
            _taken(self._translation, entry)
        return self._translation

    def _send(self) -> None:
        if self._unsent:
            while self._unsent:
                self._post("observations/append", {"entries": self._unsent[:BATCH_SIZE]})
                del self._unsent[:BATCH_SIZE]
            self._save()
            self._spool.sync(self._run)

    def _save(self) -> None:
        place = {"run_id": self._run_id, "offset": self._offset, "is_ending": self._is_ending}
        self._spool.append(self._run, "delivered", place)

    def _post(self, verb: str, body: object, key: str | None = None) -> None:
        path = f"/runs/{quote(str(self._run_id))}/{verb}"
        self._client.request("POST", path, json=body, idempotency_key=key)


class Sender(Thread):
    """A thread that delivers the runs of a spool."""

    def __init__(self, spool: Spool, client: HttpClient) -> None:
        super().__init__(name="beamkeep-bluesky", daemon=True)
        self._spool, self._client = spool, client
        self._deliveries: dict[str, Delivery] = {}
        self._failures: dict[str, str] = {}
        self._ended: dict[str, str | None] = {}
        self._wake, self._is_closing = Event(), False
        self._requested, self._flushed, self._passed = 0, 0, Condition()

    def run(self) -> None:
        """Deliver the runs of the spool until closed; after failures, with longer pauses."""
        pause = MIN_PAUSE
        while not self._is_closing:
            requested = self._requested
            if self._pass():
                pause = MIN_PAUSE
                with self._passed:
                    self._flushed = requested
                    self._passed.notify_all()
            else:
                pause = min(2 * pause, MAX_PAUSE)
            self._wake.wait(pause * random.uniform(0.5, 1))  # noqa: S311
            self._wake.clear()

    def flush(self, timeout: float | None) -> Flushed:
        """Wait until everything spooled so far is delivered or refused; return what it became."""
        with self._passed:
            self._requested = requested = self._requested + 1
            self._wake.set()
            is_complete = self._passed.wait_for(lambda: self._flushed >= requested, timeout)
        ended = {unquote(run): refusal for run, refusal in [*self._ended.items()]}
        return Flushed(
            is_complete,
            delivered=tuple(uid for uid, refusal in ended.items() if refusal is None),
            refused={uid: refusal for uid, refusal in ended.items() if refusal is not None},
        )

    def close(self, timeout: float) -> None:
        """End the thread after the call it is making."""
        self._is_closing = True
        self._wake.set()
        self.join(timeout)

    def _pass(self) -> bool:
        """Advance the runs, oldest first; return whether no call failed."""
        is_delivered, failures = True, dict[str, str]()
        for run in self._spool.waiting():
            try:
                self._advance(run)
            except ServiceError as error:
                failures[run] = str(error)
                if failures[run] != self._failures.get(run):
                    log.warning("Run %s waits for a retry: %s", run, error)
                if error.status in UNAVAILABLE:
                    break
            except Exception:
                log.exception("Run %s was not delivered and waits for a retry.", run)
                is_delivered = False
        if self._failures and not failures:
            log.info("The service answers again.")
        self._failures = failures
        return is_delivered and not failures

    def _advance(self, run: str) -> None:
        if run not in self._deliveries:
            self._deliveries[run] = Delivery(run, self._spool, self._client)
        refusal: str | None = None
        try:
            if not self._deliveries[run].advance():
                return
            self._spool.move(run, "delivered")
        except ServiceError as error:
            if not _is_refusal(error):
                raise
            self._spool.append(run, "refused", error.problem)
            self._spool.move(run, "refused")
            log.error("The service refused run %s, now in the folder refused: %s", run, error)
            refusal = str(error)
        del self._deliveries[run]
        self._ended[run] = refusal
        if len(self._ended) > MAX_REPORTED:
            del self._ended[next(iter(self._ended))]


def _is_refusal(error: ServiceError) -> bool:
    """Return whether the service will refuse the run again; an expired token may be renewed."""
    is_client_error = error.status is not None and 400 <= error.status < 500 and error.status != 401
    return is_client_error and error.code is not None and not error.is_transient


def _taken(run: Translation, entry: SpoolEntry) -> list[ObservationEntry]:
    try:
        return run.take(entry.name, entry.document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        log.warning("A malformed %s document is skipped: %r", entry.name, entry.document)
        return []
