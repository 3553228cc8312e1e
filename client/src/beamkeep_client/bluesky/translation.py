"""Translates the documents of one Bluesky run into Beamkeep calls."""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from beamkeep_client.shared.units import is_udunits

MAX_SECONDS = 3600
"""Seconds remembered for each channel, to tell a late reading from a repeated one."""
MAX_UNIT, MAX_OPAQUE_UNIT = 100, 50
"""The most characters of a unit that udunits knows, and of any other."""
POINTS = "points"
"""The channel that counts the points of a run, if their number is known at the start."""
CRASHED = "The process that took the data ended before the run did."

type Document = Mapping[str, Any]
type ObservationEntry = dict[str, object]


class Translation:
    """One run, translated from its documents in any order, repeated or not."""

    def __init__(self, start: Document) -> None:
        self.start = start
        self.end: tuple[str, Document] | None = None
        self._streams: dict[str, Document] = {}
        self._configured: dict[str, float] = {}
        self._snapshots: set[str] = set()
        self._seconds: dict[str, dict[int, None]] = {}

    @property
    def _counts_points(self) -> bool:
        progress = self.start["beamkeep"]["body"].get("progress")
        return bool(progress) and progress.get("channel_name") == POINTS

    def take(self, name: str, document: Document) -> list[ObservationEntry]:
        """Return the observations that a document adds to the run."""
        match name:
            case "descriptor" if document["uid"] not in self._streams:
                self._streams[document["uid"]] = document
                devices = document.get("configuration", {}).values()
                return [
                    each for device in devices for each in self._configuration(document, device)
                ]
            case "event" if stream := self._streams.get(document["descriptor"]):
                return self._event(stream, document)
            case "event_page":
                return [each for event in _events(document) for each in self.take("event", event)]
            case "stop" | "interrupted":
                self.end = self.end or (name, document)
                return []
            case _:
                return []

    def _configuration(self, descriptor: Document, device: Document) -> list[ObservationEntry]:
        """Return the settings of a device that are new or have changed in this run."""
        was = self._configured
        new = {k: v for k, v in _numbers(device["data"]).items() if was.get(k) != v}
        was.update(new)
        read = {**device, "uid": descriptor["uid"], "time": descriptor["time"], "data": new}
        return self._observations(device.get("data_keys", {}), read, "baseline")

    def _event(self, stream: Document, event: Document) -> list[ObservationEntry]:
        numbers, is_baseline = _numbers(event["data"]), stream.get("name") == "baseline"
        point = number(event.get("seq_num"))
        if self._counts_points and stream.get("name") == "primary" and point is not None:
            numbers[POINTS] = point
        if is_baseline:
            new = {} if event["uid"] in self._snapshots else numbers
            self._snapshots.add(event["uid"])
        else:
            # By sampling time: a flyer returns all its readings in one event.
            seconds = {channel: int(self._sampled(event, channel)) for channel in numbers}
            new = {k: v for k, v in numbers.items() if self._is_first(k, seconds[k])}
        procedure = "baseline" if is_baseline else "monitor"
        return self._observations(stream.get("data_keys", {}), {**event, "data": new}, procedure)

    def _is_first(self, channel: str, second: int) -> bool:
        """Return whether a channel has no reading in that second yet."""
        seconds = self._seconds.setdefault(channel, {})
        is_full = len(seconds) >= MAX_SECONDS
        if second in seconds or (is_full and second < next(iter(seconds))):
            return False
        if is_full:
            del seconds[next(iter(seconds))]
        seconds[second] = None
        return True

    def _sampled(self, read: Document, channel: str) -> float:
        """Return when a channel was sampled: as the device says, if that lies within the run."""
        # A value older than the run was still valid when it was read. A device clock may be wrong.
        event_time = read["time"]
        at = number(read.get("timestamps", {}).get(channel)) or event_time
        return at if self.start["time"] <= at <= event_time else event_time

    def _observations(
        self, keys: Document, read: Document, procedure: str
    ) -> list[ObservationEntry]:
        units = self.start["beamkeep"]["units"]
        texts = {channel: keys.get(channel, {}).get("units") for channel in read["data"]}
        return [
            {
                "observation_id": str(observation_id(read["time"], read["uid"], channel)),
                "channel_name": channel,
                "value": value,
                "unit": unit(units.get(texts[channel], texts[channel])),
                "sampling_procedure": procedure,
                "sampled_at": timestamp(self._sampled(read, channel)),
                "simulated": self.start["beamkeep"]["simulated"],
            }
            for channel, value in read["data"].items()
        ]


def ending(start: Document, name: str, document: Document) -> tuple[str, dict[str, str]]:
    """Return the verb that ends a run, and its body."""
    if name == "interrupted":
        return "truncate", {"reason": CRASHED, "interrupted_at": timestamp(document["time"])}
    status, reason = document.get("exit_status"), one_line(document.get("reason") or "", 500)
    if status != "success":
        return "abort", {"reason": reason or f"Bluesky ended the run with exit status {status}."}
    # A plan can be stopped without a reason; then the missing points show it.
    points = start.get("num_points")
    counts: Mapping[str, int] = document.get("num_events") or {}
    taken = max((n for stream, n in counts.items() if stream != "baseline"), default=0)
    if not reason and isinstance(points, int) and taken < points:
        reason = f"Ended after {taken} of {points} points."
    return ("stop", {"reason": reason}) if reason else ("complete", {})


def observation_id(time: float, uid: str, channel: str) -> UUID:
    """Return the UUIDv7 of a reading, the same for every delivery."""
    digest = int.from_bytes(sha256(f"{uid}\0{channel}".encode()).digest()[:10])
    random_a, random_b = digest >> 68, digest & (1 << 62) - 1
    return UUID(int=int(time * 1000) << 80 | 7 << 76 | random_a << 64 | 2 << 62 | random_b)


def unit(text: object) -> dict[str, str | None] | None:
    """Return a device's unit as an annotation; its system is udunits only for a known unit."""
    if not isinstance(text, str) or not (code := text.strip()) or not code.isprintable():
        return None
    is_known = len(code) <= MAX_UNIT and is_udunits(code)
    if not is_known and len(code) > MAX_OPAQUE_UNIT:
        return None
    return {"system": "udunits" if is_known else None, "code": code, "label": code}


def timestamp(time: float) -> str:
    """Return seconds since 1970 as an ISO 8601 time."""
    return datetime.fromtimestamp(time, UTC).isoformat()


def number(value: object) -> float | None:
    """Return a finite number, None for anything else, also for booleans and arrays."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return made if math.isfinite(made := float(value)) else None
    except OverflowError:
        return None


def one_line(text: str, length: int) -> str:
    """Return a text on one line, of limited length, without control characters."""
    words = " ".join(text.split())
    return "".join(c for c in words if c.isprintable())[:length].strip()


def _numbers(data: Document) -> dict[str, float]:
    """Return the channels that have a usable name and a finite number."""
    found = {channel: number(value) for channel, value in data.items() if _is_name(channel)}
    return {channel: value for channel, value in found.items() if value is not None}


def _is_name(text: str) -> bool:
    return 0 < len(text) <= 255 and text.isprintable() and text == text.strip()


def _events(page: Document) -> Iterator[Document]:
    for n, (uid, time) in enumerate(zip(page["uid"], page["time"], strict=True)):
        columns = {
            part: {k: v[n] for k, v in page[part].items()} for part in ("data", "timestamps")
        }
        yield {"descriptor": page["descriptor"], "uid": uid, "time": time, **columns}
