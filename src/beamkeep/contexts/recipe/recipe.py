"""Recipe: the ordered steps from which procedures are conducted, in versions."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from annotated_types import Ge

from beamkeep.contexts.equipment import declaration
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    Aggregate,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    Page,
    Query,
    Record,
    answers,
    listed,
    reads,
    replace,
)
from beamkeep.kernel.values import Name, Trimmed

from .capability import Capability, CapabilityNotFoundError, ExecutorShape, capabilities
from .steps import STEP_RULES, RecipeStep, faults

type Steps = tuple[RecipeStep, ...]


# Events are stored for ever: add a field with a default; never rename or drop one.
class RecipeEvent(Event):
    recipe_id: UUID


class RecipeContent(RecipeEvent):
    steps: Steps
    closing_steps: Steps
    version_number: int


class RecipeDefined(RecipeContent):
    name: str
    capability_id: UUID


class RecipeVersioned(RecipeContent):
    version_tag: str


class RecipeDeprecated(RecipeEvent):
    replaced_by_recipe_id: UUID | None


class RecipeNotFoundError(NotFound): ...


class RecipeVersionNotFoundError(NotFound):
    """The recipe has no version of this number."""


class InvalidRecipeNameError(Blank): ...


class InvalidRecipeVersionTagError(Invalid):
    """Version tag must not be blank and must differ from the tags of all versions of the recipe."""


class InvalidRecipeReplacedByRecipeIdError(Invalid):
    """A recipe cannot be replaced by itself; name another recipe or none."""


class RecipeCannotVersionError(declaration.CannotVersion): ...


class RecipeCannotDeprecateError(declaration.CannotDeprecate): ...


class RecipeBoundCapabilityDeprecatedError(Cannot):
    """A recipe cannot realize a deprecated capability."""


class RecipeCapabilityExecutorMismatchError(Cannot):
    """A recipe can only realize a capability that has the executor shape PROCEDURE."""


STATUS = declaration.Lifecycle(
    (RecipeVersioned, RecipeCannotVersionError),
    (RecipeDeprecated, RecipeCannotDeprecateError),
    InvalidRecipeVersionTagError,
)


class RecipeVersionEntry(Record):
    """One version of a recipe without its steps."""

    version_number: int
    version_tag: str | None
    step_count: int
    closing_step_count: int
    defined_at: datetime


class Recipe(declaration.Declaration, kw_only=True):
    capability_id: UUID
    steps: Steps
    closing_steps: Steps
    step_count: int
    version_number: int
    versions: tuple[RecipeVersionEntry, ...]
    """All versions, the current one last."""
    replaced_by_recipe_id: UUID | None = None


def begin(event: RecipeDefined) -> Recipe:
    versions = (_entry(event, None),)
    return Recipe.of(event, id=event.recipe_id, step_count=len(event.steps), versions=versions)


def evolve(recipe: Recipe, event: RecipeVersioned | RecipeDeprecated) -> Recipe:
    if isinstance(event, RecipeVersioned):
        versions = (*recipe.versions, _entry(event, event.version_tag))
        recipe = replace(recipe, step_count=len(event.steps), versions=versions)
    return STATUS.evolve(recipe, event)


def _entry(event: RecipeContent, tag: str | None) -> RecipeVersionEntry:
    counts = {"step_count": len(event.steps), "closing_step_count": len(event.closing_steps)}
    return RecipeVersionEntry.of(event, version_tag=tag, defined_at=event.occurred_at, **counts)


class DeclareRecipe(Command):
    steps: Steps
    """The steps in the order in which they are done; 1 to 500."""
    closing_steps: Steps
    """The steps that are done after the others, even if one of those failed; at most 100."""


class DefineRecipe(DeclareRecipe):
    name: Annotated[Name, Trimmed(InvalidRecipeNameError)]
    capability_id: UUID
    closing_steps: Steps = ()


class RecipeCommand(Command):
    recipe_id: UUID


class VersionRecipe(RecipeCommand, DeclareRecipe):
    version_tag: Annotated[declaration.VersionTag, Trimmed(InvalidRecipeVersionTagError)]


class DeprecateRecipe(RecipeCommand):
    replaced_by_recipe_id: UUID | None = None
    """The recipe to use instead."""


async def replacement(recipe: Recipe, command: DeprecateRecipe, read: Reader) -> None:
    if id := command.replaced_by_recipe_id:
        await read.one(recipes, id)


def define_recipe(command: DefineRecipe, given: Capability, call: Call) -> list[RecipeDefined]:
    """Define the steps from which procedures of a capability are conducted."""
    _require_sound(command, given)
    _require_realizable(given)
    now, id = call.now, call.new_id
    return [RecipeDefined.of(command, occurred_at=now, recipe_id=id, version_number=1)]


def version_recipe(
    recipe: Recipe, command: VersionRecipe, given: Capability, call: Call
) -> list[RecipeVersioned]:
    """Replace all steps of a recipe; earlier versions can still be read."""
    _require_sound(command, given)
    used = {each.version_tag for each in recipe.versions}
    tag = STATUS.new_tag(recipe, command.version_tag, used)
    _require_realizable(given)
    now, number = call.now, recipe.version_number + 1
    return [RecipeVersioned.of(command, occurred_at=now, version_number=number, version_tag=tag)]


def deprecate_recipe(
    recipe: Recipe, command: DeprecateRecipe, given: None, call: Call
) -> list[RecipeDeprecated]:
    """Deprecate a recipe, so that no procedure can newly follow it."""
    if command.replaced_by_recipe_id == recipe.id:
        raise InvalidRecipeReplacedByRecipeIdError
    return [STATUS.allow(recipe.status, RecipeDeprecated.of(command, occurred_at=call.now))]


def _require_sound(command: DeclareRecipe, capability: Capability) -> None:
    """Raise the refusal of the first fault of the steps."""
    for fault in faults(command.steps, command.closing_steps, capability.parameters_schema):
        raise fault.refusal(f"At {fault.place}: {fault.why}.", path=fault.place)


def _require_realizable(capability: Capability) -> None:
    """Refuse a capability that no recipe can realize."""
    declaration.require_current([capability], RecipeBoundCapabilityDeprecatedError)
    if ExecutorShape.PROCEDURE not in capability.executor_shapes:
        raise RecipeCapabilityExecutorMismatchError(f"{capability.code} has only METHOD.")


recipes = Aggregate("Recipe", begin, evolve, absent=RecipeNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    recipes.creates("POST /recipes", DefineRecipe, define_recipe, CapabilityNotFoundError,
        *STEP_RULES, RecipeBoundCapabilityDeprecatedError, RecipeCapabilityExecutorMismatchError,
        given=lambda command, read: read.one(capabilities, command.capability_id)),
    recipes.changes("POST /recipes/{recipe_id}/version", VersionRecipe, version_recipe,
        *STEP_RULES, RecipeCannotVersionError, RecipeBoundCapabilityDeprecatedError,
        RecipeCapabilityExecutorMismatchError,
        given=lambda recipe, _, read: read.one(capabilities, recipe.capability_id)),
    recipes.changes("POST /recipes/{recipe_id}/deprecate", DeprecateRecipe, deprecate_recipe,
        InvalidRecipeReplacedByRecipeIdError, RecipeCannotDeprecateError,
        given=replacement, destructive=True),
)
# fmt: on


class ListRecipes(Listing):
    """List recipes, newest first."""

    status: frozenset[declaration.DeclarationStatus] | None = None
    capability_id: UUID | None = None


class GetRecipeVersion(Query):
    """Show the steps of one version of a recipe."""

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
    id, number = query.recipe_id, query.version_number
    newest = (await read.one(recipes, id)).version_number
    if number > newest:
        raise RecipeVersionNotFoundError(f"The recipe has versions 1 to {newest}.")
    # Each event of a recipe makes a version, except its deprecation, which is the last one.
    then = await read.as_of(recipes, id, number)
    defined_at, current = then.versions[-1].defined_at, number == newest
    return RecipeVersion.of(then, recipe_id=id, defined_at=defined_at, current=current)


async def recipe_versions(
    query: ListRecipeVersions, read: Reader
) -> tuple[RecipeVersionEntry, ...]:
    return (await read.one(recipes, query.recipe_id)).versions[::-1]


# fmt: off
QUESTIONS = (
    *reads("/recipes", recipes, ListRecipes, milestones=STATUS.milestones,
        directory=DirectoryEntry(lambda it: it.name, status=lambda it: it.status)),
    answers("GET /recipes/{recipe_id}/versions/{version_number}", GetRecipeVersion, recipe_version,
        RecipeVersion, RecipeVersionNotFoundError, of=recipes, about="recipe_id"),
    listed("GET /recipes/{recipe_id}/versions", ListRecipeVersions, recipe_versions,
        RecipeVersionEntry, of=recipes, about="recipe_id"),
)
