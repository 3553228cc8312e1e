"""The settings of a deployment, read from the environment."""

from ipaddress import ip_network
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit
from uuid import UUID

from annotated_types import Ge, Gt, Le
from pydantic import AfterValidator, AliasChoices, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from beamkeep.adapters.postgres.address import private_route
from beamkeep.adapters.tokens.providers import IdentityProvider
from beamkeep.addresses import is_loopback
from beamkeep.contexts.federation.facility import CODE
from beamkeep.workers.observing import EnclosureSignal, SupplySignal


def _plain_and_private(url: SecretStr) -> SecretStr:
    try:
        parts = urlsplit(url.get_secret_value())
    except ValueError:
        raise ValueError(MUST_BE_ESCAPED) from None
    # What follows one of these characters would be read as another part of the address.
    if parts.fragment or "@" in parts.path + parts.query:
        raise ValueError(MUST_BE_ESCAPED)
    private_route(url.get_secret_value())
    return url


def _one_proxy_or_network(text: str) -> str:
    try:
        network = ip_network(text)
    except ValueError:
        raise ValueError(
            "must be an IP address or a network, like 10.0.0.5 or 10.0.0.0/24"
        ) from None
    if network.prefixlen == 0:
        raise ValueError("must not be every address there is: then anybody names their own")
    return text


MUST_BE_ESCAPED = (
    "the password holds one of # / ? [ ]. Write # as %23, / as %2F, ? as %3F, [ as %5B, ] as %5D."
)
type DatabaseAddress = Annotated[SecretStr, AfterValidator(_plain_and_private)]
"""On another host only with a certificate that is checked."""
type ProxyAddress = Annotated[str, AfterValidator(_one_proxy_or_network)]


