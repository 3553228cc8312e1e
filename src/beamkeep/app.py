"""The composition root: settings in, a working service out."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID, uuid4

import asyncpg
import httpx2
import structlog
from uuid_utils.compat import uuid7

from beamkeep.adapters.channels.routed import control_systems
from beamkeep.adapters.compute.job_directory import ComputeKind
from beamkeep.adapters.compute.local_process import LocalProcessCompute
from beamkeep.adapters.compute.slurm import SlurmCompute
from beamkeep.adapters.control import control_system
from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_log import PostgresEventLog
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.fence import require_fit
from beamkeep.adapters.postgres.lease import PostgresLease
from beamkeep.adapters.postgres.listing import LISTING, PostgresLists
from beamkeep.adapters.postgres.log_notices import PostgresLogNotices
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.adapters.postgres.work import PostgresWorkQueue
from beamkeep.adapters.registered import registered_actions, registered_advisors
from beamkeep.adapters.tokens.providers import IdentityProviders
from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.installation import Installation
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.surface import surfaces
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.log import EventLog
from beamkeep.feed.reading import log_reader
from beamkeep.kernel import Catalogue, Record, Refusal, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Admission
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.dispatch import Dispatcher, OutsideStep
from beamkeep.runtime.entry_points import EntryPoints
from beamkeep.runtime.queries import QueryRunner
from beamkeep.runtime.sending import CommandSender
from beamkeep.runtime.session import SNAPSHOT_EVERY, Session
from beamkeep.runtime.store import EventStore, ReadModel
from beamkeep.runtime.tail import shards
from beamkeep.seeding import ANY_INSTALLATION, now, prepare
from beamkeep.settings import Settings
from beamkeep.streaming.event_schemas import event_schema_routes
from beamkeep.streaming.listening import CATCHING_UP, EventStreams
from beamkeep.surfaces.http.edge import Edge, EdgeOptions
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.pages import application, metrics_application
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.telemetry import Telemetry, tracer
from beamkeep.workers.compute import ComputeSystem
from beamkeep.workers.conductor import Conductor
from beamkeep.workers.effects import Effects
from beamkeep.workers.facts import ConductReader
from beamkeep.workers.housekeeping import Housekeeping, TailWatch, WorkWatch
from beamkeep.workers.observing import Observer
from beamkeep.workers.projector import Projector
from beamkeep.workers.refolding import SnapshotKeeper
from beamkeep.workers.reporting import Monitor
from beamkeep.workers.staleness import REF, StalenessWatch, WatchAge
from beamkeep.workers.supervision import Loop, Supervisor, every, while_held
from beamkeep.workers.walking import Walker

log: structlog.stdlib.BoundLogger = structlog.get_logger()

IDLE = {"idle_in_transaction_session_timeout": "5000"}


def compose(
    store: EventStore,
    lists: ReadModel,
    cursor_key: bytes,
    catalogue: Catalogue = CATALOGUE,
    installation: Installation = ANY_INSTALLATION,
    clock: Callable[[], datetime] = now,
    new_id: Callable[[], UUID] = uuid7,
    snapshot_every: int = SNAPSHOT_EVERY,
    outside: Mapping[type[Record], OutsideStep] | None = None,
    event_log: EventLog | None = None,
) -> Service:
    """Put the parts of a service together on a store."""
    codec = Codec(catalogue.aggregates.values())
    if event_log:
        reader = log_reader(
            event_log, catalogue, codec, cursor_key=cursor_key, base_url=installation.service_url
        )
        installation = replace(installation, events=reader)
    sessions = partial(
        Session,
        store=store,
        lists=lists,
        codec=codec,
        catalogue=catalogue,
        deployment=installation,
        clock=clock,
        snapshot_every=snapshot_every,
    )
    entry_points = EntryPoints(
        store=store,
        codec=codec,
        surfaces=surfaces,
        seeded=seeded.SURFACES,
        internal_conduit_id=seeded.INTERNAL,
    )
    admission = Admission(store=store, places=entry_points, clock=clock, new_id=new_id)
    dispatcher = Dispatcher(
        admission=admission,
        store=store,
        codec=codec,
        sessions=sessions,
        clock=clock,
        new_id=new_id,
        gets=catalogue.gets,
        outside=outside or {},
    )
    return Service(
        catalogue=catalogue,
        admission=admission,
        sessions=sessions,
        dispatcher=dispatcher,
        queries=QueryRunner(
            admission=admission,
            store=store,
            lists=lists,
            codec=codec,
            sessions=sessions,
            cursors=Cursors(cursor_key),
        ),
        sender=CommandSender(catalogue, dispatcher, new_id),
    )


class Deployment:
    """A service on its database, as its settings describe it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.telemetry = Telemetry(tracer(settings.otlp_endpoint))
        self.supervisor, self.wake = Supervisor(self.telemetry), asyncio.Event()
        url = settings.database_url.get_secret_value()
        timeouts = {"statement_timeout": "2000", "lock_timeout": "500"}
        self._commands = Connections(url, settings.database_connections, **IDLE, **timeouts)
        self.notices = PostgresLogNotices(url)
        self.store = PostgresEventStore(self._commands, url, self._appended)
        self._following = Connections(url, 1 + CATCHING_UP, **IDLE, **timeouts)
        self._listing = Connections(
            url, settings.database_connections, **IDLE, **timeouts, **LISTING
        )
        self.lists = PostgresLists(self._listing)
        projector_url = settings.projector_database_url or settings.database_url
        self._projector_url = projector_url.get_secret_value()
        self._projecting = Connections(self._projector_url, 4, **IDLE)
        self.projections = PostgresProjections(self._projecting)
        self.tail = PostgresTail(self._projecting)
        self.shards = shards(settings.projection_shards)
        remedy = "Check that `beamkeep work` runs."
        if settings.project_in_serve:
            remedy = "Look for errors in the log of this process."
        self.watch_age = WatchAge(partial(self.store.last_beat, REF), self.telemetry, remedy)

    async def service(self, works: bool = False) -> Service:
        """Return the service, after checking the database and writing what is missing in it.

        With `works`, or if this process keeps the lists, create the tables of the lists too.
        """
        settings, actions, advisors = self.settings, registered_actions(), registered_advisors()
        await require_fit(settings.database_url.get_secret_value())
        if works or settings.project_in_serve:
            await require_fit(self._projector_url)
            await self.projections.arrange(CATALOGUE.views, self.shards)
        key = await self.store.cursor_key()
        here = replace(
            settings.installation(key),
            actions=tuple(each.entry for each in actions.values()),
            advisors=frozenset(advisors),
        )
        written = await prepare(
            self.store,
            self.lists,
            settings.first_administrator(),
            not settings.require_authenticated_principal,
            installation=here,
        )
        if written:
            log.info("deployment prepared", written=written)
        event_log = PostgresEventLog(self._commands)
        return compose(self.store, self.lists, key, installation=here, event_log=event_log)

    def _appended(self) -> None:
        self.wake.set()
        self.notices.appended()

    def notice_loop(self) -> Loop:
        """Return the loop that tells other processes of new events."""
        return Loop("log notices", self.notices.turn, self.notices.close)

    async def streams(self, service: Service, providers: IdentityProviders) -> EventStreams:
        """Return what serves events as they happen, from the end of the log."""
        reader = log_reader(
            PostgresEventLog(self._following),
            CATALOGUE,
            Codec(CATALOGUE.aggregates.values()),
            cursor_key=await self.store.cursor_key(),
            base_url=self.settings.base_url,
        )
        follower = LogFollower(reader.log, reader.events)
        await follower.begin()
        self.notices.on_notice = follower.wake.set
        return EventStreams(
            service=service,
            store=self.store,
            reader=reader,
            follower=follower,
            verifier=providers,
            clock=now,
            most=self.settings.feed_listeners,
        )

    def projector(self, wanted: Sequence[int] | None = None) -> Loop:
        """Return the loop that keeps the lists, of these shards or of all."""
        codec = Codec(CATALOGUE.aggregates.values())
        projector = Projector(CATALOGUE.views, codec, self.tail, projections=self.projections)
        lease = PostgresLease(self._projector_url, "shard", wanted or self.shards)
        return Loop("projector", partial(projector.turn, lease), lease.close, wake=self.wake)

    def loops(self, service: Service, wanted: Sequence[int] | None = None) -> list[Loop]:
        """Return all loops that work beside the surfaces."""
        settings, telemetry, sessions = self.settings, self.telemetry, service.sessions
        monitor = Monitor(service.sender, uuid7)
        house = Housekeeping(
            self.projections.lag,
            self.store,
            telemetry,
            answer_hours=settings.idempotency_ttl_hours,
            denial_days=settings.denial_retention_days,
        )
        codec, queue = Codec(CATALOGUE.aggregates.values()), PostgresWorkQueue(self._commands)
        watch = StalenessWatch(monitor, sessions, partial(self.store.beat, REF))
        keeper = SnapshotKeeper(self.store, sessions, CATALOGUE, codec=codec)
        return [
            self.projector(wanted),
            every(5.0, "housekeeping", house.look),
            every(0.5, "tail watch", TailWatch(self.tail.blocked_by, telemetry).look),
            every(10.0, "staleness watch", watch.look),
            every(60.0, "snapshot keeper", keeper.look),
            every(5.0, "work watch", WorkWatch(queue, telemetry).look),
            *self._observers(monitor),
            *([self.conductor(service)] if settings.conduct_slots else []),
        ]

    def conductor(self, service: Service) -> Loop:
        """Return the loop that carries out conducts."""
        settings, telemetry, times = self.settings, self.telemetry, self.settings.conduct_times
        queue = PostgresWorkQueue(self._commands)
        control = control_systems(
            settings.control_routes,
            silence_seconds=settings.control_silence_seconds,
            connect_seconds=settings.control_connect_seconds,
            tango_nodb_host=settings.tango_nodb_host,
        )
        actions, advisors = registered_actions(), registered_advisors()
        reader = ConductReader(
            service=service,
            store=self.store,
            codec=Codec(CATALOGUE.aggregates.values()),
            routes=settings.control_routes,
            takeover_window=timedelta(seconds=times.takeover_window),
        )
        walker = Walker(
            service=service,
            reader=reader,
            queue=queue,
            effects=Effects(
                control,
                compute_system(settings),
                actions=actions,
                routes=settings.control_routes,
            ),
            advisors=advisors,
            telemetry=telemetry,
        )
        conductor = Conductor(
            queue=queue, owner=uuid4(), walk=walker.walk, times=times, telemetry=telemetry
        )
        return conductor.loop(control.close)

    def _observers(self, monitor: Monitor) -> list[Loop]:
        """Return the loop that follows the signals the settings name, if they name any."""
        settings = self.settings
        signals = [*settings.observed_enclosures, *settings.observed_supplies]
        if not signals:
            return []
        observer = Observer(
            monitor,
            control_system(settings.observer_silence_seconds),
            signals,
            repeat_seconds=settings.observer_repeat_seconds,
        )
        lease = PostgresLease(settings.database_url.get_secret_value(), "observer", [0])
        return [while_held(lease, "observers", observer.run)]

    async def ready(self) -> str | None:
        """Return what keeps the service from answering, in words; none when it can answer."""
        try:
            return await asyncio.wait_for(self.watch_age.late(), 1.0)
        except (TimeoutError, Refusal, asyncpg.PostgresError):
            return "The database does not answer."

    async def close(self) -> None:
        """Close every connection."""
        await self._commands.close()
        await self._listing.close()
        await self._following.close()
        await self._projecting.close()


