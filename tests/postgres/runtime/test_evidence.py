"""What an agent is answered is on record before it is answered, and can be read again."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.postgres.runtime.conftest import Hosted
from tests.support.examples import EXAMPLES
from tests.support.releases import of_release

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.contexts.access.actor import ActorNotFoundError
from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.contexts.seams.evidence import EvidenceVerdict
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import ActorKind, Operation, Question, Standing, replace
from beamkeep.parts.agents.evidence.replaying import Replay
from beamkeep.runtime.admission import Request, UnauthorizedError
from beamkeep.runtime.answers import EVIDENCE, FOLDED, AnswerEvidence
from beamkeep.runtime.evidence import RELEASE
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.testing.appends import on_record
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import Deployed, connected, postgres_service
from beamkeep.testing.service import by, call, enrol
from beamkeep.workers.housekeeping import EVIDENCE_DAYS

pytestmark = pytest.mark.anyio

AGENT, PERSON = "agent-smith", "bob"
EVERYTHING = "*"


async def an_agent(hosted: Hosted, subject: str = AGENT, *commands: str) -> UUID:
    """An agent with this login, which may call these on the HTTP surface."""
    id = await enrol(hosted.service, subject, *(commands or (EVERYTHING,)))
    await hosted.store.append(on_record(STANDINGS.upsert(Standing(id, ActorKind.AGENT))))
    return id


async def evidence_of(hosted: Hosted, agent_id: UUID) -> Sequence[AnswerEvidence]:
    rows = await hosted.store.rows(EVIDENCE, {"agent_id": agent_id})
    return sorted(rows, key=lambda row: (row.asked_at, row.evidence_id))


async def ask(hosted: Hosted, name: str, subject: str = AGENT, **arguments: Any) -> Any:
    return json.loads((await call(hosted.service, name, arguments, subject)).body)


async def decide(hosted: Hosted, subject: str = AGENT) -> str:
    decision = {"context": "RunHold", "choice": "Hold"}
    return json.loads((await call(hosted.service, "register_decision", decision, subject)).body)[
        "decision_id"
    ]


async def a_zone(hosted: Hosted, name: str = "Hall") -> str:
    return (await hosted.do("define_zone", {"name": name}))["zone_id"]


async def test_a_question_of_an_agent_leaves_one_row_and_that_of_a_person_none(hosted: Hosted):
    agent_id, zone_id = await an_agent(hosted), await a_zone(hosted)
    person_id = await enrol(hosted.service, PERSON, EVERYTHING)
    await ask(hosted, "get_zone", PERSON, zone_id=zone_id)
    await ask(hosted, "get_zone", zone_id=zone_id)
    (row,) = await evidence_of(hosted, agent_id)
    assert (row.question, row.arguments, row.release) == ("get_zone", {"zone_id": zone_id}, RELEASE)
    assert [(s.stream_type, str(s.stream_id), s.version) for s in row.seen] == [
        ("Zone", zone_id, 1)
    ]
    assert abs((datetime.now(UTC) - row.asked_at).total_seconds()) < 60
    assert not await evidence_of(hosted, person_id)


async def test_a_refused_question_and_a_command_leave_no_row(hosted: Hosted):
    agent_id = await an_agent(hosted, AGENT, "get_actor", "define_zone")
    with pytest.raises(ActorNotFoundError):
        await ask(hosted, "get_actor", actor_id=str(UUID(int=404)))
    with pytest.raises(UnauthorizedError):
        await ask(hosted, "list_zones")
    await call(hosted.service, "define_zone", {"name": "Hall"}, AGENT)
    assert not await evidence_of(hosted, agent_id)


@pytest.mark.parametrize("as_of", [None, 1])
async def test_an_object_is_seen_at_the_version_that_was_shown(hosted: Hosted, as_of: int | None):
    agent_id, supply_id = await an_agent(hosted), await a_supply(hosted)
    asked = {} if as_of is None else {"as_of": str(as_of)}
    await ask(hosted, "get_supply", supply_id=supply_id, **asked)
    (row,) = await evidence_of(hosted, agent_id)
    assert [each.version for each in row.seen] == [as_of or 2]


async def a_supply(hosted: Hosted) -> str:
    """A supply at version 2."""
    arguments = await EXAMPLES["mark_supply_available"](hosted.do)
    await hosted.do("mark_supply_available", arguments)
    return arguments["supply_id"]


async def test_a_list_is_seen_row_by_row_at_the_versions_of_its_rows(
    hosted: Hosted, place: Database | None
):
    agent_id, supply_id = await an_agent(hosted), await a_supply(hosted)
    if place:
        async with postgres_service(place) as deployed:
            await deployed.projector.catch_up([WHOLE_LOG])
    await ask(hosted, "list_supplies", count="true")
    (row,) = await evidence_of(hosted, agent_id)
    assert [(str(each.stream_id), each.version) for each in row.seen] == [(supply_id, 2)]
    assert row.arguments == {"count": True}


async def test_a_page_of_the_log_is_seen_event_by_event(hosted: Hosted):
    agent_id, supply_id = await an_agent(hosted), await a_supply(hosted)
    await ask(hosted, "list_events", stream_id=[supply_id])
    (row,) = await evidence_of(hosted, agent_id)
    assert [(each.stream_type, each.version) for each in row.seen] == [("Supply", 1), ("Supply", 2)]


async def test_rows_of_an_object_are_seen_with_the_object(hosted: Hosted):
    agent_id = await an_agent(hosted)
    decision_id = await decide(hosted)
    await ask(hosted, "list_decision_logbook_entries", decision_id=decision_id)
    (row,) = await evidence_of(hosted, agent_id)
    assert [str(each.stream_id) for each in row.seen] == [decision_id]


async def test_what_a_page_of_a_history_showed_is_read_again_though_more_happened(hosted: Hosted):
    agent_id, supply_id = await an_agent(hosted), await a_supply(hosted)
    first = await ask(hosted, "get_supply_history", supply_id=supply_id, limit="1")
    cursor = first["next_cursor"]
    await ask(hosted, "get_supply_history", supply_id=supply_id, limit="1", cursor=cursor)
    await ask(hosted, "get_supply_history", supply_id=supply_id)
    await hosted.do("mark_supply_unavailable", {"supply_id": supply_id, "reason": "Beam dump"})
    rows = await evidence_of(hosted, agent_id)
    assert [(row.seen[0].version, row.arguments["after"]) for row in rows] == [
        (1, 0),
        (2, 1),
        (2, 0),
    ]
    decision_id = await decide(hosted)
    verdicts = await verdicts_of(hosted, decision_id)
    assert verdicts == ["same", "same", "same"]


async def verdicts_of(hosted: Hosted, decision_id: str, **asked: Any) -> list[str]:
    answer = await hosted.do("verify_decision_evidence", {"decision_id": decision_id, **asked})
    return [each["verdict"] for each in answer["items"]]


async def test_the_evidence_of_a_decision_is_what_was_answered_before_it(hosted: Hosted):
    await an_agent(hosted)
    zone_id = await a_zone(hosted)
    await ask(hosted, "get_zone", zone_id=zone_id)
    earlier = await decide(hosted)
    await ask(hosted, "list_zones")
    decision_id = await decide(hosted)
    await ask(hosted, "get_zone", zone_id=zone_id)
    asked = {"decision_id": decision_id}
    rests_on = await hosted.do("list_decision_evidence", asked)
    assert [each["question"] for each in rests_on["items"]] == ["list_zones"]
    answer = await hosted.do("list_decision_evidence", {**asked, "window_minutes": "60"})
    told = [(each["question"], each["since_last_decision"]) for each in answer["items"]]
    assert told == [("list_zones", True), ("get_zone", False)]
    assert answer["items"][1]["seen"] == [
        {
            "stream_type": "Zone",
            "stream_id": zone_id,
            "version": 1,
            "link": f"/zones/{zone_id}?as_of=1",
        }
    ]
    first = await hosted.do("list_decision_evidence", {"decision_id": earlier})
    assert [each["question"] for each in first["items"]] == ["get_zone"]
    assert await verdicts_of(hosted, decision_id) == ["not_replayable"]
    assert await verdicts_of(hosted, decision_id, window_minutes="60") == ["not_replayable", "same"]


async def test_two_decisions_after_one_reading_rest_on_it_both(hosted: Hosted):
    await an_agent(hosted)
    await ask(hosted, "list_zones")
    await decide(hosted)
    await ask(hosted, "get_zone", zone_id=await a_zone(hosted))
    for decision_id in (await decide(hosted), await decide(hosted)):
        answer = await hosted.do("list_decision_evidence", {"decision_id": decision_id})
        assert [each["question"] for each in answer["items"]] == ["get_zone"]


async def test_evidence_is_listed_page_by_page(hosted: Hosted):
    await an_agent(hosted)
    zones = [await a_zone(hosted, name) for name in ("A", "B", "C")]
    for zone_id in zones:
        await ask(hosted, "get_zone", zone_id=zone_id)
    asked: dict[str, Any] = {"decision_id": await decide(hosted), "limit": "2"}
    for name in "list_decision_evidence", "verify_decision_evidence":
        first = await hosted.do(name, asked)
        second = await hosted.do(name, asked | {"cursor": first["next_cursor"]})
        assert (len(first["items"]), len(second["items"])) == (2, 1)
        assert second["next_cursor"] is None
    assert second["items"][0]["verdict"] == "same"


async def test_evidence_of_other_agents_is_not_borrowed(hosted: Hosted):
    await an_agent(hosted, "other")
    await an_agent(hosted)
    await ask(hosted, "list_zones", "other")
    decision_id = await decide(hosted)
    assert (await hosted.do("list_decision_evidence", {"decision_id": decision_id}))["items"] == []


async def test_a_decision_of_a_person_has_no_evidence(hosted: Hosted):
    await enrol(hosted.service, PERSON, EVERYTHING)
    await ask(hosted, "list_zones", PERSON)
    decision_id = await decide(hosted, PERSON)
    assert (await hosted.do("list_decision_evidence", {"decision_id": decision_id}))["items"] == []


async def test_objects_that_the_reader_may_not_see_are_counted_and_not_named(hosted: Hosted):
    await an_agent(hosted)
    zone_id = await a_zone(hosted)
    await ask(hosted, "get_zone", zone_id=zone_id)
    decision_id = await decide(hosted)
    await enrol(hosted.service, PERSON, "list_decision_evidence")
    answer = await ask(hosted, "list_decision_evidence", PERSON, decision_id=decision_id)
    (told,) = answer["items"]
    assert (told["seen"], told["hidden"], told["arguments"]) == ([], 1, None)
    assert zone_id not in json.dumps(answer)


async def test_what_an_agent_of_the_service_folded_is_read_again(hosted: Hosted):
    agent_id, supply_id = await an_agent(hosted), await a_supply(hosted)
    read, correlation_id = hosted.service.sessions(), uuid4()
    supplies = hosted.service.catalogue.aggregates["Supply"]
    await read.one(supplies, UUID(supply_id))
    insert = hosted.service.evidence.folded(read, agent_id, correlation_id)
    await hosted.store.append(on_record(insert))
    await hosted.do("mark_supply_unavailable", {"supply_id": supply_id, "reason": "Beam dump"})
    (row,) = await evidence_of(hosted, agent_id)
    assert (row.question, [each.version for each in row.seen]) == (FOLDED, [2])
    replay = Replay(hosted.store, hosted.service.sessions, hosted.service.catalogue, release="2")
    assert await replay.verdict(row) is EvidenceVerdict.SAME
    other = replace(row, seen=(replace(row.seen[0], version=1),))
    assert await replay.verdict(other) is EvidenceVerdict.DIFFERS


async def test_a_digest_that_differs_names_both_releases(hosted: Hosted):
    agent_id, zone_id = await an_agent(hosted), await a_zone(hosted)
    later = of_release("later", hosted.store, hosted.store)
    await ask(hosted, "get_zone", zone_id=zone_id)
    (row,) = await evidence_of(hosted, agent_id)
    forged = replace(row, evidence_id=uuid4(), digest="0" * 64)
    await hosted.store.keep_evidence(forged)
    decision_id = await decide(hosted)
    answer = await call(later, "verify_decision_evidence", {"decision_id": decision_id})
    told = {each["verdict"]: each for each in json.loads(answer.body)["items"]}
    assert told.keys() == {"same", "differs"}
    assert (told["differs"]["release"], told["differs"]["verified_by"]) == (RELEASE, "later")


class FailingStore:
    """A store whose evidence cannot be written."""

    async def keep_evidence(self, evidence: AnswerEvidence) -> None:
        raise StoreUnavailableError


async def test_a_question_whose_evidence_cannot_be_stored_is_not_answered(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
):
    await an_agent(hosted)
    await enrol(hosted.service, PERSON, EVERYTHING)
    monkeypatch.setattr(hosted.service.evidence, "_store", FailingStore())
    with pytest.raises(StoreUnavailableError):
        await ask(hosted, "list_zones")
    assert "items" in await ask(hosted, "list_zones", PERSON)
    assert await decide(hosted), "a command does not wait for evidence"


# --- on PostgreSQL ---


class Counting:
    """Counts the statements of a store's connections."""

    def __init__(self, store: PostgresEventStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[str] = []
        connections = store._connections  # pyright: ignore[reportPrivateUsage]
        fetch = connections.fetch

        async def counted(statement: str, *arguments: Any) -> Any:
            self.statements.append(statement)
            return await fetch(statement, *arguments)

        monkeypatch.setattr(connections, "fetch", counted)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "question", ["get_zone", "get_zone_history", "list_zones", "list_events", "search"]
)
async def test_an_agent_costs_one_statement_more_than_a_person(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, question: str
):
    hosted = Hosted(deployed.service, deployed.store)
    await an_agent(hosted)
    await enrol(hosted.service, PERSON, EVERYTHING)
    about = {"zone_id": await a_zone(hosted)} if question.startswith("get_zone") else {}
    about |= {"q": "Hall"} if question == "search" else {}
    counting = Counting(deployed.store, monkeypatch)
    for subject in PERSON, AGENT, PERSON, AGENT:
        await ask(hosted, question, subject, **about)
        counting.statements.append("")
    person, agent, *again = _split(counting.statements)
    assert [*person, agent[-1]] == agent
    assert "INSERT INTO bk.evidence" in agent[-1]
    assert not any("bk.evidence" in statement for statement in person)
    assert again == [person, agent]


