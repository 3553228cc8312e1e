"""The catalogue: what it finds, and the contradictions that keep the service from starting."""

from typing import Any
from uuid import UUID

from beamkeep.kernel import (
    Aggregate,
    AnyReader,
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
    Record,
    Route,
    Upcast,
    answers,
    event_types,
    reads,
    replace,
)


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


async def weight(query: WeighLamp, read: AnyReader) -> int:
    return 1


lamps = Aggregate("Lamp", begin, evolve, LampNotFoundError)
LIGHT = lamps.creates("POST /lamps", LightLamp, light_lamp)
DIM = lamps.changes("POST /lamps/{lamp_id}/dim", DimLamp, dim, LampCannotDimError)
READS = reads("/lamps", lamps, ListLamps)


def found(*rows: Operation | Question) -> list[str]:
    operations = [row for row in rows if isinstance(row, Operation)]
    try:
        Catalogue(operations, [row for row in rows if isinstance(row, Question)])
    except FaultyDeclarationsError as error:
        return str(error).splitlines()[1:]
    return []


def test_sound_declarations_have_no_faults():
    assert found(LIGHT, DIM, *READS) == []


def test_a_service_with_faults_does_not_start_and_all_are_named():
    torch = replace(LIGHT, route=Route("POST", "/torches"))
    assert found(LIGHT, torch) == [
        "light_lamp: declared 2 times",
        "LightLamp: declared 2 times",
    ]
    assert "POST /lamps: declared 2 times" in found(LIGHT, replace(LIGHT, name="lit"))


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
