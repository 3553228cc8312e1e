"""Copies are discarded, verified, registered and sealed at once; the database is killed."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from random import Random
from uuid import UUID, uuid4

import pytest
from msgspec.structs import asdict

from beamkeep.contexts.data import custody
from beamkeep.contexts.data.custody import CustodyOfDataset, custodies_of
from beamkeep.contexts.data.dataset import STANDINGS, DatasetStatus
from beamkeep.contexts.seams.custody_rules import CustodyRule, CustodyRules
from beamkeep.kernel import Lock
from beamkeep.runtime import Service
from beamkeep.testing.seeds import dice, seed
from tests.faults.auditor import audit_history, read_log
from tests.faults.conftest import Report
from tests.faults.ground import fresh_ground
from tests.faults.report import rounds, size
from tests.faults.test_database_kill import kill_often
from tests.faults.workload import Client, End, Step, made

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

CLIENTS, DATASETS, STORAGES, FIRST_COPIES = 16, 200, 4, 3
TURNS_AT_A_DATASET = 2
"""Turns of each client at one dataset, so that all of them want the same copies at once."""
BYTES, MOST_TRIES = 1_000, 20
RULE = CustodyRule(verified_copies=2, distinct_supplies=2, file_systems_differ=False)
RULES = CustodyRules(trial=RULE, production=RULE)


class Storage:
    """Datasets with copies, as far as the clients know of them."""

    def __init__(self, client: Client) -> None:
        self.client, self.numbers = client, count()
        self.supplies: list[str] = []
        self.author = ""
        self.datasets: list[tuple[str, dict[str, str]]] = []
        self.copies: dict[str, list[str]] = {}
        """The copies of each dataset that were not discarded to anybody's knowledge."""

    async def furnish(self, datasets: int) -> None:
        """Register datasets, each with verified copies on distinct storages."""
        self.author = await self.client.succeed("register_actor", name="Grace")
        for number in range(STORAGES):
            storage = {"kind": "storage", "name": f"disk {number}", "facility_code": "local"}
            self.supplies.append(await self.client.succeed("register_supply", **storage))
        for number in range(datasets):
            value = sha256(str(number).encode()).hexdigest()
            checksum = {"algorithm": "sha256", "value": value}
            id = await self.client.succeed(
                "register_dataset",
                name=f"Scan {number}",
                checksum=checksum,
                byte_size=BYTES,
                encoding={"media_type": "application/x-hdf5"},
            )
            # Half of them are production data, which can be sealed.
            if number % 2:
                await self.client.succeed("promote_dataset", dataset_id=id, reason="Good")
            self.datasets.append((id, checksum))
            self.copies[id] = []
            for supply_id in self.supplies[:FIRST_COPIES]:
                copy = self.copy(number, supply_id)
                copy_id = await self.client.succeed(copy.name, **copy.arguments)
                check = self.check(number, copy_id)
                await self.client.succeed(check.name, **check.arguments)
                self.copies[id].append(copy_id)

    def copy(self, number: int, supply_id: str) -> Step:
        """The registration of a new copy."""
        dataset_id, checksum = self.datasets[number]
        uri = f"file:///data/{number}/{next(self.numbers)}.h5"
        place = {"supply_id": supply_id, "uri": uri, "access_protocol": "POSIX"}
        of = {"dataset_id": dataset_id, "checksum": checksum, "byte_size": BYTES}
        return Step("register_distribution", {**of, **place})

    def check(self, number: int, copy_id: str) -> Step:
        """The report of a check that finds the right bytes."""
        file = {"host": "nvme1", "device": "8:1", "inode": str(UUID(copy_id).int % 2**60)}
        found = {**self.datasets[number][1], "byte_size": BYTES, "file": file}
        now = datetime.now(UTC).isoformat()
        how = {"kind": "ChecksumVerified", "checked_at": now, "checker": "sha256sum"}
        return Step("record_attestation", {"distribution_id": copy_id, "found": found, **how})

    def edition(self, number: int) -> Step:
        """The registration of an edition of one dataset."""
        cited = {"kind": "ROCrate", "license": "CC-BY-4.0", "publisher_facility_code": "local"}
        of = {"dataset_ids": [self.datasets[number][0]], "creator_ids": [self.author]}
        return Step("register_edition", {"title": f"Scan {number}", **of, **cited})

    async def seal(self, number: int) -> None:
        """Seal an edition of one dataset, and withdraw every other one again."""
        edition_id = await self._try(self.edition(number))
        if edition_id is None:
            return
        await self._try(Step("seal_edition", {"edition_id": edition_id}))
        if next(self.numbers) % 2:
            withdrawn = {"edition_id": edition_id, "reason": "Wrong sample"}
            await self._try(Step("withdraw_edition", withdrawn))

    async def work(self, turn: int, dice: Random) -> None:
        """Make one attempt on the dataset whose turn it is."""
        number = turn // TURNS_AT_A_DATASET % len(self.datasets)
        known = self.copies[self.datasets[number][0]]
        what = dice.choices(("discard", "check", "copy", "seal"), (6, 1, 2, 1))[0]
        if what == "seal":
            await self.seal(number)
            return
        if what == "copy" or not known:
            added = await self._try(self.copy(number, dice.choice(self.supplies)))
            if added is not None:
                await self._try(self.check(number, added))
                known.append(added)
            return
        copy_id = dice.choice(known)
        if what == "check":
            await self._try(self.check(number, copy_id))
            return
        discard = Step("discard_distribution", {"distribution_id": copy_id, "reason": "Full"})
        if await self._try(discard) is not None and copy_id in known:
            known.remove(copy_id)

    async def _try(self, step: Step) -> str | None:
        """Make one attempt; return the id of what it made, if it was acknowledged."""
        attempt = await self.client.attempt(str(uuid4()), step)
        if attempt.end is not End.ACKNOWLEDGED or attempt.answered is None:
            return None
        return made(step, attempt.answered)


