"""Every mistake in the declarations is found when the service starts, and named in words."""

from typing import Any
from uuid import UUID

import pytest

from beamkeep.contexts import OPERATIONS, QUESTIONS
from beamkeep.kernel import (
    Aggregate,
    Call,
    Cannot,
    Catalogue,
    Command,
    Event,
    FaultyDeclarationsError,
    Listing,
    NotFound,
    Operation,
    Query,
    Question,
    Reader,
    Record,
    Route,
    Upcast,
    answers,
    event_types,
    reads,
    replace,
)
from beamkeep.kernel._catalogue import faults  # pyright: ignore[reportPrivateUsage]


class LampLit(Event):
    lamp_id: UUID


class LampDimmed(Event):
    lamp_id: UUID


class LampBroken(Event):
    lamp_id: UUID


type LampFailed = LampBroken
type LampChanged = LampDimmed | LampFailed


class LampNotFoundError(NotFound):
    """The lamp does not exist."""


class LampCannotDimError(Cannot):
    """The lamp cannot be dimmed."""


class Unsaid(Cannot): ...


class Lamp(Record):
    id: UUID


def begin(event: LampLit) -> Lamp:
    return Lamp(event.lamp_id)


def evolve(lamp: Lamp, event: LampChanged) -> Lamp:
    return lamp


class LightLamp(Command): ...


class DimLamp(Command):
    lamp_id: UUID


class ListLamps(Listing):
    """List lamps."""


class WeighLamp(Query):
    """Say how heavy a lamp is."""


def light_lamp(command: LightLamp, call: Call) -> list[LampLit]:
    """Light a lamp."""
    return [LampLit(call.now, call.new_id)]


def dim(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    """Dim a lamp."""
    return [LampDimmed(call.now, lamp.id)]


def wave(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    """Wave."""
    return []


def silent(command: LightLamp, call: Call) -> list[LampLit]:
    return []


async def weight(query: WeighLamp, read: Reader) -> int:
    return 1


lamps = Aggregate("Lamp", begin, evolve, LampNotFoundError)
LIGHT = lamps.creates("POST /lamps", LightLamp, light_lamp)
DIM = lamps.changes("POST /lamps/{lamp_id}/dim", DimLamp, dim, LampCannotDimError)
READS = reads("/lamps", lamps, ListLamps)


def found(*rows: Operation | Question) -> list[str]:
    return list(
        faults(
            [row for row in rows if isinstance(row, Operation)],
            [row for row in rows if isinstance(row, Question)],
        )
    )


def moved(row: Operation, route: str) -> Operation:
    method, path = route.split(" ")
    return replace(row, route=Route(method, path))


def test_the_declarations_of_the_service_are_sound():
    assert list(faults(OPERATIONS, QUESTIONS)) == []


def test_sound_declarations_have_no_faults():
    assert found(LIGHT, DIM, *READS) == []


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ((LIGHT, moved(LIGHT, "POST /torches")), "light_lamp: declared 2 times"),
        (
            (DIM, replace(DIM, name="dim_lamp")),
            "POST /lamps/{lamp_id}/dim: declared 2 times",
        ),
        (
            (moved(LIGHT, "PUT /lamps"),),
            "light_lamp: 'PUT /lamps' is not METHOD /kebab-case/{snake_case}",
        ),
        (
            (moved(LIGHT, "POST /Lamps_lit"),),
            "light_lamp: 'POST /Lamps_lit' is not METHOD /kebab-case/{snake_case}",
        ),
        (
            (moved(LIGHT, "POST /lamps/"),),
            "light_lamp: 'POST /lamps/' is not METHOD /kebab-case/{snake_case}",
        ),
        (
            (replace(LIGHT, doc=""),),
            "light_lamp: there is no docstring to describe it",
        ),
        (
            (replace(DIM, refusals=(Unsaid,)),),
            "dim: the refusal Unsaid does not end in Error",
        ),
        (
            (replace(DIM, refusals=(Unsaid,)),),
            "dim: the refusal Unsaid has no docstring to say why",
        ),
        (
            (moved(DIM, "POST /rooms/{room_id}/lamps/{lamp_id}/dim"),),
            "dim: {room_id} is no field of DimLamp",
        ),
        (
            (moved(DIM, "POST /lamps/dim"),),
            "dim: a creation has no {lamp_id} in its path, a change has one",
        ),
        (
            (replace(DIM, genesis=True),),
            "dim: a creation has no {lamp_id} in its path, a change has one",
        ),
        (
            (lamps.changes("POST /lamps/{lamp_id}/wave", DimLamp, wave),),
            "wave: its command is named DimLamp",
        ),
        (
            (answers("GET /weight", WeighLamp, weight, int, of=lamps, about="lamp_id"),),
            "weigh_lamp: lamp_id is neither in its path nor in its query",
        ),
    ],
)
def test_a_fault_is_named_in_words(rows: tuple[Operation | Question, ...], fault: str):
    assert fault in found(*rows)


