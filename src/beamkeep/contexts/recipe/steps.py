"""Steps: the steps of a recipe and the rules that they must follow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, cast

import msgspec
from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    AllowInfNan,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    StringConstraints,
    Tag,
)
from pydantic_core import CoreSchema, core_schema

from beamkeep.kernel import Invalid, Record, replace
from beamkeep.schemas import Json, JsonSchema
from beamkeep.schemas.nodes import closed, properties

MOST_STEPS = 500
MOST_CLOSING_STEPS = 100
BLANK = "the text is blank; enter at least one visible character"
SLOT = r"^[a-z][a-z0-9_]{0,49}$"


class InvalidRecipeStepsError(Invalid):
    """The steps are not valid."""


class RecipeBindingReferencesUnknownParameterError(Invalid):
    """A step can bind only a parameter that the capability declares."""


class RecipeRequiresCapabilityParametersSchemaError(Invalid):
    """A step can bind a parameter only if the capability has a parameters schema."""


class UnboundRecipeCaptureError(Invalid):
    """A step can use only a capture that an earlier step declares."""


class DuplicateRecipeCaptureError(Invalid):
    """Every capture of a recipe needs a name of its own."""


class UnboundRecipeOutputError(Invalid):
    """A step can use only an output that an earlier step declares."""


class DuplicateRecipeOutputError(Invalid):
    """Every output of a recipe needs a name of its own."""


# fmt: off
STEP_RULES = (InvalidRecipeStepsError, RecipeBindingReferencesUnknownParameterError,
    RecipeRequiresCapabilityParametersSchemaError, UnboundRecipeCaptureError,
    DuplicateRecipeCaptureError, UnboundRecipeOutputError, DuplicateRecipeOutputError)
# fmt: on

type SlotName = Annotated[str, StringConstraints(pattern=SLOT)]
type ParameterName = Annotated[str, MinLen(1), MaxLen(100)]


# A reference is an object of exactly one key. A value replaces it; it is never put into a text.
class BindingRef(Record, rename={"name": "$binding"}):
    """A parameter that the operator sets; its value is known when the recipe is expanded."""

    name: ParameterName


class CaptureRef(Record, rename={"name": "$capture"}):
    """A value that an earlier step of the same pass read or computed."""

    name: SlotName


class SteeringRef(Record, rename={"name": "$steering"}):
    """The coordinate that the decide loop set for this pass."""

    name: SlotName


class OutputRef(Record, rename={"name": "$output"}):
    """The address of the artifact of an earlier step of the same pass."""

    name: SlotName


type Reference = BindingRef | CaptureRef | SteeringRef | OutputRef
SENTINELS: Mapping[str, type[Reference]] = {
    "$binding": BindingRef,
    "$capture": CaptureRef,
    "$steering": SteeringRef,
    "$output": OutputRef,
}


def reference(value: Json) -> Reference | None:
    """Return the value as a reference; None if the value is a literal."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((key, name),) = value.items()
    return SENTINELS[key](str(name)) if key in SENTINELS else None


class _ReadAs:
    """Validates a value as one of several shapes, and keeps its JSON form."""

    def __init__(self, shape: object) -> None:
        self._shape = shape

    def __get_pydantic_core_schema__(
        self, source: object, schemas: GetCoreSchemaHandler
    ) -> CoreSchema:
        shape = schemas.generate_schema(self._shape)
        return core_schema.no_info_after_validator_function(msgspec.to_builtins, shape)

    def __get_pydantic_json_schema__(
        self, shape: CoreSchema, schemas: GetJsonSchemaHandler
    ) -> dict[str, object]:
        # A reference is a JSON value too, so that more than one shape can fit.
        described = schemas(shape)
        return {"anyOf": described["oneOf"]} if "oneOf" in described else described


def _form(value: object) -> str:
    """Return the tag of the shape that the author of a value meant."""
    if isinstance(value, dict):
        named = cast("dict[object, object]", value)
        return next((str(key) for key in named if key in SENTINELS), "object")
    return "list" if isinstance(value, list) else "scalar"


