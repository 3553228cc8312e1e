"""The service in memory over HTTP, without a network."""

from collections.abc import Sequence
from typing import Any

import httpx2
from starlette.types import ASGIApp

from beamkeep.parts.publishing.landing import landing_routes
from beamkeep.runtime import Service
from beamkeep.surfaces.http.edge import Edge, EdgeOptions
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.pages import application
from beamkeep.surfaces.http.reference_page import reference_page_routes
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.telemetry import Telemetry

from .service import CALLERS
from .static_verifier import StaticVerifier

RESOURCE = "https://beamkeep.test"
TOKENS = "ada", "bob", "stranger"
GENEROUS = Limits(
    per_principal_rate=1e9, per_principal_burst=1e9, per_address_rate=1e9, per_address_burst=1e9
)


async def always_ready() -> str | None:
    """Return that nothing is missing."""
    return None


def rest_application(
    service: Service,
    limits: Limits = GENEROUS,
    routes: Sequence[HttpRoute] = (),
    cors_origins: Sequence[str] = (),
) -> Edge:
    """Return the service over HTTP, for the tokens of its callers, `bob` and `stranger`."""
    telemetry = Telemetry()
    options = EdgeOptions(
        RESOURCE,
        StaticVerifier(*TOKENS, *CALLERS.values()),
        limits=limits,
        allowed_hosts=("127.0.0.1:*",),
        cors_origins=tuple(cors_origins),
    )
    return application(
        service,
        options,
        ready=always_ready,
        metrics=telemetry.exposition,
        telemetry=telemetry,
        routes=[
            *reference_page_routes(service.catalogue),
            # No time passes between two pages, however slow the machine is.
            *landing_routes(service, clock=lambda: 0.0),
            *routes,
        ],
    )


def http_client(
    application: ASGIApp, base_url: str = RESOURCE, **options: Any
) -> httpx2.AsyncClient:
    """Return a client of an application, without a network."""
    transport = httpx2.ASGITransport(application)
    return httpx2.AsyncClient(transport=transport, base_url=base_url, **options)