class DatabaseSettings(BaseSettings):
    """Where the database is, and as whom: all that `migrate` needs to know."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_file=".env",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    database_url: DatabaseAddress = SecretStr("postgresql://bk_app@127.0.0.1:5432/beamkeep")
    """Where the events are kept, as a role that may only add to them."""
    projector_database_url: DatabaseAddress | None = None
    """The same database as the role that keeps the lists; for `work`, and `serve` if it does."""
    migration_database_url: DatabaseAddress | None = None
    """The same database as a role that may create roles and schemas; used by `migrate` only."""


class Settings(DatabaseSettings):
    """Each is an environment variable of its name in capitals, or a line of the file `.env`."""

    database_connections: Annotated[int, Ge(2), Le(200)] = 16
    """The most connections one process opens for commands and questions."""

    host: str = "127.0.0.1"
    """The address `serve` listens on."""
    port: Annotated[int, Ge(0), Le(65535)] = 8000
    """The port `serve` listens on."""
    base_url: str = "http://127.0.0.1:8000"
    """How clients reach the service; also the resource that tokens must be meant for."""
    allowed_hosts: Annotated[
        tuple[str, ...], Field(validation_alias=AliasChoices("allowed_hosts", "mcp_allowed_hosts"))
    ] = ("127.0.0.1:*", "localhost:*", "[::1]:*")
    """The values of the Host header that are answered besides the host of BASE_URL, as JSON; `:*`
    stands for any port. MCP_ALLOWED_HOSTS is the same setting."""
    trusted_proxies: tuple[ProxyAddress, ...] = ()
    """The addresses or networks of the proxies in front of `serve`, as JSON. Only their
    X-Forwarded-For is believed."""
    limit_concurrency: Annotated[int, Ge(10)] = 900
    """The most connections that `serve` keeps open; a caller beyond them is answered 503."""
    metrics_port: Annotated[int, Ge(1), Le(65535)] | None = None
    """A port of its own for `/metrics`, which is then not on PORT. On PORT without it."""
    metrics_host: str = "127.0.0.1"
    """The address that METRICS_PORT is on."""
    self_facility_code: Annotated[str, Field(pattern=CODE)] = "local"
    """The code of the deployment's own site, which every other deployment knows it by."""
    asset_landing_page_template: Annotated[str, Field(pattern=r"\{asset_id\}")] | None = None
    """The address of an asset's page in instrument records; {base_url} and {asset_id} are filled
    in. BASE_URL/assets/{asset_id} without it."""

    require_authenticated_principal: bool = True
    """Whether every call needs a token. False lets anyone in as Developer."""
    development: bool = False
    """Must be true for the service to start without requiring tokens."""
    identity_providers: tuple[IdentityProvider, ...] = ()
    """Whom the service trusts to vouch for principals, as JSON."""
    default_introspection_issuer: str | None = None
    """The provider that is asked about tokens that do not name their issuer."""
    bootstrap_admin_issuer: str | None = None
    """With the next two: the first administrator, registered while there is none."""
    bootstrap_admin_subject: str | None = None
    """The administrator's subject at that issuer."""
    bootstrap_admin_name: str | None = None
    """The administrator's name."""

    mcp_allowed_origins: tuple[str, ...] = ()
    """The web origins that may call `/mcp`, as JSON."""
    mcp_stdio_access_token: SecretStr | None = None
    """The token of MCP over standard input and output."""
    mcp_stdio_surface_id: UUID | None = None
    """The surface of MCP over standard input and output, where it is not the seeded one."""

    idempotency_ttl_hours: Annotated[int, Ge(1), Le(24 * 365)] = 24
    """How long an answer is kept for its idempotency key."""
    denial_retention_days: Annotated[int, Ge(30), Le(365 * 100)] = 400
    """How long the record of a denied call is kept."""
    project_in_serve: bool = True
    """Whether `serve` also does all that `work` does: keeps the lists, watches and observes."""
    projection_shards: Literal[1, 16] = 1
    """Into how many parts the log is divided to be followed; 16 lets 16 workers share it."""

    enclosure_stale_after_seconds: Annotated[float, Ge(1)] = 60.0
    """How long the monitor of an enclosure or of an observed supply may be silent before the
    enclosure or supply counts as `Unknown`, by the database's clock."""
    observed_enclosures: tuple[EnclosureSignal, ...] = ()
    """Which signals of the control system tell the permits of enclosures, as JSON."""
    observed_supplies: tuple[SupplySignal, ...] = ()
    """Which signals of the control system tell of supplies, as JSON."""
    observer_repeat_seconds: Annotated[float, Ge(0.1)] = 20.0
    """How often an unchanged signal is reported again, so that it is not taken for stale."""
    observer_silence_seconds: Annotated[float, Gt(5)] = 15.0
    """How long the control system may be silent before its signals count as lost."""

    require_run_clearance: bool = False
    """Whether a run starts only under a clearance that is in force."""
    store_inference_messages: bool = False
    """Whether prompts and answers of language models are kept; they may name people."""

    body_bytes: Annotated[int, Ge(1024)] = 1024 * 1024
    """The largest request body."""
    deadline_seconds: Annotated[float, Ge(1)] = 30.0
    """How long one request may take."""
    per_principal_rate: Annotated[float, Ge(1)] = 50.0
    """Requests a second one principal may make, on average."""
    per_principal_burst: Annotated[int, Ge(1)] = 100
    """Requests one principal may make at once after a pause."""
    concurrent_per_principal: Annotated[int, Ge(1)] = 8
    """Requests of one principal that may be under way together."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important lines that are logged."""
    log_json: bool = True
    """Whether log lines are JSON; false is for reading them in a terminal."""
    otlp_endpoint: str | None = None
    """Where traces are sent, as OTLP over HTTP; no traces without it."""

    @model_validator(mode="after")
    def not_open_by_accident(self) -> Self:
        """Refuse settings by which anybody could do anything."""
        if not self.require_authenticated_principal and not self.development:
            raise ValueError(
                "REQUIRE_AUTHENTICATED_PRINCIPAL is false: anybody could do anything."
                " Set DEVELOPMENT=true if that is what you want."
            )
        if not self.require_authenticated_principal and not is_loopback(self.host):
            raise ValueError(
                f"REQUIRE_AUTHENTICATED_PRINCIPAL is false and HOST is {self.host!r}: anybody on"
                " the network could do anything. Set HOST=127.0.0.1, or require tokens."
            )
        if self.require_authenticated_principal and not self.identity_providers:
            raise ValueError(
                "IDENTITY_PROVIDERS is empty: nobody could log in. Name at least one provider."
            )
        return self

    @model_validator(mode="after")
    def reports_outlast_their_pause(self) -> Self:
        """Refuse to observe so seldom that every report is stale before the next."""
        signals = self.observed_enclosures or self.observed_supplies
        if signals and self.observer_repeat_seconds >= self.enclosure_stale_after_seconds:
            raise ValueError(
                f"OBSERVER_REPEAT_SECONDS is {self.observer_repeat_seconds:g} and"
                f" ENCLOSURE_STALE_AFTER_SECONDS is {self.enclosure_stale_after_seconds:g}: every"
                " report would be stale before the next. Repeat at most half as far apart."
            )
        return self

    @model_validator(mode="after")
    def administrator_can_log_in(self) -> Self:
        """Refuse a first administrator at an issuer whose logins are not accepted."""
        issuer = self.bootstrap_admin_issuer if self.require_authenticated_principal else None
        if issuer and issuer not in {provider.issuer for provider in self.identity_providers}:
            raise ValueError(
                f"BOOTSTRAP_ADMIN_ISSUER is {issuer}, which is no issuer in IDENTITY_PROVIDERS:"
                " the administrator could not log in. Configure that provider or name another."
            )
        return self
