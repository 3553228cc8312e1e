"""Recipe: the ordered steps that a procedure is conducted from, version by version."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from annotated_types import Ge

from beamkeep.contexts.equipment.family import VersionTag
from beamkeep.kernel import (
    Aggregate,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Page,
    Query,
    Reader,
    Record,
    answers,
    listed,
    reads,
    replace,
)
from beamkeep.kernel.values import Name, trimmed

from .capability import Capability, CapabilityNotFoundError, ExecutorShape, capabilities
from .declaration import DeclarationStatus, lifecycle, milestones, require_current
from .steps import (
    DuplicateRecipeCaptureError,
    DuplicateRecipeOutputError,
    InvalidRecipeStepsError,
    RecipeBindingReferencesUnknownParameterError,
    RecipeRequiresCapabilityParametersSchemaError,
    RecipeStep,
    UnboundRecipeCaptureError,
    UnboundRecipeOutputError,
    faults,
    tidied,
)

STEP_RULES = (
    InvalidRecipeStepsError,
    RecipeBindingReferencesUnknownParameterError,
    RecipeRequiresCapabilityParametersSchemaError,
    UnboundRecipeCaptureError,
    DuplicateRecipeCaptureError,
    UnboundRecipeOutputError,
    DuplicateRecipeOutputError,
)

type Steps = tuple[RecipeStep, ...]


# Events are stored for ever: add a field with a default; never rename or drop one.
class RecipeEvent(Event):
    recipe_id: UUID


class RecipeDefined(RecipeEvent):
    name: str
    capability_id: UUID
    steps: Steps
    closing_steps: Steps
    version_number: int


class RecipeVersioned(RecipeEvent):
    version_tag: str
    version_number: int
    steps: Steps
    closing_steps: Steps


class RecipeDeprecated(RecipeEvent):
    replaced_by_recipe_id: UUID | None


class RecipeNotFoundError(NotFound):
    """The recipe does not exist."""


class RecipeVersionNotFoundError(NotFound):
    """The recipe has no version of this number; list its versions to see which it has."""


class InvalidRecipeNameError(Invalid):
    """The recipe's name is not usable."""


class InvalidRecipeVersionTagError(Invalid):
    """The version tag is not usable: no two versions of a recipe ever have the same."""


class InvalidRecipeReplacedByRecipeIdError(Invalid):
    """A recipe does not replace itself; name another, or none."""


class RecipeCannotVersionError(Cannot):
    """The recipe cannot be versioned."""


class RecipeCannotDeprecateError(Cannot):
    """The recipe cannot be deprecated."""


class RecipeBoundCapabilityDeprecatedError(Cannot):
    """No recipe may realize a deprecated capability."""


class RecipeCapabilityExecutorMismatchError(Cannot):
    """The capability is for methods only; no recipe realizes it."""


STATUS = lifecycle(
    (RecipeVersioned, RecipeCannotVersionError), (RecipeDeprecated, RecipeCannotDeprecateError)
)


class RecipeVersionEntry(Record):
    """What is remembered of every version without looking it up."""

    version_number: int
    version_tag: str | None
    step_count: int
    closing_step_count: int
    defined_at: datetime


class Recipe(Record):
    id: UUID
    name: str
    capability_id: UUID
    steps: Steps
    closing_steps: Steps
    step_count: int
    version_number: int
    versions: tuple[RecipeVersionEntry, ...]
    """All there were, the current one last."""
    version_tag: str | None = None
    status: DeclarationStatus = DeclarationStatus.DEFINED
    replaced_by_recipe_id: UUID | None = None


def begin(event: RecipeDefined) -> Recipe:
    return Recipe(
        event.recipe_id,
        event.name,
        event.capability_id,
        event.steps,
        event.closing_steps,
        len(event.steps),
        event.version_number,
        (_entry(event, None),),
    )


def evolve(recipe: Recipe, event: RecipeVersioned | RecipeDeprecated) -> Recipe:
    recipe = replace(recipe, status=STATUS.after(event))
    match event:
        case RecipeVersioned():
            return replace(
                recipe,
                version_tag=event.version_tag,
                version_number=event.version_number,
                steps=event.steps,
                closing_steps=event.closing_steps,
                step_count=len(event.steps),
                versions=(*recipe.versions, _entry(event, event.version_tag)),
            )
        case RecipeDeprecated():
            return replace(recipe, replaced_by_recipe_id=event.replaced_by_recipe_id)


def _entry(event: RecipeDefined | RecipeVersioned, tag: str | None) -> RecipeVersionEntry:
    counts = len(event.steps), len(event.closing_steps)
    return RecipeVersionEntry(event.version_number, tag, *counts, event.occurred_at)


class DeclareRecipe(Command):
    steps: Steps
    """In the order in which they are done, 1 to 500."""
    closing_steps: Steps
    """Done after the steps, however they ended; at most 100."""


class DefineRecipe(DeclareRecipe):
    name: Name
    capability_id: UUID
    closing_steps: Steps = ()


class RecipeCommand(Command):
    recipe_id: UUID


class VersionRecipe(RecipeCommand, DeclareRecipe):
    """Every field replaces the old one."""

    version_tag: VersionTag


class DeprecateRecipe(RecipeCommand):
    replaced_by_recipe_id: UUID | None = None
    """What to use instead."""


async def capability(command: DefineRecipe, read: Reader) -> Capability:
    return await read.one(capabilities, command.capability_id)


async def own_capability(recipe: Recipe, command: VersionRecipe, read: Reader) -> Capability:
    return await read.one(capabilities, recipe.capability_id)


