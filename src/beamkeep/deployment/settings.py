"""The settings of a deployment, read from the environment."""

import json
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from beamkeep.adapters.postgres.address import private_route
from beamkeep.adapters.tokens.providers import IdentityProvider
from beamkeep.contexts.agent.agent import ModelRef
from beamkeep.contexts.federation.facility import CODE
from beamkeep.contexts.seams.addresses import is_loopback
from beamkeep.contexts.seams.custody_rules import CustodyRules
from beamkeep.contexts.seams.data_places import DataPlaces
from beamkeep.contexts.seams.installation import Installation
from beamkeep.contexts.seams.receivers import ENTRY, ReceiverHosts
from beamkeep.contexts.seams.routes import ControlRoute, table_findings
from beamkeep.contexts.trust.bootstrap import Administrator
from beamkeep.parts.agents.models.budget import Price
from beamkeep.parts.agents.models.provider import (
    COMPATIBLE,
    NO_KEY,
    PUBLIC_URLS,
    Provider,
    ProviderAccount,
)
from beamkeep.parts.agents.models.templates import TEMPLATES
from beamkeep.parts.conducting.compute.job_directory import ComputeKind, JobProgram
from beamkeep.parts.conducting.observing import EnclosureSignal, SupplySignal
from beamkeep.parts.exchange.signers.signing import Pkcs11Token
from beamkeep.parts.logbook.olog import OlogAccount
from beamkeep.parts.publishing.datacite import DataciteAccount
from beamkeep.parts.subscriptions.sealing import AesSecretKeeper, secret_keeper
from beamkeep.parts.witness.keys import SigningKey, signing_key
from beamkeep.parts.witness.trees.notes import InvalidNoteError, VerifierKey, read_key
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


def _private_bus(url: SecretStr) -> SecretStr:
    parts = urlsplit(url.get_secret_value())
    if not parts.hostname or parts.scheme not in {"nats", "tls"}:
        raise ValueError("must be like tls://user:password@nats.example.org:4222")
    if parts.scheme == "nats" and not is_loopback(parts.hostname):
        raise ValueError("events would be sent unencrypted. Write tls:// instead of nats://")
    return url


