"""A thousand hostile schemas and values: each refused or checked at once, and nothing fetched."""

import socket
from collections.abc import Callable
from random import Random
from time import process_time

import pytest
from tests.support.schemas import ANYTHING, of, schema

from beamkeep.kernel import Invalid
from beamkeep.schemas import (
    Json,
    JsonObject,
    carry,
    carry_settings,
    declare,
    lint_schema,
    merge_patch,
    require_subset,
)
from beamkeep.schemas.units import is_code
from beamkeep.schemas.validating import compiled, is_linear_pattern

AT_ONCE = 0.05
# What a machine with nothing else to do takes for the work of `slowness`.
UNDISTURBED = 0.006

type Attack = tuple[str, Callable[[], object]]


class InvalidAttackError(Invalid):
    """The attack is refused."""


def declared(attack: object) -> Callable[[], object]:
    return lambda: declare(attack, InvalidAttackError)


def carried(values: object, node: JsonObject) -> Callable[[], object]:
    """The values against a root whose member `a` is the node, if that is a schema at all."""
    root = of(a=node)

    def attack() -> None:
        if declare(root, InvalidAttackError) is root:
            carry(values, root, InvalidAttackError, "a family")

    return attack


def deep(levels: int, *, by: str) -> JsonObject:
    node: JsonObject = {}
    for _ in range(levels):
        node = {"properties": {"a": node}} if by == "properties" else {by: node}
    return of(a=node)


def deep_value(levels: int, *, of_lists: bool) -> JsonObject:
    value: Json = 1
    for _ in range(levels):
        value = [value] if of_lists else {"a": value}
    return {"a": value}


def nested() -> list[Attack]:
    levels = (9, 17, 18, 50, 200, 500, 1_000, 3_000, 10_000, 50_000, 100_000)
    ways = ("properties", "items", "not", "$defs", "allOf", "if")
    return [
        *((f"{n} by {by}", declared(deep(n, by=by))) for n in levels for by in ways),
        *(
            (f"{n} levels of value", carried(deep_value(n, of_lists=lists), {}))
            for n in levels
            for lists in (True, False)
        ),
        *((f"{n} levels of patch", patched(deep_value(n, of_lists=False))) for n in levels),
    ]


def patched(patch: JsonObject) -> Callable[[], object]:
    return lambda: merge_patch({"a": {"a": 1}}, patch)


def wide() -> list[Attack]:
    sizes = (200, 1_000, 2_500, 4_000, 20_000, 200_000)
    attacks: list[Attack] = []
    for n in sizes:
        many: JsonObject = {f"p{i}": {"type": "number"} for i in range(n)}
        attacks += [
            (f"{n} properties", declared(of(**many))),
            (f"{n} required", declared(schema(properties=many, required=list(many)))),
            (f"{n} times required", declared(schema(properties=many, required=["p1"] * n))),
            (f"{n} in an enum", declared(of(a={"enum": list(range(n))}))),
            (f"{n} unknown keywords", declared(schema(**many))),
            (f"{n} values", carried({f"p{i}": i for i in range(n)}, {})),
            (f"{n} elements", carried({"a": [0] * n}, {"items": {"type": "number"}})),
            (f"{n} wrong elements", carried({"a": [0] * n}, {"items": {"type": "string"}})),
            (f"{n} undeclared members", carried({"a": many}, {"properties": {}})),
            (
                f"{n} values of families",
                of_families({f"p{i}": i for i in range(n)}, of(**many), {}),
            ),
            (f"{n} empty members", carried({"a": [ANYTHING] * n}, {"items": {"items": {}}})),
        ]
    return attacks


