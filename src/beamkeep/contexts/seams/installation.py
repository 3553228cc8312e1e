"""What rules and reads know of the deployment they run in, and what they can ask there."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import msgspec

from beamkeep.kernel import CallReader, Record
from beamkeep.schemas import Json, JsonObject

from .agent_records import AgentRecords
from .custody_rules import CustodyReader, CustodyRules
from .data_places import DataPlaces
from .evidence import EvidenceReader
from .lineage import LineageReader
from .log import EventReader
from .names import NameReader
from .observed import ObservationReader
from .receivers import ReceiverHosts, SecretKeeper
from .routes import ControlRoute
from .witnessed import WitnessReader

TEMPLATES = {
    UUID("00000000-0000-7000-8000-000000000061"): "RunDebriefer",
    UUID("00000000-0000-7000-8000-000000000062"): "CautionDrafter",
}


class ActionEntry(Record):
    """An action that the deployment has registered."""

    name: str
    params_schema: JsonObject = msgspec.field(default_factory=dict[str, Json])
    writes: tuple[str, ...] = ()
    """The addresses that the action may write."""
    inline: bool = False
    """Whether steps that are not of a recipe may use it, too."""


class JobEntry(Record):
    """A compute job that the deployment has registered."""

    name: str
    inline: bool = False
    """Whether steps that are not of a recipe may use it, too."""


class Facts(Record):
    """What a rule or a read may need to know of its deployment."""

    facility_code: str = "local"
    """The code of the deployment's own Site."""
    asset_page: str = "urn:uuid:{asset_id}"
    """The address of an asset's page, as it is published."""
    dataset_page: str = "urn:uuid:{dataset_id}"
    """The address of a dataset's page, as it is published."""
    edition_page: str = "urn:uuid:{edition_id}"
    """The address of an edition's page, as it is published."""
    doi_prefix: str | None = None
    """The prefix of the DOIs that the deployment registers, if it registers any."""
    mirrors_logbooks: bool = False
    """Whether logbook entries are copied to an outside logbook."""
    require_run_clearance: bool = False
    """Whether a run starts only under a clearance that is in force."""
    store_inference_messages: bool = False
    """Whether prompts and answers of language models are kept."""
    stale_after: timedelta = timedelta(seconds=60)
    """How old the last report of a monitor may be before it counts no more."""
    issuers: frozenset[str] = frozenset()
    """The identity providers whose logins the deployment accepts."""
    open_for_development: bool = False
    """Whether a call without a token is made as Developer."""
    login_key: bytes = b""
    """The secret that logins are digested with before an event names them."""
    routes: tuple[ControlRoute, ...] = ()
    """Which addresses of the control system conducts may read and write."""
    actions: tuple[ActionEntry, ...] = ()
    jobs: tuple[JobEntry, ...] = ()
    advisors: frozenset[str] = frozenset({"grid_walk"})
    service_url: str = "http://127.0.0.1:8000"
    """The address at which the service is reached."""
    receivers: ReceiverHosts = ReceiverHosts()
    """The hosts that subscriptions may send to."""
    custody_rules: CustodyRules = CustodyRules()
    """How many verified copies of a dataset must stay, by intent."""
    discard_needs_two: bool = False
    """Whether who releases production data from its dates cannot discard it."""
    transfer_accounts: frozenset[UUID] = frozenset()
    """The service accounts that may report what a transfer compared."""
    data_places: DataPlaces = DataPlaces()
    """Which directories of data belong to whom."""
    reads_layouts: bool = False
    """Whether the service can find the layout of data files."""
    scan_timezone: str | None = None
    """The time zone of times in scan files that have no offset, by its IANA name."""
    agent_runtimes: Mapping[str, bool] = {}
    """Whether the settings let the runtime of each kind of agent work."""
    model_providers: frozenset[str] = frozenset()
    """The providers of language models that the deployment can call."""
    prompt_templates: Mapping[UUID, str] = msgspec.field(default_factory=lambda: TEMPLATES)
    """The kind of agent that each prompt template of this release is for."""
    proposal_ttl_hours: float = 24
    """How long a proposal can be approved."""
    proposals_open_most: int = 50
    """How many proposals of one proposer can be open."""
    import_max_age: timedelta = timedelta(days=7)
    """How old an artifact of a peer may be when it is imported."""
    timezone: str = "UTC"
    """The time zone of the facility, by its IANA name."""


class Readers(Record):
    """What a read can ask in its deployment, besides events and lists."""

    events: EventReader | None = None
    """The log of all events, for reads."""
    directory: NameReader | None = None
    """Where objects of every kind are found by name."""
    secrets: SecretKeeper | None = None
    """Keeps the secrets of subscriptions; without it, no subscription can be registered."""
    custody: CustodyReader | None = None
    """Where datasets are found by how they are kept."""
    lineage: LineageReader | None = None
    """Where the edges of provenance are walked."""
    agent_records: AgentRecords | None = None
    """Where the calls of agents are summed, and their decisions are found."""
    observations: ObservationReader | None = None
    """Where the observations of runs are summed and thinned out."""
    evidence: EvidenceReader | None = None
    """Where the evidence of decisions is read."""
    witness: WitnessReader | None = None
    """Where checkpoints of the log, and proofs of events, are read."""


type Reader = CallReader[Facts, Readers]
"""Reads for one call, in a deployment."""


def present[T](reader: T | None) -> T:
    """Return a reader. Raise TypeError when the deployment has none."""
    if reader is None:
        raise TypeError("The deployment has no such reader.")
    return reader
