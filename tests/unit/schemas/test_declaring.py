"""Declaring a schema: every keyword, every bound, and the order of the five steps."""

import json
from typing import Any

import pytest
from tests.support.schemas import ANYTHING, DIALECT, of, schema

from beamkeep.kernel import Invalid
from beamkeep.schemas import Json, JsonObject, declare, require_same_units


class InvalidFamilySettingsSchemaError(Invalid):
    """Settings schema must be a JSON Schema of the supported subset."""


def refusal_of(declared: object) -> InvalidFamilySettingsSchemaError:
    with pytest.raises(InvalidFamilySettingsSchemaError) as refused:
        declare(declared, InvalidFamilySettingsSchemaError)
    path, rule = refused.value.facts["path"], refused.value.facts["rule"]
    assert rule
    assert f"At {path}: " in str(refused.value)
    return refused.value


def found(declared: object) -> tuple[object, object]:
    facts = refusal_of(declared).facts
    return facts["path"], facts["rule"]


def accepted(declared: JsonObject) -> None:
    before = json.dumps(declared)
    assert declare(declared, InvalidFamilySettingsSchemaError) is declared
    assert json.dumps(declared) == before


def nested(nodes: int, by: str = "properties") -> JsonObject:
    """A schema of so many nodes from root to leaf."""
    node: JsonObject = {"enum": [1]}
    for _ in range(nodes - 2):
        node = {"properties": {"a": node}} if by == "properties" else {"items": node}
    return of(a=node)


def test_none_declares_no_schema_and_an_empty_object_no_constraint():
    assert declare(None, InvalidFamilySettingsSchemaError) is None
    accepted({})


