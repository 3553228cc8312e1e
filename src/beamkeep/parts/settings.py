"""The settings of a deployment that every part may read."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from annotated_types import Ge, Gt, Le
from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from beamkeep.adapters.postgres.address import private_route
from beamkeep.adapters.tokens.providers import IdentityProvider
from beamkeep.contexts.federation.facility import CODE
from beamkeep.contexts.seams.addresses import is_loopback
from beamkeep.contexts.seams.data_places import DataPlaces
from beamkeep.contexts.seams.receivers import ENTRY
from beamkeep.contexts.trust.bootstrap import Administrator
from beamkeep.workers.leases import LeaseTimes


def _private_database(url: SecretStr) -> SecretStr:
    try:
        parts = urlsplit(url.get_secret_value())
    except ValueError:
        raise ValueError(MUST_BE_ESCAPED) from None
    # An unescaped character of these ends the password and begins another part of the address.
    if parts.fragment or "@" in parts.path + parts.query:
        raise ValueError(MUST_BE_ESCAPED)
    private_route(url.get_secret_value())
    return url


def _known_zone(name: str) -> str:
    try:
        if name != "UTC":  # which needs no database of zones
            ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is not an IANA time zone. Write for example Europe/Zurich."
        ) from None
    return name


def _data_root(path: Path) -> Path:
    if not path.is_absolute() or ".." in path.parts or len(path.parts) == 1:
        raise ValueError("must be an absolute directory without .., and not / itself")
    return path


def address_of_service(example: str, secret: str) -> Callable[[str], str]:
    """Return the check of an address to which a secret is sent, which names the example."""

    def checked(url: str) -> str:
        parts = urlsplit(url)
        if not parts.hostname or parts.scheme not in {"http", "https"} or parts.username:
            raise ValueError(f"must be like {example}, without a user name")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise ValueError(
                f"the {secret} would be sent unencrypted. Write https:// instead of http://"
            )
        return url

    return checked


def require_whole(named: Mapping[str, object], why: str) -> None:
    """Raise ValueError when some of these settings have a value, but not all."""
    if any(named.values()) and not all(named.values()):
        lacking = " and ".join(name for name, value in named.items() if not value)
        raise ValueError(f"Set {lacking} too: {why}")


MUST_BE_ESCAPED = (
    "The password contains one of # / ? [ ]. Write # as %23, / as %2F, ? as %3F, [ as %5B,"
    " ] as %5D."
)
type DatabaseAddress = Annotated[SecretStr, AfterValidator(_private_database)]
"""The address of a database; one on another host requires TLS with a verified certificate."""
type TimeZone = Annotated[str, AfterValidator(_known_zone)]
type DataRoot = Annotated[Path, AfterValidator(_data_root)]
type HostEntry = Annotated[str, Field(pattern=f"^(?:{ENTRY})$")]


class DatabaseSettings(BaseSettings):
    """The addresses of the database, which are all that `migrate` reads."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_file=".env",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
        defer_build=True,
    )

    database_url: DatabaseAddress = SecretStr("postgresql://bk_app@127.0.0.1:5432/beamkeep")
    """Address of the database, with a role that can add events and cannot change them. An address
    on another host requires sslmode=verify-full."""
    projector_database_url: DatabaseAddress | None = None
    """Address of the same database, with the role that writes the lists. `work` uses it, and
    `serve` if PROJECT_IN_SERVE is true. Default: DATABASE_URL."""
    migration_database_url: DatabaseAddress | None = None
    """Address of the same database, with a role that can create roles and schemas. Only `migrate`,
    `redact` and `anchor` use it. Default: DATABASE_URL."""
    witness_database_url: DatabaseAddress | None = None
    """Address of the same database, with the role bk_witness. Required with WITNESS_KEY_FILE."""
    reader_database_url: DatabaseAddress | None = None
    """Address of the same database or of a restored copy, with a role that only reads. Only
    `verify` uses it. Default: DATABASE_URL."""

    @property
    def database_urls(self) -> dict[str, SecretStr]:
        """The addresses that `serve` and `work` start with, by setting."""
        projecting = self.projector_database_url
        own = {"PROJECTOR_DATABASE_URL": projecting} if projecting else {}
        return {"DATABASE_URL": self.database_url} | own

    @property
    def migrating_url(self) -> SecretStr:
        """The address with the role that changes the schema."""
        return self.migration_database_url or self.database_url


