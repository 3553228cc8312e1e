"""Records what a RunEngine does; the service may be slow, down or away meanwhile."""

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

from .sender import Sender, Service
from .spool import Spool, encoded
from .translation import Document, plain

HELD = 10_000
log = logging.getLogger("beamkeep.bluesky")


class Recorder:
    """Records Bluesky runs as Beamkeep runs: `RE.subscribe(Recorder(url, token, plan_id, spool))`.

    Called with a document it writes to the spool, on disk, and nothing else; a thread delivers.
    What the metadata of a run says under `beamkeep` goes before what is said here.
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
        """`start` is what else `start_run` takes, `units` what udunits calls a device's units."""
        self._start = {**({"plan_id": str(plan_id)} if plan_id else {}), **(start or {})}
        self._simulated, self._units = simulated, dict(units or {})
        self._lock, self._closed = Lock(), False
        self._runs: dict[str, str] = {}
        self._early: deque[tuple[str, str, msgspec.Raw]] = deque(maxlen=HELD)
        headers = {"X-Surface-Id": str(surface_id)} if surface_id else {}
        # First: an address it refuses leaves the spool to the next recorder.
        self._service = Service(url, token, headers)
        self._spool = Spool(Path(spool))
        self._sender = Sender(self._spool, self._service)
        self._sender.start()
        atexit.register(self.close)

    def __call__(self, name: str, document: Document) -> None:
        """Keep a document. Whatever is wrong with it or with the disk, the plan goes on."""
        try:
            with self._lock:
                self._keep(name, document)
        except Exception:
            log.exception("A %s document is not recorded.", name)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all documents so far are delivered or set aside, and say whether they are."""
        return self._sender.flush(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Deliver what this time allows; the rest is up to the next recorder on the spool."""
        if self._closed:
            return True
        self._closed = True
        atexit.unregister(self.close)
        flushed = self._sender.flush(timeout)
        self._sender.close(timeout)
        self._spool.close()
        self._service.close()
        return flushed

    def _keep(self, name: str, document: Document) -> None:
        match name:
            case "start":
                self._append(document["uid"], name, self._reduced(document))
            case "descriptor":
                run, uid = document["run_start"], document["uid"]
                self._append(run, name, document)
                self._runs[uid] = run
                if len(self._runs) > HELD:
                    del self._runs[next(iter(self._runs))]
                self._release(uid, run)
            case "event" | "event_page":
                # An event names no run, only its stream; one that comes first waits for that.
                if run := self._runs.get(document["descriptor"]):
                    self._append(run, name, document)
                else:
                    self._hold(document["descriptor"], name, document)
            case "stop":
                self._append(document["run_start"], name, document)
            case _:
                pass

    def _hold(self, stream: str, name: str, document: Document) -> None:
        """Keep what may never be asked for: as it would be written, and the latest of it."""
        if len(self._early) == self._early.maxlen:
            log.warning("An event of an unknown stream is not recorded.")
        self._early.append((stream, name, msgspec.Raw(encoded(document))))

    def _release(self, stream: str, run: str) -> None:
        """Write down what was held of a stream."""
        held = [*self._early]
        self._early.clear()
        self._early.extend(early for early in held if early[0] != stream)
        for of, name, document in held:
            if of == stream:
                self._append(run, name, document)

    def _reduced(self, start: Document) -> Document:
        """What is needed of a start document, settled now: a repetition must say the same."""
        words = (start.get("plan_name"), start.get("scan_id"), start["uid"][:8])
        name = plain(" ".join(str(word) for word in words if word is not None), 200)
        body: dict[str, Any] = {"name": name, **self._start}
        match start.get("beamkeep"):
            case None:
                pass
            case {**own}:
                body |= own
            case _:
                log.warning("What run %s says under beamkeep is no mapping.", start["uid"])
        simulated = bool(body.pop("simulated", self._simulated))
        said = {"body": body, "simulated": simulated, "units": self._units}
        return {
            "time": float(start["time"]),
            "num_points": start.get("num_points"),
            "beamkeep": said,
        }

    def _append(self, run: str, name: str, document: Document | msgspec.Raw) -> None:
        self._spool.append(quote(run, safe=""), name, document)
