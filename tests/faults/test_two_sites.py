"""Two facilities exchange records while services, connections and deliveries are cut off."""

import asyncio
import json
import os
import subprocess
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from beamkeep.contexts.federation.signatures import SignaturePrefix, key_fingerprint
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.signing import key_check, public_key, signed
from beamkeep.testing.waiting import until
from beamkeep_client.http import ServiceError
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.tools import delivery
from tests.faults.conftest import Report
from tests.faults.report import asked, rounds
from tests.support.forging import (
    AUDIENCE,
    CHANGED,
    FORGED,
    GOOD,
    LOST,
    OLD,
    PUBLISHER,
    PURPOSE,
    Forger,
)
from tests.support.proxy import Proxy, Step
from tests.support.pseudo_terminal import BEAMKEEP
from tests.support.tampering import tampered, written
from tests.system.two_sites import FIRST_NUMBER, Site, partners

pytestmark = [pytest.mark.faults, pytest.mark.anyio]
STEPS: tuple[Step, ...] = ("nothing", "sending", "answering")
KINDS = ("delivery", "everything", *STEPS)
MARKER = b"/import"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Site, Site]]:
    with partners(tmp_path_factory.mktemp("cards")) as pair:
        yield pair


class Way:
    """One direction of an exchange: exports of one site, and a delivery to the other."""

    def __init__(self, publisher: Site, recipient: Site, outbox: Path, proxy: Proxy) -> None:
        self.publisher, self.recipient = publisher, recipient
        self.outbox, self.proxy = outbox, proxy
        self.url = f"http://127.0.0.1:{proxy.port}"
        self.artifacts: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.before = len(self.imports())
        outbox.mkdir()

    def deliver(self) -> None:
        """Start a delivery that follows the outbox, as a service manager starts it again."""
        words = "federation", "import", str(self.outbox), "--follow", "--permit"
        with (self.outbox / "log").open("ab") as lines:
            self.process = subprocess.Popen(
                [BEAMKEEP, *words, self.recipient.ids["Inbound"]],
                env={**os.environ, **self.recipient.environment, "BEAMKEEP_URL": self.url},
                stdout=lines,
                stderr=lines,
            )

    def kill(self) -> None:
        """End the delivery wherever it is."""
        if self.process:
            self.process.kill()
            self.process.wait(60)

    async def export(self, count: int) -> None:
        """Register datasets and write an envelope of each to the outbox."""
        await asyncio.to_thread(self._export, count)

    def _export(self, count: int) -> None:
        client = HttpClient(self.publisher.made.url, lambda: self.publisher.token)
        permit = UUID(self.publisher.ids["Outbound"])

        def registered(number: int) -> UUID:
            body, key = self.publisher.dataset_body(number), str(uuid4())
            made = delivery.patiently(
                lambda: client.request("POST", "/datasets", json=body, idempotency_key=key)
            )
            return UUID(made.json()["dataset_id"])

        try:
            for number in range(count):
                id = registered(number)
                delivery.write_envelope(self.outbox, delivery.export(client, permit, id))
                self.artifacts.append(str(id))
        finally:
            client.close()

    def waiting(self) -> list[Path]:
        return delivery.waiting([self.outbox])

    def imports(self) -> list[str]:
        """The artifacts in the ledger of the recipient, as often as they were imported."""
        rows = self.recipient.made.database.ask(
            "SELECT artifact_id::text FROM bk.federation_exchanges WHERE direction = 'Inbound'"
        )
        return [str(id) for (id,) in rows]

    def exports(self) -> int:
        found = self.publisher.made.database.ask(
            "SELECT count(*) FROM bk.federation_exchanges"
            " WHERE direction = 'Outbound' AND artifact_id::text = ANY(%s)",
            self.artifacts,
        )
        return int(str(found[0][0]))

    def figures(self) -> dict[str, int]:
        """What came of it, counted in the ledgers of both sites and in the outbox."""
        counts = Counter(self.imports())
        return {
            "exported": self.exports(),
            "imported": sum(counts[id] > 0 for id in self.artifacts),
            "lost": sum(counts[id] == 0 for id in self.artifacts),
            "duplicated": sum(counts[id] > 1 for id in self.artifacts),
            "refused_though_good": len([*(self.outbox / "refused").glob("*.json")]),
        }


