"""Streams as builds before this one wrote them, and what they folded into.

A file for each aggregate, a line for each event: the stream it belongs to, the event as it was
stored, and a digest of the state after it. Lines are added by `python -m tests.corpus.record` and
never changed: a change that gives old events another meaning takes lines out by hand. Only where
a state gains a field that is read from old events too, or a field gets another name, does
`python -m tests.corpus.record Asset` write the digests of that aggregate again; the events stay as
they are.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import NODEFAULT, Raw, Struct
from msgspec.structs import FieldInfo, fields

from beamkeep.kernel import Aggregate
from beamkeep.runtime.codec import Codec, encode
from beamkeep.runtime.store import StoredEvent

FOLDER = Path(__file__).parent


class Line(Struct, frozen=True):
    """One event on record."""

    stream: int
    version: int
    event: str
    form: int
    payload: Raw
    state: str

    @property
    def recorded(self) -> StoredEvent:
        return StoredEvent(self.version, self.event, self.form, bytes(self.payload))


LINES = msgspec.json.Decoder(Line)

type Stream = tuple[Line, ...]
type Aggregates = Mapping[str, Aggregate[Any, Any, Any]]


def read(folder: Path, aggregate: Aggregate[Any, Any, Any]) -> list[Stream]:
    """The streams of one aggregate that are on record."""
    file = file_of(folder, aggregate)
    lines = LINES.decode_lines(file.read_bytes()) if file.exists() else []
    return [tuple(of_one) for _, of_one in groupby(lines, key=lambda line: line.stream)]


def file_of(folder: Path, aggregate: Aggregate[Any, Any, Any]) -> Path:
    """Where the streams of one aggregate are on record."""
    return folder / f"{aggregate.noun}.jsonl"


def differences(folder: Path, aggregates: Aggregates) -> Iterator[str]:
    """Every event on record after which this build comes to another state, in words."""
    codec = Codec(aggregates.values())
    for aggregate in aggregates.values():
        for stream in read(folder, aggregate):
            events = [line.recorded for line in stream]
            for line in stream:
                state = codec.fold(aggregate, events[: line.version])
                if digest(state) != line.state:
                    where = f"{file_of(folder, aggregate).name}, stream {line.stream}"
                    yield f"{where}: {line.event} at version {line.version} leads to {state}"


def digest(state: object) -> str:
    """The same for the same state, in every build."""
    return sha256(encode(plain(state))).hexdigest()[:16]


def plain(value: Any) -> Any:
    """A value without the fields at their default: one that is added later changes nothing."""
    match value:
        case Struct():
            held = [(field, getattr(value, field.name)) for field in fields(value)]
            return {field.name: plain(each) for field, each in held if each != _default(field)}
        case Mapping():
            pairs = cast("Mapping[str, Any]", value).items()
            return {str(name): plain(each) for name, each in pairs}
        case frozenset() | set():
            return sorted((plain(each) for each in cast("Iterable[Any]", value)), key=encode)
        case tuple() | list():
            return [plain(each) for each in cast("Iterable[Any]", value)]
        case _:
            return value


def _default(field: FieldInfo) -> Any:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()