async def discard_at_once(storage: Storage, attempts: int, seconds: float) -> None:
    """Let all clients work at the same datasets at the same time."""
    loop = asyncio.get_running_loop()
    until, fewest = loop.time() + seconds, 40

    async def run(number: int) -> None:
        draw = dice(seed(), "custody", number)
        for turn in range(attempts // CLIENTS):
            if turn >= fewest and loop.time() > until:
                return
            await storage.work(turn, draw)

    async with asyncio.TaskGroup() as tasks:
        for number in range(CLIENTS):
            tasks.create_task(run(number))


async def below_their_rule(service: Service) -> list[CustodyOfDataset]:
    """The datasets that have fewer copies that count than their rule demands."""
    session = service.sessions()
    ids = [row.dataset_id for row in await session.rows(STANDINGS)]
    return [
        each
        for each in await custodies_of(ids, session)
        if each.dataset.status is not DatasetStatus.DISCARDED
        if each.short([copy for copy in each.copies if copy.is_present])
    ]


async def test_no_copy_that_is_needed_is_discarded_while_the_database_is_killed(report: Report):
    attempts, seconds = size("CUSTODY", 20_000, 40)
    resumed: list[float] = []
    async with fresh_ground() as ground:
        deployment = ground.deployment(custody_rules=RULES)
        service = await deployment.service()
        client = Client(service)
        storage, before = Storage(client), len(await read_log(ground.admin_url))
        await storage.furnish(DATASETS)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(discard_at_once(storage, attempts, seconds))
            kills = rounds("CUSTODY_KILLS", 10, 3, seconds)
            tasks.create_task(kill_often(ground, dice(seed(), "nemesis"), kills, resumed))
        below = await below_their_rule(service)
        log = await read_log(ground.admin_url)
        history = audit_history(log, client.history, before)
        await deployment.close()
    done = Counter(a.name for a in client.history if a.end is End.ACKNOWLEDGED)
    refused = Counter(a.refusal for a in client.history if a.end is End.REFUSED)
    report(
        "custody",
        {
            "kills": len(resumed),
            "attempts": len(client.history),
            **asdict(history),
            "discarded": done["discard_distribution"],
            "sealed": done["seal_edition"],
            "needed": refused["DistributionNeededByCustodyError"],
            "below_their_rule": len(below),
        },
    )
    assert done["discard_distribution"] > 0
    assert done["seal_edition"] > 0
    assert refused["DistributionNeededByCustodyError"] > 0
    assert not [a.refusal for a in client.history if a.end is End.LEAKED]
    assert history.lost == history.doubled == history.torn == history.written_though_refused == 0
    assert not below


async def test_the_custody_test_fails_without_the_lock(
    report: Report, monkeypatch: pytest.MonkeyPatch
):
    def lock_of_its_own(_: UUID) -> Lock:
        return Lock(f"nothing:{uuid4()}")

    monkeypatch.setattr(custody, "dataset_lock", lock_of_its_own)
    async with fresh_ground() as ground:
        deployment = ground.deployment(custody_rules=RULES)
        service = await deployment.service()
        storage = Storage(Client(service))
        await storage.furnish(40)
        below: list[CustodyOfDataset] = []
        tries = 0
        while not below and tries < MOST_TRIES:
            tries += 1
            await discard_at_once(storage, 40 * TURNS_AT_A_DATASET * CLIENTS, 60)
            below = await below_their_rule(service)
        await deployment.close()
    report("custody without the lock", {"tries": tries, "below_their_rule": len(below)})
    assert below
