"""Delivers what is spooled: in order, again after every trouble, until the service has it all."""

import logging
import random
import re
from collections.abc import Callable
from threading import Condition, Event, Thread
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec

from beamkeep.addresses import is_in_the_clear

from .spool import Line, Spool
from .translation import Observation, Translation, ending

BATCH = 500
SECONDS = 10.0
PAUSE, LONGEST_PAUSE = 0.5, 30.0
RETRIED = frozenset({401, 408, 425, 429})
"""They say nothing of the run: the token has expired, or the service has too much to do."""
PASSING = frozenset({"ConcurrencyError", "IdempotencyInFlightError"})
AWAY = frozenset({None, 401, 429, 502, 503, 504})
"""No run fares better than the one that met with this: nobody answers, or not to us, or not now."""
UNDATED = frozenset({"InvalidRunInterruptedAtError", "RunCannotTruncateError"})
"""The service's clock is behind ours, or was: then the run may be truncated without a time."""
TOKEN = re.compile(r"[\x21-\x7e]+")
log = logging.getLogger("beamkeep.bluesky")


class Trouble(Exception):
    """A call was not answered, or not for good; it is repeated."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class Refused(Exception):
    """The service does not take a run."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem['code']}: {problem.get('detail')}")
        self.problem = problem


class Service:
    """The service, called as one principal."""

    def __init__(self, url: str, token: str | Callable[[], str], headers: dict[str, str]) -> None:
        if is_in_the_clear(url):
            raise ValueError(
                f"{url} is plain HTTP: the access token could be read on the way. Give an https://"
                " address; http:// is for this machine only, like http://127.0.0.1:8000."
            )
        # A proxy that the environment names would read what is sent to this machine as plain HTTP.
        by_proxy = not url.lower().startswith("http:")
        self._http = httpx2.Client(
            base_url=url, headers=headers, timeout=SECONDS, trust_env=by_proxy
        )
        self._token = token

    def post(self, path: str, body: object, key: str | None = None) -> Any:
        """The answer to a call; `Trouble` if there is none yet, `Refused` if there will be none."""
        answer = self._answer(path, body, key)
        content, status = _content(answer), answer.status_code
        if answer.is_success and content is not None:
            return content
        if answer.is_success:
            raise Trouble("somebody else answers in place of the service")
        code = content.get("code") if content else None
        if code and 400 <= status < 500 and status not in RETRIED and code not in PASSING:
            raise Refused({"path": path, **(content or {})})
        raise Trouble(f"the service answers {status} {code}", status)

    def close(self) -> None:
        """End the connections."""
        self._http.close()

    def _answer(self, path: str, body: object, key: str | None) -> httpx2.Response:
        try:
            token = (self._token if isinstance(self._token, str) else self._token()).strip()
            if not TOKEN.fullmatch(token):
                raise Trouble("the access token is no visible ASCII")
            headers = {"Authorization": f"Bearer {token}"}
            headers |= {"Idempotency-Key": key} if key else {}
            return self._http.post(path, json=body, headers=headers)
        except Trouble:
            raise
        except (httpx2.ConnectError, httpx2.TimeoutException) as error:
            raise Trouble(f"the service cannot be called: {error!r}") from error
        except Exception as error:
            # Whatever else goes wrong may quote the token.
            raise Trouble(f"the service cannot be called: {type(error).__name__}") from None


class Delivery:
    """One run on its way to the service."""

    def __init__(self, run: str, spool: Spool, service: Service) -> None:
        self._run, self._spool, self._service = run, spool, service
        self._translation: Translation | None = None
        self._run_id: str | None = None
        self._searched = self._offset = 0
        self._is_ending = False
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
        if not self._is_ending:
            self._observe(known)
        if known.end is None:
            return False
        if not self._is_ending:
            # Once that is tried the run may have ended, whatever the answer: it is told no more.
            self._is_ending = True
            self._note()
        # Nor may a power cut make a run that has ended look interrupted.
        self._spool.sync(self._run)
        self._end(*ending(known.start, *known.end))
        return True

    def _observe(self, known: Translation) -> None:
        self._send()
        for line in self._spool.lines(self._run, self._offset):
            self._unsent += _taken(known, line)
            self._offset = line.end
            if len(self._unsent) >= BATCH:
                self._send()
        self._send()

    def _end(self, verb: str, body: dict[str, str]) -> None:
        key = f"bluesky-{self._run}-end"
        try:
            self._service.post(self._path(verb), body, key)
        except Refused as refused:
            if refused.problem["code"] not in UNDATED:
                raise
            undated = {"reason": body["reason"]}
            self._service.post(self._path(verb), undated, f"{key}-undated")

    def _resumed(self) -> Translation | None:
        """The run as far as it was delivered before, once its start document is there."""
        for line in self._spool.lines(self._run, self._searched):
            if line.name == "start":
                self._translation = self._translation or Translation(line.document)
            elif line.name == "delivered":
                self._run_id, self._offset = line.document["run_id"], line.document["offset"]
                self._is_ending = line.document.get("is_ending", False)
            self._searched = line.end
        if self._translation is None:
            return None
        for line in self._spool.lines(self._run):
            if line.end > self._offset:
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
        self._note()
        self._spool.sync(self._run)

    def _note(self) -> None:
        place = {"run_id": self._run_id, "offset": self._offset, "is_ending": self._is_ending}
        self._spool.append(self._run, "delivered", place)

    def _path(self, verb: str) -> str:
        return f"/runs/{quote(str(self._run_id))}/{verb}"


class Sender(Thread):
    """A thread that delivers the runs of a spool."""

    def __init__(self, spool: Spool, service: Service) -> None:
        super().__init__(name="beamkeep-bluesky", daemon=True)
        self._spool, self._service = spool, service
        self._deliveries: dict[str, Delivery] = {}
        self._said: dict[str, str] = {}
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
        is_well, troubles = True, dict[str, str]()
        for run in self._spool.waiting():
            try:
                self._advance(run)
            except Trouble as trouble:
                troubles[run] = str(trouble)
                if troubles[run] != self._said.get(run):
                    log.warning("Run %s waits: %s.", run, trouble)
                if trouble.status in AWAY:
                    break
            except Exception:
                log.exception("Run %s cannot be delivered now.", run)
                is_well = False
        if self._said and not troubles:
            log.info("The service answers again.")
        self._said = troubles
        return is_well and not troubles

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


def _content(answer: httpx2.Response) -> dict[str, Any] | None:
    """What an answer says, if it says it as the service does."""
    try:
        return msgspec.json.decode(answer.content or b"{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def _taken(run: Translation, line: Line) -> list[Observation]:
    try:
        return run.take(line.name, line.document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        log.warning("A %s document makes no sense: %r", line.name, line.document)
        return []
