"""The record behind the owner's back: whatever was altered is found and named."""

import asyncio
from collections import Counter
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.parts.witness.keys import make_key
from beamkeep.parts.witness.proving import verify_record
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.answers import EVIDENCE, AnswerEvidence
from beamkeep.runtime.evidence import STAMPED
from beamkeep.testing.appends import on_record
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import PREPARED, fresh_database, postgres_service
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.service import AdminClient, call, enrol
from tests.faults.conftest import Report
from tests.faults.report import rounds
from tests.faults.test_day_of_agents import BESIDE
from tests.postgres.witness.altering import ALTERATIONS, UNGUARDED
from tests.postgres.witness.any_row import owner_of
from tests.postgres.witness.conftest import NAME, Following
from tests.postgres.witness.test_verifying import Witnessed
from tests.support.examples import EXAMPLES

pytestmark = pytest.mark.faults


def test_every_alteration_is_found_and_named(cluster: Cluster, tmp_path: Path, report: Report):
    witnessed, kinds = Witnessed(cluster, tmp_path), list(ALTERATIONS)
    missed, done = list[object](), Counter[str]()
    for number in rounds("ALTERATIONS", 2 * len(kinds), len(kinds), 40.0):
        kind, database = kinds[number % len(kinds)], witnessed.copy()
        database.ask(UNGUARDED)
        named = ALTERATIONS[kind](database, dice(seed(), kind, number), witnessed.tx)
        found = witnessed.verified(database)
        if not any(named in each for each in found):
            missed.append((number, kind, named, found))
        done[kind] += 1
        with psycopg.connect(cluster.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {database.name}".encode())
    figures = {"alterations": done.total(), "kinds": len(done), "lost": len(missed)}
    report("T34 alterations", figures)
    assert missed == []
    assert done.keys() == {*kinds}


class Lived:
    """A record of everything that the service can do, followed by a witness."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.database = cluster, fresh_database(cluster, PREPARED)
        self.keys = make_key(NAME, folder / "key").key().text
        self.checkpoints = asyncio.run(self._live(folder))
        ((tx,),) = self.database.ask("SELECT max(transaction_id::text::bigint) FROM bk.events")
        self.tx = int(str(tx))

    async def _live(self, folder: Path) -> str:
        following = Following(self.database, folder / "key")
        async with postgres_service(self.database) as deployed:
            do = AdminClient(deployed.service, deployed.store)
            for number, (name, example) in enumerate(EXAMPLES.items()):
                if name not in BESIDE:
                    await do(name, await example(do))
                if number % 60 == 0:
                    await following.caught_up()
            otto = await enrol(deployed.service, "otto", "get_zone")
            for number in range(70):
                told = {"actor_id": str(otto), "phone": str(number)}
                await call(deployed.service, "update_actor_profile", told)
            with pytest.raises(UnauthorizedError):
                await call(deployed.service, "define_zone", {"name": "Hall"}, "otto")
            answer = AnswerEvidence(
                evidence_id=UUID(int=7),
                agent_id=otto,
                asked_at=STAMPED,
                surface_id=None,
                correlation_id=UUID(int=8),
                question="get_run",
                arguments={"run_id": "1"},
                seen=(),
                more=False,
                digest="ab",
                release="1",
            )
            await deployed.store.append(on_record(EVIDENCE.insert(answer)))
            await deployed.projector.catch_up([WHOLE_LOG])
        await following.caught_up()
        store = following.store
        notes = [each.note for tree in Tree for each in await store.checkpoints(tree)]
        await following.close()
        return "".join(notes)

    def verified(self, database: Database) -> list[str]:
        """What is wrong, as the role that only reads finds it."""

        async def run() -> list[str]:
            url = database.url("bk_reader")
            told = verify_record(url, self.checkpoints, self.keys, lambda _: None)
            return [line async for is_fault, line in told if is_fault]

        return asyncio.run(run())


def test_an_alteration_of_any_row_is_found_or_the_page_says_why_not(
    cluster: Cluster, tmp_path: Path, report: Report
):
    lived = Lived(cluster, tmp_path)
    assert lived.verified(lived.database) == []
    owner, missed, done = owner_of(lived.database), list[object](), Counter[str]()
    for number in rounds("ALTERATIONS", 40, 12, 40.0):
        database = fresh_database(cluster, lived.database.name)
        random = dice(seed(), "any row", number)
        altered = owner.of(database).alter(random, lived.checkpoints, lived.tx)
        if not lived.verified(database):
            missed.append((number, altered))
        done[altered.kind] += 1
        with psycopg.connect(cluster.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {database.name}".encode())
    figures = {"alterations": done.total(), "tables": len(owner.columns), "lost": len(missed)}
    report("T34 alterations of any row", figures)
    assert missed == []
