"""The settings of the surfaces, of `serve` and of `mcp-stdio`."""

from collections.abc import Iterable
from datetime import timedelta
from ipaddress import ip_network
from typing import Annotated, Any, Self
from urllib.parse import urlsplit
from uuid import UUID

from annotated_types import Ge, Le
from pydantic import (
    AfterValidator,
    AliasChoices,
    Field,
    SecretStr,
    create_model,
    model_validator,
)

from beamkeep.contexts.seams.addresses import is_loopback
from beamkeep.contexts.seams.installation import Facts
from beamkeep.parts.settings import CoreSettings

from .parts import wirings


def _bounded_network(text: str) -> str:
    try:
        network = ip_network(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not an IP address or network. Write for example 10.0.0.5 or 10.0.0.0/24."
        ) from None
    if network.prefixlen == 0:
        raise ValueError(
            f"{text} contains every address: every client could forge its own. Name your proxies."
        )
    return text


def _exact_origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or f"{parts.scheme}://{parts.netloc}" != text:
        raise ValueError("must be scheme, host and port only, like https://console.example.org")
    if not parts.hostname or "*" in text or "@" in text or text != text.lower():
        raise ValueError("must name one host in lower case, without * or a user name")
    return text


type ProxyAddress = Annotated[str, AfterValidator(_bounded_network)]
type Origin = Annotated[str, AfterValidator(_exact_origin)]


class ServerSettings(CoreSettings):
    """The settings of the surfaces, of `serve` and of `mcp-stdio`."""

    host: str = "127.0.0.1"
    """IP address or host name that `serve` listens on."""
    port: Annotated[int, Ge(0), Le(65535)] = 8000
    """TCP port that `serve` listens on; 0 selects a free port."""
    allowed_hosts: Annotated[
        tuple[str, ...], Field(validation_alias=AliasChoices("allowed_hosts", "mcp_allowed_hosts"))
    ] = ("127.0.0.1:*", "localhost:*", "[::1]:*")
    """Values of the Host header that are accepted besides the host of BASE_URL, as a JSON list;
    `:*` matches any port. MCP_ALLOWED_HOSTS is another name of this setting."""
    trusted_proxies: tuple[ProxyAddress, ...] = ()
    """IP addresses or networks of the reverse proxies in front of `serve`, as a JSON list.
    X-Forwarded-For is accepted only from these."""
    limit_concurrency: Annotated[int, Ge(10)] = 900
    """Maximum number of open connections of `serve`. A further one closes one that waits for its
    client, and is answered with 503 if there is none."""
    connections_per_address: Annotated[int, Ge(10)] = 300
    """Maximum number of open connections of `serve` to one address; an IPv6 address counts as its
    /64 network. It does not apply to TRUSTED_PROXIES, which must limit their clients themselves."""
    metrics_port: Annotated[int, Ge(0), Le(65535)] = 9464
    """TCP port of `/metrics`, so that no web server in front of PORT shows it; with the same number
    as PORT, `/metrics` is served there. 0 selects a free port."""
    work_metrics_port: Annotated[int, Ge(1), Le(65535)] | None = None
    """TCP port of the metrics of `work`. Default: `work` serves no metrics."""
    metrics_host: str = "127.0.0.1"
    """IP address or host name that METRICS_PORT and WORK_METRICS_PORT listen on."""
    cli_client_id: str | None = None
    """Client id with which `beamkeep login` asks the first identity provider for a login by a code.
    Default: none, and people give a token with --token-file."""
    console_client_id: str | None = None
    """Client id with which the web console asks the first identity provider for a login by
    authorization code with PKCE. Default: none, and people paste a token."""
    console_scope: Annotated[str, Field(min_length=1, max_length=500)] = "openid offline_access"
    """Scopes that the web console asks for, separated by blanks."""
    cors_allowed_origins: tuple[Origin, ...] = ()
    """Web origins that may call the service from a browser (CORS), as a JSON list of exact origins
    such as `["https://console.example.org"]`. Default: none."""
    mcp_allowed_origins: tuple[str, ...] = ()
    """Web origins that may call `/mcp` from a browser, as a JSON list."""
    mcp_stdio_access_token: SecretStr | None = None
    """Access token of `mcp-stdio`. Required for every call through it."""
    mcp_stdio_surface_id: UUID | None = None
    """Surface of `mcp-stdio`. Default: the surface that every deployment begins with."""
    body_bytes: Annotated[int, Ge(1024)] = 1024 * 1024
    """Maximum size of a request body in bytes."""
    deadline_seconds: Annotated[float, Ge(1)] = 30.0
    """Timeout of one request in seconds."""
    per_principal_rate: Annotated[float, Ge(1)] = 50.0
    """Rate limit of one principal in requests per second."""
    per_principal_burst: Annotated[int, Ge(1)] = 100
    """Burst of the rate limit: requests that one principal may make at once after a pause."""
    concurrent_per_principal: Annotated[int, Ge(1)] = 8
    """Maximum number of concurrent requests of one principal."""
    feed_listeners: Annotated[int, Ge(1)] = 500
    """Maximum number of clients that follow events on one process at the same time."""

    @model_validator(mode="after")
    def not_open_by_accident(self) -> Self:
        """Raise ValueError when anybody could call the service."""
        if not self.require_authenticated_principal and not self.development:
            raise ValueError(
                "REQUIRE_AUTHENTICATED_PRINCIPAL is false: anybody could do anything."
                " Set it to true, or set DEVELOPMENT=true to accept this."
            )
        if not self.require_authenticated_principal and not is_loopback(self.host):
            raise ValueError(
                f"REQUIRE_AUTHENTICATED_PRINCIPAL is false and HOST is {self.host!r}: anybody on"
                " the network could do anything. Set HOST=127.0.0.1, or require tokens."
            )
        return self


def joined(sections: Iterable[type[CoreSettings]]) -> type[ServerSettings]:
    """Return the settings of the server and of these sections as one class."""
    doc = "Each setting is an environment variable with its name in capitals, or a line in `.env`."
    bases: tuple[type[Any], ...] = (
        ServerSettings,
        *(each for each in sections if each is not CoreSettings),
    )
    settings: Any = create_model("Settings", __base__=bases, __doc__=doc)
    return settings


Settings = joined(wiring.settings for wiring in wirings())


def settings_of(**values: Any) -> Any:
    """Return the joined settings, with these values and those of the environment."""
    return Settings(**values)


def core_facts(settings: ServerSettings, login_key: bytes = b"") -> Facts:
    """Return what rules and reads may know of the deployment apart from its parts."""
    return Facts(
        facility_code=settings.self_facility_code,
        timezone=settings.facility_timezone,
        data_places=settings.data_places,
        require_run_clearance=settings.require_run_clearance,
        stale_after=timedelta(seconds=settings.enclosure_stale_after_seconds),
        issuers=frozenset(provider.issuer for provider in settings.identity_providers),
        open_for_development=not settings.require_authenticated_principal,
        login_key=login_key,
        service_url=settings.base_url,
        proposal_ttl_hours=settings.proposal_ttl_hours,
        proposals_open_most=settings.proposals_open_most,
    )


def facts_of(settings: ServerSettings, login_key: bytes = b"") -> Facts:
    """Return what rules and reads may know of the deployment."""
    here = core_facts(settings, login_key)
    for wiring in wirings():
        if wiring.facts:
            here = wiring.facts(settings, here)
    return here