def from_json(value: object) -> object:
    """Return a record that an environment variable holds; only lists are decoded without this."""
    return json.loads(value) if isinstance(value, str) else value


class CoreSettings(DatabaseSettings):
    """The settings that every part may read."""

    database_connections: Annotated[int, Ge(2), Le(200)] = 16
    """Maximum number of database connections that one process opens for commands, and again for
    lists."""
    base_url: str = "http://127.0.0.1:8000"
    """Address under which clients reach the service, and its OAuth resource identifier."""
    self_facility_code: Annotated[str, Field(pattern=CODE)] = "local"
    """Facility code of this deployment, by which other deployments know it."""
    facility_timezone: TimeZone = "UTC"
    """IANA name of the time zone in which people of the facility read times, for example
    Europe/Zurich."""
    require_authenticated_principal: bool = True
    """Whether every call requires an access token. If false, every caller is the actor Developer;
    this requires DEVELOPMENT=true and a loopback address in HOST."""
    development: bool = False
    """Whether the service may start with REQUIRE_AUTHENTICATED_PRINCIPAL=false."""
    identity_providers: tuple[IdentityProvider, ...] = ()
    """Identity providers whose access tokens are accepted, as a JSON list. Required if
    REQUIRE_AUTHENTICATED_PRINCIPAL is true."""
    default_introspection_issuer: str | None = None
    """Issuer of the introspection provider that checks tokens without an issuer. Default: such
    tokens are refused."""
    bootstrap_admin_issuer: str | None = None
    """Issuer of the login of the first administrator, one of IDENTITY_PROVIDERS. With
    BOOTSTRAP_ADMIN_SUBJECT and BOOTSTRAP_ADMIN_NAME set too, this administrator is registered while
    the deployment has none."""
    bootstrap_admin_subject: str | None = None
    """Subject of the first administrator at BOOTSTRAP_ADMIN_ISSUER."""
    bootstrap_admin_name: str | None = None
    """Name of the first administrator."""
    access_contact: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Text that a refused caller reads (403): whom to ask for a grant, such as `Write to
    beamline-control@facility.example.` Default: Ask an administrator for a grant."""
    idempotency_ttl_hours: Annotated[int, Ge(1), Le(24 * 365)] = 24
    """Hours for which the answer to an idempotency key is kept."""
    denial_retention_days: Annotated[int, Ge(30), Le(365 * 100)] = 400
    """Days for which the record of a denied call is kept."""
    project_in_serve: bool = True
    """Whether `serve` also does the work of `work`: projections, the staleness watch, observers."""
    projection_shards: Literal[1, 16] = 1
    """Number of shards of the event log for projections; with 16, up to 16 workers share them."""
    enclosure_stale_after_seconds: Annotated[float, Ge(1)] = 60.0
    """Seconds without a report, by the clock of the database, after which an enclosure or an
    observed supply is `Unknown`."""
    proposal_ttl_hours: Annotated[float, Gt(0)] = 24.0
    """Hours after which a proposal expires and cannot be approved any more."""
    proposals_open_most: Annotated[int, Ge(1), Le(10_000)] = 50
    """Maximum number of open proposals of one proposer."""
    conduct_lease_seconds: Annotated[float, Ge(1)] = 30.0
    """Seconds without a renewal after which another worker may take over a conduct."""
    conduct_renew_seconds: Annotated[float, Ge(0.1)] = 10.0
    """Seconds between two renewals of the leases of a worker."""
    conduct_self_fence_seconds: Annotated[float, Ge(0.5)] = 20.0
    """Seconds without a renewal after which a worker stops acting; more than CONDUCT_RENEW_SECONDS
    and less than CONDUCT_LEASE_SECONDS by more than the clocks of the database hosts may differ."""
    require_run_clearance: bool = False
    """Whether a run requires an active clearance to start."""
    evidence_window_minutes: Annotated[int, Ge(1), Le(10_080)] = 60
    """Minutes before a decision of an agent within which its answers count as evidence. Evidence
    that no decision followed in this time is deleted after 7 days."""
    delivery_ttl_days: Annotated[int, Ge(1), Le(365)] = 7
    """Days for which a delivered or skipped delivery of a subscription is listed."""
    data_roots: tuple[DataRoot, ...] = ()
    """Directories beneath which data files may be read, as a JSON list of absolute paths such as
    `["/data/beamline-3"]`. A link that leads out of them is refused. Default: none."""
    data_owners: Mapping[DataRoot, frozenset[UUID]] = {}
    """Directories beneath DATA_ROOTS and the ids of the principals they belong to, as a JSON object
    such as `{"/data/beamline-3/visit-7": ["…"]}`. A caller whose scope is Own may ingest scans and
    register copies only beneath directories of the caller. No link leads out of such a directory.
    Default: none."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum log level."""
    log_json: bool = True
    """Whether log lines are JSON; false prints text for a terminal."""
    otlp_endpoint: str | None = None
    """Address to which traces are sent, as OTLP over HTTP. Default: no traces."""

    @model_validator(mode="after")
    def worker_stops_before_it_is_replaced(self) -> Self:
        """Raise ValueError when a worker could act after another has taken over."""
        renew, fence = self.conduct_renew_seconds, self.conduct_self_fence_seconds
        if not renew < fence < self.conduct_lease_seconds:
            raise ValueError(
                f"CONDUCT_SELF_FENCE_SECONDS is {fence:g}: it must be more than"
                f" CONDUCT_RENEW_SECONDS, which is {renew:g}, and less than CONDUCT_LEASE_SECONDS,"
                f" which is {self.conduct_lease_seconds:g}."
            )
        return self

    @model_validator(mode="after")
    def somebody_can_log_in(self) -> Self:
        """Raise ValueError when a token is required and nobody could have one."""
        if self.require_authenticated_principal and not self.identity_providers:
            raise ValueError(
                "IDENTITY_PROVIDERS is empty: nobody could log in. Add at least one provider."
            )
        return self

    @model_validator(mode="after")
    def administrator_can_log_in(self) -> Self:
        """Raise ValueError when the first administrator is named in part, or could not log in."""
        parts = {
            "BOOTSTRAP_ADMIN_ISSUER": self.bootstrap_admin_issuer,
            "BOOTSTRAP_ADMIN_SUBJECT": self.bootstrap_admin_subject,
            "BOOTSTRAP_ADMIN_NAME": self.bootstrap_admin_name,
        }
        require_whole(parts, "the first administrator is named by all three.")
        issuer = self.bootstrap_admin_issuer if self.require_authenticated_principal else None
        if issuer and issuer not in {provider.issuer for provider in self.identity_providers}:
            raise ValueError(
                f"BOOTSTRAP_ADMIN_ISSUER is {issuer}, which is not an issuer in"
                " IDENTITY_PROVIDERS: the administrator could not log in. Add that provider or"
                " name the issuer of another."
            )
        return self

    def first_administrator(self) -> Administrator | None:
        """Return the administrator the settings name, if they name one."""
        issuer, subject, name = (
            self.bootstrap_admin_issuer,
            self.bootstrap_admin_subject,
            self.bootstrap_admin_name,
        )
        return Administrator(issuer, subject, name) if issuer and subject and name else None

    @model_validator(mode="after")
    def owned_directories_are_apart(self) -> Self:
        """Raise ValueError when a directory of DATA_OWNERS is in no root, or in another's."""
        for each in self.data_owners:
            if not any(each.is_relative_to(root) for root in self.data_roots):
                raise ValueError(f"DATA_OWNERS: {each} is not beneath one of DATA_ROOTS.")
            if outer := next((it for it in self.data_owners if it in each.parents), None):
                raise ValueError(
                    f"DATA_OWNERS: {each} lies in {outer}, so it would have two kinds of owners."
                    " Name directories that lie next to each other."
                )
        return self

    @property
    def data_places(self) -> DataPlaces:
        """Which directories of data belong to whom."""
        owners = {str(each): owners for each, owners in self.data_owners.items()}
        return DataPlaces(tuple(str(root) for root in self.data_roots), owners)

    def lease_times(self, slots: int) -> LeaseTimes:
        """Return how long a worker may act without a renewal, and how much work it holds."""
        return LeaseTimes(
            slots=slots,
            lease=self.conduct_lease_seconds,
            renew=self.conduct_renew_seconds,
            self_fence=self.conduct_self_fence_seconds,
        )