def _private_registry(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in {"http", "https"} or parts.username:
        raise ValueError("must be like https://api.test.datacite.org, without a user name")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError(
            "the password would be sent unencrypted. Write https:// instead of http://"
        )
    return url


def _private_provider(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in {"http", "https"} or parts.username:
        raise ValueError("must be like https://models.example.org/v1, without a user name")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("the key would be sent unencrypted. Write https:// instead of http://")
    return url


def _private_logbook(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in {"http", "https"} or parts.username:
        raise ValueError("must be like https://olog.example.org/Olog, without a user name")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError(
            "the password would be sent unencrypted. Write https:// instead of http://"
        )
    return url


def _witness_address(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in {"http", "https"} or parts.username:
        raise ValueError("must be like https://witness.example.org/add-checkpoint")
    return url


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


MUST_BE_ESCAPED = (
    "The password contains one of # / ? [ ]. Write # as %23, / as %2F, ? as %3F, [ as %5B,"
    " ] as %5D."
)
type DatabaseAddress = Annotated[SecretStr, AfterValidator(_private_database)]
"""The address of a database; one on another host requires TLS with a verified certificate."""
type ProxyAddress = Annotated[str, AfterValidator(_bounded_network)]
type Origin = Annotated[str, AfterValidator(_exact_origin)]
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


def _from_json(value: object) -> object:
    """Return a record that an environment variable holds; only lists are decoded without this."""
    return json.loads(value) if isinstance(value, str) else value


class Settings(DatabaseSettings):
    """Each setting is an environment variable with its name in capitals, or a line in `.env`."""

    database_connections: Annotated[int, Ge(2), Le(200)] = 16
    """Maximum number of database connections that one process opens for commands, and again for
    lists."""

    host: str = "127.0.0.1"
    """IP address or host name that `serve` listens on."""
    port: Annotated[int, Ge(0), Le(65535)] = 8000
    """TCP port that `serve` listens on; 0 selects a free port."""
    base_url: str = "http://127.0.0.1:8000"
    """Address under which clients reach the service, and its OAuth resource identifier."""
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
    self_facility_code: Annotated[str, Field(pattern=CODE)] = "local"
    """Facility code of this deployment, by which other deployments know it."""
    facility_timezone: TimeZone = "UTC"
    """IANA name of the time zone in which people of the facility read times, for example
    Europe/Zurich."""
    asset_landing_page_template: Annotated[str, Field(pattern=r"\{asset_id\}")] | None = None
    """Address of an asset's landing page in instrument records; {base_url} and {asset_id} are
    replaced, and {asset_id} is required. Default: {base_url}/pages/assets/{asset_id}."""
    dataset_page: Annotated[str, Field(pattern=r"\{dataset_id\}")] | None = None
    """Address of a dataset's landing page, to which its DOI leads; {base_url} and {dataset_id} are
    replaced, and {dataset_id} is required. The page must be open to everybody. Default:
    {base_url}/pages/datasets/{dataset_id}, which the service itself serves."""
    edition_page: Annotated[str, Field(pattern=r"\{edition_id\}")] | None = None
    """Address of an edition's landing page, to which its DOI leads; {base_url} and {edition_id} are
    replaced, and {edition_id} is required. The page must be open to everybody. Default:
    {base_url}/pages/editions/{edition_id}, which the service itself serves."""

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

    cli_client_id: str | None = None
    """Client id with which `beamkeep login` asks the first identity provider for a login by a code.
    Default: none, and people give a token with --token-file."""
    console_client_id: str | None = None
    """Client id with which the web console asks the first identity provider for a login by
    authorization code with PKCE. Default: none, and people paste a token."""
    console_scope: Annotated[str, Field(min_length=1, max_length=500)] = "openid offline_access"
    """Scopes that the web console asks for, separated by blanks."""
    access_contact: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Text that a refused caller reads (403): whom to ask for a grant, such as `Write to
    beamline-control@facility.example.` Default: Ask an administrator for a grant."""

    cors_allowed_origins: tuple[Origin, ...] = ()
    """Web origins that may call the service from a browser (CORS), as a JSON list of exact origins
    such as `["https://console.example.org"]`. Default: none."""
    mcp_allowed_origins: tuple[str, ...] = ()
    """Web origins that may call `/mcp` from a browser, as a JSON list."""
    mcp_stdio_access_token: SecretStr | None = None
    """Access token of `mcp-stdio`. Required for every call through it."""
    mcp_stdio_surface_id: UUID | None = None
    """Surface of `mcp-stdio`. Default: the surface that every deployment begins with."""

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
    observed_enclosures: tuple[EnclosureSignal, ...] = ()
    """Signals of the control system that report the permits of enclosures, as a JSON list. Requires
    beamkeep[epics]."""
    observed_supplies: tuple[SupplySignal, ...] = ()
    """Signals of the control system that report the status of supplies, as a JSON list. Requires
    beamkeep[epics]."""
    observer_repeat_seconds: Annotated[float, Ge(0.1)] = 20.0
    """Seconds after which an unchanged signal is reported again, so that it does not become stale;
    must be less than ENCLOSURE_STALE_AFTER_SECONDS."""
    observer_silence_seconds: Annotated[float, Gt(5)] = 15.0
    """Seconds of silence of the control system after which its signals are lost; more than 5."""

    proposal_ttl_hours: Annotated[float, Gt(0)] = 24.0
    """Hours after which a proposal expires and cannot be approved any more."""
    proposals_open_most: Annotated[int, Ge(1), Le(10_000)] = 50
    """Maximum number of open proposals of one proposer."""

    conduct_slots: Annotated[int, Ge(0), Le(100)] = 4
    """Maximum number of conducts that one process carries out at the same time; 0 for none."""
    conduct_lease_seconds: Annotated[float, Ge(1)] = 30.0
    """Seconds without a renewal after which another worker may take over a conduct."""
    conduct_renew_seconds: Annotated[float, Ge(0.1)] = 10.0
    """Seconds between two renewals of the leases of a worker."""
    conduct_self_fence_seconds: Annotated[float, Ge(0.5)] = 20.0
    """Seconds without a renewal after which a worker stops acting; more than CONDUCT_RENEW_SECONDS
    and less than CONDUCT_LEASE_SECONDS by more than the clocks of the database hosts may differ."""
    conduct_takeover_window_seconds: Annotated[float, Ge(0)] = 300.0
    """Seconds without any worker after which a conduct is interrupted and not continued; before the
    first worker, the age of the request."""
    control_routes: tuple[ControlRoute, ...] = ()
    """Addresses of the control system that conducts may read and write, as a JSON list of
    `{prefix, substrate}` with optional `writable`, `inline`, `simulated`, `asset_id` and `bounds`;
    the longest prefix of an address applies. Default: none."""
    custody_rules: Annotated[CustodyRules | None, BeforeValidator(_from_json)] = None
    """How many verified copies of a dataset must stay, as a JSON object by intent (`Trial`,
    `Production`, `Retracted`), each with `verified_copies`, `distinct_supplies`, `outside`,
    `online`, `verified_by`, `strength`, `verified_within_days`, `relied_within_hours` and
    `file_systems_differ`. Default: one copy verified within 365 days."""
    discard_needs_two: bool = False
    """Whether who removes or advances a date of a production dataset cannot discard it or its
    copies."""
    transfer_accounts: frozenset[UUID] = frozenset()
    """Ids of the service accounts that may report what a transfer service compared, as a JSON list.
    Default: none."""
    control_silence_seconds: Annotated[float, Gt(5)] = 15.0
    """Seconds of silence of a control system after which a conduct takes it for disconnected."""
    control_connect_seconds: Annotated[float, Gt(0)] = 5.0
    """Seconds that a conduct waits for a connection to the control system before a write."""
    tango_nodb_host: str | None = None
    """Host and port of a Tango device server that runs without a Tango database, such as
    127.0.0.1:45450. Default: devices are found by the database in TANGO_HOST."""
    compute_jobs: tuple[JobProgram, ...] = ()
    """Jobs that compute steps can run, as a JSON list of `{name, command}` with optional `inline`,
    `timeout`, `input_roots`, `output_roots` and `slurm_options`. `command` is a list of arguments,
    not a shell command."""
    compute_system: ComputeKind = ComputeKind.LOCAL_PROCESS
    """Where jobs run: `local_process` on the machine of the worker, `slurm` on a Slurm cluster."""
    compute_directory: Path | None = None
    """Directory of the jobs; every worker must see the same directory, and with Slurm every node.
    Required if COMPUTE_JOBS is not empty."""
    compute_at_once: Annotated[int, Ge(1), Le(1000)] = 2
    """Maximum number of jobs that run at once with `local_process`; further ones wait."""

    run_debriefer_enabled: bool = True
    """Whether RunDebriefer describes ended runs. Requires LANGUAGE_MODEL_PROVIDER."""
    caution_drafter_enabled: bool = True
    """Whether CautionDrafter proposes cautions after ended runs. Requires
    LANGUAGE_MODEL_PROVIDER."""
    run_supervisor_enabled: bool = False
    """Whether RunSupervisor holds and stops runs that have lost their beam."""
    run_supervisor_tick_seconds: Annotated[float, Ge(0.1)] = 30.0
    """Seconds between two looks of RunSupervisor at the open runs."""
    run_supervisor_settle_seconds: Annotated[float, Ge(0)] = 10.0
    """Seconds for which beam must be lost before RunSupervisor holds a run."""
    run_supervisor_stop_after_seconds: Annotated[float, Ge(0)] = 14400.0
    """Seconds for which beam must be lost before RunSupervisor stops a run that it held; 0 for
    never."""
    caution_promoter_enabled: bool = False
    """Whether CautionPromoter promotes notices that CautionDrafter proposes."""
    caution_promoter_min_confidence: Annotated[float, Ge(0), Le(1)] = 0.7
    """Confidence below which CautionPromoter leaves a notice to an operator."""
    caution_promoter_daily_most: Annotated[int, Ge(0)] = 20
    """Maximum number of notices that CautionPromoter promotes in 24 hours."""
    clearance_expirer_enabled: bool = True
    """Whether ClearanceExpirer expires clearances whose valid_until has passed."""
    clearance_expirer_tick_seconds: Annotated[float, Ge(0.1)] = 300.0
    """Seconds between two looks of ClearanceExpirer at the active clearances."""
    agent_max_event_age_hours: Annotated[float, Gt(0)] = 24.0
    """Hours after which an agent passes over an event that it has not answered."""

    require_run_clearance: bool = False
    """Whether a run requires an active clearance to start."""
    store_inference_messages: bool = False
    """Whether prompts and answers of language models are stored; they may name people."""

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
    subscription_hosts: tuple[HostEntry, ...] = ()
    """Hosts that subscriptions may send events to, as a JSON list of `host`, `host:port` or
    `*.suffix`; without a port, the usual port of the address applies. Default: none."""
    subscription_plain_hosts: tuple[HostEntry, ...] = ()
    """Those hosts of SUBSCRIPTION_HOSTS that may have an http address, and a loopback or link-local
    IP address, as a JSON list. Default: none."""
    subscription_key_file: Path | None = None
    """File with the key that encrypts the secrets of subscriptions: 32 random bytes in base64, for
    example from `openssl rand -base64 32`. Required to register subscriptions and to send."""
    signing_key_directory: Path | None = None
    """Directory of the private keys that sign for the own site, one Ed25519 key for each file, as
    unencrypted PEM with mode 0600. The `secret_ref` of a credential is the name of its file."""
    signing_pkcs11_module: Path | None = None
    """PKCS#11 library of the token that signs for the own site, such as
    /usr/lib/softhsm/libsofthsm2.so. The `secret_ref` of a credential is the label of its key.
    Required, with the two settings below, to sign with a token."""
    signing_pkcs11_token: str | None = None
    """Label of the PKCS#11 token."""
    signing_pkcs11_pin: SecretStr | None = None
    """PIN of the user of the PKCS#11 token."""
    import_max_age_days: Annotated[int, Ge(1), Le(365)] = 7
    """Days for which an artifact that a peer has exported can be imported."""
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
    data_https_hosts: tuple[HostEntry, ...] = ()
    """Hosts from which copies of data may be read by HTTPS, as a JSON list of `host`, `host:port`
    or `*.suffix`; without a port, port 443 applies. Default: none."""
    ingest_quiet_seconds: Annotated[float, Ge(0), Le(3600)] = 5
    """Seconds for which a scan file must not have been modified before it is ingested."""
    ingest_hash_bytes: Annotated[int, Ge(0), Le(1 << 40)] = 4 << 30
    """Size in bytes up to which `serve` computes the checksum of a scan itself. Larger scans need
    the checksum that their writer computed."""
    scan_timezone: TimeZone | None = None
    """IANA name of the time zone of times in scan files that have no offset, such as
    Europe/Zurich. Default: such times are refused."""

    check_slots: Annotated[int, Ge(0), Le(64)] = 1
    """Maximum number of copies of data that one process reads at the same time to check them; 0 for
    none."""
    check_bytes_per_second: Annotated[int, Ge(1_000_000)] = 250_000_000
    """Maximum number of bytes that one process reads in a second to check copies of data; at least
    1000000."""

    nats_url: Annotated[SecretStr, AfterValidator(_private_bus)] | None = None
    """Address of a NATS server with JetStream to which `work` publishes every event, such as
    tls://user:password@nats.example.org:4222. nats:// is accepted only for this machine. Everybody
    who may read the stream sees all events. Requires beamkeep[nats]. Default: no relay."""
    nats_stream: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = "BEAMKEEP"
    """Name of the JetStream stream to which events are published. It is created if it is absent,
    and must have no other publisher."""
    nats_replicas: Annotated[int, Ge(1), Le(5)] = 1
    """Number of replicas with which the stream is created."""
    nats_max_age_days: Annotated[float, Ge(0)] = 0
    """Days after which the stream removes a message, set when the stream is created; 0 for no
    limit."""
    nats_max_bytes: Annotated[int, Ge(0)] = 0
    """Size in bytes above which the stream removes its oldest messages, set when the stream is
    created; 0 for no limit."""

    datacite_url: Annotated[str, AfterValidator(_private_registry)] | None = None
    """Address of the REST API of DataCite at which DOIs are registered, such as
    https://api.test.datacite.org. Required, with the three settings below, to mint DOIs."""
    datacite_prefix: Annotated[str, Field(pattern=r"^10\.[0-9]{4,9}$")] | None = None
    """Prefix of the DOIs that this deployment registers, such as 10.5072."""
    datacite_repository_id: str | None = None
    """Repository account at DataCite, such as FACILITY.DATA."""
    datacite_password: SecretStr | None = None
    """Password of the repository account at DataCite."""

    language_model_provider: Provider | None = None
    """Provider of the language model of the agents RunDebriefer and CautionDrafter: `anthropic`,
    `openai`, or `openai_compatible` for another server with chat completions. These agents are
    created at the first start with this setting; later changes of this setting and of the two
    below do not change them."""
    language_model_name: Annotated[str, MinLen(1), MaxLen(200)] | None = None
    """Name of the language model at its provider. Required with LANGUAGE_MODEL_PROVIDER."""
    language_model_snapshot_pin: Annotated[str, MinLen(1), MaxLen(100)] | None = None
    """Exact snapshot of the language model that is asked for. Default: whichever the provider
    answers with."""
    language_model_api_key: SecretStr | None = None
    """Key with which the provider is called. Required for `anthropic` and `openai`."""
    language_model_base_url: Annotated[str, AfterValidator(_private_provider)] | None = None
    """Address of the provider's API, such as https://models.example.org/v1. Required for
    `openai_compatible`. Default: the public address of the provider."""
    language_model_prices: dict[str, Price] = {}
    """Prices of models, as a JSON object by `<provider>/<model>`, each with
    `input_usd_per_million` and `output_usd_per_million`. An agent with a monthly cap calls only
    models that have a price. Default: none."""
    language_model_send_marked_text: bool = False
    """Whether texts that may contain personal data are sent to the language model."""

    logbook_mirror_url: Annotated[str, AfterValidator(_private_logbook)] | None = None
    """Address of a Phoebus Olog to which logbook entries are copied, such as
    https://olog.example.org/Olog. Required, with the three settings below, to copy entries."""
    logbook_mirror_logbook: str | None = None
    """Logbook of the Olog that gets the entries. It must exist there."""
    logbook_mirror_user: str | None = None
    """Account at the Olog, which owns the copies."""
    logbook_mirror_password: SecretStr | None = None
    """Password of the account at the Olog."""

    witness_key_file: Path | None = None
    """File with the private key that signs checkpoints of the log, made by `beamkeep witness-key`.
    What was signed last is remembered in a file beside it. Default: no checkpoints."""
    witness_next_key_file: Path | None = None
    """File with a second key, which also signs each checkpoint until it replaces the first."""
    witness_send_file: Path | None = None
    """File to which checkpoints are appended. It should be where the owner of the database cannot
    change it."""
    witness_send_url: Annotated[str, AfterValidator(_witness_address)] | None = None
    """Address to which checkpoints are posted. If it ends with /add-checkpoint, a witness there
    co-signs them, as C2SP tlog-witness describes."""
    witness_origins: dict[str, tuple[str, ...]] = {}
    """Logs of other deployments whose checkpoints this one co-signs, as a JSON object from origin
    to a list of verifier keys. Requires WITNESS_KEY_FILE. Default: none."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum log level."""
    log_json: bool = True
    """Whether log lines are JSON; false prints text for a terminal."""
    otlp_endpoint: str | None = None
    """Address to which traces are sent, as OTLP over HTTP. Default: no traces."""

    @model_validator(mode="after")
    def not_open_by_accident(self) -> Self:
        """Raise ValueError when anybody, or nobody, could call the service."""
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
        if self.require_authenticated_principal and not self.identity_providers:
            raise ValueError(
                "IDENTITY_PROVIDERS is empty: nobody could log in. Add at least one provider."
            )
        return self

    @model_validator(mode="after")
    def reports_outlast_their_pause(self) -> Self:
        """Raise ValueError when every report of an observer would be stale before the next."""
        signals = self.observed_enclosures or self.observed_supplies
        if signals and self.observer_repeat_seconds >= self.enclosure_stale_after_seconds:
            raise ValueError(
                f"OBSERVER_REPEAT_SECONDS is {self.observer_repeat_seconds:g} and"
                f" ENCLOSURE_STALE_AFTER_SECONDS is {self.enclosure_stale_after_seconds:g}: every"
                " report would be stale before the next. Set OBSERVER_REPEAT_SECONDS to at most"
                " half of ENCLOSURE_STALE_AFTER_SECONDS."
            )
        return self

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
    def routes_are_sound(self) -> Self:
        """Raise ValueError with every fault of the route table."""
        if found := list(table_findings(self.control_routes)):
            raise ValueError(f"CONTROL_ROUTES: {' '.join(found)}")
        return self

    @model_validator(mode="after")
    def jobs_can_run(self) -> Self:
        """Raise ValueError when jobs have no directory, or two jobs have one name."""
        if self.compute_jobs and self.compute_directory is None:
            raise ValueError("COMPUTE_JOBS names jobs. Set COMPUTE_DIRECTORY to their directory.")
        names = [job.name for job in self.compute_jobs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"COMPUTE_JOBS has two jobs named {twice[0]!r}. Rename one of them.")
        return self

    @model_validator(mode="after")
    def secrets_can_be_kept(self) -> Self:
        """Raise ValueError when the key of subscriptions cannot be read."""
        self.secret_keeper()
        return self

    @model_validator(mode="after")
    def signer_is_whole(self) -> Self:
        """Raise ValueError when the token that signs is named in part, or beside a directory."""
        parts = {
            "SIGNING_PKCS11_MODULE": self.signing_pkcs11_module,
            "SIGNING_PKCS11_TOKEN": self.signing_pkcs11_token,
            "SIGNING_PKCS11_PIN": self.signing_pkcs11_pin,
        }
        if any(parts.values()) and not all(parts.values()):
            lacking = " and ".join(name for name, value in parts.items() if not value)
            raise ValueError(f"Set {lacking} too: a token is reached with all three.")
        if any(parts.values()) and self.signing_key_directory:
            raise ValueError(
                "SIGNING_KEY_DIRECTORY and SIGNING_PKCS11_MODULE are both set. Unset one of them."
            )
        return self

    @property
    def signing_token(self) -> Pkcs11Token | None:
        """The token that signs for the own site, if there is one."""
        module, label, pin = (
            self.signing_pkcs11_module,
            self.signing_pkcs11_token,
            self.signing_pkcs11_pin,
        )
        if not module or not label or not pin:
            return None
        return Pkcs11Token(module, label, pin=pin.get_secret_value())

    @model_validator(mode="after")
    def registry_is_whole(self) -> Self:
        """Raise ValueError when the registry of DOIs is named in part."""
        parts = {
            "DATACITE_URL": self.datacite_url,
            "DATACITE_PREFIX": self.datacite_prefix,
            "DATACITE_REPOSITORY_ID": self.datacite_repository_id,
            "DATACITE_PASSWORD": self.datacite_password,
        }
        if any(parts.values()) and not all(parts.values()):
            lacking = " and ".join(name for name, value in parts.items() if not value)
            raise ValueError(f"Set {lacking} too: DOIs are registered with all four.")
        return self

    @model_validator(mode="after")
    def mirror_is_whole(self) -> Self:
        """Raise ValueError when the outside logbook is named in part."""
        parts = {
            "LOGBOOK_MIRROR_URL": self.logbook_mirror_url,
            "LOGBOOK_MIRROR_LOGBOOK": self.logbook_mirror_logbook,
            "LOGBOOK_MIRROR_USER": self.logbook_mirror_user,
            "LOGBOOK_MIRROR_PASSWORD": self.logbook_mirror_password,
        }
        if any(parts.values()) and not all(parts.values()):
            lacking = " and ".join(name for name, value in parts.items() if not value)
            raise ValueError(f"Set {lacking} too: logbook entries are copied with all four.")
        return self

    @model_validator(mode="after")
    def administrator_can_log_in(self) -> Self:
        """Raise ValueError when the first administrator is named in part, or could not log in."""
        parts = {
            "BOOTSTRAP_ADMIN_ISSUER": self.bootstrap_admin_issuer,
            "BOOTSTRAP_ADMIN_SUBJECT": self.bootstrap_admin_subject,
            "BOOTSTRAP_ADMIN_NAME": self.bootstrap_admin_name,
        }
        if any(parts.values()) and not all(parts.values()):
            lacking = " and ".join(name for name, value in parts.items() if not value)
            raise ValueError(f"Set {lacking} too: the first administrator is named by all three.")
        issuer = self.bootstrap_admin_issuer if self.require_authenticated_principal else None
        if issuer and issuer not in {provider.issuer for provider in self.identity_providers}:
            raise ValueError(
                f"BOOTSTRAP_ADMIN_ISSUER is {issuer}, which is not an issuer in"
                " IDENTITY_PROVIDERS: the administrator could not log in. Add that provider or"
                " name the issuer of another."
            )
        return self

    def installation(self, login_key: bytes = b"") -> Installation:
        """Return what rules and reads may know of the deployment."""
        page = self.asset_landing_page_template or "{base_url}/pages/assets/{asset_id}"
        dataset_page = self.dataset_page or "{base_url}/pages/datasets/{dataset_id}"
        edition_page = self.edition_page or "{base_url}/pages/editions/{edition_id}"
        return Installation(
            facility_code=self.self_facility_code,
            timezone=self.facility_timezone,
            scan_timezone=self.scan_timezone,
            data_places=self.data_places,
            asset_page=page.replace("{base_url}", self.base_url),
            dataset_page=dataset_page.replace("{base_url}", self.base_url),
            edition_page=edition_page.replace("{base_url}", self.base_url),
            doi_prefix=self.datacite_prefix,
            mirrors_logbooks=self.logbook_mirror is not None,
            require_run_clearance=self.require_run_clearance,
            store_inference_messages=self.store_inference_messages,
            stale_after=timedelta(seconds=self.enclosure_stale_after_seconds),
            issuers=frozenset(provider.issuer for provider in self.identity_providers),
            open_for_development=not self.require_authenticated_principal,
            login_key=login_key,
            routes=self.control_routes,
            jobs=tuple(job.entry for job in self.compute_jobs),
            service_url=self.base_url,
            proposal_ttl_hours=self.proposal_ttl_hours,
            proposals_open_most=self.proposals_open_most,
            receivers=self.receivers,
            secrets=self.secret_keeper(),
            custody_rules=self.custody_rules or CustodyRules(),
            discard_needs_two=self.discard_needs_two,
            transfer_accounts=self.transfer_accounts,
            import_max_age=timedelta(days=self.import_max_age_days),
            evidence_window=timedelta(minutes=self.evidence_window_minutes),
            prompt_templates={each.id: each.kind for each in TEMPLATES.values()},
            model_providers=frozenset(filter(None, [self.language_model_provider])),
            agent_runtimes={
                "RunDebriefer": self.run_debriefer_enabled,
                "CautionDrafter": self.caution_drafter_enabled,
                "RunSupervisor": self.run_supervisor_enabled,
                "CautionPromoter": self.caution_promoter_enabled,
                "ClearanceExpirer": self.clearance_expirer_enabled,
            },
        )

    @model_validator(mode="after")
    def witness_can_sign(self) -> Self:
        """Raise ValueError when a key of the witness cannot be read."""
        if self.witness_key_file is None and (self.witness_next_key_file or self.witness_origins):
            raise ValueError("Set WITNESS_KEY_FILE too: checkpoints are signed with its key.")
        if self.witness_key_file and not self.witness_database_url:
            raise ValueError(
                "Set WITNESS_DATABASE_URL to the address of the database with the role bk_witness:"
                " only this role can write what the witness has signed."
            )
        try:
            self.witness_keys()
            _ = self.cosigned_origins
        except InvalidNoteError:
            raise ValueError("WITNESS_ORIGINS has a verifier key that cannot be read.") from None
        return self

    def witness_keys(self) -> list[SigningKey]:
        """Return the keys that sign checkpoints, if there are any."""
        paths = [self.witness_key_file, self.witness_next_key_file]
        return [signing_key(path) for path in paths if path]

    @property
    def cosigned_origins(self) -> dict[str, list[VerifierKey]]:
        """The origins whose checkpoints are co-signed, with their keys."""
        return {
            origin: [read_key(key) for key in keys] for origin, keys in self.witness_origins.items()
        }

    @property
    def witness_origin(self) -> str:
        """The beginning of the origins of this deployment's trees."""
        return f"{urlsplit(self.base_url).hostname}/{self.self_facility_code}"

    @model_validator(mode="after")
    def owned_directories_are_apart(self) -> Self:
        """Raise ValueError when a directory of DATA_OWNERS is in no root, or in another's."""
        for each in self.data_owners:
            if not any(each.is_relative_to(root) for root in self.data_roots):
                raise ValueError(f"DATA_OWNERS: {each} is not beneath one of DATA_ROOTS.")
            if outer := next((it for it in self.data_owners if it in each.parents), None):
                raise ValueError(
                    f"DATA_OWNERS: {each} lies in {outer}, so it would have two kinds of owners."
                    " Name directories that lie beside each other."
                )
        return self

    @property
    def data_places(self) -> DataPlaces:
        """Which directories of data belong to whom."""
        owners = {str(each): owners for each, owners in self.data_owners.items()}
        return DataPlaces(tuple(str(root) for root in self.data_roots), owners)

    @property
    def datacite(self) -> DataciteAccount | None:
        """The account by which DOIs are registered, if there is one."""
        url, repository, password = (
            self.datacite_url,
            self.datacite_repository_id,
            self.datacite_password,
        )
        if not url or not repository or not password:
            return None
        return DataciteAccount(url, repository, password.get_secret_value())

    @property
    def logbook_mirror(self) -> OlogAccount | None:
        """The account by which logbook entries are copied, if there is one."""
        url, logbook, user, password = (
            self.logbook_mirror_url,
            self.logbook_mirror_logbook,
            self.logbook_mirror_user,
            self.logbook_mirror_password,
        )
        if not url or not logbook or not user or not password:
            return None
        return OlogAccount(url, logbook, user=user, password=password.get_secret_value())

    @property
    def receivers(self) -> ReceiverHosts:
        """The hosts that subscriptions may send to."""
        return ReceiverHosts(self.subscription_hosts, self.subscription_plain_hosts)

    def secret_keeper(self) -> AesSecretKeeper | None:
        """Return what keeps the secrets of subscriptions, if there is a key for it."""
        path = self.subscription_key_file
        try:
            return secret_keeper(path) if path else None
        except (OSError, ValueError) as error:
            raise ValueError(
                f"SUBSCRIPTION_KEY_FILE {path} cannot be used: {error} Write 32 random bytes in"
                " base64 to it, for example with `openssl rand -base64 32`."
            ) from None

    @property
    def conduct_times(self) -> LeaseTimes:
        """How long a worker may act without a renewal, and how many conducts it holds."""
        return LeaseTimes(
            slots=self.conduct_slots,
            lease=self.conduct_lease_seconds,
            renew=self.conduct_renew_seconds,
            self_fence=self.conduct_self_fence_seconds,
        )

    @model_validator(mode="after")
    def language_model_is_whole(self) -> Self:
        """Raise ValueError when a language model is named in part."""
        provider, name = self.language_model_provider, self.language_model_name
        if (provider is None) != (name is None):
            lacking = "LANGUAGE_MODEL_PROVIDER" if name else "LANGUAGE_MODEL_NAME"
            raise ValueError(f"Set {lacking} too: a model is named by its provider and its name.")
        needed = {
            "LANGUAGE_MODEL_BASE_URL": provider == COMPATIBLE and not self.language_model_base_url,
            "LANGUAGE_MODEL_API_KEY": provider not in {None, COMPATIBLE}
            and not self.language_model_api_key,
        }
        if lacking := " and ".join(name for name, is_lacking in needed.items() if is_lacking):
            raise ValueError(f"Set {lacking} too: provider {provider} is not reached without.")
        return self

    @property
    def provider_account(self) -> ProviderAccount | None:
        """Where the language model is reached, if the settings name one."""
        if self.language_model_provider is None:
            return None
        key = self.language_model_api_key
        url = self.language_model_base_url or PUBLIC_URLS[self.language_model_provider]
        return ProviderAccount(url, key.get_secret_value() if key else NO_KEY)

    def language_model(self) -> ModelRef | None:
        """Return the model of the seeded agents that call one, if the settings name one."""
        provider, name = self.language_model_provider, self.language_model_name
        if provider is None or name is None:
            return None
        return ModelRef(provider, name, self.language_model_snapshot_pin)

    def first_administrator(self) -> Administrator | None:
        """Return the administrator the settings name, if they name one."""
        issuer, subject, name = (
            self.bootstrap_admin_issuer,
            self.bootstrap_admin_subject,
            self.bootstrap_admin_name,
        )
        return Administrator(issuer, subject, name) if issuer and subject and name else None
