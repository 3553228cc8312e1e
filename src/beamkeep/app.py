"""The composition root: settings in, a working service out."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from math import inf
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import httpx2
import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer
from starlette.types import ASGIApp
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.connections import CONNECTION_ERRORS, Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.fence import require_fit
from beamkeep.adapters.postgres.lease import Lease
from beamkeep.adapters.postgres.listing import LISTING, PostgresLists
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.adapters.tokens.providers import IdentityProviders
from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.bootstrap import Administrator
from beamkeep.contexts.trust.surface import surfaces
from beamkeep.kernel import Catalogue, Installation, Record, Refusal, SurfaceKind, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Admission
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.dispatch import Dispatcher, OutsideStep
from beamkeep.runtime.entry_points import EntryPoints
from beamkeep.runtime.queries import QueryRunner
from beamkeep.runtime.sending import CommandSender
from beamkeep.runtime.session import SNAPSHOT_EVERY, Session
from beamkeep.runtime.store import EventStore, ReadModel, StoreUnavailableError
from beamkeep.runtime.tail import shards
from beamkeep.seeding import ANY_INSTALLATION, now, prepare
from beamkeep.settings import Settings
from beamkeep.surfaces.edge import Edge
from beamkeep.surfaces.limits import Limits
from beamkeep.surfaces.mcp import http_app
from beamkeep.surfaces.rest import application, metrics_application
from beamkeep.telemetry import Telemetry
from beamkeep.workers.observing import Observer
from beamkeep.workers.projector import Projector
from beamkeep.workers.refolding import SnapshotKeeper
from beamkeep.workers.reporting import Monitor
from beamkeep.workers.signals import SignalSource
from beamkeep.workers.staleness import REF, StalenessWatch

log: structlog.stdlib.BoundLogger = structlog.get_logger()

IDLE = {"idle_in_transaction_session_timeout": "5000"}
RETRY_SECONDS = 1.0
BLOCKED_AFTER = 0.5
HOUSEKEEPING_EVERY, LOOK_EVERY, LEASE_EVERY, TAIL_EVERY = 5.0, 10.0, 2.0, 0.5
REFOLD_EVERY = 60.0
WATCH_LATE_AFTER = 60.0
"""Six looks missed: the staleness watch has not merely been slow once."""


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
) -> Service:
    """Put the parts together on whatever keeps the events."""
    codec = Codec(catalogue.aggregates.values())
    about = catalogue, installation, clock, snapshot_every
    sessions = partial(Session, store, lists, codec, *about)
    places = EntryPoints(store, codec, surfaces, seeded.SURFACES, seeded.INTERNAL)
    admission = Admission(store, places, clock, new_id)
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
        queries=QueryRunner(admission, store, lists, codec, sessions, Cursors(cursor_key)),
        sender=CommandSender(catalogue, dispatcher, new_id),
    )


class Deployment:
    """A service on its database, as its settings describe it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.telemetry = Telemetry(tracer(settings.otlp_endpoint))
        self.wake, self.stop = asyncio.Event(), asyncio.Event()
        url = settings.database_url.get_secret_value()
        timeouts = {"statement_timeout": "2000", "lock_timeout": "500"}
        self._commands = Connections(url, settings.database_connections, **IDLE, **timeouts)
        self.store = PostgresEventStore(self._commands, url, self.wake.set)
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
        self._holders: set[int] = set()

    async def service(self, works: bool = False) -> Service:
        """The service, on a database found fit and with everything a fresh one begins with.

        Whoever works has lists to look at from the start.
        """
        settings = self.settings
        await require_fit(settings.database_url.get_secret_value())
        if works or settings.project_in_serve:
            await require_fit(self._projector_url)
            await self.projections.arrange(CATALOGUE.views, self.shards)
        key = await self.store.cursor_key()
        here = replace(installation(settings), login_key=key)
        sown = await prepare(
            self.store,
            self.lists,
            first_administrator(settings),
            not settings.require_authenticated_principal,
            installation=here,
        )
        if sown:
            log.info("deployment prepared", sown=sown)
        return compose(self.store, self.lists, key, installation=here)

    async def project(self, wanted: Sequence[int] | None = None) -> None:
        """Keep the lists, until told to stop."""
        while not await self._arranged():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), RETRY_SECONDS)
            if self.stop.is_set():
                return
        codec = Codec(CATALOGUE.aggregates.values())
        projector = Projector(CATALOGUE.views, codec, self.tail, projections=self.projections)
        lease = Lease(self._projector_url, "shard", wanted or self.shards)
        try:
            await projector.run(lease, self.wake, self.stop)
        finally:
            await lease.close()

    async def _arranged(self) -> bool:
        """Whether the lists have their tables; a database that went away may come back."""
        try:
            await self.projections.arrange(CATALOGUE.views, self.shards)
        except CONNECTION_ERRORS:
            log.warning("lists not arranged: the database went away")
            return False
        return True

    def work(
        self, service: Service, wanted: Sequence[int] | None = None
    ) -> list[Coroutine[Any, Any, None]]:
        """All that is done beside answering calls, each piece until told to stop."""
        monitor = Monitor(service, uuid7)
        watch = StalenessWatch(monitor, service.sessions, partial(self.store.beat, REF))
        codec = Codec(CATALOGUE.aggregates.values())
        keeper = SnapshotKeeper(self.store, service.sessions, CATALOGUE, codec)
        return [
            self.project(wanted),
            self._regularly(HOUSEKEEPING_EVERY, self.keep_house),
            self._regularly(TAIL_EVERY, self.watch_tail),
            self._regularly(LOOK_EVERY, watch.look),
            self._regularly(REFOLD_EVERY, keeper.look),
            self.observe(monitor),
        ]

    async def keep_house(self) -> None:
        """Measure the lists' lag, drop old answers and old denials."""
        for name, seconds in (await self.projections.lag()).items():
            self.telemetry.projection_lag.labels(name).set(seconds)
        await self.store.forget_answers(self.settings.idempotency_ttl_hours)
        await self.store.forget_denials(self.settings.denial_retention_days)

    async def watch_tail(self) -> None:
        """Show which processes hold the lists back, and name each in the log when it begins to."""
        found = await self.tail.blocked_by(BLOCKED_AFTER)
        # Only now: whoever reads the metrics while the database is asked must not find it empty.
        self.telemetry.projection_blocked_by.clear()
        for pid, database, age in found:
            self.telemetry.projection_blocked_by.labels(str(pid), database).set(age)
            if pid not in self._holders:
                log.warning("lists held back", pid=pid, database=database, seconds=round(age, 1))
        self._holders = {pid for pid, _, _ in found}

    async def observe(self, monitor: Monitor) -> None:
        """Follow the signals the settings name, while no other worker does, until told to stop."""
        settings = self.settings
        signals = [*settings.observed_enclosures, *settings.observed_supplies]
        if not signals:
            return
        source = control_system(settings)
        observed = [signal.observed() for signal in signals]
        lease = Lease(settings.database_url.get_secret_value(), "observer", [0])
        following: asyncio.Task[None] | None = None

        async def follow_if_held() -> None:
            nonlocal following
            held = False
            try:
                held = bool(await lease())
            finally:
                # Whoever does not know that it holds the lease does not follow.
                if following and not held:
                    following.cancel()
                    following = None
            if held and (following is None or following.done()):
                observer = Observer(monitor, source, observed, settings.observer_repeat_seconds)
                following = asyncio.create_task(observer.run())

        try:
            await self._regularly(LEASE_EVERY, follow_if_held)
        finally:
            if following:
                following.cancel()
                await asyncio.wait([following])
            await lease.close()

    async def _regularly(self, seconds: float, work: Callable[[], Awaitable[object]]) -> None:
        """Do a piece of work again and again until told to stop, whether or not it succeeds."""
        while not self.stop.is_set():
            try:
                await work()
            except StoreUnavailableError as unavailable:
                log.warning("regular work put off", work=work.__name__, because=str(unavailable))
            except Exception:
                log.exception("regular work failed", work=work.__name__)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), seconds)

    async def ready(self) -> str | None:
        """What keeps the service from answering, in words; nothing when nothing does."""
        try:
            age, needed = await asyncio.wait_for(self.measure_watch(), 1.0)
        except (TimeoutError, Refusal, asyncpg.PostgresError):
            return "The database does not answer."
        # A look in the future was recorded before the clock was put back: its age is not known.
        if not needed or (age is not None and abs(age) <= WATCH_LATE_AFTER):
            return None
        since = "never looked" if age is None else f"last looked {abs(age):.0f} seconds ago"
        remedy = "Check that `beamkeep work` runs."
        if self.settings.project_in_serve:
            remedy = "Look for errors in the log of this process."
        return (
            f"The staleness watch {since}; enclosures that fall silent stay as they are. {remedy}"
        )

    async def measure_watch(self) -> tuple[float | None, bool]:
        """The age of the staleness watch's last look, and whether any enclosure relies on it."""
        age, needed = await self.store.last_beat(REF)
        seconds = None if age is None else age.total_seconds()
        self.telemetry.watched(inf if seconds is None else seconds)
        return seconds, needed

    async def follow_watch(self) -> None:
        """Keep the metric of the staleness watch, whichever process it runs in."""
        await self._regularly(HOUSEKEEPING_EVERY, self.measure_watch)

    async def close(self) -> None:
        """Close every connection."""
        await self._commands.close()
        await self._listing.close()
        await self._projecting.close()


