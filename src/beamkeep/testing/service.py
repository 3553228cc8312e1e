"""A service in memory, with an administrator and machine accounts."""

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from beamkeep.adapters.files.data_roots import DataRoots
from beamkeep.adapters.memory.directory import MemoryDirectory
from beamkeep.adapters.memory.lineage import MemoryLineage
from beamkeep.adapters.memory.log import MemoryEventLog
from beamkeep.adapters.memory.observations import MemoryObservations
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.data.scan_file import ReadScanFile
from beamkeep.contexts.federation.facility import facility_by_code
from beamkeep.contexts.federation.signatures import SignMessage
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.bootstrap import Administrator
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.feed.directory.seam import Directory
from beamkeep.feed.log import EventLog
from beamkeep.kernel import Event, Operation, Question, SideWrite, SurfaceKind, replace
from beamkeep.parts.agents.evidence.reading import DecisionEvidenceReader
from beamkeep.parts.agents.evidence.replaying import Replay
from beamkeep.parts.agents.memory_records import MemoryAgentRecords
from beamkeep.parts.custody.memory import MemoryCustody
from beamkeep.parts.scans.ingesting import ScanStep
from beamkeep.parts.scans.reading import ScanReader
from beamkeep.parts.witness.memory import MemoryWitness
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.clock import now
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.evidence import RELEASE
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import EventStore, ReadModel

from .appends import on_record
from .data_root import data_root
from .installation import FACILITY_CODE, FACTS, ISSUER, READERS
from .signing import SIGNING

ADMIN = Administrator(ISSUER, "ada", "Ada")
ACCOUNT = "gate"
"""The subject of a machine account that is permitted everything."""
CALLERS: dict[str, str] = {
    "observe_enclosure_status": ACCOUNT,
    "observe_supply_status": ACCOUNT,
}
"""The subject of the machine account that calls an operation which no person may call."""


class AdminClient:
    """A client of a service in this process: the administrator wherever a person may call."""

    def __init__(self, service: Service, store: EventStore) -> None:
        self._service, self._store = service, store

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        answer = await call(self._service, name, arguments, **options)
        return json.loads(answer.body or b"null")

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Make a call as the machine account."""
        return await self(name, arguments, subject=ACCOUNT)

    async def put(self, part: Event | SideWrite, *, owned: bool = False) -> None:
        """Append the first event of a stream, or write a row next to the streams."""
        await self._store.append(on_record(part))

    async def facility(self, code: str) -> str:
        """Return the id of a facility."""
        return str((await facility_by_code(code, self._service.sessions())).id)


async def memory_service(
    facts: Facts = FACTS, clock: Callable[[], datetime] = now
) -> tuple[Service, MemoryStore]:
    """Return a service on the in-memory store, prepared as a fresh deployment is."""
    codec = Codec(CATALOGUE.aggregates.values())
    store = MemoryStore(codec)
    directory = MemoryDirectory(store, CATALOGUE.views, codec, site=FACILITY_CODE)

    def sessions() -> Session:
        return service.sessions()

    event_log = MemoryEventLog(store, directory)
    service = await prepared_service(
        store,
        store,
        b"k" * 32,
        event_log=event_log,
        directory=directory,
        facts=facts,
        readers=replace(
            READERS,
            lineage=MemoryLineage(store),
            custody=MemoryCustody(store, sessions),
            agent_records=MemoryAgentRecords(store),
            observations=MemoryObservations(store),
            witness=MemoryWitness(event_log),
        ),
        clock=clock,
    )
    return service, store


def with_evidence(
    readers: Readers,
    store: EventStore,
    sessions: Callable[[], Session],
    release: str = RELEASE,
) -> Readers:
    """Return the readers with the evidence of agents, which is read from a store."""
    replay, window = Replay(store, sessions, CATALOGUE, release=release), timedelta(minutes=60)
    evidence = DecisionEvidenceReader(store, CATALOGUE, replay, window=window)
    return replace(readers, evidence=evidence)


async def prepared_service(
    store: EventStore,
    lists: ReadModel,
    cursor_key: bytes,
    event_log: EventLog | None = None,
    directory: Directory | None = None,
    facts: Facts = FACTS,
    readers: Readers = READERS,
    clock: Callable[[], datetime] = now,
) -> Service:
    """Return a service prepared as a fresh deployment is, with its machine accounts."""
    facts = replace(facts, login_key=cursor_key)

    def sessions() -> Session:
        return service.sessions()

    prepared = await prepare(store, lists, ADMIN, open_for_development=False, facts=facts)
    roots = DataRoots([data_root()], owned=[Path(each) for each in facts.data_places.owners])
    reader = ScanReader(roots, 5, most_hashed=1 << 30)
    service = compose(
        store,
        lists,
        cursor_key,
        facts=facts,
        readers=with_evidence(readers, store, sessions),
        event_log=event_log,
        directory=directory,
        clock=clock,
        outside={ReadScanFile: ScanStep(reader, store), SignMessage: SIGNING},
    )
    if prepared:
        await let_callers_in(AdminClient(service, store), ISSUER)
    return service


def by(subject: str, transport: SurfaceKind | None = SurfaceKind.HTTP, **more: Any) -> Caller:
    """Return a caller whose token names this subject."""
    return Caller(uuid4(), identity=(ISSUER, subject), transport=transport, **more)


async def call(
    service: Service,
    name: str,
    arguments: Mapping[str, Any],
    subject: str | None = None,
    **more: Any,
) -> Any:
    """Call one operation or question as a surface would, by default as the administrator."""
    row = service.catalogue.named[name]
    request = Request(by(subject or CALLERS.get(name, "ada")), arguments, **more)
    match row:
        case Operation():
            return await service.dispatcher.execute(row, request)
        case Question():
            return await service.queries.ask(row, request)


async def let_callers_in(do: Callable[..., Awaitable[Any]], issuer: str) -> None:
    """Register the machine accounts, permitted everything on the seeded surfaces."""
    for name in sorted({*CALLERS.values()}):
        login = {"issuer": issuer, "subject": name}
        account = {"name": name, "kind": "service_account", "identities": [login]}
        made = await do("register_actor", account)
        for surface_id in seeded.SURFACES.values():
            await do("define_policy", policy(name, surface_id, made["actor_id"], "*"))


async def enrol(
    service: Service, subject: str, *commands: str, scope: str = "All", issuer: str = ISSUER
) -> UUID:
    """Register a person with this login, permitted these commands on the HTTP surface."""
    login = {"issuer": issuer, "subject": subject}
    made = await call(service, "register_actor", {"name": subject, "identities": [login]})
    if commands:
        await permit(service, made.id, *commands, scope=scope)
    return made.id


async def permit(
    service: Service,
    principal_id: UUID,
    *commands: str,
    scope: str = "All",
    on: SurfaceKind = SurfaceKind.HTTP,
) -> UUID:
    """Define a policy on a seeded surface for one principal."""
    allowed = policy("Test", seeded.SURFACES[on], principal_id, *commands, scope=scope)
    made = await call(service, "define_policy", allowed)
    return made.id


def policy(
    name: str, surface_id: UUID | str, principal_id: UUID | str, *commands: str, scope: str = "All"
) -> dict[str, Any]:
    """Return the arguments of `define_policy` for one principal on one surface."""
    return {
        "name": name,
        "conduit_id": str(seeded.ENTRY),
        "surface_id": str(surface_id),
        "permitted_principal_ids": [str(principal_id)],
        "permitted_commands": list(commands),
        "object_scope": scope,
    }