GOOD: list[tuple[str, Json]] = [
    *(("type", kind) for kind in ("object", "array", "string", "number", "integer", "boolean")),
    ("properties", {}),
    ("properties", {"a": {}, "b" * 100: {"type": "string"}}),
    ("required", []),
    ("additionalProperties", False),
    ("unevaluatedProperties", False),
    ("items", {}),
    ("items", {"type": "number"}),
    *((count, 0) for count in ("minItems", "maxItems", "minLength", "maxLength")),
    *((count, 10**300) for count in ("minItems", "maxItems", "minLength", "maxLength")),
    ("maxLength", 3.0),
    ("enum", ["a", 1, 1.5, True, "1", "true", 0, False]),
    ("enum", list(range(200))),
    *((bound, -1.5) for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    ("minimum", 10**400),
    ("pattern", "^a+$"),
    ("pattern", "a" * 200),
    ("pattern", r"^[A-Z]{2}\d{4}$"),
    ("title", ""),
    ("title", "t" * 200),
    ("description", "d" * 2_000),
]


@pytest.mark.parametrize(("keyword", "value"), GOOD)
def test_an_allowed_keyword_takes_a_right_value(keyword: str, value: Json):
    accepted(of(a={keyword: value}))


def wrong(keyword: str, *values: Json) -> list[tuple[str, Json]]:
    return [(keyword, value) for value in values]


BAD: list[tuple[str, Json]] = [
    *wrong("type", "null", "any", "", ["string"], ["string", "null"], 1, None),
    *wrong("properties", [], None, "a", True),
    *wrong("required", ["a"], "a", [1], None),
    *wrong("additionalProperties", True, {}, 0, None, "false"),
    *wrong("unevaluatedProperties", True, {}, 0, None),
    *(
        case
        for count in ("minItems", "maxItems", "minLength", "maxLength")
        for case in wrong(count, -1, 1.5, True, "1", None, [1])
    ),
    *wrong("enum", [], list(range(201)), [None], [[1]], [{}], ["a", "a"], {"a": 1}),
    *wrong("enum", [1, 1.0], [True, True]),
    *(
        case
        for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        for case in wrong(bound, True, "1", None, [1])
    ),
    *wrong("pattern", "", "a" * 201, "(", "(?=a)b", r"(a)\1", "(a{1000}){1000}", 1, None),
    *wrong("title", "t" * 201, 1, None),
    *wrong("description", "d" * 2_001, ["d"]),
]


@pytest.mark.parametrize(("keyword", "value"), BAD)
def test_an_allowed_keyword_refuses_a_wrong_value(keyword: str, value: Json):
    assert found(of(a={keyword: value})) == (f"$.properties.a.{keyword}", keyword)


FORBIDDEN = (
    *("$ref", "$defs", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor"),
    *("oneOf", "anyOf", "allOf"),
    *("not", "if", "then", "else", "dependentSchemas", "dependentRequired", "patternProperties"),
    *("propertyNames", "prefixItems", "contains", "uniqueItems", "const", "multipleOf", "format"),
    *("default", "examples", "minContains", "readOnly", "$comment", "definitions", "madeUp"),
)


@pytest.mark.parametrize("keyword", FORBIDDEN)
def test_every_other_keyword_is_refused_by_name_at_every_level(keyword: str):
    assert found(schema(**{keyword: ANYTHING})) == ("$", keyword)
    assert found(of(a={"items": {keyword: 1}})) == ("$.properties.a.items", keyword)
    assert f"`{keyword}` is not allowed" in str(refusal_of(of(a={keyword: []})))


@pytest.mark.parametrize("name", ["compatible", "backend"])
def test_reserved_names_are_refused_at_every_level(name: str):
    assert found(of(**{name: ANYTHING})) == (f"$.properties.{name}", "properties")
    inner: JsonObject = {"items": {"properties": {name: ANYTHING}}}
    assert found(of(a=inner)) == (f"$.properties.a.items.properties.{name}", "properties")
    assert "is reserved" in str(refusal_of(of(**{name: ANYTHING})))


def test_a_property_name_has_1_to_100_characters():
    accepted(of(**{"n" * 100: ANYTHING}))
    assert found(of(**{"": ANYTHING})) == ("$.properties['']", "properties")
    assert found(of(**{"n" * 101: ANYTHING}))[1] == "properties"


@pytest.mark.parametrize("node", [True, False, None, [], "string", 1])
def test_a_node_is_an_object(node: Json):
    assert found(of(a=node)) == ("$.properties.a", "node")
    assert found(of(a={"items": node})) == ("$.properties.a.items", "node")


def test_required_names_are_declared_and_listed_once():
    accepted(schema(properties={"a": {}}, required=["a"]))
    assert found(schema(properties={"a": {}}, required=["a", "a"])) == ("$.required", "required")
    assert found(schema(properties={"a": {}}, required=["b"])) == ("$.required", "required")
    inner: JsonObject = {"type": "object", "required": ["a"]}
    assert found(of(a=inner)) == ("$.properties.a.required", "required")


@pytest.mark.parametrize("kind", ["Items", "Length"])
def test_a_least_count_is_not_above_the_most(kind: str):
    accepted(of(a={f"min{kind}": 2, f"max{kind}": 2}))
    path = f"$.properties.a.min{kind}"
    assert found(of(a={f"min{kind}": 3, f"max{kind}": 2})) == (path, f"min{kind}")


def test_the_root_is_an_object():
    accepted({"$schema": DIALECT})
    accepted({"$schema": DIALECT, "type": "object"})
    for kind in ("array", "string", "number", "integer", "boolean"):
        assert found({"$schema": DIALECT, "type": kind}) == ("$.type", "type")


def test_the_dialect_is_named_at_the_root_and_nowhere_else():
    another = "http://json-schema.org/draft-07/schema#"
    for dialect in (None, "", DIALECT + "#", another, 1, [DIALECT]):
        assert found({"$schema": dialect, "type": "object"}) == ("$", "$schema")
    assert found({"type": "object"}) == ("$", "$schema")
    assert found(of(a={"$schema": DIALECT})) == ("$.properties.a", "$schema")


@pytest.mark.parametrize("value", [True, False, [], "{}", 1, 1.5, b"{}", object()])
def test_what_is_no_object_is_refused(value: object):
    assert found(value) == ("$", "object")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**4_000, "\ud800", b"", {1}, (1,)])
def test_what_is_no_json_is_refused(value: Any):
    assert found(of(a={"minimum": value})) == ("$.properties.a.minimum", "json")
    assert found(of(**{"\udfff": ANYTHING})) == ("$.properties", "json")
    assert found({1: ANYTHING}) == ("$", "json")


def test_a_schema_has_at_most_65536_bytes():
    def sized(size: int) -> JsonObject:
        filled = schema(properties={f"n{n}": {"description": "é" * 999} for n in range(30)})
        filled["title"] = ""
        for n in range(40):
            short = size - len(
                json.dumps(filled, ensure_ascii=False, separators=(",", ":")).encode()
            )
            if short <= 0:
                break
            named = filled["properties"]
            assert isinstance(named, dict)
            wrapping = len(f',"m{n:02}":{{"title":""}}')
            named[f"m{n:02}"] = {"title": "t" * min(200, max(0, short - wrapping))}
        return filled

    exactly, over = sized(65_536), sized(65_537)
    assert len(json.dumps(exactly, ensure_ascii=False, separators=(",", ":")).encode()) == 65_536
    accepted(exactly)
    assert found(over) == ("$", "size")


@pytest.mark.parametrize("by", ["properties", "items"])
def test_a_schema_is_at_most_8_nodes_deep(by: str):
    accepted(nested(8, by))
    assert found(nested(9, by))[1] == "depth"
    assert found(nested(200, by))[1] == "depth"


