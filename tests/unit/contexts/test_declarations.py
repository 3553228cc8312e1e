"""Declarations: those of the house are right, and a wrong one keeps the service from starting."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from beamkeep.contexts import catalogue
from beamkeep.contexts.catalogue import CATALOGUE, catalogue_of, installed, of_the_house
from beamkeep.contexts.declarations import FaultyDeclarationsError, faults
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    Aggregate,
    Answer,
    Axis,
    Call,
    Cannot,
    Command,
    Context,
    DirectoryEntry,
    Event,
    Listing,
    NotFound,
    Operation,
    Query,
    Question,
    Record,
    Refusal,
    Route,
    Table,
    Upcast,
    answers,
    entries,
    reads,
    replace,
)
from beamkeep.kernel import Page as PageOf


class LampEvent(Event):
    lamp_id: UUID


class LampLit(LampEvent): ...


class LampDimmed(LampEvent): ...


class LampBroken(LampEvent): ...


class LampLost(Event): ...


class LampNotFoundError(NotFound): ...


class LampCannotDimError(Cannot):
    """The lamp cannot be dimmed."""


class LampCannotBreakError(Cannot):
    """The lamp cannot be broken."""


class LampRefusal(Refusal):
    """The lamp refuses."""


class LampStatus(StrEnum):
    LIT = "Lit"
    DIM = "Dim"


type LampMoved = LampDimmed | LampBroken
LIT, DIM = LampStatus.LIT, LampStatus.DIM
STATUS: Axis[LampStatus, LampMoved] = Axis(
    "status",
    (LampDimmed, {LIT}, DIM, LampCannotDimError),
    (LampBroken, {DIM}, DIM, LampCannotBreakError),
)
GAPPED: Axis[LampStatus, LampMoved] = Axis("status", (LampDimmed, {LIT}, DIM, LampCannotDimError))


class Lamp(Record):
    id: UUID
    name: str = ""
    status: LampStatus = LIT


class Dark(Record):
    name: str


def begin(event: LampLit) -> Lamp:
    return Lamp(event.lamp_id)


def evolve(lamp: Lamp, event: LampMoved) -> Lamp:
    return replace(lamp, status=STATUS.after(event))


class LightLamp(Command): ...


class DimLamp(Command):
    lamp_id: UUID


class BreakLamp(Command):
    lamp_id: UUID


class RelightLamp(Command):
    lamp_id: UUID


class Wattage:
    """A class of which Pydantic knows nothing."""


class WireLamp(Command):
    lamp_id: UUID
    wattage: Wattage


class ListLamps(Listing):
    """List lamps, newest first."""


class ListLampsByColour(Listing):
    """List lamps by their colour."""

    colour: str | None = None


class WeighLamp(Query):
    """Say how heavy a lamp is."""


class ListLampHours(PageOf):
    """List the hours that a lamp burned."""


def light_lamp(command: LightLamp, call: Call) -> list[LampLit]:
    """Light a lamp."""
    return [LampLit(call.now, call.new_id)]


def dim_lamp(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    """Dim a lamp."""
    return [STATUS.allow(lamp.status, LampDimmed(call.now, lamp.id))]


async def weight(query: WeighLamp, read: Reader) -> int:
    return 1


class Hour(Record):
    lamp_id: UUID
    hour: int


HOURS = Table("lamps_hour", Hour, key=("lamp_id", "hour"))
lamps = Aggregate("Lamp", begin, evolve, LampNotFoundError, axes=(STATUS,))
LIGHT = lamps.creates("POST /lamps", LightLamp, light_lamp)
PATH = "POST /lamps/{lamp_id}/dim"
DIMMING = lamps.changes(PATH, DimLamp, dim_lamp, LampCannotDimError)
NAMED: DirectoryEntry[Lamp] = DirectoryEntry(lambda it: it.name)
READS = reads("/lamps", lamps, ListLamps, directory=NAMED)
SQL = Path(__file__).parents[3] / "src/beamkeep/adapters/postgres/migrations"


def operations(*rows: Operation) -> Context:
    """The context with these operations in place of those of the same names."""
    every = {row.name: row for row in (LIGHT, DIMMING, *rows)}
    return Context((*every.values(),), READS)


def questions(*rows: Question) -> Context:
    """The context with these questions in place of those of the same names."""
    every = {row.name: row for row in (*READS, *rows)}
    return Context((LIGHT, DIMMING), (*every.values(),))


def aggregate(of: Aggregate[Any, Any, Any], *more: Operation) -> Context:
    """The context with this aggregate in place of the lamp."""
    rows = [replace(row, aggregate=of) for row in (LIGHT, DIMMING, *more)]
    return Context((*rows,), reads("/lamps", of, ListLamps, directory=NAMED))


def ruled(rule: Callable[..., Any], *refusals: type[Refusal], **more: Any) -> Context:
    """The context in which this function dims lamps."""
    rule.__name__ = "dim_lamp"
    refusals = refusals or (LampCannotDimError,)
    return operations(lamps.changes(PATH, DimLamp, rule, *refusals, **more))


def dim(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    """Dim a lamp again."""
    return [STATUS.allow(lamp.status, LampDimmed(call.now, lamp.id))]


def snap_lamp(lamp: Lamp, command: BreakLamp, call: Call) -> list[LampBroken]:
    """Break a lamp in two."""
    return [STATUS.allow(lamp.status, LampBroken(call.now, lamp.id))]


def wire_lamp(lamp: Lamp, command: WireLamp, call: Call) -> list[LampDimmed]:
    """Wire a lamp."""
    return [STATUS.allow(lamp.status, LampDimmed(call.now, lamp.id))]


def relight_lamp(command: RelightLamp, call: Call) -> list[LampLit]:
    """Light a lamp whose id is known."""
    return [LampLit(call.now, command.lamp_id)]


def undocumented(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    return []


def unfinished(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    """dim a lamp"""
    return []


def three(lamp: Lamp, command: DimLamp, given: int, call: Call) -> list[LampDimmed]:
    """Dim a lamp by what is loaded."""
    return []


def one(lamp: Lamp) -> list[LampDimmed]:
    """Dim a lamp without a command."""
    return []


def unannotated(lamp: Lamp, command: DimLamp, call: Call):  # type: ignore[no-untyped-def]
    """Dim a lamp somehow."""


def of_another(lamp: Hour, command: DimLamp, call: Call) -> list[LampDimmed]:
    """Dim an hour."""
    return []


def losing(lamp: Lamp, command: DimLamp, call: Call) -> list[LampLost]:
    """Lose a lamp."""
    return []


def raising(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    """Dim a lamp that is not broken."""
    if not lamp.name:
        raise LampCannotBreakError
    return [STATUS.allow(lamp.status, LampDimmed(call.now, lamp.id))]


def misnamed(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    """Dim what has no type."""
    return []


misnamed.__annotations__["lamp"] = "Lantern"


def beginning(command: LightLamp, call: Call) -> list[LampDimmed]:
    """Begin with the wrong event."""
    return []


beginning.__name__ = "light_lamp"


async def level(lamp: Lamp, command: DimLamp, read: Reader) -> int:
    return 1


async def text_level(lamp: Lamp, command: DimLamp, read: Reader) -> str:
    return ""


async def of_two(command: DimLamp, read: Reader) -> int:
    return 1


def at_once(lamp: Lamp, command: DimLamp, read: Reader) -> Awaitable[int]: ...  # type: ignore[empty-body]


async def of_one(query: WeighLamp) -> int:
    return 1


def dark(event: LampLit) -> Dark:
    return Dark("")


def bare(event: LampLit) -> int:
    return 1


def unread(happening: LampLit) -> Lamp: ...  # type: ignore[empty-body]


def evolve_all(lamp: Lamp, event: LampMoved | LampLost) -> Lamp: ...  # type: ignore[empty-body]


def axis(*rows: Any, name: str = "status") -> Aggregate[Any, Any, Any]:
    return replace(lamps, axes=(Axis(name, *rows),))


def same(fields: dict[str, object]) -> dict[str, object]:
    return fields


DIMS, BREAKS = [(e, *row) for e, row in STATUS.moves.items()]
ANOTHER = type("LampCannotDimError", (Cannot,), {"__doc__": "Another refusal of this name."})
BY_COLOUR = reads("/lamps", lamps, ListLampsByColour, directory=NAMED)[2]
HOUR_READS = entries("GET /lamps/{lamp_id}/hours", ListLampHours, lamps, HOURS)
WEIGHT = answers("GET /lamps/{lamp_id}/weight", WeighLamp, weight, int, of=lamps, about="lamp_id")
# fmt: off
WRONG: Mapping[str, Context] = {
    # routes
    "dim_lamp: its path names torch_id, which is no field of DimLamp.":
        operations(replace(DIMMING, route=Route("POST", "/lamps/{lamp_id}/{torch_id}"))),
    "dim_lamp: it changes Lamp, and its path does not name lamp_id.":
        operations(replace(DIMMING, route=Route("POST", "/lamps/dim"))),
    "relight_lamp: it creates Lamp, so its path cannot name lamp_id.":
        operations(lamps.creates("POST /lamps/{lamp_id}/light", RelightLamp, relight_lamp)),
    "dim_lamp: the route PUT /lamps/{lamp_id}/dim is not POST and a path in kebab-case.":
        operations(replace(DIMMING, route=Route("PUT", "/lamps/{lamp_id}/dim"))),
    "dim_lamp: the route POST /Lamps/{lamp_id} is not POST and a path in kebab-case.":
        operations(replace(DIMMING, route=Route("POST", "/Lamps/{lamp_id}"))),
    "POST /zones: declared 2 times.":
        operations(replace(LIGHT, route=Route("POST", "/zones"))),
    "weigh_lamp: it is about torch_id, which is in neither its path nor its query.":
        questions(replace(WEIGHT, about="torch_id", route=Route("GET", "/lamps/weight"))),
    # commands
    "wire_lamp: a value of WireLamp cannot be checked: Unable to generate pydantic-core schema for"
    f" {Wattage!r}. Set `arbitrary_types_allowed=True` in the model_config to ignore this error or"
    " implement `__get_pydantic_core_schema__` on your type to fully support it.":
        operations(lamps.changes("POST /lamps/{lamp_id}/wire", WireLamp, wire_lamp,
                                 LampCannotDimError)),
    # names
    "DimLamp: declared 2 times.":
        operations(lamps.changes(f"{PATH}-again", DimLamp, dim, LampCannotDimError)),
    "list_zones: declared 2 times.":
        questions(replace(WEIGHT, name="list_zones")),
    "LampCannotDimError: declared 2 times.":
        operations(replace(LIGHT, refusals=(ANOTHER,))),
    "snap_lamp: its command is BreakLamp, which is not named like its rule.":
        operations(lamps.changes("POST /lamps/{lamp_id}/snap", BreakLamp, snap_lamp,
            LampCannotBreakError)),
    # texts
    "dim_lamp: it has no docstring.": ruled(undocumented),
    "dim_lamp: its docstring is not a sentence.": ruled(unfinished),
    "weigh_lamp: it has no docstring.": questions(replace(WEIGHT, doc="")),
    "dim_lamp: the name of the refusal LampRefusal does not end in Error.":
        operations(replace(DIMMING, refusals=(LampCannotDimError, LampRefusal))),
    # rules and loaders
    "dim_lamp: its rule takes what a loader returns. Declare the loader with given=.":
        ruled(three),
    "dim_lamp: it has a loader, whose result its rule does not take.":
        operations(replace(DIMMING, given=level)),
    "dim_lamp: its rule takes 1 arguments instead of 3.": ruled(one),
    "dim_lamp: its loader takes 2 arguments instead of 3.": ruled(three, given=of_two),
    "dim_lamp: its loader is not an async function.": ruled(three, given=at_once),
    "dim_lamp: its rule takes int instead of str.": ruled(three, given=text_level),
    "dim_lamp: its rule takes Hour instead of Lamp.": ruled(of_another),
    "dim_lamp: its rule does not annotate what it returns.": ruled(unannotated),
    "dim_lamp: its rule has an annotation that cannot be read.": ruled(misnamed),
    "dim_lamp: it returns LampLost, which no aggregate folds.": ruled(losing),
    "light_lamp: it creates Lamp, and returns no first event of it.":
        operations(replace(LIGHT, rule=beginning)),
    "dim_lamp: its rule raises LampCannotBreakError, which it does not declare.": ruled(raising),
    "dim_lamp: it does not declare LampCannotDimError, with which an axis refuses LampDimmed.":
        operations(replace(DIMMING, refusals=())),
    "weigh_lamp: its function takes 1 arguments instead of 2.":
        questions(replace(WEIGHT, source=Answer(of_one, int))),
    # aggregates and axes
    "Lamp: the axis status has no row for LampBroken.": aggregate(replace(lamps, axes=(GAPPED,))),
    "Lamp: the axis colour is no field of Lamp.": aggregate(axis(DIMS, BREAKS, name="colour")),
    "Lamp: the row of LampDimmed in the axis status names 'Red', which is no state.":
        aggregate(axis((LampDimmed, {LIT}, "Red", LampCannotDimError), BREAKS)),
    "Lamp: the row of LampLost in the axis status has an event that the aggregate does not fold.":
        aggregate(axis(DIMS, BREAKS, (LampLost, {LIT}, DIM, LampCannotDimError))),
    "Lamp: the row of LampBroken in the axis status refuses with LampRefusal, which is not a"
    " Cannot.":
        aggregate(axis(DIMS, (LampBroken, {DIM}, DIM, LampRefusal))),
    "LampLost: it carries no lamp_id.": aggregate(replace(lamps, evolve=evolve_all)),
    "Lamp: an upcast names the unknown event LampList.":
        aggregate(replace(lamps, upcasts=(Upcast("LampList", 1, same),))),
    "Lamp: the upcasts of LampLit do not lead from each form to the next.":
        aggregate(replace(lamps, upcasts=(Upcast("LampLit", 2, same),))),
    "Lamp: bare must return a Record.": aggregate(replace(lamps, begin=bare)),
    "Lamp: dark returns Dark, which has no field id.": aggregate(replace(lamps, begin=dark)),
    "Lamp: unread must annotate its argument `event` and what it returns.":
        aggregate(replace(lamps, begin=unread)),
    "Lamp: evolve takes 2 arguments instead of 1.":
        aggregate(replace(lamps, begin=evolve)),
    "Lamp: it has no reads. Declare them with reads(...) in QUESTIONS.":
        Context((LIGHT, DIMMING), ()),
    # lists
    "list_lamps: the filter colour is neither a field of the state nor a facet.":
        questions(replace(BY_COLOUR, name="list_lamps")),
    "list_lamps: colour is no filter of ListLamps.":
        questions(*reads("/lamps", lamps, ListLamps, directory=NAMED,
            facets={"colour": lambda _: ()})),
    "list_lamps: its rows have no name. Declare directory=, or use an UnnamedListing.":
        questions(*reads("/lamps", lamps, ListLamps)),
    "list_lamps: the time lost_at is of LampLost, which is no event of it.":
        questions(*reads("/lamps", lamps, ListLamps, directory=NAMED,
            milestones={"lost_at": (LampLost,)})),
    "list_lamps: it is composed of Torch, which is no aggregate.":
        questions(*reads("/lamps", lamps, ListLamps, directory=NAMED, composed_of=("Torch",))[2:]),
    "list_lamp_hours: the table lamps_hour has no column minute.":
        questions(entries("GET /lamps/{lamp_id}/hours", ListLampHours, lamps, HOURS, ("minute",))),
    # tables
    "hours: a table of the context lamps begins with lamps_.":
        replace(operations(), tables=(replace(HOURS, name="hours"),), migrations=SQL),
    "lamps_hour: the key column minute is no field of Hour.":
        replace(operations(), tables=(replace(HOURS, key=("minute",)),), migrations=SQL),
    "lamps: it has tables, and no migration that creates them.":
        replace(operations(), tables=(HOURS,)),
    "lamps: the migration standing.sql is not named like 0001_tools.sql.":
        replace(operations(), migrations=SQL.parent),
}
# fmt: on


def test_the_declarations_of_the_house_are_right():
    assert list(faults({}, of_the_house())) == []


@pytest.mark.parametrize(
    "right",
    [
        operations(),
        questions(WEIGHT, HOUR_READS),
        replace(operations(), tables=(HOURS,), migrations=SQL),
    ],
)
def test_right_declarations_of_a_site_become_part_of_the_catalogue(right: Context):
    found = catalogue_of({"lamps": right})
    assert found.named.keys() - CATALOGUE.named.keys() == {
        row.name for row in (*right.operations, *right.questions)
    }


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_declaration_is_named_and_the_service_does_not_start(sentence: str):
    with pytest.raises(FaultyDeclarationsError) as refused:
        catalogue_of({"lamps": WRONG[sentence]})
    assert str(refused.value).splitlines() == ["Wrong declarations:", sentence]


def test_more_than_thirty_wrong_declarations_are_tried():
    assert len(WRONG) >= 30


@pytest.mark.parametrize("name", ["run", "Lamps", "loan-desk"])
def test_a_context_has_a_name_of_its_own(name: str):
    told = f"{name}: a context of a site needs a name of its own, such as loan_desk."
    assert list(faults(of_the_house(), {name: operations()})) == [told]


def test_a_row_of_an_axis_is_declared_once():
    with pytest.raises(ValueError, match="the axis status has two rows for LampDimmed"):
        Axis("status", DIMS, DIMS)


@pytest.mark.parametrize(
    ("value", "because"),
    [
        ("lamps_of_nobody:CONTEXT", "cannot be loaded: No module named 'lamps_of_nobody'"),
        ("tests.unit.contexts:CONTEXT", "cannot be loaded: "),
        ("json:dumps", "is not a Context."),
    ],
)
def test_an_entry_point_that_is_no_context_is_named(value: str, because: str):
    points = [EntryPoint("lamps", value, catalogue.CONTEXTS)]
    with (
        patch.object(catalogue, "entry_points", return_value=points),
        pytest.raises(FaultyDeclarationsError, match=f"lamps: {value} {because}"),
    ):
        installed()