def _split(statements: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for statement in statements:
        if statement:
            found[-1].append(statement)
        else:
            found.append([])
    return found[:-1]


@pytest.mark.postgres
async def test_questions_that_come_together_are_stored_together(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
):
    hosted = Hosted(deployed.service, deployed.store)
    agent_id = await an_agent(hosted)
    counting = Counting(deployed.store, monkeypatch)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(40):
            tasks.create_task(ask(hosted, "list_zones"))
    inserts = [text for text in counting.statements if "INSERT INTO bk.evidence" in text]
    assert len(inserts) < 40
    assert len(await evidence_of(hosted, agent_id)) == 40


@pytest.mark.postgres
async def test_a_caller_that_gives_up_fails_nobody_else(deployed: Deployed):
    hosted = Hosted(deployed.service, deployed.store)
    agent_id = await an_agent(hosted)
    tasks = [asyncio.create_task(ask(hosted, "list_zones")) for _ in range(20)]
    while not deployed.store._evidence._waiting:  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    answered = [task for task in tasks if not task.cancelled()]
    assert len(answered) >= 10
    assert len(await evidence_of(hosted, agent_id)) >= len(answered)


@pytest.mark.postgres
async def test_evidence_that_no_decision_followed_is_dropped_after_a_week(
    database: Database, deployed: Deployed
):
    hosted = Hosted(deployed.service, deployed.store)
    agent_id, other_id = await an_agent(hosted), await an_agent(hosted, "other")
    await ask(hosted, "list_zones")
    await ask(hosted, "list_zones", "other")
    await decide(hosted)
    age = "UPDATE bk.{} SET {} = {} - interval '{}'"
    for days in "6 days 23 hours", "2 hours":
        database.ask(age.format("evidence", "asked_at", "asked_at", days))
        database.ask(age.format("agent_decision", "decided_at", "decided_at", days))
        looked = await deployed.store.forget_evidence(EVIDENCE_DAYS, 60)
        assert looked == (0 if "days" in days else 2)
    assert len(await evidence_of(hosted, agent_id)) == 1
    assert not await evidence_of(hosted, other_id)
    assert await deployed.store.forget_evidence(EVIDENCE_DAYS, 60) == 0


@pytest.mark.postgres
async def test_the_service_cannot_change_or_drop_evidence(database: Database):
    for change in "UPDATE bk.evidence SET digest = ''", "DELETE FROM bk.evidence":
        async with connected(database) as connection:
            with pytest.raises(Exception, match="permission denied"):
                await connection.execute(change)


@pytest.mark.postgres
async def test_evidence_before_the_window_counts_only_under_the_same_correlation_id(
    database: Database, deployed: Deployed
):
    hosted, caller = Hosted(deployed.service, deployed.store), by(AGENT)
    await an_agent(hosted)
    await ask(hosted, "list_zones")
    asked = hosted.service.catalogue.named["list_conduits"]
    assert isinstance(asked, Question)
    await hosted.service.queries.ask(asked, Request(caller, {}))
    database.ask("UPDATE bk.evidence SET asked_at = asked_at - interval '2 hours'")
    decides = hosted.service.catalogue.named["register_decision"]
    assert isinstance(decides, Operation)
    decision = {"context": "RunHold", "choice": "Hold"}
    made = await hosted.service.dispatcher.execute(decides, Request(caller, decision))
    about = {"decision_id": str(made.id)}
    told = (await hosted.do("list_decision_evidence", about))["items"]
    assert [each["question"] for each in told] == ["list_conduits"]
    wider = await hosted.do("list_decision_evidence", about | {"window_minutes": "180"})
    assert [each["question"] for each in wider["items"]] == ["list_conduits", "list_zones"]


FORGE = """
DO $$
DECLARE
  each regclass;
BEGIN
  FOR each IN SELECT inhrelid::regclass FROM pg_inherits
               WHERE inhparent = 'bk.events'::regclass LOOP
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER events_no_change', each);
    EXECUTE format($f$UPDATE %s SET payload = replace(payload::text, 'Hall', 'Cave')::json
                       WHERE event_type = 'ZoneDefined'$f$, each);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER events_no_change', each);
  END LOOP;
END $$
"""


@pytest.mark.postgres
async def test_a_payload_that_was_changed_is_found_and_rebuilt_lists_change_nothing(
    database: Database, deployed: Deployed
):
    hosted = Hosted(deployed.service, deployed.store)
    await an_agent(hosted)
    zones = [await a_zone(hosted, name) for name in ("Hall", "Annex")]
    for zone_id in zones:
        await ask(hosted, "get_zone", zone_id=zone_id)
        await ask(hosted, "get_zone_history", zone_id=zone_id)
    decision_id = await decide(hosted)
    for view in deployed.service.catalogue.views:
        await deployed.projections.rebuild(view, [WHOLE_LOG])
    async with postgres_service(database) as restarted:
        later = of_release("later", restarted.store, restarted.lists)
        about = {"decision_id": decision_id}
        answer = await call(later, "verify_decision_evidence", about)
        told = json.loads(answer.body)["items"]
        assert [each["verdict"] for each in told] == ["same"] * 4
        assert {each["verified_by"] for each in told} == {"later"}
        database.ask(FORGE)
        answer = await call(later, "verify_decision_evidence", about)
        told = json.loads(answer.body)["items"]
        assert [each["verdict"] for each in told] == ["same"] * 2 + ["differs"] * 2