def _form_of_argument(value: object) -> str:
    return found if (found := _form(value)) in SENTINELS else "literal"


_Number = Annotated[int, Strict()] | Annotated[float, Strict(), AllowInfNan(False)]
_Scalar = Annotated[bool, Strict()] | _Number | Annotated[str, Strict(), MaxLen(1000)]
_References = (
    Annotated[BindingRef, Tag("$binding")]
    | Annotated[CaptureRef, Tag("$capture")]
    | Annotated[SteeringRef, Tag("$steering")]
)
_List = Annotated[list[_Scalar], MaxLen(1000), Tag("list")]
_Value = Annotated[Annotated[_Scalar, Tag("scalar")] | _List | _References, Discriminator(_form)]
_Target = Annotated[Annotated[_Number, Tag("scalar")] | _References, Discriminator(_form)]
_Argument = Annotated[
    Annotated[object, Tag("literal")] | _References, Discriminator(_form_of_argument)
]
# The texts of a step are trimmed when it is parsed; `faults` says where one of them is blank.
_Trim = AfterValidator(str.strip)
_Uri = Annotated[str, Strict(), MinLen(1), MaxLen(2000), _Trim]
_Input = Annotated[
    Annotated[_Uri, Tag("scalar")] | Annotated[OutputRef, Tag("$output")], Discriminator(_form)
]
_Second = Field(json_schema_extra={"unit": {"system": "udunits", "code": "s"}})

type StepValue = Annotated[Json, _ReadAs(_Value)]
"""A number, a boolean, a text, a list of these, or a reference."""
type StepTarget = Annotated[Json, _ReadAs(_Target)]
"""A number, or a reference to one."""
type StepArgument = Annotated[Json, _ReadAs(_Argument)]
"""Any JSON value, or a reference."""
type StepInput = Annotated[Json, _ReadAs(_Input)]
"""The address of a file, or a reference to the output of a step."""
type StepArguments = Annotated[
    dict[Annotated[str, StringConstraints(pattern=r"^[^$]")], StepArgument], MaxLen(100)
]
type ControlAddress = Annotated[str, MinLen(1), MaxLen(255), _Trim]
type RegisteredName = Annotated[str, MinLen(1), MaxLen(100), _Trim]
type Switch = Annotated[bool, Strict()]
type UpToAMinute = Annotated[float, Strict(), Gt(0), Le(60), _Second]
type UpToAnHour = Annotated[float, Strict(), Gt(0), Le(3600), _Second]
type UpToADay = Annotated[float, Strict(), Gt(0), Le(86400), _Second]
type Seconds = Annotated[float, Strict(), Gt(0), AllowInfNan(False), _Second]
type Wait = Annotated[float, Strict(), Ge(0), Le(3600), _Second]


class Equals(Record, tag_field="kind", tag="equals"):
    """The reading equals this value, in type and value."""

    expected: StepValue


class WithinTolerance(Record, tag_field="kind", tag="within_tolerance"):
    """The reading is a finite number within a tolerance of the expected one."""

    expected: StepTarget
    tolerance: Annotated[float, Strict(), Ge(0), AllowInfNan(False)]


type Criterion = Annotated[Equals | WithinTolerance, Field(discriminator="kind")]


# Steps are stored with all defaults, so that a new default does not change a stored version.
class RecipeSetpointStep(Record, tag_field="kind", tag="setpoint"):
    """Write a value to the control system."""

    address: ControlAddress
    value: StepValue
    verify: Switch = False
    timeout: UpToAnHour = 30.0
    repeatable: Switch = True
    makes_safe: Switch = False
    """Whether this closing step is walked whatever the gates say, and also after an abort."""


class RecipeActionStep(Record, tag_field="kind", tag="action"):
    """Run an action that the deployment has registered."""

    name: RegisteredName
    params: StepArguments = msgspec.field(default_factory=dict[str, Json])
    timeout: UpToADay = 600.0
    repeatable: Switch = False
    makes_safe: Switch = False
    """Whether this closing step is walked whatever the gates say, and also after an abort."""