@asynccontextmanager
async def ways(pair: tuple[Site, Site], folder: Path) -> AsyncGenerator[tuple[Way, Way]]:
    """Both directions of an exchange, each through a proxy."""
    made: list[Way] = []
    async with AsyncExitStack() as stack:
        for publisher, recipient in (pair, pair[::-1]):
            proxy = await stack.enter_async_context(Proxy.before(recipient.port))
            made.append(Way(publisher, recipient, folder / publisher.code, proxy))
            stack.callback(made[-1].kill)
        yield made[0], made[1]


async def delivered(*several: Way) -> None:
    """Wait until no outbox has an envelope."""

    def is_empty() -> bool:
        ended = [way for way in several if way.process and way.process.poll() is not None]
        assert not ended, [(way.outbox / "log").read_text() for way in ended]
        return not any(way.waiting() for way in several)

    await until(is_empty, "every envelope is delivered")


async def harass(
    both: tuple[Way, Way], faults: Iterable[int], batch: int, random: Random
) -> Counter[str]:
    """Kill services and deliveries, and cut connections, each in the middle of a batch."""
    done, kinds = Counter[str](), list[str]()
    for _ in faults:
        # Even a short run kills a service.
        kinds = kinds or [*random.sample(KINDS, len(KINDS)), "service"]
        kind, way = kinds.pop(), random.choice(both)
        goal = len(way.imports()) + 1
        exporting = [asyncio.create_task(each.export(batch)) for each in both]
        await until(lambda way=way, goal=goal: len(way.imports()) >= goal, "some are imported")
        match kind:
            case "service":
                way.recipient.kill()
                await asyncio.to_thread(way.recipient.start)
            case "delivery":
                way.kill()
                way.deliver()
            case "nothing" | "sending" | "answering":
                way.proxy.cut_at(MARKER, kind)
            case _:
                way.proxy.cut()
        done[kind] += 1
        await asyncio.gather(*exporting)
    return done


async def test_each_record_arrives_once_whatever_is_killed_or_cut(
    report: Report, pair: tuple[Site, Site], tmp_path: Path
):
    random = dice(seed(), "exchanges")
    batch = asked("EXCHANGED", 30) // asked("EXCHANGE_FAULTS", 6)
    async with ways(pair, tmp_path) as both:
        for way in both:
            way.deliver()
        done = await harass(both, rounds("EXCHANGE_FAULTS", 6, 3, 60), batch, random)
        # A cut that still waits for an envelope gets one.
        await asyncio.gather(*(way.export(batch) for way in both))
        await delivered(*both)
        figures = Counter[str]()
        for way in both:
            figures.update(way.figures())
        wanted, cuts = sum(len(way.artifacts) for way in both), sum(w.proxy.cuts for w in both)
    report("T35 exchanges", {**figures, "faults": dict(done), "cuts": cuts})
    assert figures["exported"] == figures["imported"] == wanted
    assert figures["lost"] == figures["duplicated"] == figures["refused_though_good"] == 0
    assert cuts > 0


def moving_first(client: HttpClient, permit_id: UUID, file: Path) -> None:
    """A careless delivery: it moves a file before the service has answered."""
    body = delivery.move(file, "delivered").read_bytes()
    path = f"/federation/permits/{permit_id}/import"
    client.request("POST", path, content=body, idempotency_key=str(uuid4()))


def forgetful(client: HttpClient, permit_id: UUID, file: Path) -> None:
    """A careless delivery: it has a new key each time, and takes any refusal for one."""
    body, path = file.read_bytes(), f"/federation/permits/{permit_id}/import"
    try:
        client.request("POST", path, content=body, idempotency_key=str(uuid4()))
    except ServiceError as error:
        if error.status is None:
            raise
        delivery.move(file, "refused")
    else:
        delivery.move(file, "delivered")


def careful(client: HttpClient, permit_id: UUID, file: Path) -> None:
    delivery.deliver(client, permit_id, file)