def control_system(settings: Settings) -> SignalSource:
    """Whatever tells of the signals the settings name."""
    try:
        from beamkeep.adapters.epics import EpicsSignals  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError(
            "OBSERVED_ENCLOSURES or OBSERVED_SUPPLIES names signals. Install beamkeep[epics]."
        ) from None
    return EpicsSignals(silence_seconds=settings.observer_silence_seconds)


class MissingExtraError(Exception):
    """The settings ask for something that is not installed."""


def installation(settings: Settings) -> Installation:
    """What rules and reads may know of the deployment."""
    page = settings.asset_landing_page_template or "{base_url}/assets/{asset_id}"
    return Installation(
        settings.self_facility_code,
        page.replace("{base_url}", settings.base_url),
        settings.require_run_clearance,
        settings.store_inference_messages,
        timedelta(seconds=settings.enclosure_stale_after_seconds),
        frozenset(provider.issuer for provider in settings.identity_providers),
        not settings.require_authenticated_principal,
    )


def first_administrator(settings: Settings) -> Administrator | None:
    """The administrator the settings name, if they do."""
    issuer, subject, name = (
        settings.bootstrap_admin_issuer,
        settings.bootstrap_admin_subject,
        settings.bootstrap_admin_name,
    )
    return Administrator(issuer, subject, name) if issuer and subject and name else None