class RecipeCheckStep(Record, tag_field="kind", tag="check"):
    """Continue only if a reading meets a criterion, at once or within a time."""

    address: ControlAddress
    criterion: Criterion
    wait: Wait = 0.0
    timeout: UpToAMinute = 10.0
    makes_safe: Switch = False
    """Whether this closing step is walked whatever the gates say, and also after an abort."""


class RecipeCaptureStep(Record, tag_field="kind", tag="capture"):
    """Read a value and store it under a name."""

    address: ControlAddress
    capture_name: SlotName
    timeout: UpToAMinute = 10.0


class RecipeComputeStep(Record, tag_field="kind", tag="compute"):
    """Run a job of the compute catalogue that yields values or one artifact."""

    job: RegisteredName
    parameters: StepArguments = msgspec.field(default_factory=dict[str, Json])
    input_uris: Annotated[tuple[StepInput, ...], MaxLen(50)] = ()
    output_uri: Annotated[str, MinLen(1), MaxLen(2000), _Trim] | None = None
    capture_name: SlotName | None = None
    output_name: SlotName | None = None
    timeout: UpToADay = 3600.0
    repeatable: Switch = False


type RecipeStep = Annotated[
    RecipeSetpointStep | RecipeActionStep | RecipeCheckStep | RecipeCaptureStep | RecipeComputeStep,
    Field(discriminator="kind"),
]


def makes_safe(step: RecipeStep) -> bool:
    """Return whether a closing step brings the equipment into a safe state."""
    return getattr(step, "makes_safe", False)


class StepFault(Record):
    """A fault in some steps: the refusal, the place and the reason."""

    refusal: type[Invalid]
    place: str
    why: str


def expand(steps: Sequence[RecipeStep], bindings: Mapping[str, Json]) -> tuple[RecipeStep, ...]:
    """Return the steps with every binding replaced by its value."""

    def bound(value: Json) -> Json:
        found = reference(value)
        return bindings[found.name] if isinstance(found, BindingRef) else value

    return tuple(with_values(step, bound) for step in steps)


def references(step: RecipeStep) -> Iterator[tuple[str, Reference]]:
    """Yield every reference in a step with its place."""
    for place, value in _values(step):
        if found := reference(value):
            yield place, found


def faults(
    steps: Sequence[RecipeStep], closing_steps: Sequence[RecipeStep], parameters: JsonSchema | None
) -> Iterator[StepFault]:
    """Yield every fault of the steps in their order."""
    for field, count, least, most in (
        ("steps", len(steps), 1, MOST_STEPS),
        ("closing_steps", len(closing_steps), 0, MOST_CLOSING_STEPS),
    ):
        if not least <= count <= most:
            why = f"there must be {least} to {most} of them, not {count}"
            yield StepFault(InvalidRecipeStepsError, field, why)
    captures, outputs = set[str](), set[str]()
    for field, several in (("steps", steps), ("closing_steps", closing_steps)):
        for number, step in enumerate(several):
            for fault in (
                *_senseless(step, field == "closing_steps"),
                *_unknown_parameters(step, parameters),
                *_misnamed(step, CaptureRef, captures),
                *_misnamed(step, OutputRef, outputs),
            ):
                yield replace(fault, place=f"{field}[{number}].{fault.place}")