def test_a_rule_without_a_docstring_is_not_described():
    operation = lamps.creates("POST /lamps", LightLamp, silent)
    assert "silent: there is no docstring to describe it" in found(operation)


def test_an_event_carries_the_id_of_its_aggregate():
    strange = Aggregate("Torch", begin, evolve, LampNotFoundError)
    assert found(*reads("/torches", strange, ListLamps)) == [
        "LampLit: it carries no torch_id",
        "LampDimmed: it carries no torch_id",
        "LampBroken: it carries no torch_id",
    ]


def test_an_upcast_names_a_known_event():
    def same(fields: dict[str, object]) -> dict[str, object]:
        return fields

    mistyped: Aggregate[Any, Any, Any] = replace(lamps, upcasts=(Upcast("LampList", 1, same),))
    assert found(*reads("/lamps", mistyped, ListLamps)) == [
        "Lamp: an upcast names the unknown event LampList"
    ]


def test_a_service_with_faults_does_not_start_and_all_are_told():
    with pytest.raises(FaultyDeclarationsError) as error:
        Catalogue([replace(LIGHT, doc=""), moved(DIM, "POST /dim")], [])
    assert str(error.value).splitlines() == [
        "The service does not start: some of its declarations contradict each other.",
        "light_lamp: there is no docstring to describe it",
        "dim: a creation has no {lamp_id} in its path, a change has one",
    ]


def test_the_catalogue_finds_everything_that_is_declared():
    catalogue = Catalogue([LIGHT, DIM], READS)
    assert list(catalogue.named) == [
        "light_lamp",
        "dim",
        "get_lamp",
        "get_lamp_history",
        "list_lamps",
    ]
    assert catalogue.aggregates == {"Lamp": lamps}
    assert [view.name for view in catalogue.views] == ["lamp"]
    assert catalogue.streams == {LampLit: lamps, LampDimmed: lamps, LampBroken: lamps}


def test_the_events_are_read_from_the_signatures_through_every_alias():
    assert event_types(lamps) == (LampLit, LampDimmed, LampBroken)


def test_a_question_of_its_own_kind_names_its_shape():
    question = answers(
        "GET /lamps/{lamp_id}/weight", WeighLamp, weight, int, of=lamps, about="lamp_id"
    )
    assert (question.name, question.doc) == ("weigh_lamp", "Say how heavy a lamp is.")
    assert found(question) == []


class ListColouredLamps(Listing):
    """List lamps of one colour."""

    colour: str | None = None


def colours(lamp: object) -> tuple[str, ...]:
    return ("red",)


def test_a_filter_is_a_field_of_the_state_or_a_facet():
    assert found(*reads("/lamps", lamps, ListColouredLamps)) == [
        "list_coloured_lamps: colour is neither a field of its state nor a facet"
    ]
    assert found(*reads("/lamps", lamps, ListColouredLamps, facets={"colour": colours})) == []
