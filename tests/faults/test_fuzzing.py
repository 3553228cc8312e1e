"""Whatever bytes are read, only the declared refusals come out, and soon."""

import asyncio
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import asdict

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Aggregate, Event, Invalid, NotFound, Record, Upcast
from beamkeep.kernel.values import declared_refusals
from beamkeep.runtime import codec, cursors, parsing, queries
from beamkeep.runtime.codec import BrokenStreamError, Codec
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.parsing import MalformedRequestError, parse, parse_body
from beamkeep.runtime.queries import parse_position
from beamkeep.runtime.store import StoredEvent
from beamkeep.schemas import (
    bounds,
    declare,
    declaring,
    lint,
    lint_schema,
    nodes,
    plain,
    require_subset,
    subset,
    ucum,
    units,
    validating,
)
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.service import AdminClient, memory_service
from tests.faults.conftest import Report
from tests.faults.fuzzing import Fuzzed, Target, TooSlowError, fuzz, outcome
from tests.faults.report import asked
from tests.support.examples import EXAMPLES
from tests.support.schemas import of

pytestmark = pytest.mark.faults

SECONDS = asked("FUZZ_SECONDS", 5)
SCHEMAS: tuple[ModuleType, ...] = (
    *(bounds, declaring, lint, nodes, plain, subset, ucum, units, validating),
)


# Stored events: the first line names aggregate and event, the rest is the payload.


class LampLit(Event):
    lamp_id: UUID
    watts: int


class LampSnuffed(Event):
    lamp_id: UUID


class LampNotFoundError(NotFound):
    """The lamp does not exist."""


class Lamp(Record):
    watts: int


def begin(event: LampLit) -> Lamp:
    return Lamp(event.watts)


def evolve(lamp: Lamp, event: LampSnuffed) -> Lamp:
    return Lamp(0)


def in_watts(old: dict[str, object]) -> dict[str, object]:
    return old | {"watts": int(str(old["kilowatts"])) * 1000}


# No aggregate has an event in an old form yet.
LAMPS: Aggregate[Lamp, Any, Any] = Aggregate(
    "Lamp", begin, evolve, LampNotFoundError, upcasts=(Upcast("LampLit", 1, in_watts),)
)
CODEC = Codec([*CATALOGUE.aggregates.values(), LAMPS])
FORMS = 3


def read_event(data: bytes) -> None:
    head, _, payload = data.partition(b"\n")
    named, _, event_type = head.decode("latin-1").partition(" ")
    aggregate = named if named in CATALOGUE.aggregates else "Lamp"
    form = 1 + len(data) % FORMS
    text = payload.decode("utf-8", "surrogateescape") if len(data) % 2 else payload
    (event,) = CODEC.decode(aggregate, [StoredEvent(1, event_type, form, text)])
    stored = CODEC.encode(event, 1, UUID(int=1))
    assert CODEC.decode(
        aggregate, [StoredEvent(1, event_type, stored.schema_version, stored.payload)]
    ) == [event]


# Cursors and position tokens.

CURSORS, LISE, FILTERS = Cursors(b"k" * 32), UUID(int=1), {"kind": "HTTP"}
PLACES = ("17", str(LISE), "", "é")
WRITTEN = {CURSORS.write(place, LISE, "list_surfaces", FILTERS): place for place in PLACES}