class Web(NamedTuple):
    """The HTTP application, and that of the metrics where they have a port of their own."""

    application: Edge
    metrics: Edge | None


@asynccontextmanager
async def web(settings: Settings, routes: Sequence[HttpRoute] = ()) -> AsyncGenerator[Web]:
    """Run the service and yield its HTTP applications; `routes` are served besides its own."""
    deployment = Deployment(settings)
    async with httpx2.AsyncClient() as http, asyncio.TaskGroup() as tasks:
        service = await deployment.service()
        providers = verifier(settings, http)
        for outage in await providers.outages():
            log.warning("identity provider not usable", because=outage)
        options = edge_options(settings, providers)

        async def ready() -> str | None:
            # Anyone can read this, so it names neither the provider nor the address of its keys.
            nobody = "No identity provider can verify a token. Run `beamkeep check`."
            missing = await deployment.ready()
            return missing or (None if await providers.any_available() else nobody)

        streams = await deployment.streams(service, providers)
        loops = [
            every(5.0, "staleness watch age", deployment.watch_age.measure),
            Loop("follower", streams.follower.turn),
            deployment.notice_loop(),
        ]
        if settings.project_in_serve:
            loops += deployment.loops(service)
        tasks.create_task(deployment.supervisor.run(loops))
        metrics, apart = deployment.telemetry.exposition, settings.metrics_port is not None
        served = application(
            service,
            options,
            ready=ready,
            metrics=None if apart else metrics,
            mcp_origins=settings.mcp_allowed_origins,
            telemetry=deployment.telemetry,
            routes=[
                streams.route(),
                *event_schema_routes(CATALOGUE, options.resource_url),
                *routes,
            ],
        )
        yield Web(served, metrics_application(options, metrics) if apart else None)
        deployment.supervisor.stop()
    await deployment.close()


