"""What a caller may send, and that a refusal never repeats it."""

import json
from random import Random
from uuid import UUID

import pytest
from pydantic import JsonValue

from beamkeep.contexts.access.actor import RegisterActor
from beamkeep.contexts.run.observation import AppendObservations
from beamkeep.contexts.trust.visit import RegisterVisit
from beamkeep.kernel import Command
from beamkeep.kernel.values import Timestamp
from beamkeep.runtime.parsing import (
    MalformedRequestError,
    parse,
    parse_body,
    parse_id,
    repeats_a_name,
)


class Say(Command):
    """Anything at all."""

    what: JsonValue = None


class At(Command):
    """A time."""

    time: Timestamp


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-10:00", "9999-12-31T00:00:00Z"]
)
def test_a_time_that_no_clock_in_utc_will_show_is_refused(time: str):
    with pytest.raises(MalformedRequestError, match="time"):
        parse(At, {"time": time})


def test_a_body_is_an_object_or_nothing():
    assert parse_body(b"") == {}
    assert parse_body(b' {"what": [1, "\\u00e9"]} ') == {"what": [1, "é"]}


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"1", b"null", b"true"])
def test_what_is_not_an_object_is_refused(body: bytes):
    with pytest.raises(MalformedRequestError, match="not a JSON object"):
        parse_body(body)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{]",
        b"nul",
        b"{} {}",
        b"{'what': 1}",
        b'{"what": NaN}',
        b'{"what": Infinity}',
        b'{"what": 1e999}',
        b'{"what": "\xff"}',
        b'{"what": "\\ud800"}',
        b'{"what": "\x00"}',
        b'{"what": 01}',
        b"[" * 40_000,
        b'{"what":' * 20_000,
        b"\xef\xbb\xbf{}",
        " ".encode("utf-16"),
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_not_json_is_refused(body: bytes):
    with pytest.raises(MalformedRequestError, match="not well-formed JSON"):
        parse_body(body)


def nested(depth: int) -> JsonValue:
    value: JsonValue = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_body_is_nested_at_most_64_deep():
    assert parse(Say, {"what": nested(63)}).what == nested(63)
    with pytest.raises(MalformedRequestError, match="nested more than 64 levels deep"):
        parse(Say, {"what": nested(64)})


def test_an_object_counts_as_deep_as_a_list():
    with pytest.raises(MalformedRequestError, match="nested more than 64 levels deep"):
        parse(Say, {"what": {"in": nested(63)}})


@pytest.mark.parametrize("what", ["a\x00b", ["\x00"], {"\x00": 1}, {"in": {"deep": ["\x00"]}}])
def test_a_null_character_is_refused_wherever_it_is(what: JsonValue):
    with pytest.raises(MalformedRequestError, match="null character"):
        parse(Say, {"what": what})


@pytest.mark.parametrize("what", ["\ud800", ["a\udfff"], {"\udc00": 1}])
def test_an_unpaired_surrogate_is_refused_wherever_it_is(what: JsonValue):
    with pytest.raises(MalformedRequestError, match="unpaired surrogate"):
        parse(Say, {"what": what})


def test_a_text_beyond_ascii_is_unchanged():
    assert parse(Say, {"what": "Größe 😀"}).what == "Größe 😀"


@pytest.mark.parametrize("what", [2**53 + 1, -(2**53) - 1, 10**400, [2**64]])
def test_an_integer_that_readers_would_round_is_refused(what: JsonValue):
    with pytest.raises(MalformedRequestError, match=r"larger than 2\^53"):
        parse(Say, {"what": what})


def test_an_integer_up_to_2_to_the_53_is_unchanged():
    assert parse(Say, {"what": [2**53, -(2**53)]}).what == [2**53, -(2**53)]


@pytest.mark.parametrize("what", [float("nan"), float("inf"), [-float("inf")]])
def test_a_number_that_is_not_finite_is_refused(what: JsonValue):
    with pytest.raises(MalformedRequestError, match="not finite"):
        parse(Say, {"what": what})


def test_every_faulty_field_is_named():
    with pytest.raises(MalformedRequestError) as refused:
        parse(RegisterActor, {"kind": "robot", "nickname": "x"})
    assert refused.value.status == 422
    faults = refused.value.facts["errors"]
    assert faults == [
        {"field": "name", "problem": "Field required"},
        {"field": "kind", "problem": "Input should be 'human' or 'service_account'"},
        {"field": "nickname", "problem": "Extra inputs are not permitted"},
    ]
    assert "name: Field required; kind: Input should be" in str(refused.value)


def test_a_field_inside_another_is_named_by_its_path():
    with pytest.raises(MalformedRequestError) as refused:
        parse(RegisterActor, {"name": "x", "identities": [{"issuer": "i"}]})
    assert refused.value.facts["errors"] == [
        {"field": "identities.0.subject", "problem": "Field required"}
    ]


READING = {
    "observation_id": str(UUID(int=1)),
    "channel_name": "current",
    "value": 1.5,
    "sampling_procedure": "baseline",
    "sampled_at": "2030-01-31T00:00:00Z",
}


def faults_of(entries: list[dict[str, object]]) -> object:
    with pytest.raises(MalformedRequestError) as refused:
        parse(AppendObservations, {"run_id": str(UUID(int=2)), "entries": entries})
    return refused.value.facts["errors"]


@pytest.mark.parametrize(("count", "rejected"), [(1, 0), (3, 0), (3, 1), (3, 2)])
def test_a_rejected_entry_is_reported_at_its_position_alone(count: int, rejected: int):
    entries: list[dict[str, object]] = [{**READING} for _ in range(count)]
    entries[rejected]["value"] = "much"
    assert faults_of(entries) == [
        {"field": f"entries.{rejected}.value", "problem": "Input should be a valid number"}
    ]


