"""The composition root: settings in, a working service out."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

import asyncpg
import httpx2
import structlog
from pydantic import SecretStr
from uuid_utils.compat import uuid7

from beamkeep.adapters.extras import MissingExtraError
from beamkeep.adapters.files.data_roots import DataRoots
from beamkeep.adapters.postgres.connections import Connections, OneConnection
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
from beamkeep.adapters.tokens.providers import IdentityProviders
from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.agent.actions import counted, explained
from beamkeep.contexts.data.check import CHECKING
from beamkeep.contexts.data.external_id import MINTING
from beamkeep.contexts.data.scan_file import ReadScanFile
from beamkeep.contexts.decision.logbook import MIRRORING
from beamkeep.contexts.federation.facility import facility_by_code
from beamkeep.contexts.federation.signatures import SignMessage
from beamkeep.contexts.feed.subscription import DELIVERING, MOST
from beamkeep.contexts.proposal.proposal import APPROVING, REGISTERING
from beamkeep.contexts.seams.installation import Installation
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.surface import surfaces
from beamkeep.deployment.seeding import ANY_INSTALLATION, prepare
from beamkeep.deployment.settings import Settings
from beamkeep.feed.directory.reading import DirectoryReader
from beamkeep.feed.directory.seam import Directory
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.hints import RowTables
from beamkeep.feed.log import EventLog
from beamkeep.feed.reading import LogReader, log_reader
from beamkeep.kernel import Catalogue, Record, Refusal, replace
from beamkeep.parts.agents.agent_writing import AgentWriter
from beamkeep.parts.agents.caution_drafter import CAUTION_DRAFTER
from beamkeep.parts.agents.caution_promoter import PromotionRules
from beamkeep.parts.agents.desk import ServiceDesk
from beamkeep.parts.agents.evidence.reading import DecisionEvidenceReader
from beamkeep.parts.agents.evidence.replaying import Replay
from beamkeep.parts.agents.histories import Histories
from beamkeep.parts.agents.language_models import language_model
from beamkeep.parts.agents.model_agent import ModelAgentRuntime, ModelReaction
from beamkeep.parts.agents.model_agents import ModelAgentLoops, model_reaction
from beamkeep.parts.agents.models.budget import BudgetedModels, Prices
from beamkeep.parts.agents.postgres_log import PostgresAgentLog
from beamkeep.parts.agents.postgres_model_calls import PostgresModelCalls
from beamkeep.parts.agents.postgres_records import PostgresAgentRecords
from beamkeep.parts.agents.reactions import EventLoop, EventReaction, Reactions, TickLoop
from beamkeep.parts.agents.run_debriefer import RUN_DEBRIEFER
from beamkeep.parts.agents.run_supervisor import SupervisionRules
from beamkeep.parts.agents.seeded_agents import caution_promotion, clearance_expiry, run_supervision
from beamkeep.parts.conducting.channels.routed import control_systems
from beamkeep.parts.conducting.compute.job_directory import ComputeKind
from beamkeep.parts.conducting.compute.local_process import LocalProcessCompute
from beamkeep.parts.conducting.compute.seam import ComputeSystem
from beamkeep.parts.conducting.compute.slurm import SlurmCompute
from beamkeep.parts.conducting.effects import Effects
from beamkeep.parts.conducting.facts import ConductReader
from beamkeep.parts.conducting.observing import Observer
from beamkeep.parts.conducting.registered import registered_actions, registered_advisors
from beamkeep.parts.conducting.sources import control_system
from beamkeep.parts.conducting.walking import Walker
from beamkeep.parts.custody.checks import Checker
from beamkeep.parts.custody.copies import ChildCopyReader
from beamkeep.parts.custody.postgres import PostgresCustody
from beamkeep.parts.custody.watching import CustodyWatch
from beamkeep.parts.exchange.signers.signing import SigningStep, signer_of
from beamkeep.parts.logbook.mirroring import Mirrorer
from beamkeep.parts.logbook.olog import OlogAccount, OlogMirror
from beamkeep.parts.publishing.datacite import DataciteAccount, DataciteMinter
from beamkeep.parts.publishing.landing import landing_routes
from beamkeep.parts.publishing.minting import Minter
from beamkeep.parts.relay.postgres_places import PostgresRelayPlaces
from beamkeep.parts.relay.relay import MessageBus, Relay, RelayPlaces
from beamkeep.parts.scans.ingesting import ScanStep
from beamkeep.parts.scans.reading import ScanReader
from beamkeep.parts.scans.sandbox import landlock_version
from beamkeep.parts.scans.validating import ScanLayoutReader
from beamkeep.parts.subscriptions.deliveries import Deliverer
from beamkeep.parts.subscriptions.webhooks import HttpWebhooks
from beamkeep.parts.witness.cosigners import PATH as COSIGNING
from beamkeep.parts.witness.cosigners import CosigningReceiver
from beamkeep.parts.witness.cosigning import Cosigner, key_list
from beamkeep.parts.witness.keys import TreeFile
from beamkeep.parts.witness.postgres import READING, PostgresWitness
from beamkeep.parts.witness.postgres_cosigning import PostgresCosigning
from beamkeep.parts.witness.postgres_reading import PostgresWitnessReader
from beamkeep.parts.witness.receivers import CheckpointReceiver, FileReceiver, HttpReceiver
from beamkeep.parts.witness.signing import Witness
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Admission
from beamkeep.runtime.clock import now
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.dispatch import Dispatcher, OutsideStep
from beamkeep.runtime.entry_points import EntryPoints
from beamkeep.runtime.evidence import RELEASE, EvidenceKeeper
from beamkeep.runtime.queries import QueryRunner
from beamkeep.runtime.remedies import Remedies
from beamkeep.runtime.sending import CommandSender
from beamkeep.runtime.session import SNAPSHOT_EVERY, Session
from beamkeep.runtime.store import Append, EventStore, ReadModel
from beamkeep.runtime.tail import shards
from beamkeep.surfaces.console import ConsoleSettings, console_routes
from beamkeep.surfaces.http.edge import Edge, EdgeOptions
from beamkeep.surfaces.http.event_schemas import event_schema_routes
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.listening import CATCHING_UP, EventStreams
from beamkeep.surfaces.http.pages import application, metrics_application
from beamkeep.surfaces.http.routes import HttpRoute, PublicRoute
from beamkeep.surfaces.reference_page import reference_page_routes
from beamkeep.telemetry import Telemetry, tracer
from beamkeep.workers.heartbeats import HeartbeatWriter, WorkerWatch
from beamkeep.workers.housekeeping import Housekeeping, ListWatch, TailWatch, WorkWatch
from beamkeep.workers.leases import LeaseHolder
from beamkeep.workers.projector import Projector
from beamkeep.workers.refolding import SnapshotKeeper
from beamkeep.workers.reporting import Monitor
from beamkeep.workers.staleness import REF, StalenessWatch, WatchAge
from beamkeep.workers.supervision import Loop, Supervisor, every, while_held

log: structlog.stdlib.BoundLogger = structlog.get_logger()

IDLE = {"idle_in_transaction_session_timeout": "5000"}
MINTED_AT_ONCE = 4
NO_PROVIDER = "LANGUAGE_MODEL_PROVIDER is not set."


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
    directory: Directory | None = None,
    access_contact: str | None = None,
    codec: Codec | None = None,
    release: str = RELEASE,
    is_stale: Callable[[str], bool] = lambda _: False,
) -> Service:
    """Put the parts of a service together on a store."""
    codec = codec or Codec(catalogue.aggregates.values())
    if event_log:
        reader = log_reader(
            event_log,
            catalogue,
            codec,
            cursor_key=cursor_key,
            base_url=installation.service_url,
            directory=directory,
        )
        installation = replace(installation, events=reader)
    names = DirectoryReader(directory, catalogue) if directory else None

    def reading() -> Session:
        return sessions()

    replay = Replay(store, reading, catalogue, release=release)
    evidence = DecisionEvidenceReader(store, catalogue, replay, window=installation.evidence_window)
    installation = replace(installation, directory=names, evidence=evidence)
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
    # A catalogue without proposals, such as one of a test, lets nothing be proposed.
    proposing = REGISTERING if "Proposal" in catalogue.aggregates else None
    named = {operation.name: operation for operation in catalogue.operations}
    proposable = {name: named[name] for name in catalogue.proposable} if proposing else {}
    admission = Admission(
        store=store,
        places=entry_points,
        clock=clock,
        new_id=new_id,
        contact=access_contact,
        proposable=proposable.keys(),
        explains=explained,
    )
    dispatcher = Dispatcher(
        admission=admission,
        store=store,
        codec=codec,
        sessions=sessions,
        clock=clock,
        new_id=new_id,
        gets=catalogue.gets,
        outside=outside or {},
        remedies=Remedies(catalogue.operations),
        proposable=proposable,
        registers_proposal=proposing,
        approves_proposal=APPROVING if proposing else None,
        counts=counted,
    )
    keeper = EvidenceKeeper(store, new_id, release)
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
            views=catalogue.views,
            evidence=keeper,
            names=names,
            previews=dispatcher.preview,
            is_stale=is_stale,
        ),
        sender=CommandSender(catalogue, dispatcher, new_id),
        evidence=keeper,
    )


class Deployment:
    """A service on its database, as its settings describe it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.telemetry = Telemetry(tracer(settings.otlp_endpoint))
        self.telemetry.show_version(RELEASE)
        self.supervisor, self.wake = Supervisor(self.telemetry), asyncio.Event()
        self._codec = Codec(CATALOGUE.aggregates.values())
        self._reader: LogReader | None = None
        url = settings.database_url.get_secret_value()
        timeouts = {"statement_timeout": "2000", "lock_timeout": "500"}
        self._commands = Connections(url, settings.database_connections, **IDLE, **timeouts)
        self.notices, self._row_tables = PostgresLogNotices(url), RowTables(CATALOGUE)
        self.store = PostgresEventStore(self._commands, url, self._appended)
        self._queue = PostgresWorkQueue(self._commands, self._recorded)
        self._following = Connections(url, 1 + CATCHING_UP, **IDLE, **timeouts)
        self._listing = Connections(
            url, settings.database_connections, **IDLE, **timeouts, **LISTING
        )
        self.lists = PostgresLists(self._listing)
        self._searching = Connections(
            url, settings.database_connections, **IDLE, **(timeouts | SEARCHING)
        )
        projector_url = settings.projector_database_url or settings.database_url
        self._projector_url = projector_url.get_secret_value()
        self._projecting = Connections(self._projector_url, 4, **IDLE)
        self.projections = PostgresProjections(self._projecting, settings.self_facility_code)
        self.tail = PostgresTail(self._projecting)
        self._witnessing: Connections | None = None
        self.shards = shards(settings.projection_shards)
        remedy = "Check that `beamkeep work` runs."
        if settings.project_in_serve:
            remedy = "Look for errors in the log of this process."
        self.watch_age = WatchAge(partial(self.store.last_beat, REF), self.telemetry, remedy)
        self._heartbeats = PostgresHeartbeats(self._commands, REF)
        self.worker_watch = WorkerWatch(self._heartbeats, self.telemetry, remedy)
        self.list_watch = ListWatch(PostgresProjections(self._commands).lag, self.telemetry)

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
            reads_layouts=bool(settings.data_roots),
            lineage=PostgresLineage(self._commands),
            custody=PostgresCustody(self._commands),
            agent_records=PostgresAgentRecords(self._commands),
            observations=PostgresObservations(self._commands),
            witness=PostgresWitnessReader(self._commands),
        )
        written = await prepare(
            self.store,
            self.lists,
            settings.first_administrator(),
            not settings.require_authenticated_principal,
            installation=here,
            language_model=settings.language_model(),
        )
        if written:
            log.info("deployment prepared", written=written)
        return compose(
            self.store,
            self.lists,
            key,
            installation=here,
            event_log=PostgresEventLog(self._commands),
            directory=PostgresDirectory(self._searching),
            access_contact=settings.access_contact,
            codec=self._codec,
            outside={ReadScanFile: self._scans(), SignMessage: self._signing()},
            is_stale=self.list_watch.is_stale,
        )

    def _scans(self) -> ScanStep:
        """Return what reads scan files; say if the kernel protects the reading only in part."""
        settings = self.settings
        if settings.data_roots and not landlock_version():
            log.warning("scan files are read without Landlock", remedy="Use Linux 5.13 or later.")
        return ScanStep(self._scan_reader(), self.store)

    def _signing(self) -> SigningStep:
        settings = self.settings
        return SigningStep(signer_of(settings.signing_key_directory, settings.signing_token))

    def _scan_reader(self) -> ScanReader:
        settings = self.settings
        return ScanReader(
            DataRoots(settings.data_roots, owned=tuple(settings.data_owners)),
            settings.ingest_quiet_seconds,
            most_hashed=settings.ingest_hash_bytes,
        )

    def _appended(self, append: Append) -> None:
        self.wake.set()
        self.notices.appended(self._row_tables.hints(append))

    def _recorded(self, table: str, rows: Sequence[object]) -> None:
        self.notices.appended(self._row_tables.beside(table, rows, now()))

    def notice_loop(self) -> Loop:
        """Return the loop that tells other processes of new events."""
        return Loop("log notices", self.notices.turn, self.notices.close)

    async def reading(self) -> Session:
        """Return a session that reads the database without preparing it."""
        return Session(
            store=self.store,
            lists=self.lists,
            codec=self._codec,
            catalogue=CATALOGUE,
            deployment=self.settings.installation(await self.store.cursor_key()),
            clock=now,
        )

    async def log_reader(self) -> LogReader:
        """Return a reader of the log with connections apart from those of commands."""
        self._reader = self._reader or log_reader(
            PostgresEventLog(self._following),
            CATALOGUE,
            self._codec,
            cursor_key=await self.store.cursor_key(),
            base_url=self.settings.base_url,
            directory=PostgresDirectory(self._following),
        )
        return self._reader

    async def follow(self) -> Loop:
        """Begin to follow the log at its end, and return the loop that does."""
        self.reader = await self.log_reader()
        self.follower = LogFollower(self.reader.log, self.reader.events)
        await self.follower.begin()
        self.notices.on_notice.append(self.follower.wake.set)
        self.notices.on_rows.append(self.follower.rows.heard)
        return Loop("follower", self.follower.turn)

    def streams(self, service: Service, providers: IdentityProviders) -> EventStreams:
        """Return what serves events as they happen."""
        return EventStreams(
            service=service,
            store=self.store,
            reader=self.reader,
            follower=self.follower,
            verifier=providers,
            clock=now,
            most=self.settings.feed_listeners,
        )

    def projector(self, wanted: Sequence[int] | None = None) -> Loop:
        """Return the loop that keeps the lists, of these shards or of all."""
        projector = Projector(CATALOGUE.views, self._codec, self.tail, projections=self.projections)
        lease = PostgresLease(self._projector_url, "shard", wanted or self.shards)
        return Loop("projector", partial(projector.turn, lease), lease.close, wake=self.wake)

    def loops(self, service: Service, wanted: Sequence[int] | None = None) -> list[Loop]:
        """Return all loops that work beside the surfaces, and the one that tells they run."""
        loops = self._workers(service, wanted)
        names = [each.name for each in loops]
        return [*loops, HeartbeatWriter(self._heartbeats, self.supervisor.overdue, names).loop()]

    def _workers(self, service: Service, wanted: Sequence[int] | None) -> list[Loop]:
        settings, telemetry, sessions = self.settings, self.telemetry, service.sessions
        monitor = Monitor(service.sender, uuid7)
        house = Housekeeping(
            self.projections.lag,
            self.store,
            telemetry,
            answer_hours=settings.idempotency_ttl_hours,
            denial_days=settings.denial_retention_days,
            delivery_days=settings.delivery_ttl_days,
            evidence_minutes=settings.evidence_window_minutes,
        )
        watch = StalenessWatch(monitor, sessions, partial(self.store.beat, REF))
        keeper = SnapshotKeeper(self.store, sessions, CATALOGUE, codec=self._codec)
        return [
            self.projector(wanted),
            every(5.0, "housekeeping", house.look),
            every(0.5, "tail watch", TailWatch(self.tail.blocked_by, telemetry).look),
            every(10.0, "staleness watch", watch.look),
            every(60.0, "snapshot keeper", keeper.look),
            every(5.0, "work watch", WorkWatch(self._queue, telemetry).look),
            self.custody_watch(service),
            *self.agents(service),
            *self._observers(monitor),
            *([self.conductor(service)] if settings.conduct_slots else []),
            *self._deliverers(service),
            *([self.checker(service)] if settings.check_slots else []),
            *([self.minter(service, settings.datacite)] if settings.datacite else []),
            *([self.mirrorer(service, account)] if (account := settings.logbook_mirror) else []),
            *([self.relay(settings.nats_url)] if settings.nats_url else []),
            *([self.witness(path)] if (path := settings.witness_key_file) else []),
        ]

    def agents(self, service: Service) -> list[Loop]:
        """Return the loops of the agents that are switched on."""
        settings = self.settings
        writer = AgentWriter(service, uuid7)
        log_of_agents = PostgresAgentLog(self._commands)
        reactions = Reactions(writer, service.sessions, log_of_agents, telemetry=self.telemetry)
        loops: list[Loop] = []
        if settings.run_supervisor_enabled:
            rules = SupervisionRules(
                settle=timedelta(seconds=settings.run_supervisor_settle_seconds),
                stop_after=timedelta(seconds=settings.run_supervisor_stop_after_seconds),
            )
            histories, seconds = (
                Histories(self.store, self._codec),
                settings.run_supervisor_tick_seconds,
            )
            supervision = run_supervision(reactions, histories, rules, seconds)
            loops.append(Loop("run supervisor", TickLoop(supervision, reactions).turn))
        if settings.clearance_expirer_enabled:
            expiry = clearance_expiry(reactions, settings.clearance_expirer_tick_seconds)
            loops.append(Loop("clearance expirer", TickLoop(expiry, reactions).turn))
        if settings.caution_promoter_enabled:
            rules = PromotionRules(
                settings.caution_promoter_min_confidence, settings.caution_promoter_daily_most
            )
            promotion = caution_promotion(reactions, self.lists, CATALOGUE, rules)
            promoting = self._event_loop(promotion, reactions)
            loops.append(Loop("caution promoter", promoting.turn))
        return [*loops, *self._model_agents(service, reactions)]

    def _model_agents(self, service: Service, reactions: Reactions) -> list[Loop]:
        """Return the loops of the agents that call a language model, if there is one to call."""
        settings = self.settings
        provider, account = settings.language_model_provider, settings.provider_account
        enabled = {
            RUN_DEBRIEFER: settings.run_debriefer_enabled,
            CAUTION_DRAFTER: settings.caution_drafter_enabled,
        }
        if provider is None or account is None or not any(enabled.values()):
            if any(enabled.values()):
                log.info("agents that call a model do not work", because=NO_PROVIDER)
            return []
        models = BudgetedModels(
            PostgresModelCalls(self._commands),
            {provider: language_model(provider, account)},
            Prices(settings.language_model_prices),
        )
        desk = ServiceDesk(service, self.store, self._codec, clock=now)
        send_marked = settings.language_model_send_marked_text
        return [
            self._model_loop(
                each,
                ModelAgentRuntime(
                    each,
                    desk,
                    models,
                    new_id=uuid7,
                    send_marked=send_marked,
                    telemetry=self.telemetry,
                ),
                reactions,
            )
            for each, is_on in enabled.items()
            if is_on
        ]

    def _model_loop(
        self, reaction: ModelReaction, runtime: ModelAgentRuntime, reactions: Reactions
    ) -> Loop:
        """Return the loop of all agents of one kind."""

        def loop_of(agent_id: UUID) -> EventLoop:
            return self._event_loop(
                model_reaction(agent_id, reaction, runtime, reactions.sessions), reactions
            )

        provider = self.settings.language_model_provider
        providers = frozenset({provider} if provider else ())
        loops = ModelAgentLoops(reaction.kind, reactions.sessions, loop_of, providers=providers)
        return Loop(reaction.kind, loops.turn, loops.close)

    def _event_loop(self, reaction: EventReaction, reactions: Reactions) -> EventLoop:
        return EventLoop(
            reaction,
            reactions,
            self.tail,
            store=self.store,
            codec=self._codec,
            max_age=timedelta(hours=self.settings.agent_max_event_age_hours),
        )

    def custody_watch(self, service: Service) -> Loop:
        """Return the loop that judges how well datasets are kept."""
        index = PostgresCustody(self._following)
        return Loop("custody", CustodyWatch(self.tail, index, service.sessions).turn)

    def _deliverers(self, service: Service) -> list[Loop]:
        """Return the loop that sends the events of subscriptions, if their secrets can be read."""
        if (keeper := self.settings.secret_keeper()) is None:
            return []
        deliverer = Deliverer(
            service=service,
            store=self.store,
            reader=self.reader,
            follower=self.follower,
            webhooks=HttpWebhooks(self.settings.receivers, now),
            keeper=keeper,
            telemetry=self.telemetry,
            clock=now,
        )
        holder = LeaseHolder(
            queue=self._queue,
            owner=uuid4(),
            walk=deliverer.walk,
            times=replace(self.settings.conduct_times, slots=MOST),
            telemetry=self.telemetry,
            kind=DELIVERING,
        )
        return [holder.loop(_nothing_more, "deliveries")]

    def checker(self, service: Service) -> Loop:
        """Return the loop that checks copies of data."""
        settings = self.settings
        reader = ChildCopyReader(
            settings.data_roots,
            settings.data_https_hosts,
            settings.check_bytes_per_second / settings.check_slots,
            owned=tuple(settings.data_owners),
        )
        layouts = ScanLayoutReader(self._scan_reader())
        holder = LeaseHolder(
            queue=self._queue,
            owner=uuid4(),
            walk=Checker(service, self.store, reader, layouts=layouts, clock=now).walk,
            times=replace(settings.conduct_times, slots=settings.check_slots),
            telemetry=self.telemetry,
            kind=CHECKING,
        )
        return holder.loop(_nothing_more, "checks")

    def minter(self, service: Service, account: DataciteAccount) -> Loop:
        """Return the loop that registers the DOIs of datasets and editions."""
        minter = Minter(
            service, self.store, self._queue, registry=DataciteMinter(account), clock=now
        )
        holder = LeaseHolder(
            queue=self._queue,
            owner=uuid4(),
            walk=minter.walk,
            times=replace(self.settings.conduct_times, slots=MINTED_AT_ONCE),
            telemetry=self.telemetry,
            kind=MINTING,
        )
        return holder.loop(_nothing_more, "minting")

    def mirrorer(self, service: Service, account: OlogAccount) -> Loop:
        """Return the loop that copies logbook entries to an outside logbook."""
        times = self.settings.conduct_times
        # No request of this process is under way when another process may take over.
        mirror = OlogMirror(account, times.lease - times.self_fence)
        mirrorer = Mirrorer(service, self.store, self._queue, mirror=mirror, clock=now)
        holder = LeaseHolder(
            queue=self._queue,
            owner=uuid4(),
            walk=mirrorer.walk,
            times=replace(times, slots=1),
            telemetry=self.telemetry,
            kind=MIRRORING,
        )
        return holder.loop(_nothing_more, "logbook mirror")

    def relay(self, nats_url: SecretStr) -> Loop:
        """Return the loop that publishes events to the message bus."""
        bus, wake = message_bus(self.settings, nats_url), asyncio.Event()
        self.notices.on_notice.append(wake.set)

        async def run() -> None:
            relay = Relay(
                await self.log_reader(),
                bus,
                self.relay_places(),
                clock=now,
                telemetry=self.telemetry,
                wake=wake,
            )
            await relay.run()

        lease = PostgresLease(self.settings.database_url.get_secret_value(), "relay", [0])
        return while_held(lease, "relay", run)

    def witness(self, key_file: Path) -> Loop:
        """Return the loop that follows the log in trees and signs checkpoints of them."""
        settings, url = self.settings, self.witness_url

        async def run() -> None:
            connection = OneConnection(url, **IDLE, **READING)
            store = PostgresWitness(connection)
            try:
                async with httpx2.AsyncClient() as http:
                    receivers: list[CheckpointReceiver] = []
                    if settings.witness_send_file:
                        receivers.append(FileReceiver(settings.witness_send_file))
                    if (address := settings.witness_send_url) and address.endswith(COSIGNING):
                        receivers.append(CosigningReceiver(address, http, store))
                    elif address:
                        receivers.append(HttpReceiver(address, http))
                    witness = Witness(
                        store,
                        settings.witness_keys(),
                        settings.witness_origin,
                        clock=now,
                    )
                    sent = TreeFile(key_file.with_name(f"{key_file.name}.sent"))
                    await witness.run(receivers, sent)
            finally:
                await connection.close()

        return while_held(PostgresLease(url, "witness", [0]), "witness", run)

    def witness_routes(self) -> list[PublicRoute]:
        """Return the routes of the keys, and of the co-signing of other logs."""
        settings = self.settings
        routes = [key_list(PostgresCosigning(self._commands))]
        if settings.witness_origins:
            self._witnessing = Connections(self.witness_url, 2, **IDLE, **READING)
            signer = settings.witness_keys()[0].signer
            cosigner = Cosigner(
                PostgresCosigning(self._witnessing),
                signer,
                settings.cosigned_origins,
                clock=time.time,
            )
            routes.append(cosigner.route())
        return routes

    @property
    def witness_url(self) -> str:
        """The address of the database for the witness."""
        url = self.settings.witness_database_url
        assert url is not None, "a key requires it"  # noqa: S101
        return url.get_secret_value()

    def relay_places(self) -> RelayPlaces:
        """Return where the place of the relay is kept."""
        return PostgresRelayPlaces(self._following, self.settings.nats_stream)

    def conductor(self, service: Service) -> Loop:
        """Return the loop that carries out conducts."""
        settings, telemetry, times = self.settings, self.telemetry, self.settings.conduct_times
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
            codec=self._codec,
            routes=settings.control_routes,
            takeover_window=timedelta(seconds=settings.conduct_takeover_window_seconds),
        )
        walker = Walker(
            service=service,
            reader=reader,
            queue=self._queue,
            effects=Effects(
                control,
                compute_system(settings),
                actions=actions,
                routes=settings.control_routes,
            ),
            advisors=advisors,
            telemetry=telemetry,
        )
        conductor = LeaseHolder(
            queue=self._queue, owner=uuid4(), walk=walker.walk, times=times, telemetry=telemetry
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
        await self._searching.close()
        await self._following.close()
        await self._projecting.close()
        if self._witnessing:
            await self._witnessing.close()


async def _nothing_more() -> None: ...


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

        vouched = False

        async def ready() -> str | None:
            nonlocal vouched
            # A provider that goes away later takes no process out of service: others still vouch,
            # and this would end every call at once. A metric shows it.
            vouched = vouched or await providers.any_available()
            # Anyone can read this, so it names neither the provider nor the address of its keys.
            nobody = "No identity provider can verify a token. Run `beamkeep check`."
            return await deployment.ready() or (None if vouched else nobody)

        async def measure_providers() -> None:
            deployment.telemetry.providers_down.set(len(await providers.outages()))

        following = await deployment.follow()
        streams = deployment.streams(service, providers)
        loops = [
            every(5.0, "staleness watch age", deployment.watch_age.measure),
            every(5.0, "worker watch", deployment.worker_watch.look),
            every(5.0, "list watch", deployment.list_watch.look),
            following,
            every(30.0, "identity providers", measure_providers),
            deployment.notice_loop(),
        ]
        if settings.project_in_serve:
            loops += deployment.loops(service)
        tasks.create_task(deployment.supervisor.run(loops))
        metrics, apart = deployment.telemetry.exposition, settings.metrics_port != settings.port
        served = application(
            service,
            options,
            ready=ready,
            remark=deployment.worker_watch.silent,
            metrics=None if apart else metrics,
            mcp_origins=settings.mcp_allowed_origins,
            telemetry=deployment.telemetry,
            routes=[
                streams.route(),
                *event_schema_routes(CATALOGUE, options.resource_url),
                *reference_page_routes(CATALOGUE),
                *landing_routes(service),
                *deployment.witness_routes(),
                *console_routes(await console_settings(settings, service)),
                *routes,
            ],
        )
        yield Web(served, metrics_application(options, metrics) if apart else None)
        deployment.supervisor.stop()
    await deployment.close()


async def console_settings(settings: Settings, service: Service) -> ConsoleSettings:
    """Return what the web console needs to know before the login."""
    providers = settings.identity_providers
    facility = await facility_by_code(settings.self_facility_code, service.sessions())
    return ConsoleSettings(
        issuer=providers[0].issuer if providers else None,
        client_id=settings.console_client_id,
        scope=settings.console_scope,
        resource=settings.base_url.rstrip("/"),
        development=not settings.require_authenticated_principal,
        version=RELEASE,
        facility_name=facility.name,
        timezone=settings.facility_timezone,
    )


def message_bus(settings: Settings, nats_url: SecretStr) -> MessageBus:
    """Return the bus to which events are relayed. Raise when its library is not installed."""
    try:
        from beamkeep.parts.relay.jetstream import JetStreamBus, StreamLimits  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("NATS_URL is set. Install beamkeep[nats].") from None
    limits = StreamLimits(
        replicas=settings.nats_replicas,
        max_age_seconds=settings.nats_max_age_days * 24 * 3600,
        max_bytes=settings.nats_max_bytes or -1,
    )
    return JetStreamBus(nats_url.get_secret_value(), settings.nats_stream, limits)


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
        cli_client_id=settings.cli_client_id,
        allowed_hosts=settings.allowed_hosts,
        cors_origins=settings.cors_allowed_origins,
    )