def test_a_schema_has_at_most_1000_nodes():
    many: JsonObject = {f"p{n}": {"type": "string"} for n in range(999)}
    accepted(of(**many))
    assert found(of(**many, q={}))[1] == "size"


def test_a_schema_has_at_most_50_patterns():
    accepted(of(**{f"p{n}": {"pattern": f"^{n}"} for n in range(50)}))
    assert found(of(**{f"p{n}": {"pattern": "a"} for n in range(51)}))[1] == "pattern"


def test_the_first_step_that_fails_is_the_one_reported():
    """Each schema fails its own step and every later one."""
    unit_on_text: JsonObject = {"type": "string", "unit": {"system": "none"}}
    keyword: JsonObject = {"multipleOf": 2, **unit_on_text}
    undialected: JsonObject = {"properties": {"a": keyword}}
    assert found({**undialected, "minimum": float("nan")})[1] == "json"
    assert found({**undialected, "items": nested(9)})[1] == "depth"
    assert found(undialected)[1] == "$schema"
    assert found(of(a=unit_on_text, b=keyword)) == ("$.properties.b", "multipleOf")
    assert found(of(a=unit_on_text)) == ("$.properties.a", "unit")


UNIT: JsonObject = {"system": "udunits", "code": "keV", "label": "kiloelectronvolt"}


def test_a_unit_annotates_a_number():
    for kind in ("number", "integer"):
        accepted(of(a={"type": kind, "unit": UNIT}))
        accepted(of(a={"type": "array", "items": {"type": kind, "unit": UNIT}}))
    for kind in ("string", "boolean", "object", "array"):
        assert found(of(a={"type": kind, "unit": UNIT})) == ("$.properties.a", "unit")
    assert found(of(a={"unit": UNIT})) == ("$.properties.a", "unit")
    assert found(schema(unit=UNIT)) == ("$", "unit")


@pytest.mark.parametrize(
    "unit",
    [
        "keV",
        None,
        [],
        {},
        {"system": "udunits"},
        {"code": "keV"},
        {"system": "si", "code": "keV"},
        {"system": ["udunits"], "code": "keV"},
        {"system": "udunits", "code": ""},
        {"system": "udunits", "code": 1},
        {"system": "udunits", "code": "m" + " " * 100},
        {"system": "udunits", "code": "furlong/fortnite"},
        {"system": "udunits", "code": "keV", "label": ""},
        {"system": "udunits", "code": "keV", "label": "l" * 101},
        {"system": "udunits", "code": "keV", "label": None},
        {"system": "udunits", "code": "keV", "display": "eV"},
    ],
)
def test_a_malformed_unit_is_refused(unit: Json):
    assert found(of(a={"type": "number", "unit": unit})) == ("$.properties.a.unit", "unit")


def number(code: str | None = None, **keywords: Json) -> JsonObject:
    given: JsonObject = {} if code is None else {"unit": {"system": "udunits", "code": code}}
    return {"type": "number", **given, **keywords}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, of(a=number("eV"))),
        (of(a=number("eV")), None),
        (of(a=number("eV")), of(a=number("eV", title="Energy", minimum=3))),
        (of(a=number("eV")), of(b=number("keV"))),
        (of(a=number("eV")), of(a={"type": "string"})),
        (of(a={}), of(a=number("eV"))),
        (
            of(a={"type": "number", "unit": {**UNIT, "label": "one"}}),
            of(a={"type": "integer", "unit": {**UNIT, "label": "other"}}),
        ),
    ],
)
def test_a_replaced_schema_keeps_the_units_it_shares(
    old: JsonObject | None, new: JsonObject | None
):
    require_same_units(old, new, InvalidFamilySettingsSchemaError)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (of(a=number("eV")), of(a=number("keV")), "$.properties.a"),
        (of(a=number("eV")), of(a=number()), "$.properties.a"),
        (of(a=number()), of(a=number("eV")), "$.properties.a"),
        (
            of(a={"items": {"properties": {"b": number("eV")}}}),
            of(a={"items": {"properties": {"b": number("meV")}}}),
            "$.properties.a.items.properties.b",
        ),
        (
            of(a={"type": "integer", "unit": {"system": "ucum", "code": "eV"}}),
            of(a=number("eV")),
            "$.properties.a",
        ),
    ],
)
def test_a_unit_is_never_edited_in_place(old: JsonObject, new: JsonObject, path: str):
    with pytest.raises(InvalidFamilySettingsSchemaError) as refused:
        require_same_units(old, new, InvalidFamilySettingsSchemaError)
    assert refused.value.facts == {"path": path, "rule": "unit"}
    assert path in str(refused.value)