def test_a_list_that_is_too_short_is_still_reported():
    problem = "Tuple should have at least 1 item after validation, not 0"
    assert faults_of([]) == [{"field": "entries", "problem": problem}]


SECRET = "zq-private-zq"


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (RegisterActor, {"name": [SECRET]}),
        (RegisterActor, {"name": SECRET * 100}),
        (RegisterActor, {"name": "x", "kind": SECRET}),
        (RegisterActor, {"name": "x", "email": {"is": SECRET}}),
        (RegisterActor, {"name": "x", "identities": [{"issuer": SECRET, "subject": [SECRET]}]}),
        (RegisterActor, {"name": f"{SECRET}\x00"}),
        (RegisterActor, {"name": f"{SECRET}\ud800"}),
        (RegisterVisit, {"policy_id": SECRET, "planned_start_at": SECRET}),
        (RegisterVisit, {"planned_start_at": f"2030-01-01T00:00:00{SECRET}"}),
    ],
)
def test_a_refusal_never_repeats_the_value(command: type[Command], arguments: dict[str, object]):
    with pytest.raises(MalformedRequestError) as refused:
        parse(command, arguments)
    assert SECRET not in str(refused.value)
    assert SECRET not in str(refused.value.facts)


def test_the_text_tells_ten_faults_and_the_facts_all():
    with pytest.raises(MalformedRequestError) as refused:
        parse(Say, {f"f{n}": n for n in range(12)})
    assert str(refused.value).count("Extra inputs") == 10
    errors = refused.value.facts["errors"]
    assert isinstance(errors, list)
    assert len(errors) == 12  # pyright: ignore[reportUnknownArgumentType]


def test_an_id_is_found_or_not():
    id = UUID(int=1)
    assert parse_id({"zone_id": str(id)}, "zone_id") == id
    for arguments in ({}, {"zone_id": "x"}, {"zone_id": 1}, {"zone_id": None}, {"zone_id": [1]}):
        assert parse_id(arguments, "zone_id") is None


REPEATING = [
    b'{"a":1,"a":2}',
    b'{"a":1,"a":1}',
    b'{"a":1,"b":2,"a":3}',
    b'{"a":1,"\\u0061":2}',
    b'{"a":{"b":1,"b":2}}',
    b'{"a":[1,{"b":1,"b":2}]}',
    b'{"":1,"":2}',
    b'{"a":"12:30","a":"12:30"}',
    b'{"a:":1,"a\\u003a":2}',
    b'{"a":":\\u003A","a":1}',
    b'{"a":{"b":":::"},"a":"::::"}',
    b'{"a":1,"a":":"}',
    b'{"a":":","a":1}',
]
PLAIN = [
    b"{}",
    b'{"a":1,"b":2}',
    b'{"a":{"a":{"a":1}}}',
    b'[{"a":1},{"a":2}]',
    b'{"a":"2030-01-01T00:00:00Z","b":"https://lab.test:8000/::"}',
    b'{"a:b":"c:\\"d","a\\u003ab\\u003a":1}',
    b'{"a":"\\\\u003a"}',
    b'{"a":"\\u003a"}',
    b'{"a" : 1 , "b"\n:\t2}',
    '{"a":"é\U0001f4a5:","é":1}'.encode(),
    b'{"a":18446744073709551616}',
    b'{"a":1e5,"b":-0.0}',
]


@pytest.mark.parametrize("body", REPEATING)
def test_an_object_with_a_name_twice_is_refused(body: bytes):
    assert repeats_a_name(body)
    with pytest.raises(MalformedRequestError, match="occurs twice"):
        parse_body(body)


@pytest.mark.parametrize("body", PLAIN)
def test_an_object_with_every_name_once_is_read(body: bytes):
    assert not repeats_a_name(body)
    if body.startswith(b"{"):
        assert parse_body(body) == json.loads(body)


@pytest.mark.parametrize("body", ['{"a":1,"a":2}'.encode("utf-16"), b'{"a":NaN,"a":2}'])
def test_a_name_twice_is_found_in_what_only_other_readers_take(body: bytes):
    assert repeats_a_name(body)


@pytest.mark.parametrize("body", [b"", b"{", b'{"a":1', b"\xff", b"[" * 40_000])
def test_what_is_no_json_repeats_nothing(body: bytes):
    assert not repeats_a_name(body)


def test_two_ways_of_looking_for_a_name_twice_agree():
    random = Random(10)  # noqa: S311

    def some(depth: int = 0) -> str:
        kind = random.randrange(4 if depth < 4 else 2)
        if kind == 2:
            return "[" + ",".join(some(depth + 1) for _ in range(random.randrange(3))) + "]"
        if kind == 3:
            pairs = [f'"{name()}":{some(depth + 1)}' for _ in range(random.randrange(4))]
            return "{" + ",".join(pairs) + "}"
        return f'"{name()}"' if kind else str(random.random())

    def name() -> str:
        parts = random.choices(
            ["a", "b", ":", "\\u003a", "\\\\", "\\n", '\\"', "é"], k=random.randrange(3)
        )
        return "".join(parts)

    found = set[bool]()
    for _ in range(2000):
        text = "{" + f'"{name()}":{some()},"{name()}":{some()}' + "}"
        found.add(repeats := repeats_slowly(text))
        assert repeats_a_name(text.encode()) is repeats, text
    assert found == {True, False}


def repeats_slowly(text: str) -> bool:
    repeats: list[bool] = []

    def look(pairs: list[tuple[str, object]]) -> None:
        repeats.append(len({name for name, _ in pairs}) < len(pairs))

    json.loads(text, object_pairs_hook=look)
    return any(repeats)
