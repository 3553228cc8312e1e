"""What came of what: walks along the edges of provenance, on each of the two stores there are."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from tests.postgres.runtime.conftest import Hosted
from tests.unit.contexts.data.around import a_run, dataset_registered

from beamkeep.adapters.memory.lineage import MemoryLineage
from beamkeep.adapters.postgres.lineage import PostgresLineage
from beamkeep.contexts.calibration.calibration import (
    AssertedSource,
    CalibrationDefined,
    CalibrationRevisionAppended,
    CalibrationRevisionNotFoundError,
    RevisionStatus,
)
from beamkeep.contexts.calibration.quantity import Quantity
from beamkeep.contexts.data.acquisition import AcquisitionRecorded
from beamkeep.contexts.data.dataset import DatasetNotFoundError
from beamkeep.contexts.equipment.asset import AssetNotFoundError, AssetRegistered, AssetTier
from beamkeep.contexts.run.run import RunNotFoundError
from beamkeep.contexts.seams.lineage import (
    EDGES,
    LineageReader,
    ProvenanceEdge,
    ProvenanceRelation,
    Walk,
    WalkedEdge,
)
from beamkeep.contexts.subject.subject import SubjectNotFoundError, SubjectRegistered
from beamkeep.kernel import CLAIMS, Claim, Event, NotFound, SideWrite, Sight, claim_key, replace
from beamkeep.runtime.store import EventStore
from beamkeep.testing.appends import append, at
from beamkeep.testing.database import Database
from beamkeep.testing.past import NOW
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import call, enrol, memory_service

pytestmark = pytest.mark.anyio

DERIVED, PRODUCED, ACQUIRED, ABOUT, USED, PINNED, COMPUTED, _ = ProvenanceRelation
A, B, C, D, E = (UUID(int=number) for number in range(1, 6))
RUN, SUBJECT, CAMERA, CALIBRATION, REVISION = (UUID(int=number) for number in range(11, 16))
ADA, OTTO = UUID(int=21), UUID(int=22)


def edge(
    from_id: UUID,
    to_id: UUID,
    relation: ProvenanceRelation = DERIVED,
    source_id: UUID | None = None,
) -> ProvenanceEdge:
    return ProvenanceEdge(from_id, relation, to_id, source_id=source_id or from_id)


class Edges(NamedTuple):
    """The edges of a store, and what walks along them."""

    store: EventStore
    reader: LineageReader

    async def write(self, *edges: ProvenanceEdge) -> None:
        await self.store.append(append(side_writes=[EDGES.insert(each) for each in edges]))

    async def walked(
        self,
        *start_ids: UUID,
        upstream: bool = True,
        depth: int = 10,
        most: int = 100,
        relations: Sequence[ProvenanceRelation] = tuple(ProvenanceRelation),
    ) -> list[tuple[int, UUID, UUID]]:
        """The depth and the two ends of each edge, by depth."""
        found = await self.reader.walk(
            Walk(start_ids, upstream, depth=depth, most=most, relations=tuple(relations))
        )
        depths = [each.depth for each in found]
        assert depths == sorted(depths)
        return sorted((each.depth, each.from_id, each.to_id) for each in found)


@pytest.fixture
async def edges(place: Database | None) -> AsyncGenerator[Edges]:
    if place is None:
        _, store = await memory_service()
        yield Edges(store, MemoryLineage(store))
        return
    connections = place.connections()
    async with postgres_service(place) as deployed:
        yield Edges(deployed.store, PostgresLineage(connections))
    await connections.close()


# Walks.


async def test_a_walk_goes_level_by_level_in_one_direction(edges: Edges):
    await edges.write(edge(A, B), edge(B, C), edge(C, D))
    assert await edges.walked(B) == [(1, B, C), (2, C, D)]
    assert await edges.walked(B, depth=1) == [(1, B, C)]
    assert await edges.walked(C, upstream=False) == [(1, B, C), (2, A, B)]
    assert await edges.walked(D) == []
    assert await edges.walked(UUID(int=404)) == []


async def test_an_object_that_is_met_twice_is_walked_through_once(edges: Edges):
    await edges.write(edge(A, B), edge(A, C), edge(B, D), edge(C, D), edge(D, E), edge(A, D))
    assert await edges.walked(A) == [
        *((1, A, B), (1, A, C), (1, A, D)),
        *((2, B, D), (2, C, D), (2, D, E)),
    ]
    assert await edges.walked(E, upstream=False) == [
        *((1, D, E), (2, A, D), (2, B, D), (2, C, D)),
        *((3, A, B), (3, A, C)),
    ]


async def test_a_walk_starts_at_several_objects(edges: Edges):
    await edges.write(edge(A, C), edge(B, C), edge(C, D))
    assert await edges.walked(A, B) == [(1, A, C), (1, B, C), (2, C, D)]
    assert await edges.walked(A, C) == [(1, A, C), (1, C, D)]


async def test_a_walk_follows_only_the_relations_that_are_asked_for(edges: Edges):
    await edges.write(edge(A, B), edge(B, C), edge(A, RUN, PRODUCED), edge(RUN, REVISION, PINNED))
    assert await edges.walked(A, relations=[DERIVED]) == [(1, A, B), (2, B, C)]
    assert await edges.walked(A, relations=[PRODUCED]) == [(1, A, RUN)]
    assert await edges.walked(A, relations=[PRODUCED, PINNED]) == [
        (1, A, RUN),
        (2, RUN, REVISION),
    ]
    assert await edges.walked(REVISION, upstream=False, relations=[PINNED, USED]) == [
        (1, RUN, REVISION)
    ]


async def test_what_two_acquisitions_say_is_one_edge(edges: Edges):
    await edges.write(edge(A, CAMERA, ACQUIRED, B), edge(A, CAMERA, ACQUIRED, C))
    assert await edges.walked(A) == [(1, A, CAMERA)]
    assert await edges.walked(CAMERA, upstream=False) == [(1, A, CAMERA)]


async def test_a_walk_returns_the_nearest_edges_up_to_its_limit(edges: Edges):
    near = [UUID(int=number) for number in range(100, 105)]
    far = [UUID(int=number) for number in range(200, 205)]
    await edges.write(*(edge(A, id) for id in near))
    await edges.write(*(edge(id, other) for id in near for other in far))
    for upstream, start in ((True, A), (False, far[0])):
        several = await edges.walked(start, upstream=upstream, most=7)
        assert [depth for depth, *_ in several] == [*[1] * 5, 2, 2]
    assert len(await edges.walked(A, most=3)) == 3
    assert len(await edges.walked(A, most=30)) == 30


# Uses of a revision.


async def test_the_uses_of_a_revision_are_found_page_by_page(edges: Edges):
    await edges.write(
        edge(C, REVISION, USED),
        edge(A, REVISION, PINNED),
        edge(B, REVISION, USED),
        edge(D, CALIBRATION, USED),
        edge(REVISION, E, COMPUTED, CALIBRATION),
    )

    async def page(after: UUID | None, limit: int) -> list[WalkedEdge]:
        return [*await edges.reader.uses(REVISION, after, limit, None)]

    every = await page(None, 10)
    assert [(each.from_id, each.relation) for each in every] == [(A, PINNED), (B, USED), (C, USED)]
    assert await page(None, 2) == every[:2]
    assert await page(A, 1) == every[1:2]
    assert await page(C, 10) == []
    assert await edges.reader.uses(UUID(int=404), None, 10, None) == []


async def test_the_uses_of_a_revision_that_one_owns_are_found(edges: Edges):
    run, dataset = a_run(A, pinned=(REVISION,)), replace(dataset_registered, dataset_id=B)
    for event, id, relation, owner in (
        (run, A, PINNED, OTTO),
        (dataset, B, USED, ADA),
        (replace(dataset, dataset_id=C), C, USED, OTTO),
    ):
        row = EDGES.insert(edge(id, REVISION, relation))
        await edges.store.append(append(at(1, event), side_writes=[row], principal_id=owner))
    for owner, ids in ((OTTO, [A, C]), (ADA, [B]), (UUID(int=404), []), (None, [A, B, C])):
        found = await edges.reader.uses(REVISION, None, 10, owner and Sight(owner))
        assert [each.from_id for each in found] == ids
    (last,) = await edges.reader.uses(REVISION, A, 10, Sight(OTTO))
    assert last.from_id == C


# Questions.


async def put(hosted: Hosted, *parts: Event | SideWrite, owner: UUID = ADA) -> None:
    """First events of streams and rows, as if this principal had written them."""
    events = [at(1, part) for part in parts if isinstance(part, Event)]
    rows = [part for part in parts if not isinstance(part, Event)]
    await hosted.store.append(append(*events, side_writes=rows, principal_id=owner))


def a_dataset(id: UUID, *origins: UUID, **more: Any) -> tuple[Event | SideWrite, ...]:
    """A dataset that is derived from others."""
    event = replace(
        dataset_registered, dataset_id=id, name=f"Dataset {id.int}", derived_from=origins, **more
    )
    rows = [edge(id, origin) for origin in origins]
    if event.producing_run_id:
        rows.append(edge(id, event.producing_run_id, PRODUCED))
    if event.subject_id:
        rows.append(edge(id, event.subject_id, ABOUT))
    rows += [edge(id, revision, USED) for revision in event.used_calibration_ids]
    return event, *(EDGES.insert(each) for each in rows)


async def a_beamline(hosted: Hosted, owner: UUID = ADA) -> None:
    """C is derived from B and B from A, of a run with a subject, a camera and a revision."""
    source, verified = AssertedSource(ADA), RevisionStatus.VERIFIED
    defined = CalibrationDefined(NOW, CALIBRATION, CAMERA, Quantity.ROTATION_CENTER, {}, None)
    appended = CalibrationRevisionAppended(
        NOW, CALIBRATION, REVISION, {"center": 1.0}, verified, source, NOW, None, None
    )
    camera = AssetRegistered(
        NOW, CAMERA, "Camera", AssetTier.UNIT, None, "ring", (), None, None, ()
    )
    await put(
        hosted,
        SubjectRegistered(NOW, SUBJECT, "Fossil 7"),
        camera,
        defined,
        CLAIMS.insert(Claim("calibration-revision", claim_key(REVISION), CALIBRATION)),
        a_run(RUN, SUBJECT, (REVISION,)),
        EDGES.insert(edge(RUN, REVISION, PINNED)),
        owner=owner,
    )
    await hosted.store.append(append(at(2, appended), principal_id=owner))
    made = {"producing_run_id": RUN, "subject_id": SUBJECT, "used_calibration_ids": (REVISION,)}
    captured = AcquisitionRecorded(
        NOW,
        D,
        dataset_id=A,
        producing_asset_id=CAMERA,
        producing_run_id=None,
        captured_at=NOW,
        settings={},
        evidence={},
        corrects_acquisition_id=None,
    )
    seen_by = EDGES.insert(edge(A, CAMERA, ACQUIRED, D))
    await put(hosted, *a_dataset(A, **made), captured, seen_by, owner=owner)


async def ask(hosted: Hosted, name: str, subject: str | None = None, **arguments: Any) -> Any:
    return json.loads((await call(hosted.service, name, arguments, subject)).body)


def nodes(answer: Any, id: str = "id") -> dict[int, int]:
    """The depth of every node."""
    return {UUID(node[id]).int: node["depth"] for node in answer["nodes"]}


def ends(answer: Any) -> set[tuple[int, str, int]]:
    return {(UUID(e["from"]).int, e["relation"], UUID(e["to"]).int) for e in answer["edges"]}


async def test_the_lineage_of_a_dataset_shows_what_it_came_of_and_what_came_of_it(hosted: Hosted):
    await a_beamline(hosted)
    await put(hosted, *a_dataset(B, A), *a_dataset(C, B), *a_dataset(E, A))
    derived = {(3, "derived_from", 2), (2, "derived_from", 1)}
    both = await ask(hosted, "get_dataset_lineage", dataset_id=str(B))
    assert both["dataset_id"] == str(B)
    assert both["truncated"] is False
    assert nodes(both, "dataset_id") == {1: -1, 2: 0, 3: 1}
    around = {
        *((1, "produced_by", 11), (1, "about", 12)),
        *((1, "acquired_by", 13), (1, "used_calibration", 15)),
    }
    assert ends(both) == derived | around
    assert both["nodes"][0] == {
        "dataset_id": str(A),
        "name": "Dataset 1",
        "depth": -1,
        "status": "Registered",
        "intent": "Trial",
    }
    up = await ask(hosted, "get_dataset_lineage", dataset_id=str(C), direction="upstream")
    assert nodes(up, "dataset_id") == {1: -2, 2: -1, 3: 0}
    one = await ask(hosted, "get_dataset_lineage", dataset_id=str(C), direction="upstream", depth=1)
    assert nodes(one, "dataset_id") == {2: -1, 3: 0}
    assert ends(one) == {(3, "derived_from", 2)}
    down = await ask(hosted, "get_dataset_lineage", dataset_id=str(A), direction="downstream")
    assert nodes(down, "dataset_id") == {1: 0, 2: 1, 5: 1, 3: 2}


async def test_the_provenance_of_a_revision_shows_what_a_wrong_constant_touched(hosted: Hosted):
    await a_beamline(hosted)
    await put(hosted, *a_dataset(B, A))
    asked = {"kind": "CalibrationRevision", "id": str(REVISION), "direction": "downstream"}
    answer = await ask(hosted, "get_provenance", **asked)
    assert (answer["kind"], answer["id"], answer["truncated"]) == (
        *("CalibrationRevision", str(REVISION)),
        False,
    )
    assert nodes(answer) == {15: 0, 11: 1, 1: 1, 2: 2}
    assert ends(answer) == {
        *((11, "pinned", 15), (1, "used_calibration", 15)),
        *((1, "produced_by", 11), (2, "derived_from", 1)),
    }
    named = {node["kind"]: (node["name"], node["state"]) for node in answer["nodes"]}
    assert named["CalibrationRevision"] == ("rotation_center", "Verified")
    assert named["Run"] == ("Scan", "Running")


async def test_the_provenance_of_a_dataset_shows_everything_that_it_came_of(hosted: Hosted):
    await a_beamline(hosted)
    answer = await ask(hosted, "get_provenance", kind="Dataset", id=str(A), direction="upstream")
    # A run and a revision are one edge away although the revision is also pinned by the run.
    assert nodes(answer) == {1: 0, 11: -1, 12: -1, 13: -1, 15: -1}
    assert (11, "pinned", 15) in ends(answer)
    kinds = {node["kind"]: (node["name"], node["state"]) for node in answer["nodes"]}
    assert kinds["Subject"] == ("Fossil 7", "Received")
    assert kinds["Asset"] == ("Camera", "Commissioned")


async def test_the_provenance_of_what_does_not_exist_is_refused_by_its_kind(hosted: Hosted):
    absent: dict[str, type[NotFound]] = {
        "Dataset": DatasetNotFoundError,
        "Run": RunNotFoundError,
        "Subject": SubjectNotFoundError,
        "Asset": AssetNotFoundError,
        "CalibrationRevision": CalibrationRevisionNotFoundError,
    }
    for kind, refusal in absent.items():
        with pytest.raises(refusal):
            await ask(hosted, "get_provenance", kind=kind, id=str(UUID(int=404)))


async def test_of_more_than_500_objects_the_nearest_are_shown(hosted: Hosted):
    near = [UUID(int=number) for number in range(1_000, 1_499)]
    far = [UUID(int=number) for number in range(2_000, 2_003)]
    await put(hosted, *a_dataset(A), *(part for id in near for part in a_dataset(id, A)))
    whole = await ask(hosted, "get_dataset_lineage", dataset_id=str(A))
    assert (len(whole["nodes"]), whole["truncated"]) == (500, False)
    await put(hosted, *(part for id in far for part in a_dataset(id, near[0])))
    for name, asked in (
        ("get_dataset_lineage", {"dataset_id": str(A)}),
        ("get_provenance", {"kind": "Dataset", "id": str(A)}),
    ):
        most = await ask(hosted, name, **asked)
        assert (len(most["nodes"]), most["truncated"]) == (500, True)
        assert {node["depth"] for node in most["nodes"]} == {0, 1}


async def test_what_the_caller_may_not_see_is_no_node_and_is_not_walked_through(hosted: Hosted):
    otto = await enrol(hosted.service, "otto", "get_dataset_lineage", "get_provenance", scope="Own")
    await a_beamline(hosted)
    await put(hosted, *a_dataset(B, A), *a_dataset(E, C))
    await put(hosted, *a_dataset(C, B), *a_dataset(UUID(int=6), E), owner=otto)
    for name, asked, id in (
        ("get_dataset_lineage", {"dataset_id": str(C)}, "dataset_id"),
        ("get_provenance", {"kind": "Dataset", "id": str(C)}, "id"),
    ):
        everything = await ask(hosted, name, **asked)
        assert {1, 2, 3, 5, 6} <= nodes(everything, id).keys()
        own = await ask(hosted, name, "otto", **asked)
        assert nodes(own, id) == {3: 0}
        # Its id is only in the edge of a dataset that the caller sees.
        assert ends(own) == {(3, "derived_from", 2), (5, "derived_from", 3)}
        assert "Dataset 2" not in json.dumps(own)
    for kind, id in (("Dataset", B), ("CalibrationRevision", REVISION), ("Run", RUN)):
        with pytest.raises(NotFound):
            await ask(hosted, "get_provenance", "otto", kind=kind, id=str(id))
    with pytest.raises(DatasetNotFoundError):
        await ask(hosted, "get_dataset_lineage", "otto", dataset_id=str(B))


async def test_the_uses_of_a_revision_are_listed_by_pages_of_what_the_caller_may_see(
    hosted: Hosted,
):
    otto = await enrol(hosted.service, "otto", "list_calibration_uses", scope="Own")
    await a_beamline(hosted, otto)
    made = {"producing_run_id": RUN, "used_calibration_ids": (REVISION,)}
    await put(hosted, *a_dataset(UUID(int=31), **made), *a_dataset(UUID(int=32), **made))
    await put(hosted, *a_dataset(UUID(int=33), **made), owner=otto)

    async def listed(subject: str | None, limit: int) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        cursor: dict[str, str] = {}
        while True:
            page = await ask(
                hosted,
                "list_calibration_uses",
                subject,
                revision_id=str(REVISION),
                limit=limit,
                **cursor,
            )
            assert len(page["items"]) <= limit
            found += [(each["kind"], UUID(each["id"]).int) for each in page["items"]]
            if page["next_cursor"] is None:
                return found
            cursor = {"cursor": page["next_cursor"]}

    every = [("Dataset", 1), ("Run", 11), ("Dataset", 31), ("Dataset", 32), ("Dataset", 33)]
    for limit in (1, 2, 5, 100):
        assert await listed(None, limit) == every
        assert await listed("otto", limit) == [every[0], every[1], every[4]]
    page = await ask(hosted, "list_calibration_uses", revision_id=str(REVISION), limit=2)
    named = [(each["name"], each["state"]) for each in page["items"]]
    assert named == [("Dataset 1", "Registered"), ("Scan", "Running")]
