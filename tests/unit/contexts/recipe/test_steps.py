"""Steps: their exact shape on the wire, what must hold of them, and their expansion."""

import json
from typing import Any

import msgspec
import pytest
from pydantic import TypeAdapter, ValidationError
from tests.support.schemas import DIALECT

from beamkeep.contexts.recipe.steps import (
    BindingRef,
    CaptureRef,
    DuplicateRecipeCaptureError,
    DuplicateRecipeOutputError,
    Equals,
    InvalidRecipeStepsError,
    OutputRef,
    RecipeActionStep,
    RecipeBindingReferencesUnknownParameterError,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeComputeStep,
    RecipeRequiresCapabilityParametersSchemaError,
    RecipeSetpointStep,
    RecipeStep,
    SteeringRef,
    StepFault,
    UnboundRecipeCaptureError,
    UnboundRecipeOutputError,
    WithinTolerance,
    expand,
    faults,
    reference,
    references,
)
from beamkeep.kernel import Invalid
from beamkeep.schemas import Json, JsonSchema

ADAPTER: TypeAdapter[RecipeStep] = TypeAdapter(RecipeStep)
PARAMETERS: JsonSchema = {
    "$schema": DIALECT,
    "type": "object",
    "properties": {"energy": {}, "exposure": {}},
}
ENERGY = {"$binding": "energy"}
NEAR = {"kind": "within_tolerance", "expected": ENERGY, "tolerance": 0.01}
WORKED: list[dict[str, Any]] = [
    {"kind": "capture", "address": "bl:sample:x.RBV", "capture_name": "home_x"},
    {"kind": "setpoint", "address": "bl:mono:energy", "value": ENERGY, "verify": True}
    | {"timeout": 300},
    {"kind": "check", "address": "bl:mono:energy.RBV", "criterion": NEAR, "wait": 60},
    {
        "kind": "action",
        "name": "acquire_frames",
        "params": {"detector": "camera", "count": 2, "exposure": {"$binding": "exposure"}},
    },
    {
        "kind": "compute",
        "job": "denoise",
        "input_uris": ["file:///data/raw/frames.h5"],
        "output_uri": "denoised.h5",
        "output_name": "denoised",
    },
    {
        "kind": "compute",
        "job": "pixel_size",
        "input_uris": [{"$output": "denoised"}],
        "capture_name": "pixel_size",
    },
]
CLOSING: list[dict[str, Any]] = [
    {"kind": "setpoint", "address": "bl:sample:x", "value": {"$capture": "home_x"}}
    | {"timeout": 120},
    {"kind": "setpoint", "address": "bl:shutter:close", "value": 1, "repeatable": True},
]


def step(**told: Any) -> RecipeStep:
    return ADAPTER.validate_python(told)


def wire(one: RecipeStep) -> Any:
    """A step as it is stored and answered."""
    return json.loads(msgspec.json.encode(one))


def steps(*told: dict[str, Any]) -> tuple[RecipeStep, ...]:
    return tuple(map(ADAPTER.validate_python, told))


def setpoint(value: Any) -> dict[str, Any]:
    return {"kind": "setpoint", "address": "x", "value": value}


def action(**params: Any) -> dict[str, Any]:
    return {"kind": "action", "name": "x", "params": params}


def compute(**more: Any) -> dict[str, Any]:
    return {"kind": "compute", "job": "x", **more}


def capture(name: str) -> dict[str, Any]:
    return {"kind": "capture", "address": "x", "capture_name": name}


def check(criterion: Any) -> dict[str, Any]:
    return {"kind": "check", "address": "x", "criterion": criterion}


def misshapen(**told: Any) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python(told)


def first_fault(
    several: list[dict[str, Any]],
    closing: list[dict[str, Any]] | None = None,
    schema: JsonSchema | None = PARAMETERS,
) -> tuple[type[Invalid], str] | None:
    found = next(faults(steps(*several), steps(*(closing or [])), schema), None)
    return found and (found.refusal, found.place)


INVALID, UNBOUND = InvalidRecipeStepsError, UnboundRecipeCaptureError
PUT = compute(output_uri="x", output_name="a")
READ = compute(input_uris=[{"$output": "a"}])


