"""The settings of a deployment, read from the environment."""

from typing import Annotated, Literal, Self
from uuid import UUID

from annotated_types import Ge, Gt, Le
from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from beamkeep.adapters.identity_providers import IdentityProvider
from beamkeep.contexts.federation.facility import CODE
from beamkeep.workers.observing import EnclosureSignal, SupplySignal


class Settings(BaseSettings):
    """Each is an environment variable of its name in capitals, or a line of the file `.env`."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_file=".env",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    database_url: SecretStr = SecretStr("postgresql://bk_app@127.0.0.1:5432/beamkeep")
    """Where the events are kept, as a role that may only add to them."""
    projector_database_url: SecretStr | None = None
    """The same database as the role that keeps the lists; for `work`, and `serve` if it does."""
    migration_database_url: SecretStr | None = None
    """The same database as a role that may create roles and schemas; used by `migrate` only."""
    database_connections: Annotated[int, Ge(2), Le(200)] = 16
    """The most connections one process opens for commands and questions."""

    host: str = "127.0.0.1"
    """The address `serve` listens on."""
    port: Annotated[int, Ge(0), Le(65535)] = 8000
    """The port `serve` listens on."""
    base_url: str = "http://127.0.0.1:8000"
    """How clients reach the service; also the resource that tokens must be meant for."""
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

    mcp_allowed_hosts: tuple[str, ...] = ("127.0.0.1:*", "localhost:*", "[::1]:*")
    """The values of the Host header that `/mcp` answers to, as JSON."""
    mcp_allowed_origins: tuple[str, ...] = ()
    """The web origins that may call `/mcp`, as JSON."""
    mcp_stdio_access_token: SecretStr | None = None
    """The token of MCP over standard input and output."""
    mcp_stdio_surface_id: UUID | None = None
    """The surface of MCP over standard input and output, where it is not the seeded one."""

    idempotency_ttl_hours: Annotated[int, Ge(1), Le(24 * 365)] = 24
    """How long an answer is kept for its idempotency key."""
    project_in_serve: bool = True
    """Whether `serve` also does all that `work` does: keeps the lists, watches and observes."""
    projection_shards: Literal[1, 16] = 1
    """Into how many parts the log is divided to be followed; 16 lets 16 workers share it."""

    enclosure_stale_after_seconds: Annotated[float, Ge(1)] = 60.0
    """How long an enclosure's monitor may be silent before its permit is `Unknown`."""
    observed_enclosures: tuple[EnclosureSignal, ...] = ()
    """Which signals of the control system tell the permits of enclosures, as JSON."""
    observed_supplies: tuple[SupplySignal, ...] = ()
    """Which signals of the control system tell of supplies, as JSON."""
    observer_repeat_seconds: Annotated[float, Ge(0.1)] = 20.0
    """How often an unchanged permit is reported again, so that it is not taken for stale."""
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
        if self.require_authenticated_principal and not self.identity_providers:
            raise ValueError(
                "IDENTITY_PROVIDERS is empty: nobody could log in. Name at least one provider."
            )
        return self

    @model_validator(mode="after")
    def administrator_can_log_in(self) -> Self:
        """Refuse a first administrator at an issuer whose logins are not accepted."""
        issuer = self.bootstrap_admin_issuer
        if issuer and issuer not in {provider.issuer for provider in self.identity_providers}:
            raise ValueError(
                f"BOOTSTRAP_ADMIN_ISSUER is {issuer}, which is no issuer in IDENTITY_PROVIDERS:"
                " the administrator could not log in. Configure that provider or name another."
            )
        return self