@pytest.mark.parametrize(
    ("deliver", "step", "key", "wrong"),
    [
        (moving_first, "nothing", "T35 moving first", "lost"),
        (forgetful, "answering", "T35 a new key each time", "refused_though_good"),
        (careful, "nothing", "T35 careful, unsent", None),
        (careful, "answering", "T35 careful, unanswered", None),
    ],
)
async def test_careless_deliveries_are_found_out(
    report: Report,
    pair: tuple[Site, Site],
    tmp_path: Path,
    deliver: Callable[[HttpClient, UUID, Path], None],
    step: Step,
    key: str,
    wrong: str | None,
):
    async with ways(pair, tmp_path) as (way, _):
        await way.export(3)
        client = HttpClient(way.url, way.recipient.token)
        way.proxy.cut_at(MARKER, step)
        while files := way.waiting():
            try:
                permit = UUID(way.recipient.ids["Inbound"])
                await asyncio.to_thread(deliver, client, permit, files[0])
            except ServiceError as error:
                if error.status is not None:
                    raise
        client.close()
        assert way.proxy.cuts == 1
        figures = way.figures()
    report(key, figures)
    faulty = {name for name in ("lost", "duplicated", "refused_though_good") if figures[name]}
    assert faulty == ({wrong} if wrong else set())


async def test_a_key_is_rotated_while_records_flow(
    report: Report, pair: tuple[Site, Site], tmp_path: Path
):
    count, (north, lake) = asked("ROTATED", 20), pair
    old, new = north.key("exchange"), north.key("exchange-2")
    async with ways(pair, tmp_path) as (way, _):
        way.deliver()

        async def flow(change: Callable[[], object]) -> None:
            """Change something in the middle of the traffic."""
            exporting = asyncio.create_task(way.export(count))
            goal = len(way.artifacts) + count // 2
            await until(lambda: len(way.artifacts) >= goal, "half of the records are exported")
            await asyncio.to_thread(change)
            await exporting

        def start() -> None:
            north.do(
                "start_credential_rotation",
                credential_id=north.ids["exchange"],
                new_public_key=public_key(new),
                new_secret_ref=new,
            )
            card = tmp_path / "card.json"
            card.write_text(north.beamkeep("federation", "card").stdout)
            added = lake.beamkeep("federation", "add-peer", str(card), "--yes")
            assert "rotation started" in added.stdout, added

        await flow(start)
        ours, theirs = ({"credential_id": id} for id in (north.ids["exchange"], lake.ids["theirs"]))
        await flow(lambda: north.do("complete_credential_rotation", **ours))
        # Nothing that the old key signed is under way any more.
        await delivered(way)
        await flow(lambda: lake.do("complete_credential_rotation", **theirs))
        await delivered(way)
        figures = way.figures()
        taken = await late_imports(way, old)
        anew = await late_imports(way, new)
    signers = Counter(
        str(key)
        for (key,) in lake.made.database.ask(
            "SELECT key_fingerprint FROM bk.federation_exchanges"
            " WHERE direction = 'Inbound' AND artifact_id::text = ANY(%s)",
            way.artifacts,
        )
    )
    by_key = {key: signers[key_fingerprint(public_key(key))] for key in (old, new)}
    told = {**figures, "signed_by": by_key, "taken_by_the_old_key": taken}
    report("T35 rotation", told)
    assert figures["lost"] == figures["duplicated"] == figures["refused_though_good"] == 0
    assert (figures["imported"], taken, anew) == (3 * count, 0, 10)
    assert min(by_key.values()) > 0


async def late_imports(way: Way, key: str) -> int:
    """How many of ten envelopes that a key signs now are imported."""
    sent = [await late_envelope(way, key) for _ in range(10)]
    return sum([await asyncio.to_thread(is_taken, way, each) for each in sent])


async def late_envelope(way: Way, key: str) -> dict[str, Any]:
    """An envelope of a new record that a key of the publisher signs now."""
    client = HttpClient(way.publisher.made.url, way.publisher.token)
    id = UUID(await asyncio.to_thread(way.publisher.dataset, 1))
    permit = UUID(way.publisher.ids["Outbound"])
    made = await asyncio.to_thread(delivery.export, client, permit, id)
    client.close()
    envelope = {**made["envelope"], "key_fingerprint": key_fingerprint(public_key(key))}
    return {"envelope": envelope, "signature": signed(key, SignaturePrefix.ARTIFACT, envelope)}


def is_taken(way: Way, sent: dict[str, Any]) -> bool:
    """Whether the recipient imports what a key signed."""
    try:
        way.recipient.do("import_artifact", permit_id=way.recipient.ids["Inbound"], **sent)
    except ServiceError as error:
        if error.code != "InvalidArtifactEnvelopeError":
            raise
        return False
    return True