def test_every_default_is_written_out():
    assert [wire(step(**told)) for told in WORKED[:1] + CLOSING] == [
        {"kind": "capture", "address": "bl:sample:x.RBV", "capture_name": "home_x", "timeout": 10},
        {**CLOSING[0], "verify": False, "repeatable": True, "makes_safe": False},
        {**CLOSING[1], "verify": False, "timeout": 30, "makes_safe": False},
    ]
    bare: list[dict[str, Any]] = [
        {"kind": "action", "name": "x"},
        check({"kind": "equals", "expected": 1}),
        {"kind": "compute", "job": "x"},
    ]
    assert [wire(step(**told)) for told in bare] == [
        {"kind": "action", "name": "x", "params": {}, "timeout": 600}
        | {"repeatable": False, "makes_safe": False},
        {**bare[1], "wait": 0, "timeout": 10, "makes_safe": False},
        {"kind": "compute", "job": "x", "parameters": {}, "input_uris": []}
        | {"output_uri": None, "capture_name": None, "output_name": None}
        | {"timeout": 3600, "repeatable": False},
    ]


def test_steps_are_stored_and_read_back_as_they_were():
    several = steps(*WORKED, *CLOSING)
    decoder = msgspec.json.Decoder(tuple[RecipeStep, ...])
    assert decoder.decode(msgspec.json.encode(several)) == several


def test_there_are_five_kinds_of_step():
    kinds = [type(each) for each in steps(*WORKED[:5])]
    setting, acting, computing = RecipeSetpointStep, RecipeActionStep, RecipeComputeStep
    assert kinds == [RecipeCaptureStep, setting, RecipeCheckStep, acting, computing]
    for kind in ("branch", "loop", "Setpoint", "", None):
        misshapen(**setpoint(1) | {"kind": kind})
    misshapen(address="x", value=1)


def test_a_field_that_a_kind_does_not_have_is_misshapen():
    for told in (*WORKED[:5], *CLOSING):
        misshapen(**told, colour="red")


def test_a_literal_keeps_its_type():
    for value in (0, 1, 1.0, -2.5, True, False, "", "${energy}", [1, 1.0, True, "x"], []):
        kept = step(**setpoint(value))
        assert isinstance(kept, RecipeSetpointStep)
        assert repr(kept.value) == repr(value)


def test_what_is_no_value_is_misshapen():
    for value in (
        None,
        {},
        {"a": 1},
        {"$unit": "keV"},
        [[1]],
        [None],
        [{"$binding": "energy"}],
        float("nan"),
        float("inf"),
        "x" * 1001,
        [1] * 1001,
    ):
        misshapen(**setpoint(value))
        misshapen(**check({"kind": "equals", "expected": value}))


REFERENCES = ({"$binding": "energy"}, {"$capture": "home_x"}, {"$steering": "x"})


def test_a_reference_is_a_value_wherever_the_table_allows_it():
    for ref in REFERENCES:
        for told in (
            setpoint(ref),
            action(a=ref),
            compute(parameters={"a": ref}),
            check({"kind": "equals", "expected": ref}),
            check({"kind": "within_tolerance", "expected": ref, "tolerance": 0}),
        ):
            assert [msgspec.to_builtins(each) for _, each in references(step(**told))] == [ref]


def test_an_output_is_a_value_of_no_step_but_an_input():
    ref = {"$output": "a"}
    assert dict(references(step(**READ))) == {"input_uris[0]": OutputRef("a")}
    in_parameters, expected = compute(parameters={"a": ref}), {"kind": "equals", "expected": ref}
    for told in (setpoint(ref), action(a=ref), in_parameters, check(expected)):
        misshapen(**told)
    for other in REFERENCES:
        misshapen(**compute(input_uris=[other]))


def test_a_reference_has_exactly_one_key_and_a_name():
    for odd in (
        {"$binding": "energy", "unit": "keV"},
        {"$binding": "energy", "$capture": "x"},
        {"$binding": ""},
        {"$binding": "x" * 101},
        {"$binding": 5},
        {"$binding": None},
        {"$capture": "Home"},
        {"$capture": "x" * 51},
        {"$steering": "1x"},
    ):
        misshapen(**setpoint(odd))
        misshapen(**action(a=odd))
        misshapen(**compute(parameters={"a": odd}))
    misshapen(**compute(input_uris=[{"$output": "a", "b": 1}]))


