"""Bluesky documents made to order, in the shape a RunEngine gives them."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

type Named = tuple[str, dict[str, Any]]

START = 1_800_000_000.25


def started(uid: str = "", **more: Any) -> Named:
    """A run begins."""
    uid = uid or str(uuid4())
    return "start", {"uid": uid, "time": START, "plan_name": "scan", "scan_id": 7, **more}


def described(start: Named, name: str = "primary", **units: str | None) -> Named:
    """A stream of a run, with these channels."""
    keys = {name: {"dtype": "number", "source": "", "units": text} for name, text in units.items()}
    return "descriptor", {
        "uid": str(uuid4()),
        "run_start": start[1]["uid"],
        "time": START + 0.1,
        "name": name,
        "data_keys": keys,
        "configuration": {},
    }


def measured(stream: Named, after: float = 1.0, **data: Any) -> Named:
    """The channels of a stream are read, so long after the start of the run."""
    return "event", {
        "uid": str(uuid4()),
        "descriptor": stream[1]["uid"],
        "time": START + after,
        "seq_num": 1,
        "data": data,
        "timestamps": dict.fromkeys(data, START + after - 0.01),
    }


def collected(stream: Named, channel: str, sampled: Mapping[float, Any]) -> Named:
    """What a flyer measured so long after the start of the run, all of it given a minute later."""
    return "event_page", {
        "uid": [str(uuid4()) for _ in sampled],
        "descriptor": stream[1]["uid"],
        "time": [START + 60] * len(sampled),
        "seq_num": [*range(1, len(sampled) + 1)],
        "data": {channel: [*sampled.values()]},
        "timestamps": {channel: [START + after for after in sampled]},
    }


def stopped(start: Named, exit_status: str = "success", **more: Any) -> Named:
    """A run ends."""
    return "stop", {
        "uid": str(uuid4()),
        "run_start": start[1]["uid"],
        "time": START + 60,
        "exit_status": exit_status,
        "reason": "",
        **more,
    }


def a_scan(points: int = 3, uid: str = "") -> list[Named]:
    """A whole run with so many events of one channel, two seconds apart."""
    start = started(uid, num_points=points)
    stream = described(start, det="mm")
    events = [measured(stream, 2.0 * n, det=float(n)) for n in range(1, points + 1)]
    return [start, stream, *events, stopped(start, num_events={"primary": points})]


class Witness:
    """Hears what a recorder hears, and says by itself what there is to observe."""

    def __init__(self) -> None:
        self._runs: dict[str, str] = {}
        self._began: dict[str, float] = {}
        self._counted: set[str] = set()
        self._primary: set[str] = set()
        self._streams: dict[str, tuple[str, str]] = {}
        self._seen: dict[str, dict[tuple[object, ...], float]] = {}

    def __call__(self, name: str, document: Mapping[str, Any]) -> None:
        match name:
            case "start":
                self._runs[document["uid"]] = f"scan {document['scan_id']} {document['uid'][:8]}"
                self._began[document["uid"]] = document["time"]
                self._seen[document["uid"]] = {}
                if document.get("num_points"):
                    self._counted.add(document["uid"])
            case "descriptor":
                run = document["run_start"]
                procedure = "baseline" if document["name"] == "baseline" else "monitor"
                self._streams[document["uid"]] = run, procedure
                if run in self._counted and document["name"] == "primary":
                    self._primary.add(document["uid"])
                for device in document["configuration"].values():
                    for channel, value in device["data"].items():
                        self._see(run, "baseline", channel, value, "set")
            case "event":
                run, procedure = self._streams[document["descriptor"]]
                for channel, value in document["data"].items():
                    at, asked = document["timestamps"][channel], document["time"]
                    second = int(at if self._began[run] <= at <= asked else asked)
                    moment = second if procedure == "monitor" else document["uid"]
                    self._see(run, procedure, channel, value, moment)
                if document["descriptor"] in self._primary:
                    second = int(document["time"])
                    self._see(run, procedure, "points", document["seq_num"], second)
            case _:
                pass

    @property
    def observed(self) -> dict[str, list[tuple[str, str, float]]]:
        """Procedure, channel and value of every observation, by the name of the run."""
        return {
            self._runs[run]: sorted((str(p), str(c), v) for (p, c, _), v in seen.items())
            for run, seen in self._seen.items()
        }

    def _see(self, run: str, procedure: str, channel: str, value: Any, moment: object) -> None:
        if not isinstance(value, str):
            self._seen[run].setdefault((procedure, channel, moment), float(value))
