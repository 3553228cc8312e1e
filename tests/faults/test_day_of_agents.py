"""A day with agents: whatever was done, `check` and `verify` find nothing wrong with the record."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from benchmarks.loading import load_visits
from pydantic import SecretStr

from beamkeep.adapters.postgres.ledger import ledger
from beamkeep.deployment.composition import Deployment
from beamkeep.deployment.settings import settings_of
from beamkeep.kernel import Refusal
from beamkeep.parts.witness.keys import make_key
from beamkeep.parts.witness.proving import verify_record, witness_faults
from beamkeep.parts.witness.settings import WitnessSettings
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import PREPARED, connected, fresh_database, postgres_service
from beamkeep.testing.service import AdminClient
from beamkeep.testing.witness import NAME, ORIGIN
from beamkeep.workers.auditing import differences
from tests.faults.conftest import Report
from tests.faults.report import asked, rounds
from tests.postgres.runtime.test_agents_deployed import Agents
from tests.postgres.witness.conftest import Following
from tests.support.agents import a_beam, a_proposal, a_running_run
from tests.support.examples import EXAMPLES
from tests.support.examples.assets import an_asset
from tests.support.examples.federation import OWN_SITE

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

EVENTS_OF_A_VISIT = 20
BESIDE = {"get_event_proof", "list_checkpoints"}
"""Examples that have a witness of their own."""


def witness_settings(database: Database, key_file: Path) -> Any:
    return settings_of(
        database_url=SecretStr(database.url()),
        projector_database_url=SecretStr(database.url("bk_projector")),
        witness_database_url=SecretStr(database.url("bk_witness")),
        witness_key_file=key_file,
        witness_send_file=key_file.with_name("sent"),
        base_url=f"https://{ORIGIN.split('/')[0]}",
        require_authenticated_principal=False,
        development=True,
        project_in_serve=True,
        self_facility_code=OWN_SITE,
        run_supervisor_enabled=True,
        run_supervisor_settle_seconds=0,
        caution_promoter_enabled=True,
    )


async def alarms(settings: WitnessSettings, following: Following) -> list[str]:
    """Return what `check` and `verify` say is wrong."""
    database, store = following.database, following.store
    async with ledger(database.url()) as rows:
        told = [each async for each in differences(rows)]
    told += [each async for each in witness_faults(settings)]
    notes = [each.note for tree in Tree for each in await store.checkpoints(tree)]
    url, key = database.url("bk_reader"), following.verifier_key
    verified = verify_record(url, "".join(notes), key, lambda _: None)
    return told + [line async for is_fault, line in verified if is_fault]


async def work_for_agents(agents: Agents) -> UUID:
    """Let the supervisor hold a run and release it, and the promoter decide."""
    beam, run_id = await a_beam(agents), await a_running_run(agents)
    await agents("mark_supply_unavailable", beam)
    await agents.turn("run supervisor")
    assert (await agents.history("Run", run_id))[-1].event_type == "RunHeld"
    await agents("mark_supply_recovering", beam)
    await agents("restore_supply", beam)
    await agents.turn("run supervisor")
    await agents.put(a_proposal(await an_asset(agents), datetime.now(UTC)))
    await agents.turn("caution promoter")
    await agents.turn("clearance expirer")
    # The next supply of beam is not to be outweighed by this one.
    await agents("deregister_supply", beam)
    return run_id


async def test_a_day_with_agents_has_no_false_alarm(
    cluster: Cluster, tmp_path: Path, report: Report
):
    database = fresh_database(cluster, PREPARED)
    make_key(NAME, tmp_path / "key")
    settings = witness_settings(database, tmp_path / "key")
    deployment = Deployment(settings)
    agents = Agents(deployment, await deployment.service())
    following = Following(database, tmp_path / "key")
    found, turns, visits = list[str](), 0, 0
    days, events = asked("AGENT_DAYS", 2), asked("AGENT_EVENTS", 0)
    async with postgres_service(database) as deployed:
        do = AdminClient(deployed.service, deployed.store)
        for _ in rounds("AGENT_DAYS", 2, 1, 30.0):
            turns += 1
            for name, example in EXAMPLES.items():
                # In later rounds some are refused: a facility has one seal only.
                with suppress(Refusal):
                    if name not in BESIDE:
                        await do(name, await example(do))
            await work_for_agents(agents)
            # The rest of a busy day is visits, which are loaded because calls would take hours.
            if share := events * turns // days // EVENTS_OF_A_VISIT - visits:
                async with connected(database, "postgres") as owner:
                    await load_visits(owner, uuid4(), visits, share, EVENTS_OF_A_VISIT)
            visits += share
            # Each look reads the whole log, so looks become rarer as it grows.
            if turns.bit_count() == 1:
                await following.caught_up()
                found += await alarms(settings, following)
        await following.caught_up()
        found += await alarms(settings, following)
    ((recorded, decisions),) = database.ask(
        "SELECT count(*), count(*) FILTER (WHERE event_type = 'DecisionRegistered') FROM bk.events"
    )
    ((claims,),) = database.ask("SELECT count(*) FROM bk.claims WHERE scope = 'agent-decision'")
    await following.close()
    await agents.close()
    figures = {"events": recorded, "decisions": decisions, "rounds": turns, "alarms": len(found)}
    report("T34 day of agents", figures)
    assert found == []
    assert int(str(claims)) >= turns
