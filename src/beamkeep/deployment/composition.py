"""The composition: settings in, a working service out."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import asyncpg
import structlog
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.directory import SEARCHING, PostgresDirectory
from beamkeep.adapters.postgres.event_log import PostgresEventLog
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.fence import require_fit
from beamkeep.adapters.postgres.heartbeats import PostgresHeartbeats
from beamkeep.adapters.postgres.lease import PostgresLease
from beamkeep.adapters.postgres.lineage import PostgresLineage
from beamkeep.adapters.postgres.listing import LISTING, PostgresLists
from beamkeep.adapters.postgres.log_notices import PostgresLogNotices
from beamkeep.adapters.postgres.observations import PostgresObservations
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.adapters.postgres.work import PostgresWorkQueue
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.installation import Readers
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.hints import RowTables
from beamkeep.feed.reading import log_reader
from beamkeep.feed.tail import shards
from beamkeep.kernel import Record, Refusal
from beamkeep.parts.wiring import IDLE, Core, Grounds
from beamkeep.runtime import Service
from beamkeep.runtime.clock import now
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.dispatch import OutsideStep
from beamkeep.runtime.evidence import RELEASE
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import Append
from beamkeep.surfaces.http.listening import CATCHING_UP
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.telemetry import Telemetry, tracer
from beamkeep.workers.heartbeats import HeartbeatWriter, WorkerWatch
from beamkeep.workers.housekeeping import Housekeeping, ListWatch, TailWatch, WorkWatch
from beamkeep.workers.projector import Projector
from beamkeep.workers.refolding import SnapshotKeeper
from beamkeep.workers.reporting import Monitor
from beamkeep.workers.staleness import REF, StalenessWatch, WatchAge
from beamkeep.workers.supervision import Loop, Supervisor, every
from beamkeep.workers.team_marks import TeamMarks

from .parts import wirings
from .seeding import NO_READERS, prepare
from .service import compose
from .settings import ServerSettings, core_facts, facts_of

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Deployment:
    """A service on its database, as its settings describe it, with its parts."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.telemetry = Telemetry(tracer(settings.otlp_endpoint))
        self.telemetry.show_version(RELEASE)
        self.supervisor, self.wake = Supervisor(self.telemetry), asyncio.Event()
        self._codec, self._row_tables = Codec(CATALOGUE.aggregates.values()), RowTables(CATALOGUE)
        url, most = settings.database_url.get_secret_value(), settings.database_connections
        timeouts = {"statement_timeout": "2000", "lock_timeout": "500"}
        commands = Connections(url, most, **IDLE, **timeouts)
        following = Connections(url, 1 + CATCHING_UP, **IDLE, **timeouts)
        listing = Connections(url, most, **IDLE, **timeouts, **LISTING)
        self._searching = Connections(url, most, **IDLE, **(timeouts | SEARCHING))
        projector_url = settings.projector_database_url or settings.database_url
        self._projector_url = projector_url.get_secret_value()
        projecting = Connections(self._projector_url, 4, **IDLE)
        self.projections = PostgresProjections(projecting, settings.self_facility_code)
        self.store = PostgresEventStore(commands, url, self._appended)
        self.tail = PostgresTail(projecting)
        self.notices, self.lists = PostgresLogNotices(url), PostgresLists(listing)
        self.grounds = Grounds(
            url=url,
            store=self.store,
            lists=self.lists,
            codec=self._codec,
            tail=self.tail,
            queue=PostgresWorkQueue(commands, self._recorded),
            notices=self.notices,
            telemetry=self.telemetry,
            commands=commands,
            following=following,
            sessions=self._sessions,
        )
        pools = commands, listing, self._searching, following, projecting
        self._closing: list[Callable[[], Awaitable[None]]] = [each.close for each in pools]
        self._outside: dict[type[Record], OutsideStep] = {}
        self.shards = shards(settings.projection_shards)
        remedy = "Check that `beamkeep work` runs."
        if settings.project_in_serve:
            remedy = "Look for errors in the log of this process."
        self.watch_age = WatchAge(partial(self.store.last_beat, REF), self.telemetry, remedy)
        self._heartbeats = PostgresHeartbeats(commands, REF)
        self.worker_watch = WorkerWatch(self._heartbeats, self.telemetry, remedy)
        self.list_watch = ListWatch(PostgresProjections(commands).lag, self.telemetry)

    async def service(self, works: bool = False) -> Service:
        """Return the service, after checking the database and writing what is missing in it.

        With `works`, or if this process keeps the lists, create the tables of the lists too.
        """
        settings, grounds = self.settings, self.grounds
        await require_fit(grounds.url)
        if works or settings.project_in_serve:
            await require_fit(self._projector_url)
            await self.projections.arrange(CATALOGUE.views, self.shards)
        key = await self.store.cursor_key()
        facts = facts_of(settings, key)
        readers = Readers(
            lineage=PostgresLineage(grounds.commands),
            observations=PostgresObservations(grounds.commands),
        )
        for wiring in wirings():
            if wiring.readers:
                readers = wiring.readers(grounds, settings, readers)
            if wiring.outside:
                self._outside.update(wiring.outside(grounds, settings))
        written = await prepare(
            self.store,
            self.lists,
            settings.first_administrator(),
            not settings.require_authenticated_principal,
            facts=facts,
            seeds_of=[partial(each.seeds, settings) for each in wirings() if each.seeds],
        )
        if written:
            log.info("deployment prepared", written=written)
        self._composed = compose(
            self.store,
            self.lists,
            key,
            facts=facts,
            readers=readers,
            event_log=PostgresEventLog(grounds.commands),
            directory=PostgresDirectory(self._searching),
            access_contact=settings.access_contact,
            codec=self._codec,
            outside=self._outside,
            is_stale=self.list_watch.is_stale,
        )
        # The log is read with connections apart from those of commands.
        self.reader = log_reader(
            PostgresEventLog(grounds.following),
            CATALOGUE,
            self._codec,
            cursor_key=key,
            base_url=settings.base_url,
            directory=PostgresDirectory(grounds.following),
        )
        self.follower = LogFollower(self.reader.log, self.reader.events)
        return self._composed

    def core(self, service: Service) -> Core:
        """Return what the loops and the routes of parts are given."""
        return Core.of(
            self.grounds,
            service=service,
            reader=self.reader,
            follower=self.follower,
            outside=self._outside,
            closing=self._closing,
        )

    async def reading(self) -> Session:
        """Return a session that reads the database without preparing it."""
        return Session(
            store=self.store,
            lists=self.lists,
            codec=self._codec,
            catalogue=CATALOGUE,
            facts=core_facts(self.settings, await self.store.cursor_key()),
            readers=NO_READERS,
            clock=now,
        )

    async def follow(self) -> Loop:
        """Begin to follow the log at its end, and return the loop that does."""
        await self.follower.begin()
        self.notices.on_notice.append(self.follower.wake.set)
        self.notices.on_rows.append(self.follower.rows.heard)
        return Loop("follower", self.follower.turn)

    def notice_loop(self) -> Loop:
        """Return the loop that tells other processes of new events."""
        return Loop("log notices", self.notices.turn, self.notices.close)

    def projector(self, wanted: Sequence[int] | None = None) -> Loop:
        """Return the loop that keeps the lists, of these shards or of all."""
        projector = Projector(CATALOGUE.views, self._codec, self.tail, projections=self.projections)
        lease = PostgresLease(self._projector_url, "shard", wanted or self.shards)
        return Loop("projector", partial(projector.turn, lease), lease.close, wake=self.wake)

    def loops(self, service: Service, wanted: Sequence[int] | None = None) -> list[Loop]:
        """Return all loops that work next to the surfaces, and the one that says they run."""
        core, parts = self.core(service), [each.loops for each in wirings() if each.loops]
        loops = self._own_loops(service, wanted)
        loops += [loop for loops_of in parts for loop in loops_of(core, self.settings)]
        names = [each.name for each in loops]
        return [*loops, HeartbeatWriter(self._heartbeats, self.supervisor.overdue, names).loop()]

    def _own_loops(self, service: Service, wanted: Sequence[int] | None) -> list[Loop]:
        settings, telemetry, sessions = self.settings, self.telemetry, service.sessions
        house = Housekeeping(
            self.projections.lag,
            self.store,
            telemetry,
            answer_hours=settings.idempotency_ttl_hours,
            denial_days=settings.denial_retention_days,
            delivery_days=settings.delivery_ttl_days,
            evidence_minutes=settings.evidence_window_minutes,
        )
        monitor = Monitor(service.sender, uuid7)
        watch = StalenessWatch(monitor, sessions, partial(self.store.beat, REF))
        keeper = SnapshotKeeper(self.store, sessions, CATALOGUE, codec=self._codec)
        marks = TeamMarks(self.tail, self.projections, self._codec, views=CATALOGUE.views)
        return [
            self.projector(wanted),
            Loop("team marks", marks.turn),
            every(5.0, "housekeeping", house.look),
            every(0.5, "tail watch", TailWatch(self.tail.blocked_by, telemetry).look),
            every(10.0, "staleness watch", watch.look),
            every(60.0, "snapshot keeper", keeper.look),
            every(5.0, "work watch", WorkWatch(self.grounds.queue, telemetry).look),
        ]

    def routes(self, service: Service) -> list[HttpRoute]:
        """Return the routes of the parts."""
        core, parts = self.core(service), [each.routes for each in wirings() if each.routes]
        return [route for routes in parts for route in routes(core, self.settings)]

    async def ready(self) -> str | None:
        """Return what keeps the service from answering, in words; none when it can answer."""
        try:
            return await asyncio.wait_for(self.watch_age.late(), 1.0)
        except (TimeoutError, Refusal, asyncpg.PostgresError):
            return "The database does not answer."

    async def close(self) -> None:
        """Close every connection."""
        for close in self._closing:
            await close()

    def _sessions(self) -> Session:
        return self._composed.sessions()

    def _appended(self, append: Append) -> None:
        self.wake.set()
        self.notices.appended(self._row_tables.hints(append))

    def _recorded(self, table: str, rows: Sequence[object]) -> None:
        self.notices.appended(self._row_tables.hints_of(table, rows, now()))