def read_place(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    with suppress(MalformedRequestError):
        found = parse_position(text)
        assert parse_position(str(found)) == found
    assert CURSORS.read(text, LISE, "list_surfaces", FILTERS) == WRITTEN[text]


# Bodies: the first byte says which command.

OPERATIONS = CATALOGUE.operations


def read_body(data: bytes) -> None:
    operation = OPERATIONS[data[0] % len(OPERATIONS) if data else 0]
    arguments = parse_body(data[1:])
    with suppress(*declared_refusals(operation.command)):
        parse(operation.command, arguments)
    # What was read must have a fingerprint.
    msgspec.json.encode([operation.name, arguments], order="sorted")


# Schemas.


class InvalidFuzzError(Invalid):
    """The schema is refused."""


def read_schema(data: bytes) -> None:
    schema = declare(parse_body(data), InvalidFuzzError)
    if schema is not None:
        lint_schema(schema)
        require_subset(schema, schema, InvalidFuzzError)


@cache
def said() -> tuple[dict[str, dict[str, Any]], list[bytes]]:
    """The arguments of every example, and every event that came of them."""

    async def saying() -> tuple[dict[str, dict[str, Any]], list[bytes]]:
        service, store = await memory_service()
        do = AdminClient(service, store)
        given = {name: await EXAMPLES[name](do) for name in CATALOGUE.named}
        for operation in OPERATIONS:
            await do(operation.name, await EXAMPLES[operation.name](do))
        events = [
            b"%b %b\n%b" % (stream[0].encode(), each.recorded.event_type.encode(), payload)
            for stream, stored in store.streams.items()
            for each in stored
            if isinstance(payload := each.recorded.payload, bytes)
        ]
        return given, events

    return asyncio.run(saying())


def of_events() -> Target:
    kinds = {event.partition(b"\n")[0]: event for event in said()[1]}
    lamp = b'{"occurred_at":"2030-01-01T00:00:00Z","lamp_id":"%b"%b}'
    lamps = [
        b"Lamp LampLit\n" + lamp % (str(LISE).encode(), more)
        for more in (b',"kilowatts":2', b',"watts":2', b',"kilowatts":2 ', b',"watts":2 ')
    ]
    names = tuple(name.partition(b" ")[2] for name in kinds)
    return Target(
        read_event, (BrokenStreamError,), (codec,), (*kinds.values(), *lamps), (*names, b"watts")
    )


def of_places() -> Target:
    seeds = (*(cursor.encode() for cursor in WRITTEN), b"1-1", b"000000000000000007-" + b"9" * 18)
    modules = (cursors, queries)
    return Target(read_place, (MalformedRequestError,), modules, seeds, (b"-", b"\xd9\xa1"))


def of_bodies() -> Target:
    given = said()[0]
    seeds = [
        bytes([number]) + msgspec.json.encode(given[operation.name])
        for number, operation in enumerate(OPERATIONS)
    ]
    return Target(read_body, (MalformedRequestError,), (parsing, plain), tuple(seeds))


def of_schemas() -> Target:
    seeds = [
        of(a={"type": "number", "minimum": 0, "unit": {"system": "udunits", "code": "mm"}}),
        of(a={"type": "integer", "maximum": 9, "unit": {"system": "ucum", "code": "[in_i]"}}),
        of(b={"type": "string", "pattern": "^a+$", "maxLength": 9, "title": "B"}),
        of(c={"type": "array", "items": {"enum": [1, "a", True]}, "minItems": 1}),
        of(d={"type": "object", "properties": {"e": {}}, "required": ["e"]}),
        {"$schema": "x", "additionalProperties": False, "unevaluatedProperties": False},
    ]
    for system in units.SYSTEMS:
        units.is_code(system, "m")  # loads what the system needs
    keywords = [f'"{word}":'.encode() for word in ("enum", "exclusiveMinimum", "description")]
    codes = [b"m", b"m/s2", b"10*3", b"M", b"UAA726", b"qudt", b"iec61360", b"label"]
    told = tuple(msgspec.json.encode(each) for each in seeds)
    refusals = (InvalidFuzzError, MalformedRequestError)
    return Target(read_schema, refusals, SCHEMAS, told, (*keywords, *codes))


TARGETS = {"codec": of_events, "cursors": of_places, "bodies": of_bodies, "schemas": of_schemas}


@pytest.mark.parametrize("name", TARGETS)
def test_only_declared_refusals_come_out(name: str, report: Report):
    fuzzed = fuzz(TARGETS[name](), SECONDS, dice(seed(), name))
    told = {n: v for n, v in asdict(fuzzed).items() if n != "found"}
    report(f"fuzzing of {name}", told)
    assert fuzzed.lines > 0
    require_nothing_found(name, fuzzed)


def require_nothing_found(name: str, fuzzed: Fuzzed) -> None:
    """Fail with the input as a row for the table below."""
    if fuzzed.found:
        row = f"({name!r}, {fuzzed.found.data!r}),"
        raise AssertionError(f"add {row}") from fuzzed.found.error


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("codec", b'Lamp LampLit\n{"occurred_at":"2030-01-01T00:00:00Z","watts":2}'),
        ("codec", b"Lamp LampLit\n[]   "),
        *(("cursors", f"{cursor}AAAA".encode()) for cursor in WRITTEN),
        *(("cursors", f"{cursor}!".encode()) for cursor in WRITTEN),
    ],
)
def test_what_once_came_to_a_bad_end_is_refused(name: str, data: bytes):
    assert outcome(TARGETS[name](), data) is None


# Readers with a fault.


def read_carelessly(data: bytes) -> None:
    arguments = parse_body(data)
    if "name" in arguments and isinstance(arguments["name"], str):
        grade = arguments["name"].partition("-")[2]
        if grade:
            int(grade)


def read_endlessly(data: bytes) -> None:
    while b"[[[[[[[[" in data:
        pass


def itself() -> tuple[ModuleType, ...]:
    module = ModuleType(__name__)
    module.__file__ = __file__
    return (module,)


@pytest.mark.parametrize(
    ("read", "error"), [(read_carelessly, ValueError), (read_endlessly, TooSlowError)]
)
def test_the_fuzzer_finds_a_reader_with_a_fault(
    read: Any, error: type[BaseException], report: Report
):
    target = Target(read, (MalformedRequestError,), itself(), (b'{"name":"Hutch-1"}',))
    fuzzed = fuzz(target, SECONDS, dice(seed(), read.__name__))
    found = fuzzed.found
    report(
        f"fuzzing of a reader that must fail: {read.__name__}",
        {
            "executions": fuzzed.executions,
            "found": repr(found.data[:60]) if found else None,
        },
    )
    assert found
    assert isinstance(found.error, error)