def test_no_reference_where_only_a_literal_may_be():
    ref = {"$binding": "energy"}
    misshapen(**setpoint(1) | {"address": ref})
    misshapen(**setpoint(1) | {"timeout": ref})
    misshapen(**check({"kind": "within_tolerance", "expected": 1, "tolerance": ref}))
    misshapen(kind="action", name="x", params=ref)
    misshapen(**compute(output_uri=ref))


def test_an_argument_may_be_any_json():
    params: dict[str, Any] = {"a": None, "b": [1, {"c": [True, "x"]}], "d": {"e": 1.5}, "f": ""}
    kept = step(**action(**params))
    assert isinstance(kept, RecipeActionStep)
    assert kept.params == params


def test_texts_have_a_length():
    long: list[tuple[dict[str, Any], str, int]] = [
        (setpoint(1), "address", 255),
        (capture("x"), "address", 255),
        (check({"kind": "equals", "expected": 1}), "address", 255),
        (action(), "name", 100),
        (compute(), "job", 100),
        (compute(), "output_uri", 2000),
    ]
    for told, field, most in long:
        step(**told | {field: "x" * most})
        misshapen(**told | {field: "x" * (most + 1)})
        misshapen(**told | {field: ""})
        misshapen(**told | {field: 5})
    step(**compute(input_uris=["x" * 2000] * 50))
    misshapen(**compute(input_uris=["x" * 2001]))
    misshapen(**compute(input_uris=[""]))
    misshapen(**compute(input_uris=["x"] * 51))


def test_arguments_are_at_most_a_hundred_and_none_is_named_like_a_reference():
    hundred = {f"a{n}": n for n in range(100)}
    step(**action(**hundred))
    misshapen(**action(**hundred, b=1))
    misshapen(**compute(parameters=hundred | {"b": 1}))
    for name in ("$a", "$binding", ""):
        misshapen(**action(**{name: 1}))


def test_a_slot_has_a_plain_name():
    for name in ("a", "a1_b", "x" * 50):
        step(**capture(name))
    for name in ("", "A", "1a", "_a", "a-b", "x" * 51, "a\n", None):
        misshapen(kind="capture", address="x", capture_name=name)
    for name in ("", "A"):
        misshapen(**compute(capture_name=name))
        misshapen(**compute(output_name=name))


def test_times_have_bounds_and_are_numbers():
    bounds: list[tuple[dict[str, Any], str, float]] = [
        (setpoint(1), "timeout", 3600),
        (action(), "timeout", 86400),
        (compute(), "timeout", 86400),
        (check({"kind": "equals", "expected": 1}), "timeout", 60),
        (check({"kind": "equals", "expected": 1}), "wait", 3600),
        (capture("x"), "timeout", 60),
    ]
    for told, field, most in bounds:
        step(**told | {field: most})
        step(**told | {field: 0.001})
        for wrong in (most + 0.001, -0.001, "30", True, None, float("nan")):
            misshapen(**told | {field: wrong})
        if field == "timeout":
            misshapen(**told | {field: 0})
        else:
            step(**told | {field: 0})


def test_a_time_is_described_in_seconds():
    described = ADAPTER.json_schema()["$defs"]
    for name in ("UpToAMinute", "UpToAnHour", "UpToADay", "Wait"):
        assert described[name]["unit"] == {"system": "udunits", "code": "s"}


def test_a_switch_is_true_or_false():
    for told, field in (
        (setpoint(1), "verify"),
        (setpoint(1), "repeatable"),
        (action(), "repeatable"),
        (compute(), "repeatable"),
    ):
        for wrong in (1, "true", None):
            misshapen(**told | {field: wrong})


def test_a_criterion_is_one_of_two():
    found = step(**check({"kind": "equals", "expected": "open"}))
    assert isinstance(found, RecipeCheckStep)
    assert found.criterion == Equals("open")
    near = step(**check({"kind": "within_tolerance", "expected": 5, "tolerance": 0}))
    assert isinstance(near, RecipeCheckStep)
    assert near.criterion == WithinTolerance(5, 0.0)
    for odd in (
        {"kind": "near", "expected": 5},
        {"expected": 5},
        {"kind": "equals"},
        {"kind": "equals", "expected": 5, "tolerance": 1},
        {"kind": "within_tolerance", "expected": 5},
        {"kind": "within_tolerance", "expected": "5", "tolerance": 1},
        {"kind": "within_tolerance", "expected": True, "tolerance": 1},
        {"kind": "within_tolerance", "expected": [5], "tolerance": 1},
        {"kind": "within_tolerance", "expected": 5, "tolerance": -1},
        {"kind": "within_tolerance", "expected": 5, "tolerance": True},
        {"kind": "within_tolerance", "expected": 5, "tolerance": float("inf")},
    ):
        misshapen(**check(odd))


