"""The HTTP applications of a deployment."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx2
import structlog

from beamkeep.adapters.tokens.providers import IdentityProviders
from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.federation.facility import facility_by_code
from beamkeep.runtime import Service
from beamkeep.runtime.clock import now
from beamkeep.runtime.evidence import RELEASE
from beamkeep.surfaces.http.console import ConsoleSettings, console_routes
from beamkeep.surfaces.http.edge import Edge, EdgeOptions
from beamkeep.surfaces.http.event_schemas import event_schema_routes
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.listening import EventStreams
from beamkeep.surfaces.http.pages import application, metrics_application
from beamkeep.surfaces.http.reference_page import reference_page_routes
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.workers.supervision import every

from .composition import Deployment
from .settings import ServerSettings

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Web(NamedTuple):
    """The HTTP application, and that of the metrics where they have a port of their own."""

    application: Edge
    metrics: Edge | None


@asynccontextmanager
async def web(settings: ServerSettings, routes: Sequence[HttpRoute] = ()) -> AsyncGenerator[Web]:
    """Run the service and yield its HTTP applications; `routes` are served besides its own."""
    deployment = Deployment(settings)
    async with httpx2.AsyncClient() as http, asyncio.TaskGroup() as tasks:
        service = await deployment.service()
        providers = verifier(settings, http)
        for outage in await providers.outages():
            log.warning("identity provider not usable", because=outage)
        options = edge_options(settings, providers)

        async def measure_providers() -> None:
            deployment.telemetry.providers_down.set(len(await providers.outages()))

        following = await deployment.follow()
        streams = EventStreams(
            service=service,
            store=deployment.store,
            reader=deployment.reader,
            follower=deployment.follower,
            verifier=providers,
            clock=now,
            most=settings.feed_listeners,
        )
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
            ready=readiness(deployment, providers),
            remark=deployment.worker_watch.silent,
            metrics=None if apart else metrics,
            mcp_origins=settings.mcp_allowed_origins,
            telemetry=deployment.telemetry,
            routes=[
                streams.route(),
                *event_schema_routes(CATALOGUE, options.resource_url),
                *reference_page_routes(CATALOGUE),
                *deployment.routes(service),
                *console_routes(await console_settings(settings, service)),
                *routes,
            ],
        )
        yield Web(served, metrics_application(options, metrics) if apart else None)
        deployment.supervisor.stop()
    await deployment.close()


def readiness(
    deployment: Deployment, providers: IdentityProviders
) -> Callable[[], Awaitable[str | None]]:
    """Return what asks why the service cannot answer; it answers None when the service can."""
    vouched = False

    async def ready() -> str | None:
        nonlocal vouched
        # A provider that goes away later takes no process out of service: others still vouch, and
        # this would end every call at once. A metric shows it.
        vouched = vouched or await providers.any_available()
        # Anyone can read this, so it names neither the provider nor the address of its keys.
        nobody = "No identity provider can verify a token. Run `beamkeep check`."
        return await deployment.ready() or (None if vouched else nobody)

    return ready


async def console_settings(settings: ServerSettings, service: Service) -> ConsoleSettings:
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


def verifier(settings: ServerSettings, http: httpx2.AsyncClient) -> IdentityProviders:
    """Return the verifier of access tokens."""
    return IdentityProviders(
        settings.identity_providers,
        settings.default_introspection_issuer,
        http,
        clock=time.time,
        stopwatch=time.monotonic,
    )


def edge_options(settings: ServerSettings, providers: IdentityProviders) -> EdgeOptions:
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