def tracer(endpoint: str | None) -> Tracer | None:
    """A tracer that exports to the endpoint, if there is one."""
    if endpoint is None:
        return None
    provider = TracerProvider(resource=Resource.create({"service.name": "beamkeep"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider.get_tracer("beamkeep")


class Web(NamedTuple):
    """What a service answers over HTTP, and its metrics where they have an address of their own."""

    application: ASGIApp
    metrics: ASGIApp | None


@asynccontextmanager
async def web(settings: Settings) -> AsyncGenerator[Web]:
    """Everything the service answers over HTTP, with its workers if it has any."""
    deployment = Deployment(settings)
    async with httpx2.AsyncClient() as http, asyncio.TaskGroup() as tasks:
        service = await deployment.service()
        providers = verifier(settings, http)
        for outage in await providers.outages():
            log.warning("identity provider not usable", because=outage)
        edge = _edge(settings, providers)

        async def ready() -> str | None:
            # Which provider, and where its keys were looked for, is not for everybody.
            nobody = "No identity provider can vouch for a token. Run `beamkeep check`."
            missing = await deployment.ready()
            return missing or (None if await providers.any_available() else nobody)

        mcp = http_app(
            service,
            edge.identify,
            allowed_hosts=list(edge.hosts.allowed),
            allowed_origins=list(settings.mcp_allowed_origins),
            on_refusal=lambda refusal, _: edge.refused(refusal, SurfaceKind.MCP_STREAMABLE_HTTP),
            in_flight=edge.in_flight,
            limits=edge.limits,
            telemetry=deployment.telemetry,
        )
        tasks.create_task(deployment.follow_watch())
        if settings.project_in_serve:
            for work in deployment.work(service):
                tasks.create_task(work)
        metrics, apart = deployment.telemetry.exposition, settings.metrics_port is not None
        served = application(
            service,
            edge,
            ready=ready,
            metrics=None if apart else metrics,
            mcp=mcp,
            telemetry=deployment.telemetry,
        )
        yield Web(served, metrics_application(edge, metrics) if apart else None)
        deployment.stop.set()
    await deployment.close()


def verifier(settings: Settings, http: httpx2.AsyncClient) -> IdentityProviders:
    """Whoever checks the tokens."""
    return IdentityProviders(
        settings.identity_providers,
        settings.default_introspection_issuer,
        http,
        time.time,
        time.monotonic,
    )


def _edge(settings: Settings, providers: IdentityProviders) -> Edge:
    limits = Limits(
        body_bytes=settings.body_bytes,
        deadline_seconds=settings.deadline_seconds,
        per_principal_rate=settings.per_principal_rate,
        per_principal_burst=settings.per_principal_burst,
        concurrent_per_principal=settings.concurrent_per_principal,
    )
    required = settings.require_authenticated_principal
    return Edge(
        providers,
        None if required else DEVELOPER,
        limits,
        settings.base_url,
        authorization_servers=[provider.issuer for provider in settings.identity_providers],
        allowed_hosts=settings.allowed_hosts,
    )