async def replacement(recipe: Recipe, command: DeprecateRecipe, read: Reader) -> Recipe | None:
    id = command.replaced_by_recipe_id
    return await read.one(recipes, id) if id else None


def define_recipe(command: DefineRecipe, given: Capability, call: Call) -> list[RecipeDefined]:
    """Define the steps that procedures of a capability are conducted from."""
    name = trimmed(command.name, InvalidRecipeNameError)
    steps = _declaration(command, given)
    _require_conductible(given)
    return [RecipeDefined(call.now, call.new_id, name, given.id, *steps, version_number=1)]


def version_recipe(
    recipe: Recipe, command: VersionRecipe, given: Capability, call: Call
) -> list[RecipeVersioned]:
    """Replace all the steps of a recipe; what they were stays readable."""
    steps = _declaration(command, given)
    tag = trimmed(command.version_tag, InvalidRecipeVersionTagError)
    if tag in {each.version_tag for each in recipe.versions}:
        raise InvalidRecipeVersionTagError(f"A version has the tag {tag}.")
    STATUS.require(recipe.status, RecipeVersioned)
    _require_conductible(given)
    return [RecipeVersioned(call.now, recipe.id, tag, recipe.version_number + 1, *steps)]


def deprecate_recipe(
    recipe: Recipe, command: DeprecateRecipe, given: Recipe | None, call: Call
) -> list[RecipeDeprecated]:
    """Let no new procedure follow a recipe, and say what to use instead."""
    if given and given.id == recipe.id:
        raise InvalidRecipeReplacedByRecipeIdError
    STATUS.require(recipe.status, RecipeDeprecated)
    return [RecipeDeprecated(call.now, recipe.id, command.replaced_by_recipe_id)]


def _declaration(command: DeclareRecipe, capability: Capability) -> tuple[Steps, Steps]:
    """The steps and the closing steps, once they make sense."""
    steps, closing_steps = tidied(command.steps), tidied(command.closing_steps)
    for fault in faults(steps, closing_steps, capability.parameters_schema):
        raise fault.refusal(f"At {fault.place}: {fault.why}.", path=fault.place)
    return steps, closing_steps


def _require_conductible(capability: Capability) -> None:
    """Refuse a recipe that its capability does not bear."""
    require_current([capability], RecipeBoundCapabilityDeprecatedError)
    if ExecutorShape.PROCEDURE not in capability.executor_shapes:
        raise RecipeCapabilityExecutorMismatchError(f"It is {capability.code}.")


recipes = Aggregate("Recipe", begin, evolve, RecipeNotFoundError)

# fmt: off
OPERATIONS = (
    recipes.creates("POST /recipes", DefineRecipe, define_recipe, CapabilityNotFoundError,
        InvalidRecipeNameError, *STEP_RULES, RecipeBoundCapabilityDeprecatedError,
        RecipeCapabilityExecutorMismatchError, given=capability),
    recipes.changes("POST /recipes/{recipe_id}/version", VersionRecipe, version_recipe,
        *STEP_RULES, InvalidRecipeVersionTagError, RecipeCannotVersionError,
        RecipeBoundCapabilityDeprecatedError, RecipeCapabilityExecutorMismatchError,
        given=own_capability),
    recipes.changes("POST /recipes/{recipe_id}/deprecate", DeprecateRecipe, deprecate_recipe,
        InvalidRecipeReplacedByRecipeIdError, RecipeCannotDeprecateError, given=replacement),
)
# fmt: on


class ListRecipes(Listing):
    """List recipes, by age."""

    status: DeclarationStatus | None = None
    capability_id: UUID | None = None


class GetRecipeVersion(Query):
    """Show the steps of one version of a recipe, the current one or any before it."""

    recipe_id: UUID
    version_number: Annotated[int, Ge(1)]


class ListRecipeVersions(Page):
    """List the versions of a recipe, newest first."""

    recipe_id: UUID


class RecipeVersion(Record):
    recipe_id: UUID
    capability_id: UUID
    version_number: int
    version_tag: str | None
    steps: Steps
    closing_steps: Steps
    defined_at: datetime
    current: bool


async def recipe_version(query: GetRecipeVersion, read: Reader) -> RecipeVersion:
    """One version as it was; every event but the last, deprecation, makes the next version."""
    id, number = query.recipe_id, query.version_number
    newest = (await read.one(recipes, id)).version_number
    if number > newest:
        raise RecipeVersionNotFoundError(f"There are versions 1 to {newest}.")
    then = await read.as_of(recipes, id, number)
    return RecipeVersion(
        id,
        then.capability_id,
        number,
        then.version_tag,
        then.steps,
        then.closing_steps,
        then.versions[-1].defined_at,
        number == newest,
    )


async def recipe_versions(
    query: ListRecipeVersions, read: Reader
) -> tuple[RecipeVersionEntry, ...]:
    return (await read.one(recipes, query.recipe_id)).versions[::-1]


QUESTIONS = (
    *reads("/recipes", recipes, ListRecipes, milestones=milestones(STATUS)),
    answers(
        "GET /recipes/{recipe_id}/versions/{version_number}",
        GetRecipeVersion,
        recipe_version,
        RecipeVersion,
        RecipeVersionNotFoundError,
        of=recipes,
        about="recipe_id",
    ),
    listed(
        "GET /recipes/{recipe_id}/versions",
        ListRecipeVersions,
        recipe_versions,
        RecipeVersionEntry,
        of=recipes,
        about="recipe_id",
    ),
)
