"""The agents of a deployment on PostgreSQL: their loops, their bookmarks, and their evidence."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr
from tests.support.agents import a_beam, a_proposal, a_running_run
from tests.support.developer import Developer
from tests.support.examples.assets import an_asset
from tests.support.examples.federation import OWN_SITE

from beamkeep.adapters.postgres.ledger import ledger
from beamkeep.deployment.composition import Deployment
from beamkeep.deployment.settings import settings_of
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.parts.agents import wiring
from beamkeep.parts.agents.caution_promoter import PROMOTER
from beamkeep.parts.agents.run_supervisor import SUPERVISOR
from beamkeep.parts.witness.proving import verify_record
from beamkeep.runtime import Service
from beamkeep.runtime.answers import EVIDENCE, FOLDED
from beamkeep.runtime.store import Envelope
from beamkeep.testing.database import Database
from beamkeep.workers.auditing import differences
from beamkeep.workers.supervision import Loop

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


class Agents(Developer):
    """A deployment that a developer uses, and the loops of its agents, turned by hand."""

    def __init__(self, deployment: Deployment, service: Service) -> None:
        super().__init__(service, deployment.store)
        self.deployment, self.store = deployment, deployment.store
        settings: Any = deployment.settings
        loops = wiring.loops(deployment.core(service), settings)
        self.loops: Mapping[str, Loop] = {each.name: each for each in loops}
        self._projector = deployment.projector()

    async def follow(self) -> None:
        """Let the lists follow the log."""
        while not await self._projector.turn():
            pass

    async def turn(self, name: str) -> None:
        """Take one turn of a loop, between lists that follow."""
        await self.follow()
        await self.loops[name].turn()
        await self.follow()

    async def history(self, stream_type: str, id: UUID) -> Sequence[Envelope]:
        return await self.store.history((stream_type, id), 0, 100)

    async def close(self) -> None:
        await self._projector.close()
        await self.deployment.close()


@pytest.fixture
async def agents(database: Database) -> AsyncGenerator[Agents]:
    deployment = Deployment(
        settings_of(
            database_url=SecretStr(database.url()),
            projector_database_url=SecretStr(database.url("bk_projector")),
            require_authenticated_principal=False,
            development=True,
            project_in_serve=True,
            self_facility_code=OWN_SITE,
            run_supervisor_enabled=True,
            run_supervisor_settle_seconds=0,
            caution_promoter_enabled=True,
        )
    )
    agents = Agents(deployment, await deployment.service())
    yield agents
    await agents.close()


async def decision_of(agents: Agents, agent_id: UUID) -> Mapping[str, Any]:
    """Return the only decision of an agent."""
    (row,) = await agents.store.rows(EVIDENCE, {"agent_id": agent_id})
    listed = await agents("list_decisions", {"actor_id": str(agent_id)})
    (decision,) = listed["items"]
    assert row.question == FOLDED
    return decision


async def test_a_deployment_has_a_loop_for_each_agent_that_is_switched_on(agents: Agents):
    assert {*agents.loops} >= {"run supervisor", "clearance expirer", "caution promoter"}


async def test_a_run_without_beam_is_held_and_what_was_folded_reads_the_same(agents: Agents):
    beam, run_id = await a_beam(agents), await a_running_run(agents)
    await agents("mark_supply_unavailable", beam)
    await agents.turn("run supervisor")
    *_, held = await agents.history("Run", run_id)
    assert (held.event_type, held.principal_id) == ("RunHeld", SUPERVISOR.id)
    # What happens afterwards does not change what was known.
    await agents("mark_supply_recovering", beam)
    await agents("restore_supply", beam)
    await agents("resume_run", {"run_id": str(run_id)})
    await agents.turn("run supervisor")
    decision = await decision_of(agents, SUPERVISOR.id)
    about = {"decision_id": decision["decision_id"]}
    (listed,) = (await agents("list_decision_evidence", about))["items"]
    assert {(each["stream_type"], each["version"]) for each in listed["seen"]} >= {
        ("Run", 1),
        ("Supply", 3),
    }
    (verified,) = (await agents("verify_decision_evidence", about))["items"]
    assert verified["verdict"] == "same"
    assert listed["correlation_id"] == str(held.correlation_id)


async def test_a_proposal_is_promoted_by_the_bookmark_that_begins_where_the_agent_does(
    agents: Agents,
):
    proposal = a_proposal(await an_asset(agents), datetime.now(UTC))
    await agents.put(proposal)
    await agents.turn("caution promoter")
    decision = await decision_of(agents, PROMOTER.id)
    assert (decision["choice"], decision["parent_id"]) == ("Promote", str(proposal.decision_id))
    (mark,) = [
        each
        for each in await agents.deployment.tail.bookmarks(WHOLE_LOG)
        if each.follower == f"agent:{PROMOTER.id}"
    ]
    versioned, *_ = [
        each
        for each in await agents.history("Agent", PROMOTER.id)
        if each.event_type == "AgentVersioned"
    ]
    later = await agents.deployment.tail.page(WHOLE_LOG, mark.reached, 1000)
    assert versioned.position not in [each.position for each in later.events]
    about = {"decision_id": decision["decision_id"]}
    (verified,) = (await agents("verify_decision_evidence", about))["items"]
    assert verified["verdict"] == "same"
    await agents.turn("caution promoter")
    assert len((await agents("list_cautions", {}))["items"]) == 1


async def found(database: Database) -> list[str]:
    """Return what `check` and what `verify` say is wrong with the rows."""
    async with ledger(database.url()) as rows:
        checked = [each async for each in differences(rows)]
    told = verify_record(database.url("bk_reader"), None, None, lambda _: None)
    verified = [line async for is_fault, line in told if is_fault]
    assert checked == verified
    return checked


async def test_the_claim_of_a_decision_is_no_fault_and_one_without_its_decision_is(
    agents: Agents, database: Database
):
    beam, run_id = await a_beam(agents), await a_running_run(agents)
    await agents("mark_supply_unavailable", beam)
    await agents.turn("run supervisor")
    assert (await agents.history("Run", run_id))[-1].event_type == "RunHeld"
    ((key, decision_id),) = database.ask(
        "SELECT key, holder FROM bk.claims WHERE scope = 'agent-decision'"
    )
    assert await found(database) == []
    of = "UPDATE bk.claims SET {} WHERE scope = 'agent-decision'"
    row, events = f"scope agent-decision, key {key}", "that the events of Decision"
    lacking = (
        f"bk.claims lacks the row of Decision {decision_id}, which agent {SUPERVISOR.id} made."
    )
    other = UUID(int=404)
    database.ask(of.format(f"holder = '{other}'"))
    assert await found(database) == [
        f"bk.claims has a row {events} {other} do not explain: {row}, holder {other}.",
        lacking,
    ]
    database.ask(of.format(f"holder = '{decision_id}', key = '[\"{other}\",\"x\"]'"))
    (told,) = await found(database)
    assert told.startswith(f"bk.claims has a row {events} {decision_id} do not explain")
    database.ask("DELETE FROM bk.claims WHERE scope = 'agent-decision'")
    assert await found(database) == [lacking]
