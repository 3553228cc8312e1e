"""Records the runs of a RunEngine, also while the service is slow or down."""

import atexit
import logging
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote
from uuid import UUID

import msgspec

from beamkeep.client.http import HttpClient

from .sender import Sender
from .spool import Spool, encoded
from .translation import Document, one_line

MAX_HELD = 10_000
"""The most streams remembered, and the most events held until their stream is known."""
TIMEOUT_SECONDS = 10.0
log = logging.getLogger("beamkeep.bluesky")


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

    def flush(self, timeout: float | None = None) -> bool:
        """Wait for at most `timeout` seconds; return whether all is delivered or refused."""
        return self._sender.flush(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Deliver for at most `timeout` seconds; the next recorder on the spool does the rest."""
        if self._is_closed:
            return True
        self._is_closed = True
        atexit.unregister(self.close)
        flushed = self._sender.flush(timeout)
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
        body: dict[str, Any] = {"name": name, **self._start}
        match start.get("beamkeep"):
            case None:
                pass
            case {**own}:
                body |= own
            case _:
                log.warning("The beamkeep metadata of run %s are not a mapping.", start["uid"])
        simulated = bool(body.pop("simulated", self._simulated))
        return {
            "time": float(start["time"]),
            "num_points": start.get("num_points"),
            "beamkeep": {"body": body, "simulated": simulated, "units": self._units},
        }

    def _append(self, run: str, name: str, document: Document | msgspec.Raw) -> None:
        self._spool.append(quote(run, safe=""), name, document)