def test_a_value_is_a_reference_or_a_literal():
    pairs: list[tuple[Json, Any]] = [
        ({"$binding": "a"}, BindingRef("a")),
        ({"$capture": "a"}, CaptureRef("a")),
        ({"$steering": "a"}, SteeringRef("a")),
        ({"$output": "a"}, OutputRef("a")),
        ({"$unit": "a"}, None),
        ({"a": 1}, None),
        ({}, None),
        ("$binding", None),
        (["$binding"], None),
        (None, None),
    ]
    for value, expected in pairs:
        assert reference(value) == expected


def test_the_worked_example_is_sound():
    assert first_fault(WORKED, CLOSING) is None


def test_there_are_1_to_500_steps_and_at_most_100_closing_steps():
    one = setpoint(1)
    assert first_fault([one] * 500, [one] * 100) is None
    for several in ([], [one] * 501):
        assert first_fault(several) == (INVALID, "steps")
    assert first_fault([one], [one] * 101) == (INVALID, "closing_steps")


def test_texts_are_trimmed_and_values_are_not():
    told = [
        setpoint(" v ") | {"address": " a "},
        action(p=" v ") | {"name": " n "},
        check({"kind": "equals", "expected": " v "}) | {"address": " a "},
        capture("x") | {"address": " a "},
        compute(job=" j ", input_uris=[" i ", {"$output": "o"}], output_uri=" o "),
    ]
    assert steps(*told) == (
        RecipeSetpointStep("a", " v "),
        RecipeActionStep("n", {"p": " v "}),
        RecipeCheckStep("a", Equals(" v ")),
        RecipeCaptureStep("a", "x"),
        RecipeComputeStep("j", {}, ("i", {"$output": "o"}), "o"),
    )


def test_a_blank_text_is_reported():
    for told, place in (
        (setpoint(1) | {"address": " "}, "steps[0].address"),
        (action() | {"name": " "}, "steps[0].name"),
        (compute(job=" "), "steps[0].job"),
        (compute(output_uri=" "), "steps[0].output_uri"),
        (compute(input_uris=["a", " "]), "steps[0].input_uris"),
    ):
        assert first_fault([told], schema=None) == (INVALID, place)


def test_a_job_yields_values_or_an_artifact():
    both, neither = compute(output_uri="a", capture_name="b"), compute(output_name="b")
    assert first_fault([both]) == (INVALID, "steps[0].capture_name")
    assert first_fault([neither]) == (INVALID, "steps[0].output_name")
    assert first_fault([compute(output_uri="a"), compute()]) is None


def test_closing_steps_are_not_steered():
    steered = setpoint({"$steering": "x"})
    assert first_fault([steered]) is None
    assert first_fault([steered], [steered]) == (INVALID, "closing_steps[0].value")


def test_no_name_in_a_literal_starts_with_a_dollar():
    for literal in (
        {"$unit": "keV"},
        {"a": {"$binding": "energy"}},
        [{"$binding": "energy"}],
        {"a": 1, "$": 2},
    ):
        for told, place in (
            (action(p=literal), "steps[0].params.p"),
            (compute(parameters={"p": literal}), "steps[0].parameters.p"),
        ):
            assert first_fault([told]) == (INVALID, place)
    assert first_fault([action(p={"a$": "$binding", "b": ["$capture"]})]) is None


def test_a_binding_names_a_parameter_of_the_capability():
    unknown = RecipeBindingReferencesUnknownParameterError
    assert first_fault([setpoint({"$binding": "gap"})]) == (unknown, "steps[0].value")
    assert first_fault([action(a=1, b={"$binding": "gap"})]) == (unknown, "steps[0].params.b")
    near = {"kind": "within_tolerance", "expected": {"$binding": "gap"}, "tolerance": 1}
    assert first_fault([check(near)]) == (unknown, "steps[0].criterion.expected")
    in_closing = first_fault(WORKED, [setpoint({"$binding": "gap"})])
    assert in_closing == (unknown, "closing_steps[0].value")


def test_an_open_schema_takes_any_parameter():
    opened: list[JsonSchema] = [{}, {"$schema": DIALECT, "type": "object"}]
    for schema in opened:
        assert first_fault([setpoint({"$binding": "gap"})], schema=schema) is None