def compute_system(settings: Settings) -> ComputeSystem | None:
    """Return where compute jobs run, if the settings name any job."""
    directory, jobs = settings.compute_directory, settings.compute_jobs
    if directory is None:
        return None
    if settings.compute_system is ComputeKind.SLURM:
        return SlurmCompute(directory, jobs)
    return LocalProcessCompute(directory, jobs, settings.compute_at_once)


def verifier(settings: Settings, http: httpx2.AsyncClient) -> IdentityProviders:
    """Return the verifier of access tokens."""
    return IdentityProviders(
        settings.identity_providers,
        settings.default_introspection_issuer,
        http,
        clock=time.time,
        stopwatch=time.monotonic,
    )


def edge_options(settings: Settings, providers: IdentityProviders) -> EdgeOptions:
    """Return whom the settings let in."""
    limits = Limits(
        body_bytes=settings.body_bytes,
        deadline_seconds=settings.deadline_seconds,
        per_principal_rate=settings.per_principal_rate,
        per_principal_burst=settings.per_principal_burst,
        concurrent_per_principal=settings.concurrent_per_principal,
    )
    required = settings.require_authenticated_principal
    return EdgeOptions(
        verifier=providers,
        developer_id=None if required else DEVELOPER,
        limits=limits,
        resource_url=settings.base_url.rstrip("/"),
        authorization_servers=tuple(p.issuer for p in settings.identity_providers),
        allowed_hosts=settings.allowed_hosts,
        cors_origins=settings.cors_allowed_origins,
    )
