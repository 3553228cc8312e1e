"""Records the runs of a RunEngine, also while the service is slow or down."""

import atexit
import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID

import msgspec

from beamkeep_client.synchronous.http import HttpClient

from .sender import Flushed, Sender
from .spool import Spool, encoded
from .translation import POINTS, Document, one_line

MAX_HELD = 10_000
"""The most streams remembered, and the most events held until their stream is known."""
TIMEOUT_SECONDS = 10.0
SCHEME = "bluesky"
"""What the uid of a run is called in `external_refs`."""
log: logging.Logger = logging.getLogger("beamkeep_client.bluesky")

if TYPE_CHECKING:
    from bluesky import Msg

    type MsgGenerator = Generator[Msg, Any, Any]


class NotReadyError(Exception):
    """A run of the plan could not start now; `checks` are those that fail."""

    def __init__(self, plan_id: str, checks: Sequence[Mapping[str, Any]]) -> None:
        self.plan_id: str = plan_id
        self.checks: Sequence[Mapping[str, Any]] = checks
        reasons = "; ".join(map(_failed, checks)) or "the run names no plan of Beamkeep"
        super().__init__(f"A run of plan {plan_id or '-'} cannot start: {reasons}.")


def _failed(check: Mapping[str, Any]) -> str:
    facts = [f"{fact['kind']} {fact['name']} is {fact['state']}" for fact in check["facts"]]
    return f"{check['check']} ({', '.join(facts) or check['error']})"