def test_a_binding_needs_a_capability_with_a_schema():
    needs_schema = RecipeRequiresCapabilityParametersSchemaError
    assert first_fault(WORKED, CLOSING, schema=None) == (needs_schema, "steps[1].value")
    assert first_fault([setpoint(1)], schema=None) is None


def test_a_capture_is_used_after_it_was_taken():
    use = setpoint({"$capture": "a"})
    for several in ([use], [use, capture("a")]):
        assert first_fault(several) == (UNBOUND, "steps[0].value")
    assert first_fault([capture("a"), use]) is None
    assert first_fault([compute(capture_name="a"), use]) is None
    itself = compute(parameters={"p": {"$capture": "a"}}, capture_name="a")
    assert first_fault([itself]) == (UNBOUND, "steps[0].parameters.p")
    assert first_fault([capture("a")], [use]) is None
    assert first_fault([setpoint(1)], [capture("a"), use]) is None
    assert first_fault([setpoint(1)], [use, capture("a")]) == (UNBOUND, "closing_steps[0].value")


def test_a_capture_name_is_declared_once():
    twice = DuplicateRecipeCaptureError
    for again in (capture("a"), compute(capture_name="a")):
        assert first_fault([capture("a"), again]) == (twice, "steps[1].capture_name")
    assert first_fault([capture("a")], [capture("a")]) == (twice, "closing_steps[0].capture_name")


def test_an_output_is_read_after_it_was_put_out():
    assert first_fault([READ, PUT]) == (UnboundRecipeOutputError, "steps[0].input_uris[0]")
    assert first_fault([PUT, READ]) is None
    assert first_fault([PUT], [READ]) is None


def test_an_output_name_is_declared_once():
    twice = DuplicateRecipeOutputError
    assert first_fault([PUT], [PUT]) == (twice, "closing_steps[0].output_name")


def test_captures_and_outputs_are_named_apart():
    use, no_output = setpoint({"$capture": "a"}), UnboundRecipeOutputError
    assert first_fault([PUT, capture("a")]) is None
    assert first_fault([PUT, use]) == (UNBOUND, "steps[1].value")
    assert first_fault([capture("a"), READ]) == (no_output, "steps[1].input_uris[0]")


def test_the_first_fault_is_that_of_the_first_step():
    later = [setpoint({"$capture": "a"}), action(p={"$x": 1})]
    assert first_fault(later) == (UNBOUND, "steps[0].value")


def test_within_a_step_the_rules_go_in_order():
    put = compute(output_uri="x", output_name="o")
    bad: dict[str, Any] = {
        "parameters": {"p": {"$x": 1}, "q": {"$binding": "gap"}, "r": {"$capture": "n"}},
        "input_uris": [{"$output": "n"}],
    }
    told = steps(capture("a"), put, compute(**bad, capture_name="a", output_name="o"))
    assert [fault.refusal for fault in faults(told, (), PARAMETERS)] == [
        *(INVALID, INVALID),
        RecipeBindingReferencesUnknownParameterError,
        UnboundRecipeCaptureError,
        DuplicateRecipeCaptureError,
        UnboundRecipeOutputError,
        DuplicateRecipeOutputError,
    ]


def test_a_fault_says_why():
    assert [*faults(steps(setpoint({"$capture": "a"})), (), None)] == [
        StepFault(UNBOUND, "steps[0].value", "no earlier step declares 'a'")
    ]


def test_expansion_puts_the_bound_values_in_and_touches_nothing_else():
    bindings: dict[str, Json] = {"energy": 25.0, "exposure": 0.1}
    before = steps(*WORKED, *CLOSING)
    after = [wire(each) for each in expand(before, bindings)]
    expected = [wire(each) for each in before]
    expected[1]["value"] = expected[2]["criterion"]["expected"] = 25.0
    expected[3]["params"]["exposure"] = 0.1
    assert after == expected


def test_a_bound_value_of_any_type_is_put_in():
    told = steps(compute(parameters={"p": {"$binding": "a"}, "q": {"$steering": "x"}}))
    (expanded,) = expand(told, {"a": {"b": [1, None]}})
    assert isinstance(expanded, RecipeComputeStep)
    assert expanded.parameters == {"p": {"b": [1, None]}, "q": {"$steering": "x"}}