def _senseless(step: RecipeStep, closing: bool) -> Iterator[StepFault]:
    """Yield the faults of a step that do not depend on other steps."""
    invalid = partial(StepFault, InvalidRecipeStepsError)
    for field in ("address", "name", "job", "output_uri"):
        if getattr(step, field, None) == "":
            yield invalid(field, BLANK)
    if isinstance(step, RecipeComputeStep):
        if "" in step.input_uris:
            yield invalid("input_uris", BLANK)
        if step.output_uri is not None and step.capture_name is not None:
            yield invalid("capture_name", "a step with `output_uri` yields no value to capture")
        if step.output_uri is None and step.output_name is not None:
            yield invalid("output_name", "a step without `output_uri` yields no artifact")
    for place, value in _values(step):
        found = reference(value)
        if found is None and (key := reserved_key(value)):
            yield invalid(place, f"the key {key[:100]!r} of a literal must not start with $")
        if closing and isinstance(found, SteeringRef):
            yield invalid(place, "a closing step cannot use $steering")
        if makes_safe(step) and isinstance(found, CaptureRef | OutputRef):
            yield invalid(place, "a step that makes safe cannot use what another step yields")
    if makes_safe(step) and not closing:
        yield invalid("makes_safe", "only a closing step can make safe")


def _unknown_parameters(step: RecipeStep, parameters: JsonSchema | None) -> Iterator[StepFault]:
    for place, found in references(step):
        if not isinstance(found, BindingRef):
            continue
        why = f"the parameter is {found.name!r}"
        if parameters is None:
            yield StepFault(RecipeRequiresCapabilityParametersSchemaError, place, why)
        elif closed(parameters) and found.name not in properties(parameters):
            yield StepFault(RecipeBindingReferencesUnknownParameterError, place, why)


def _misnamed(
    step: RecipeStep, kind: type[CaptureRef | OutputRef], declared: set[str]
) -> Iterator[StepFault]:
    """Yield uses of names that no earlier step declares, and a name that one declares already."""
    field, unbound, duplicate = NAMED[kind]
    for place, found in references(step):
        if isinstance(found, kind) and found.name not in declared:
            yield StepFault(unbound, place, f"no earlier step declares {found.name!r}")
    name: str | None = getattr(step, field, None)
    if name in declared:
        yield StepFault(duplicate, field, f"an earlier step declares {name!r}; choose another name")
    declared |= {name} if name else set()


NAMED: Mapping[type[CaptureRef | OutputRef], tuple[str, type[Invalid], type[Invalid]]] = {
    CaptureRef: ("capture_name", UnboundRecipeCaptureError, DuplicateRecipeCaptureError),
    OutputRef: ("output_name", UnboundRecipeOutputError, DuplicateRecipeOutputError),
}


def _values(step: RecipeStep) -> Iterator[tuple[str, Json]]:
    """Yield every value of a step that can be a reference, with its place."""
    match step:
        case RecipeSetpointStep():
            yield "value", step.value
        case RecipeActionStep():
            yield from ((f"params.{name}", value) for name, value in step.params.items())
        case RecipeCheckStep():
            yield "criterion.expected", step.criterion.expected
        case RecipeCaptureStep():
            pass
        case RecipeComputeStep():
            yield from ((f"parameters.{name}", value) for name, value in step.parameters.items())
            yield from ((f"input_uris[{n}]", uri) for n, uri in enumerate(step.input_uris))


def with_values(step: RecipeStep, change: Callable[[Json], Json]) -> RecipeStep:
    """Return the step with every value changed that can be a reference."""
    match step:
        case RecipeSetpointStep():
            return replace(step, value=change(step.value))
        case RecipeActionStep():
            return replace(step, params={n: change(value) for n, value in step.params.items()})
        case RecipeCheckStep():
            expected = change(step.criterion.expected)
            return replace(step, criterion=replace(step.criterion, expected=expected))
        case RecipeCaptureStep():
            return step
        case RecipeComputeStep():
            parameters = {name: change(value) for name, value in step.parameters.items()}
            input_uris = tuple(change(uri) for uri in step.input_uris)
            return replace(step, parameters=parameters, input_uris=input_uris)


def reserved_key(literal: Json) -> str | None:
    """Return a key in a literal that only a reference may have; None if there is none."""
    pending = [literal]
    while pending:
        match pending.pop():
            case dict() as members:
                if found := next((key for key in members if key.startswith("$")), None):
                    return found
                pending += members.values()
            case list() as items:
                pending += items
            case _:
                pass
    return None
