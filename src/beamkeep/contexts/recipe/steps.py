"""Steps: what a procedure is conducted from, one after another, and what must hold of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, cast

import msgspec
from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import (
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
SLOT = r"^[a-z][a-z0-9_]{0,49}$"


class InvalidRecipeStepsError(Invalid):
    """The steps do not make sense."""


class RecipeBindingReferencesUnknownParameterError(Invalid):
    """A step binds a parameter that the capability does not declare."""


class RecipeRequiresCapabilityParametersSchemaError(Invalid):
    """A step binds a parameter of a capability that declares none; give it a schema first."""


class UnboundRecipeCaptureError(Invalid):
    """A step uses what no step before it captures."""


class DuplicateRecipeCaptureError(Invalid):
    """Two steps capture under one name; choose another for the second."""


class UnboundRecipeOutputError(Invalid):
    """A step reads what no step before it puts out."""


class DuplicateRecipeOutputError(Invalid):
    """Two steps put out under one name; choose another for the second."""


type SlotName = Annotated[str, StringConstraints(pattern=SLOT)]
type ParameterName = Annotated[str, MinLen(1), MaxLen(100)]


# A reference is an object of exactly one key; it is replaced by a value, never put into a text.
class BindingRef(Record, rename={"name": "$binding"}):
    """What the operator gives for a parameter; known when the recipe is expanded."""

    name: ParameterName


class CaptureRef(Record, rename={"name": "$capture"}):
    """What an earlier step of the same pass read or computed."""

    name: SlotName


class SteeringRef(Record, rename={"name": "$steering"}):
    """The coordinate that the decide loop set for this pass."""

    name: SlotName


class OutputRef(Record, rename={"name": "$output"}):
    """Where an earlier step of the same pass put its artifact."""

    name: SlotName


type Reference = BindingRef | CaptureRef | SteeringRef | OutputRef
SENTINELS: Mapping[str, type[Reference]] = {
    "$binding": BindingRef,
    "$capture": CaptureRef,
    "$steering": SteeringRef,
    "$output": OutputRef,
}


def reference(value: Json) -> Reference | None:
    """The reference that a value is; none if it is a literal."""
    match value:
        case {**members} if len(members) == 1:
            ((key, name),) = members.items()
            return SENTINELS[key](str(name)) if key in SENTINELS else None
        case _:
            return None


class _ReadAs:
    """Checks a value as one of several shapes, and keeps it as it is on the wire."""

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
        # A reference is also some JSON value: one of the shapes fits, or more than one.
        described = schemas(shape)
        return {"anyOf": described["oneOf"]} if "oneOf" in described else described


def _form(value: object) -> str:
    """What a value is meant as."""
    if isinstance(value, dict):
        named = cast("dict[object, object]", value)
        return next((str(key) for key in named if key in SENTINELS), "object")
    return "list" if isinstance(value, list) else "scalar"


def _form_of_argument(value: object) -> str:
    found = _form(value)
    return found if found in SENTINELS else "literal"


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
_Uri = Annotated[str, Strict(), MinLen(1), MaxLen(2000)]
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
"""The address of a file, or a reference to what a step puts out."""
type StepArguments = Annotated[
    dict[Annotated[str, StringConstraints(pattern=r"^[^$]")], StepArgument], MaxLen(100)
]
type ControlAddress = Annotated[str, MinLen(1), MaxLen(255)]
type RegisteredName = Annotated[str, MinLen(1), MaxLen(100)]
type Switch = Annotated[bool, Strict()]
type UpToAMinute = Annotated[float, Strict(), Gt(0), Le(60), _Second]
type UpToAnHour = Annotated[float, Strict(), Gt(0), Le(3600), _Second]
type UpToADay = Annotated[float, Strict(), Gt(0), Le(86400), _Second]
type Wait = Annotated[float, Strict(), Ge(0), Le(3600), _Second]


class Equals(Record, tag_field="kind", tag="equals"):
    """The reading is exactly this, in type and value."""

    expected: StepValue


class WithinTolerance(Record, tag_field="kind", tag="within_tolerance"):
    """The reading is a finite number no further away than this."""

    expected: StepTarget
    tolerance: Annotated[float, Strict(), Ge(0), AllowInfNan(False)]


type Criterion = Annotated[Equals | WithinTolerance, Field(discriminator="kind")]


# Steps are stored with every default written out: a stored version never changes its meaning.
class RecipeSetpointStep(Record, tag_field="kind", tag="setpoint"):
    """Write a value to the control system."""

    address: ControlAddress
    value: StepValue
    verify: Switch = False
    timeout: UpToAnHour = 30.0
    repeatable: Switch = True


class RecipeActionStep(Record, tag_field="kind", tag="action"):
    """Have an action done that the deployment has registered."""

    name: RegisteredName
    params: StepArguments = msgspec.field(default_factory=dict[str, Json])
    timeout: UpToADay = 600.0
    repeatable: Switch = False


class RecipeCheckStep(Record, tag_field="kind", tag="check"):
    """Go on only if a reading meets a criterion, now or within a while."""

    address: ControlAddress
    criterion: Criterion
    wait: Wait = 0.0
    timeout: UpToAMinute = 10.0


class RecipeCaptureStep(Record, tag_field="kind", tag="capture"):
    """Read a value and keep it under a name."""

    address: ControlAddress
    capture_name: SlotName
    timeout: UpToAMinute = 10.0


class RecipeComputeStep(Record, tag_field="kind", tag="compute"):
    """Have a job of the compute catalogue done, for values or for one artifact."""

    job: RegisteredName
    parameters: StepArguments = msgspec.field(default_factory=dict[str, Json])
    input_uris: Annotated[tuple[StepInput, ...], MaxLen(50)] = ()
    output_uri: Annotated[str, MinLen(1), MaxLen(2000)] | None = None
    capture_name: SlotName | None = None
    output_name: SlotName | None = None
    timeout: UpToADay = 3600.0
    repeatable: Switch = False


type RecipeStep = Annotated[
    RecipeSetpointStep | RecipeActionStep | RecipeCheckStep | RecipeCaptureStep | RecipeComputeStep,
    Field(discriminator="kind"),
]


class Fault(Record):
    """One thing that is wrong with some steps: what refuses it, where it is, and why."""

    refusal: type[Invalid]
    place: str
    why: str


def tidied(steps: Sequence[RecipeStep]) -> tuple[RecipeStep, ...]:
    """The steps with their own texts trimmed; values are left as they are."""
    return tuple(map(_tidied, steps))


def expand(steps: Sequence[RecipeStep], bindings: Mapping[str, Json]) -> tuple[RecipeStep, ...]:
    """The steps with every binding replaced by the value bound; one in, one out."""

    def bound(value: Json) -> Json:
        found = reference(value)
        return bindings[found.name] if isinstance(found, BindingRef) else value

    return tuple(_with_values(step, bound) for step in steps)


def references(step: RecipeStep) -> Iterator[tuple[str, Reference]]:
    """Every reference in a step, and where it is."""
    for place, value in _values(step):
        if found := reference(value):
            yield place, found


def faults(
    steps: Sequence[RecipeStep], closing_steps: Sequence[RecipeStep], parameters: JsonSchema | None
) -> Iterator[Fault]:
    """What is wrong with these steps, the first of it first."""
    if not 1 <= len(steps) <= MOST_STEPS:
        why = f"there are {len(steps)}, and a recipe has 1 to {MOST_STEPS}"
        yield Fault(InvalidRecipeStepsError, "steps", why)
    if len(closing_steps) > MOST_CLOSING_STEPS:
        why = f"there are {len(closing_steps)}, and a recipe has at most {MOST_CLOSING_STEPS}"
        yield Fault(InvalidRecipeStepsError, "closing_steps", why)
    captures, outputs = set[str](), set[str]()
    for closing, several in ((False, steps), (True, closing_steps)):
        for number, step in enumerate(several):
            place = f"{'closing_steps' if closing else 'steps'}[{number}]"
            for fault in (
                *_senseless(step, closing),
                *_unknown_parameters(step, parameters),
                *_misnamed(step, CaptureRef, captures),
                *_misnamed(step, OutputRef, outputs),
            ):
                yield replace(fault, place=f"{place}.{fault.place}")


def _senseless(step: RecipeStep, closing: bool) -> Iterator[Fault]:
    """What is wrong with a step whatever stands before it."""
    refusal = InvalidRecipeStepsError
    for place in ("address", "name", "job", "output_uri"):
        if getattr(step, place, None) == "":
            yield Fault(refusal, place, "it is blank; write at least one visible character")
    if isinstance(step, RecipeComputeStep):
        if "" in step.input_uris:
            yield Fault(refusal, "input_uris", "one is blank")
        if step.output_uri is not None and step.capture_name is not None:
            yield Fault(refusal, "capture_name", "with an `output_uri` there is no value")
        if step.output_uri is None and step.output_name is not None:
            yield Fault(refusal, "output_name", "without an `output_uri` there is no artifact")
    for place, value in _values(step):
        found = reference(value)
        if found is None and (key := _reserved_key(value)):
            why = f"{key[:100]!r} is a name in a literal, where none starts with $"
            yield Fault(refusal, place, why)
        if closing and isinstance(found, SteeringRef):
            yield Fault(refusal, place, "closing steps are not steered")


def _unknown_parameters(step: RecipeStep, parameters: JsonSchema | None) -> Iterator[Fault]:
    for place, found in references(step):
        if not isinstance(found, BindingRef):
            continue
        if parameters is None:
            refusal = RecipeRequiresCapabilityParametersSchemaError
            yield Fault(refusal, place, f"it binds {found.name!r}")
        elif closed(parameters) and found.name not in properties(parameters):
            refusal = RecipeBindingReferencesUnknownParameterError
            yield Fault(refusal, place, f"it binds {found.name!r}")


def _misnamed(
    step: RecipeStep, kind: type[CaptureRef | OutputRef], declared: set[str]
) -> Iterator[Fault]:
    """Names that no step before declares, and one that a step before declares already."""
    field, unbound, duplicate = NAMED[kind]
    for place, found in references(step):
        if isinstance(found, kind) and found.name not in declared:
            yield Fault(unbound, place, f"no step before declares {found.name!r}")
    name: str | None = getattr(step, field, None)
    if name is not None and name in declared:
        yield Fault(duplicate, field, f"a step before declares {name!r}")
    declared |= {name} if name is not None else set()


NAMED: Mapping[type[CaptureRef | OutputRef], tuple[str, type[Invalid], type[Invalid]]] = {
    CaptureRef: ("capture_name", UnboundRecipeCaptureError, DuplicateRecipeCaptureError),
    OutputRef: ("output_name", UnboundRecipeOutputError, DuplicateRecipeOutputError),
}


def _values(step: RecipeStep) -> Iterator[tuple[str, Json]]:
    """Whatever a step holds that may be a reference, and where."""
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


def _with_values(step: RecipeStep, change: Callable[[Json], Json]) -> RecipeStep:
    """The step with its values changed; addresses of files are left as they are."""
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
            return replace(step, parameters=parameters)


def _tidied(step: RecipeStep) -> RecipeStep:
    match step:
        case RecipeActionStep():
            return replace(step, name=step.name.strip())
        case RecipeComputeStep():
            uris = (uri.strip() if isinstance(uri, str) else uri for uri in step.input_uris)
            output_uri = step.output_uri and step.output_uri.strip()
            job = step.job.strip()
            return replace(step, job=job, input_uris=tuple(uris), output_uri=output_uri)
        case _:
            return replace(step, address=step.address.strip())


def _reserved_key(literal: Json) -> str | None:
    """A name that only a reference may have, somewhere in a literal."""
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