class Recorder:
    """Records Bluesky runs as Beamkeep runs: `RE.subscribe(Recorder(url, token, plan_id, spool))`.

    A call with a document only appends it to the spool on disk; a thread delivers the spool.
    The run's own metadata under `beamkeep` override the arguments of the recorder.
    """

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str],
        plan_id: UUID | str | None,
        spool: Path | str,
        *,
        start: Mapping[str, Any] | None = None,
        simulated: bool = False,
        units: Mapping[str, str] | None = None,
        surface_id: UUID | str | None = None,
    ) -> None:
        """Take further arguments of `start_run` from `start`, udunits names from `units`.

        Raise ValueError for an unusable `url` or `token`, SpoolInUseError for a spool in use.
        """
        self._start = {**({"plan_id": str(plan_id)} if plan_id else {}), **(start or {})}
        self._simulated, self._units = simulated, dict(units or {})
        self._lock, self._is_closed = Lock(), False
        self._runs: dict[str, str] = {}
        self._held: deque[tuple[str, str, msgspec.Raw]] = deque(maxlen=MAX_HELD)
        surface = str(surface_id) if surface_id else None
        # Before the spool: a wrong address must not keep the spool locked.
        self._client = HttpClient(url, token, surface_id=surface, timeout_seconds=TIMEOUT_SECONDS)
        self._spool = Spool(Path(spool))
        self._sender = Sender(self._spool, self._client)
        self._sender.start()
        atexit.register(self.close)

    def __call__(self, name: str, document: Document) -> None:
        """Append a document to the spool; an error is logged and never stops the plan."""
        try:
            with self._lock:
                self._record(name, document)
        except Exception:
            log.exception("The %s document was not recorded.", name)

    def flush(self, timeout: float | None = None) -> Flushed:
        """Wait for at most `timeout` seconds; return which runs were delivered and refused.

        The answer is true if nothing waits any more.
        """
        return self._sender.flush(timeout)

    def run_id(self, uid: str) -> str | None:
        """Return the id of the run of a Bluesky uid; None while the service does not have it."""
        asked = {"external_ref": f"{SCHEME}:{uid}", "limit": 1}
        found = self._client.request("GET", "/runs", params=asked).json()["items"]
        return found[0]["run_id"] if found else None

    def require_ready(self, plan: "MsgGenerator") -> "MsgGenerator":
        """Ask whether a run could start before a plan opens one: `RE.preprocessors.append(this)`.

        Raise NotReadyError in the plan when it could not, ServiceError when nobody answers.
        """
        from bluesky.preprocessors import plan_mutator  # noqa: PLC0415

        def asking(message: "Msg") -> "tuple[MsgGenerator | None, None]":
            return (self._opening(message), None) if message.command == "open_run" else (None, None)

        return plan_mutator(plan, asking)

    def _opening(self, message: "Msg") -> "MsgGenerator":
        body: dict[str, Any] = {**self._start, **(message.kwargs.get("beamkeep") or {})}
        plan_id = str(body.get("plan_id") or "")
        if not plan_id:
            raise NotReadyError(plan_id, ())
        pinned = body.get("pinned_calibration_ids")
        asked = {"subject_id": body.get("subject_id"), "pinned_calibration_id": pinned}
        given = {name: value for name, value in asked.items() if value}
        path = f"/plans/{quote(plan_id)}/readiness"
        answer = self._client.request("GET", path, params=given).json()
        if not answer["ready"]:
            failed = [check for check in answer["checks"] if not check["passed"]]
            raise NotReadyError(plan_id, failed)
        return (yield message)

    def close(self, timeout: float = 5.0) -> bool:
        """Deliver for at most `timeout` seconds; the next recorder on the spool does the rest."""
        if self._is_closed:
            return True
        self._is_closed = True
        atexit.unregister(self.close)
        flushed = bool(self._sender.flush(timeout))
        self._sender.close(timeout)
        self._spool.close()
        self._client.close()
        return flushed

    def _record(self, name: str, document: Document) -> None:
        match name:
            case "start":
                self._append(document["uid"], name, self._reduced(document))
            case "descriptor":
                run, uid = document["run_start"], document["uid"]
                self._append(run, name, document)
                self._runs[uid] = run
                if len(self._runs) > MAX_HELD:
                    del self._runs[next(iter(self._runs))]
                self._release(uid, run)
            case "event" | "event_page":
                # An event names its stream only; the stream's descriptor names the run.
                if run := self._runs.get(document["descriptor"]):
                    self._append(run, name, document)
                else:
                    self._hold(document["descriptor"], name, document)
            case "stop":
                self._append(document["run_start"], name, document)
            case _:
                pass

    def _hold(self, stream: str, name: str, document: Document) -> None:
        """Hold an event until its stream is known; when full, drop the oldest."""
        if len(self._held) == self._held.maxlen:
            log.warning("An event of an unknown stream was not recorded.")
        self._held.append((stream, name, msgspec.Raw(encoded(document))))

    def _release(self, stream: str, run: str) -> None:
        """Append the events held of a stream."""
        held = [*self._held]
        self._held.clear()
        self._held.extend(event for event in held if event[0] != stream)
        for event_stream, name, document in held:
            if event_stream == stream:
                self._append(run, name, document)

    def _reduced(self, start: Document) -> Document:
        """Return the body of `start_run`, fixed now so that every retry sends the same."""
        words = (start.get("plan_name"), start.get("scan_id"), start["uid"][:8])
        name = one_line(" ".join(str(word) for word in words if word is not None), 200)
        refs = {SCHEME: start["uid"]}
        if (scan := start.get("scan_id")) is not None:
            refs[f"{SCHEME}_scan"] = str(scan)
        body: dict[str, Any] = {"name": name, **self._start}
        match start.get("beamkeep"):
            case None:
                pass
            case {**own}:
                body |= own
            case _:
                log.warning("The beamkeep metadata of run %s are not a mapping.", start["uid"])
        body["external_refs"] = refs | dict(body.get("external_refs") or {})
        points = start.get("num_points")
        if isinstance(points, int) and points > 0:
            body.setdefault("progress", {"channel_name": POINTS, "of": float(points)})
        simulated = bool(body.pop("simulated", self._simulated))
        return {
            "time": float(start["time"]),
            "num_points": points,
            "beamkeep": {"body": body, "simulated": simulated, "units": self._units},
        }

    def _append(self, run: str, name: str, document: Document | msgspec.Raw) -> None:
        self._spool.append(quote(run, safe=""), name, document)