async def test_no_forged_or_tampered_envelope_is_taken_by_a_live_service(
    report: Report, pair: tuple[Site, Site]
):
    lake, count, draw = pair[1], asked("FORGED", 200), dice(seed(), "forging")
    permit, found = await asyncio.to_thread(forgers_permit, lake), Counter[str]()
    forger = Forger(lake.code, lake.key("exchange"))
    headers = {"authorization": f"Bearer {lake.token}", "content-type": "application/json"}
    async with httpx2.AsyncClient(base_url=lake.made.url, headers=headers, timeout=60) as http:

        async def outcome(body: bytes) -> str:
            answer = await http.post(f"/federation/permits/{permit}/import", content=body)
            return "taken" if answer.is_success else answer.json()["code"]

        assert await outcome(written(forger.imported)) == "taken"
        wrong: list[tuple[str, str]] = []
        for name, (forge, code) in islice(cycle(FORGED.items()), count):
            told = await outcome(forge(forger))
            found[told] += 1
            wrong += [(name, told)] if told != code else []
        for _ in range(count):
            name, body = tampered(forger.imported, draw)
            told = await outcome(body)
            found[told] += 1
            wrong += [(name, told)] if told not in CHANGED[name] else []
        rows = lake.do("list_permit_exchanges", permit_id=permit)["items"]
        # The keys and the permit were good all the time.
        assert await outcome(written(forger.sent())) == "taken"
    report("T35 forged envelopes", {"refused": dict(found), "taken": len(rows) - 1})
    assert wrong == []
    assert len(rows) == 1
    assert found.total() == 2 * count


def forgers_permit(site: Site) -> str:
    """Return an inbound permit with a key in use that has replaced one, and a revoked key."""
    keys: list[str] = []
    for name, audience in ((OLD, "forging"), (LOST, "forging, lost")):
        keys.append(
            site.do(
                "register_credential",
                facility_id=site.ids["peer"],
                audience=audience,
                purpose=PURPOSE,
                public_key=public_key(name),
                key_check_signature=key_check(name, PUBLISHER, audience, PURPOSE),
            )["credential_id"]
        )
    permit = site.do(
        "define_permit",
        direction="Inbound",
        peer_facility_id=site.ids["peer"],
        audience=AUDIENCE,
        purpose=PURPOSE,
        allowed_credential_ids=keys,
        expires_at="2199-12-31T00:00:00Z",
    )["permit_id"]
    site.do("activate_permit", permit_id=permit)
    site.do(
        "start_credential_rotation",
        credential_id=keys[0],
        new_public_key=public_key(GOOD),
        new_key_check_signature=key_check(GOOD, PUBLISHER, "forging", PURPOSE),
    )
    site.do("complete_credential_rotation", credential_id=keys[0])
    site.do("revoke_credential", credential_id=keys[1], reason="Lost")
    return permit


async def test_a_new_seal_key_counts_once_it_is_checked_and_added(
    pair: tuple[Site, Site], tmp_path: Path
):
    north, lake = pair
    seal, card = tmp_path / "seal.json", tmp_path / "card.json"
    shown = north.rotated_seal("online-2")
    north.point(FIRST_NUMBER + 1)

    def at_lakeside(verb: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return lake.beamkeep("federation", verb, *map(str, words))

    async with ways(pair, tmp_path) as (way, _):
        await way.export(1)
        sending = way.outbox, "--permit", lake.ids["Inbound"]
        assert at_lakeside("import", *sending).returncode == delivery.SOME_REFUSED
        seal.write_text(json.dumps(shown))
        assert at_lakeside("check-rotation", seal).returncode == 0
        shown["last_rotation"]["sequence_number"] += 1
        seal.write_text(json.dumps(shown))
        assert at_lakeside("check-rotation", seal).returncode == 1
        card.write_text(north.beamkeep("federation", "card").stdout)
        assert "trust anchor added" in at_lakeside("add-peer", card, "--yes").stdout
        (refused,) = (way.outbox / "refused").glob("*.json")
        refused.replace(way.outbox / refused.name)
        assert at_lakeside("import", *sending).returncode == 0
        assert way.figures()["imported"] == 1
