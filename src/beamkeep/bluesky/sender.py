"""Delivers what is spooled: in order, again after every trouble, until the service has it all."""

import logging
import random
from collections.abc import Callable
from threading import Condition, Event, Thread
from typing import Any
from urllib.parse import quote

import httpx2

from .spool import Line, Spool
from .translation import Observation, Translation, ending

BATCH = 500
SECONDS = 10.0
PAUSE, LONGEST_PAUSE = 0.5, 30.0
RETRIED = frozenset({401, 408, 425, 429})
"""They say nothing of the run: the token has expired, or the service has too much to do."""
PASSING = frozenset({"ConcurrencyError", "IdempotencyInFlightError"})
log = logging.getLogger("beamkeep.bluesky")


class Trouble(Exception):
    """A call was not answered, or not for good; it is repeated."""


class Refused(Exception):
    """The service does not take a run."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem['code']}: {problem.get('detail')}")
        self.problem = problem


class Service:
    """The service, called as one principal."""

    def __init__(self, url: str, token: str | Callable[[], str], headers: dict[str, str]) -> None:
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=SECONDS)
        self._token = token

    def post(self, path: str, body: object, key: str | None = None) -> Any:
        """The answer to a call; `Trouble` if there is none yet, `Refused` if there will be none."""
        try:
            token = self._token if isinstance(self._token, str) else self._token()
            headers = {"Authorization": f"Bearer {token.strip()}"}
            headers |= {"Idempotency-Key": key} if key else {}
            answer = self._http.post(path, json=body, headers=headers)
            content: dict[str, Any] = answer.json() if answer.content else {}
            status, code = answer.status_code, content.get("code")
        except Exception as error:
            # Nobody answers, or not the service, or no token is to be had.
            raise Trouble(f"the service cannot be called: {error!r}") from error
        if answer.is_success:
            return content
        if code and 400 <= status < 500 and status not in RETRIED and code not in PASSING:
            raise Refused({"path": path, **content})
        raise Trouble(f"the service answers {status} {code}")

    def close(self) -> None:
        """End the connections."""
        self._http.close()


class Delivery:
    """One run on its way to the service."""

    def __init__(self, run: str, spool: Spool, service: Service) -> None:
        self._run, self._spool, self._service = run, spool, service
        self._translation: Translation | None = None
        self._run_id: str | None = None
        self._offset = 0
        self._unsent: list[Observation] = []

    def advance(self) -> bool:
        """Deliver what is there, and say whether that is all of the run."""
        known = self._translation or self._resumed()
        if known is None:
            return False
        if self._run_id is None:
            # Nothing is begun that a power cut could make us forget.
            self._spool.sync(self._run)
            key = f"bluesky-{self._run}-start"
            started = self._service.post("/runs", known.start["beamkeep"]["body"], key)
            self._run_id = started["run_id"]
            self._remember()
        self._send()
        for line in self._spool.lines(self._run, self._offset):
            self._unsent += _taken(known, line)
            self._offset = line.end
            if len(self._unsent) >= BATCH:
                self._send()
        self._send()
        if known.end is None:
            return False
        verb, body = ending(known.start, *known.end)
        self._service.post(self._path(verb), body, f"bluesky-{self._run}-end")
        return True

    def _resumed(self) -> Translation | None:
        """The run as far as it was delivered before, once its start document is there."""
        for line in self._spool.lines(self._run):
            if line.name == "start":
                self._translation = self._translation or Translation(line.document)
            elif line.name == "delivered":
                self._run_id, self._offset = line.document["run_id"], line.document["offset"]
        for line in self._spool.lines(self._run):
            if self._translation is None or line.end > self._offset:
                break
            _taken(self._translation, line)
        return self._translation

    def _send(self) -> None:
        if self._unsent:
            while self._unsent:
                batch = {"entries": self._unsent[:BATCH]}
                self._service.post(self._path("observations/append"), batch)
                del self._unsent[:BATCH]
            self._remember()

    def _remember(self) -> None:
        place = {"run_id": self._run_id, "offset": self._offset}
        self._spool.append(self._run, "delivered", place)
        self._spool.sync(self._run)

    def _path(self, verb: str) -> str:
        return f"/runs/{quote(str(self._run_id))}/{verb}"


class Sender(Thread):
    """A thread that delivers the runs of a spool."""

    def __init__(self, spool: Spool, service: Service) -> None:
        super().__init__(name="beamkeep-bluesky", daemon=True)
        self._spool, self._service = spool, service
        self._deliveries: dict[str, Delivery] = {}
        self._said = ""
        self._wake, self._closing = Event(), False
        self._asked, self._done, self._passed = 0, 0, Condition()

    def run(self) -> None:
        """Go through the spool again and again; after trouble, less and less often."""
        pause = PAUSE
        while not self._closing:
            asked = self._asked
            if self._pass():
                pause = PAUSE
                with self._passed:
                    self._done = asked
                    self._passed.notify_all()
            else:
                pause = min(2 * pause, LONGEST_PAUSE)
            self._wake.wait(pause * random.uniform(0.5, 1))  # noqa: S311
            self._wake.clear()

    def flush(self, timeout: float | None) -> bool:
        """Wait until all that is spooled now is delivered or set aside."""
        with self._passed:
            self._asked = asked = self._asked + 1
            self._wake.set()
            return self._passed.wait_for(lambda: self._done >= asked, timeout)

    def close(self, timeout: float) -> None:
        """End the thread, after the call it is making."""
        self._closing = True
        self._wake.set()
        self.join(timeout)

    def _pass(self) -> bool:
        """Advance the runs, oldest first, and say whether there was no trouble."""
        is_well = True
        for run in self._spool.waiting():
            try:
                self._advance(run)
            except Trouble as trouble:
                if str(trouble) != self._said:
                    log.warning("Run %s waits: %s.", run, trouble)
                self._said = str(trouble)
                return False
            except Exception:
                log.exception("Run %s cannot be delivered now.", run)
                is_well = False
        if self._said:
            log.info("The service answers again.")
        self._said = ""
        return is_well

    def _advance(self, run: str) -> None:
        if run not in self._deliveries:
            self._deliveries[run] = Delivery(run, self._spool, self._service)
        try:
            if not self._deliveries[run].advance():
                return
            self._spool.move(run, "delivered")
        except Refused as refused:
            self._spool.append(run, "refused", refused.problem)
            self._spool.move(run, "refused")
            log.error("Run %s is refused and set aside: %s", run, refused)
        del self._deliveries[run]


def _taken(run: Translation, line: Line) -> list[Observation]:
    try:
        return run.take(line.name, line.document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        log.warning("A %s document makes no sense: %r", line.name, line.document)
        return []
