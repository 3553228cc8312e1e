"""The catalogue: what it finds, and the contradictions that keep the service from starting."""

from uuid import UUID

from beamkeep.kernel import (
    Aggregate,
    AnyReader,
    Call,
    Cannot,
    Catalogue,
    Command,
    Event,
    Listing,
    NotFound,
    Query,
    Record,
    answers,
    event_types,
    reads,
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