PATTERNS = (
    *("(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){20}", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"),
    *("(a{1000}){1000}", "((a{100}){100}){100}", "a{1000}", "a{99999999}", "(?:a?){100}a{100}"),
    *("[ab]*a[ab]{20}[^ab]", "[ab]*a[ab]{200}[^ab]", "[ab]*a[ab]{400}[^ab]", "a.{14}[^a-z]"),
    *(r"(?=a)b", r"(a)\1", r"(?<=a)b", r"(?<!a)b", r"(?>a)", r"a++", r"\p{L}{1000}", r"\w{1000}"),
    *(r"\pL{9}", "(?i)" + "k" * 190, "(" * 100 + ")" * 100, "(" * 200, "[" * 200, "\\" * 199),
    *("|".join("a" * 100), "(?:" * 60 + "a" + ")*" * 60, ".*" * 100, "(.*)*" * 40, "[^a]{1,200}"),
    *(
        "(?x) a # c",
        "^$",
        "$^",
        "(|a)*b",
        "(?P<n>a)(?P<n>b)",
        "\x00",
        "a{,5}",
        "a{5,2}",
        "{1}",
        "*",
        "é{100}",
        "\\u{110000}",
    ),
)


def matched() -> list[Attack]:
    rng = Random(3)  # noqa: S311
    mixed = "".join(rng.choice("ab") for _ in range(60_000))
    texts = (
        "a" * 30 + "!",
        "a" * 60_000,
        mixed,
        mixed[:4_096],
        "é" * 4_096,
        "ab" * 2_048,
        "\x00" * 99,
    )
    attacks: list[Attack] = [
        (f"{pattern[:30]} on {text[:5]}…", carried({"a": text}, {"pattern": pattern}))
        for pattern in PATTERNS
        for text in texts
    ]
    attacks += [
        (f"{p[:30]} on many", carried({"a": ["ab"] * 2_000}, {"items": {"pattern": p}}))
        for p in PATTERNS
    ]
    for n in (50, 51, 500, 2_000):
        many: JsonObject = {f"p{i}": {"pattern": f"[ab]{{200}}{i}"} for i in range(n)}
        attacks.append((f"{n} patterns", declared(of(**many))))
        some = dict.fromkeys(list(many)[:50], mixed[:80])
        attacks.append((f"{n} patterns on text", carried({"a": some}, {"properties": many})))
    return attacks


ADDRESSES = (
    *(
        "http://127.0.0.1:1/x",
        "https://example.org/schema",
        "file:///etc/passwd",
        "ftp://h/x",
        "//h/x",
    ),
    *(
        "#/$defs/a",
        "#",
        "urn:uuid:0",
        "data:,{}",
        "http://[::1]/",
        "jar:file:///x!/y",
        "\\\\host\\x",
    ),
)


def fetched() -> list[Attack]:
    keywords = ("$ref", "$dynamicRef", "$id", "$anchor", "$schema", "$vocabulary", "$recursiveRef")
    attacks: list[Attack] = []
    for keyword in keywords:
        for address in ADDRESSES:
            attacks.append((f"{keyword} {address}", declared(schema(**{keyword: address}))))
            attacks.append((f"inner {keyword} {address}", declared(of(a={keyword: address}))))
    return attacks


def written() -> list[Attack]:
    texts = (
        "\ud800",
        "a\udfff",
        "\x00",
        "\u202e",
        "\uffff",
        "💥" * 9_000,
        "é" * 32_000,
        "\\" * 60_000,
    )
    numbers: tuple[Json, ...] = (
        *(10**400, -(10**900), 10**3_999, 10**4_000, 10**20_000, 10**100_000, 1e308, 5e-324, -0.0),
        *(float("nan"), float("inf"), float("-inf"), 2**64, 2**63, -(2**63) - 1),
    )
    attacks: list[Attack] = []
    for text in texts:
        attacks += [
            (f"name {text[:5]!r}", declared(of(**{text: {"type": "number"}}))),
            (f"keyword {text[:5]!r}", declared(schema(**{text: 1}))),
            (f"title {text[:5]!r}", declared(schema(title=text))),
            (f"enum {text[:5]!r}", declared(of(a={"enum": [text]}))),
            (f"value {text[:5]!r}", carried({"a": text}, {"type": "number"})),
            (f"value name {text[:5]!r}", carried({"a": {text: 1}}, {"properties": {}})),
        ]
    for number in numbers:
        told = "a number"
        attacks += [
            *(
                (told, declared(of(a={k: number})))
                for k in ("minimum", "maxLength", "minItems", "type")
            ),
            (told, declared(of(a={"enum": [number] * 2}))),
            (told, carried({"a": number}, {"type": "integer", "minimum": 0})),
            (told, carried({"a": [number] * 15}, {"items": {"maximum": number}})),
            (told, within(of(a={"minimum": number}), of(a={"minimum": 10**3_000}))),
        ]
    return attacks


def of_families(values: JsonObject, *families: JsonObject) -> Callable[[], object]:
    schemas = dict(zip("abcdef", families, strict=False))
    return lambda: carry_settings(values, schemas, InvalidAttackError)


def within(method: JsonObject, capability: JsonObject) -> Callable[[], object]:
    def attack() -> None:
        if declare(method, InvalidAttackError) is method:
            require_subset(method, capability, InvalidAttackError)
            lint_schema(method)

    return attack


UNIT_CODES = (
    *("m^999999999", "m" * 100, "m." * 49 + "m", "(" * 50 + "m" + ")" * 50, "(" * 100, "1" * 100),
    *(
        "m^" * 50,
        "((((m^99)^99)^99)^99)^99",
        "1e99999 m",
        "%n%s%s%n",
        "m\x00",
        "lg(re " * 16,
        "m" * 101,
    ),
    *(
        "yotta" * 20,
        "m-99999999999999",
        "10*" * 33,
        "{" * 100,
        "{" + "a" * 98 + "}",
        "m{}" * 33,
        "/" * 100,
    ),
    *(
        "[" * 100,
        "10^" * 33,
        "da" * 50,
        "0112/2///62720#" + "U" * 85,
        "m" * 60_000,
        "\ud800",
        " " * 100,
    ),
    *(
        "seconds since 9999999999-99-99",
        "@" * 100,
        "²" * 100,
        "µ" * 100,
        "..",
        "m/" * 50,
        "'" * 100,
    ),
)


def measured() -> list[Attack]:
    attacks: list[Attack] = []
    for system in ("udunits", "ucum", "qudt", "iec61360"):
        for code in UNIT_CODES:
            unit: JsonObject = {"system": system, "code": code}
            attacks.append(
                (f"{system} {code[:30]!r}", declared(of(a={"type": "number", "unit": unit})))
            )
        many: JsonObject = {
            f"p{i}": {"type": "number", "unit": {"system": system, "code": f"m{i}"}}
            for i in range(700)
        }
        attacks.append((f"700 units of {system}", declared(of(**many))))
    return attacks


def slowness() -> float:
    """How many times slower than it could be the machine is just now, having other work."""
    start, total = process_time(), 0
    for each in range(100_000):
        total += each * each
    return max(1.0, (process_time() - start) / UNDISTURBED)


def test_a_thousand_attacks_are_answered_at_once(monkeypatch: pytest.MonkeyPatch):
    for system in ("udunits", "ucum", "qudt", "iec61360"):
        is_code(system, "m")  # loads what the system needs

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket, "socket", no_network)
    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    attacks = [*nested(), *wide(), *matched(), *fetched(), *written(), *measured()]
    assert len(attacks) >= 1_000
    refused = 0
    slow: list[tuple[str, float]] = []
    for name, attack in attacks:
        seconds = AT_ONCE + 1
        for _ in range(10):  # the best of some, as the machine has other work
            for remembered in (compiled, is_linear_pattern, is_code):
                remembered.cache_clear()
            start = process_time()
            try:
                attack()
            except InvalidAttackError:
                refused += 1
            spent = process_time() - start
            seconds = min(seconds, spent if spent <= AT_ONCE else spent / slowness())
            if seconds <= AT_ONCE:
                break
        if seconds > AT_ONCE:
            slow.append((name, seconds))
    assert slow == []
    assert refused >= 700
