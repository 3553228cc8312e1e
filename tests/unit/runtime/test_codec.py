"""Every event survives the journey to the store and back."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rows import is_wanted

from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.agent.agent import AgentBudget
from beamkeep.contexts.data.acquisition import AcquisitionEvidence, AcquisitionSettings
from beamkeep.contexts.equipment.placement import Placement
from beamkeep.contexts.recipe.plan import Window
from beamkeep.contexts.recipe.recipe import Steps
from beamkeep.contexts.recipe.steps import (
    Equals,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeComputeStep,
    RecipeSetpointStep,
    WithinTolerance,
)
from beamkeep.kernel import Aggregate, Event, NotFound, Record, Upcast
from beamkeep.kernel.values import FreeText
from beamkeep.runtime.codec import BrokenStreamError, Codec, encode
from beamkeep.runtime.store import StoredEvent
from beamkeep.schemas import Json, JsonObject, JsonSchema

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ID, EVENT_ID = UUID(int=1), UUID(int=2)

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
TIMES = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=ZONES)  # noqa: DTZ001
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
JSON = st.recursive(SCALARS, lambda held: st.lists(held) | st.dictionaries(st.text(), held))
OBJECTS = st.dictionaries(st.text(), JSON)
TEXTS = st.dictionaries(st.text(), st.text())
FINITE = st.floats(allow_nan=False, allow_infinity=False)
st.register_type_strategy(
    Placement, st.builds(Placement, st.uuids(), FINITE, FINITE, FINITE, FINITE, FINITE, FINITE)
)
st.register_type_strategy(
    AgentBudget, st.builds(AgentBudget, st.none() | FINITE, st.none() | st.integers(0, 10**9))
)
st.register_type_strategy(Window, st.builds(Window, st.none() | TIMES, st.none() | TIMES))
CRITERIA = st.builds(Equals, JSON) | st.builds(WithinTolerance, JSON, FINITE)
STEPS: st.SearchStrategy[Steps] = st.lists(
    st.builds(RecipeSetpointStep, st.text(), JSON, st.booleans(), FINITE)
    | st.builds(RecipeActionStep, st.text(), OBJECTS)
    | st.builds(RecipeCheckStep, st.text(), CRITERIA)
    | st.builds(RecipeCaptureStep, st.text(), st.text())
    | st.builds(RecipeComputeStep, st.text(), OBJECTS, st.lists(JSON, max_size=2).map(tuple)),
    max_size=2,
).map(tuple)
STRATEGIES: dict[Any, st.SearchStrategy[Any]] = {
    datetime: TIMES,
    float: FINITE,
    FreeText: st.text(),
    JsonObject: OBJECTS,
    AcquisitionSettings: OBJECTS,
    AcquisitionEvidence: OBJECTS,
    JsonSchema: OBJECTS,
    Mapping[str, str]: TEXTS,
    Steps: STEPS,
    Json: JSON,
}
"""What makes the values of types that hypothesis does not make as events have them."""
KINDS = [kind for kind in CATALOGUE.streams if is_wanted(kind.__module__)]
EXAMPLES = 30
CODEC = Codec(CATALOGUE.aggregates.values())


@cache
def made(strategy: st.SearchStrategy[Any]) -> Sequence[Any]:
    """Return values that a strategy makes, once for all events that have such a field."""
    found: list[Any] = []

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(strategy)
    def keep(value: Any) -> None:
        found.append(value)

    keep()
    return found


def strategy_of(hint: Any) -> st.SearchStrategy[Any] | None:
    """Return what makes the values of a type, or of its part that is not null, in this table."""
    (part, *others) = [each for each in get_args(hint) if each is not NoneType] or [hint]
    return STRATEGIES.get(part if NoneType in get_args(hint) and not others else hint)


@cache
def values_of(hint: Any) -> Sequence[Any]:
    """Return values of a type."""
    strategy = strategy_of(hint)
    if strategy is None:
        return made(st.from_type(hint))
    return [None, *made(strategy)] if NoneType in get_args(hint) else made(strategy)


def events_of(kind: type[Event]) -> Iterator[Event]:
    """Yield events with different values in every field that has no default."""
    hints = get_type_hints(kind)
    required = {field.name for field in msgspec.structs.fields(kind) if field.required}
    fields = {
        name: values_of(hint)
        for name, hint in hints.items()
        if name in required or strategy_of(hint) is not None
    }
    for number in range(max(map(len, fields.values()))):
        places = enumerate(fields.items())
        yield kind(**{name: of[(number + shift) % len(of)] for shift, (name, of) in places})


def test_there_and_back(subtests: pytest.Subtests):
    for kind in KINDS:
        with subtests.test(kind.__name__):
            for version, event in enumerate(events_of(kind), 1):
                require_survival(event, version)


def require_survival(event: Event, version: int) -> None:
    """Fail unless the event that is read back is the event that was written."""
    kind = type(event)
    stored = CODEC.encode(event, version, EVENT_ID)
    aggregate = CATALOGUE.streams[kind]
    assert stored.stream == (aggregate.name, getattr(event, aggregate.id_field))
    assert (stored.version, stored.event_id) == (version, EVENT_ID)
    recorded = StoredEvent(version, stored.event_type, stored.schema_version, stored.payload)
    (back,) = CODEC.decode(aggregate.name, [recorded])
    assert back == event
    assert type(back) is kind
    assert CODEC.encode(back, version, EVENT_ID) == stored


EVENT = re.compile(r"^(\w+):([^:]*)$", re.MULTILINE)
FIELDS = """
AcquisitionRecorded: acquisition_id dataset_id producing_asset_id producing_run_id captured_at
    settings evidence corrects_acquisition_id
ActorDeactivated: actor_id
ActorIdentityBound: actor_id issuer subject_digest bound_by confirmed
ActorIdentityConfirmed: actor_id issuer subject_digest
ActorIdentityUnbound: actor_id issuer subject_digest
ActorProfileForgotten: actor_id
ActorProfileUpdated: actor_id changed_fields
ActorRegistered: actor_id kind identities bound_by confirmed
AgentBudgetUpdated: agent_id budget
AgentDefined: agent_id kind name version description model_ref prompt_template_id capabilities tools
    budget
AgentDeprecated: agent_id reason
AgentResumed: agent_id
AgentSuspended: agent_id reason
AgentToolGranted: agent_id tool_name
AgentToolRevoked: agent_id tool_name
AgentVersioned: agent_id version
AssetActivated: asset_id
AssetAlternateIdentifierAdded: asset_id kind value
AssetAlternateIdentifierRemoved: asset_id kind value
AssetDecommissioned: asset_id
AssetDegraded: asset_id reason
AssetExternalIdAssigned: asset_id external_id_namespace external_id
AssetFamilyAdded: asset_id family_id
AssetFamilyRemoved: asset_id family_id
AssetFaulted: asset_id reason
AssetInstalledInMount: asset_id mount_id
AssetLocated: asset_id located_in_enclosure_id
AssetMaintenanceEntered: asset_id reason
AssetMaintenanceExited: asset_id
AssetRegistered: asset_id name tier parent_id facility_code family_ids model_id
    located_in_enclosure_id alternate_identifiers
AssetRelocated: asset_id from_parent_id to_parent_id reason
AssetRenamed: asset_id name
AssetRestored: asset_id reason
AssetSettingsUpdated: asset_id settings family_versions
AssetUninstalledFromMount: asset_id mount_id reason
AttestationRecorded: attestation_id dataset_id distribution_id kind verified_by outcome strength
    checked_at evidence
CalibrationDefined: calibration_id asset_id quantity operating_point description
CalibrationDescriptionUpdated: calibration_id description
CalibrationRevisionAppended: calibration_id revision_id value status source established_at
    supersedes_revision_id decided_by_decision_id
CampaignAbandoned: campaign_id reason
CampaignClosed: campaign_id
CampaignHeld: campaign_id reason
CampaignRegistered: campaign_id name intent lead_actor_id subject_id description tags
    external_refs
CampaignResumed: campaign_id
CampaignRunAdded: campaign_id run_id
CampaignRunRemoved: campaign_id run_id reason
CampaignStarted: campaign_id
CapabilityDefined: capability_id name description required_affordances executor_shapes
    parameters_schema code
CapabilityDeprecated: capability_id replaced_by_capability_id
CapabilityVersioned: capability_id name description required_affordances executor_shapes
    parameters_schema version_tag
CautionRegistered: caution_id target category severity text workaround tags expires_at
    propagate_to_children authored_by parent_id promoted_from_decision_id
CautionRetired: caution_id retire_reason
CautionSuperseded: caution_id superseded_by_caution_id
ClearanceActivated: clearance_id
ClearanceApproved: clearance_id valid_from valid_until
ClearanceExpired: clearance_id reason
ClearanceRegistered: clearance_id kind facility_code title bindings hazards risk_band valid_from
    valid_until parent_id
ClearanceRejected: clearance_id reason
ClearanceReviewStarted: clearance_id
ClearanceReviewStepAppended: clearance_id step_index role decision notes decided_by
ClearanceSubmitted: clearance_id
ClearanceSuperseded: clearance_id superseded_by_clearance_id
ConduitDefined: conduit_id name source_zone_id target_zone_id
DatasetArchived: dataset_id
DatasetDemoted: dataset_id reason
DatasetDiscarded: dataset_id reason
DatasetPromoted: dataset_id reason
DatasetRegistered: dataset_id name checksum byte_size encoding digests file_count of_parts
    producing_run_id subject_id derived_from used_calibration_ids retain_until available_from
    was_ingested
DatasetReleasedFromEdition: dataset_id edition_id
DatasetRetentionUpdated: dataset_id retain_until available_from reason released_by
DatasetDigestsConfirmed: dataset_id algorithms attestation_id
DatasetSealedIntoEdition: dataset_id edition_id
DatasetExternalIdAssigned: dataset_id external_id external_id_namespace
DatasetExternalIdHidden: dataset_id reason
DatasetExternalIdRefused: dataset_id external_id status
DatasetExternalIdRequested: dataset_id external_id creator_ids contributors
    publisher_facility_code publication_year license external_id_namespace
DecisionDebriefRequested: run_id debriefer_agent_id debriefer_kind terminal_event_id
DecisionPromoted: decision_id caution_id
DecisionRated: decision_id actor_id rating comment confidence_at_rating
DecisionRegistered: decision_id actor_id context choice parent_id override_kind rule reasoning
    confidence confidence_source alternatives inputs determining_policy_ids
DeliveryRetried: subscription_id event_id
DeliverySkipped: subscription_id event_id reason
DistributionDiscarded: distribution_id reason frees_place
DistributionRestored: distribution_id reason checks_count_from
DistributionMarkedOverwritten: distribution_id reason
DistributionMarkedStale: distribution_id trigger reason attestation_id file frees_place
DistributionMarkedUnreachable: distribution_id trigger attestation_id failure checked_at
DistributionRegistered: distribution_id dataset_id supply_id uri checksum byte_size encoding
    access_protocol of_parts
DistributionRemoved: distribution_id removed_at
DistributionVerified: distribution_id attestation_id verified_by strength checked_at file
DistributionCheckRequested: distribution_id check_id kind
EditionDatasetAdded: edition_id dataset_id
EditionDatasetRemoved: edition_id dataset_id
EditionExternalIdAssigned: edition_id external_id external_id_namespace
EditionExternalIdHidden: edition_id reason
EditionExternalIdRefused: edition_id external_id status
EditionExternalIdRequested: edition_id external_id external_id_namespace
EditionPublished: edition_id
EditionRegistered: edition_id title description kind dataset_ids creator_ids contributors
    publisher_facility_code publication_year license available_from
EditionSealed: edition_id dataset_ids publisher_facility_code publication_year license
    available_from content_hash
EditionWithdrawn: edition_id reason
EnclosureDecommissioned: enclosure_id reason
EnclosureMonitorBound: enclosure_id monitor_id
EnclosureMonitorUnbound: enclosure_id monitor_id
EnclosurePermitObserved: enclosure_id from_permit_status to_permit_status trigger monitor_ref
    reason
EnclosureRegistered: enclosure_id name facility_code
FacilityDecommissioned: facility_id reason
FacilityRegistered: facility_id code name kind parent_id
FacilityTrustAnchorCredentialAdded: facility_id credential_id
FacilityTrustAnchorCredentialRemoved: facility_id credential_id reason
CredentialRegistered: credential_id facility_id audience purpose public_key key_check_signature
    expires_at
CredentialRevoked: credential_id reason
CredentialRotationAborted: credential_id reason
CredentialRotationCompleted: credential_id public_key key_version
CredentialRotationStarted: credential_id pending_public_key pending_key_check_signature
    pending_expires_at
PermitActivated: permit_id
PermitDefined: permit_id direction peer_facility_id audience purpose allowed_credential_ids
    expires_at
PermitResumed: permit_id
PermitRevoked: permit_id reason
PermitSuspended: permit_id reason
SealInitialized: facility_id online_credential_id offline_credential_id
SealOnlineKeyRotated: facility_id previous_online_credential_id new_online_credential_id
    signed_by_offline_root offline_root_signature previous_key_fingerprint new_key_fingerprint
    new_public_key sequence_number
SealPointerSigned: facility_id head_hash sequence_number signed_at credential_id key_fingerprint
    signature
FamilyDefined: family_id affordances settings_schema name
FamilyDeprecated: family_id
FamilyVersioned: family_id affordances settings_schema version_tag
FrameDecommissioned: frame_id reason
FramePlacementUpdated: frame_id placement
FrameRegistered: frame_id name parent_id placement
MethodDefined: method_id name needed_family_ids needed_supplies parameters_schema capability_id
MethodDeprecated: method_id
MethodVersioned: method_id name needed_family_ids needed_supplies parameters_schema version_tag
ModelDefined: model_id name manufacturer part_number declared_family_ids
ModelDeprecated: model_id reason
ModelVersioned: model_id name manufacturer part_number declared_family_ids version_tag
MountAssetInstalled: mount_id asset_id
MountAssetUninstalled: mount_id asset_id reason
MountDecommissioned: mount_id reason
MountPlacementUpdated: mount_id placement
MountRegistered: mount_id slot_code parent_id placement
PlanDefaultParametersUpdated: plan_id default_parameters method_version
PlanDefined: plan_id name asset_ids window default_parameters method_version practice_id method_id
PlanDeprecated: plan_id
PlanVersioned: plan_id name asset_ids window default_parameters method_version version_tag
PolicyDefined: policy_id name conduit_id surface_id permitted_principal_ids permitted_commands
    object_scope proposable_commands
PolicyGrantAdded: policy_id permitted_principal_id
PolicyGrantRevoked: policy_id permitted_principal_id reason
PracticeDefined: practice_id name facility_code family_ids method_id
PracticeDeprecated: practice_id
PracticeVersioned: practice_id name facility_code family_ids version_tag
ProcedureAborted: procedure_id reason
ProcedureCompleted: procedure_id
ProcedureConductCancelRequested: procedure_id conduct_id reason
ProcedureConductEnded: procedure_id conduct_id outcome succeeded completed_count failure
    closing_failures actuation_kind claim_count undecided_step_indexes
ProcedureConductRequested: procedure_id conduct_id conduct_kind root_kind continues_conduct_id
    steps closing_steps from_step_index redo_step_indexes skip_step_indexes abandon loop
    acknowledged_cautions decided_by_decision_id moved_asset_ids advisories
ProcedureConductWalked: procedure_id conduct_id walk_outcome failure
ProcedureHeld: procedure_id reason decided_by_decision_id
ProcedureIterationEnded: procedure_id iteration_index converged reason value advised_stop advice
ProcedureIterationStarted: procedure_id iteration_index coordinate
ProcedureRegistered: procedure_id name kind target_asset_ids parent_run_id capability_id
    capability_version_tag max_consecutive_unconverged_iterations recipe_id
    recipe_version_number bindings steps closing_steps
ProcedureResumed: procedure_id decided_by_decision_id
ProcedureStarted: procedure_id acknowledged_cautions advisories
ProcedureTruncated: procedure_id reason interrupted_at
ProposalApproved: proposal_id approved_by written
ProposalRegistered: proposal_id command_name arguments digest target required_version basis
    would_write note proposed_by decision_id decision_by_proposer expires_at
ProposalRejected: proposal_id rejected_by reason
ProposalWithdrawn: proposal_id
RecipeDefined: recipe_id steps closing_steps version_number name capability_id
RecipeDeprecated: recipe_id replaced_by_recipe_id
RecipeVersioned: recipe_id steps closing_steps version_number version_tag
RunAborted: run_id reason decided_by_decision_id
RunAddedToCampaign: run_id campaign_id
RunAdjusted: run_id parameters_patch effective_parameters reason decided_by_decision_id
RunCompleted: run_id
RunHeld: run_id reason decided_by_decision_id
RunRemovedFromCampaign: run_id campaign_id reason
RunResumed: run_id decided_by_decision_id acknowledgement acknowledged
RunStarted: run_id name plan_id plan_version_tag method_id asset_ids subject_id raid
    override_parameters effective_parameters pinned_calibration_ids acknowledged_cautions
    decided_by_decision_id declaration_versions clearance_ids advisories external_refs progress
RunStopped: run_id reason decided_by_decision_id
RunTruncated: run_id reason interrupted_at decided_by_decision_id
SubjectDiscarded: subject_id reason
SubjectDismounted: subject_id from_asset_id reason
SubjectExternalIdAssigned: subject_id external_id_namespace external_id
SubjectMeasured: subject_id
SubjectMounted: subject_id asset_id reason
SubjectRegistered: subject_id name
SubjectRemoved: subject_id from_asset_id
SubjectReturned: subject_id
SubjectStored: subject_id
SubscriptionPaused: subscription_id reason trigger
SubscriptionRegistered: subscription_id name types stream_types stream_ids host format secret_id
    facility_code
SubscriptionResumed: subscription_id resumed_from
SubscriptionRetired: subscription_id reason
SubscriptionSecretRotated: subscription_id secret_id
SupplyDegraded: supply_id from_status trigger monitor_ref reason
SupplyDeregistered: supply_id from_status trigger monitor_ref reason
SupplyMarkedAvailable: supply_id from_status trigger monitor_ref reason
SupplyMarkedRecovering: supply_id from_status trigger monitor_ref reason
SupplyMarkedUnavailable: supply_id from_status trigger monitor_ref reason
SupplyMonitorBound: supply_id monitor_id
SupplyMonitorUnbound: supply_id monitor_id
SupplyRegistered: supply_id kind name facility_code containing_asset_id
SupplyRestored: supply_id from_status trigger monitor_ref reason
SurfaceDefined: surface_id name kind conduit_id unit_asset_id
VisitAborted: visit_id reason
VisitArrived: visit_id
VisitCancelled: visit_id reason
VisitCompleted: visit_id
VisitHeld: visit_id reason
VisitRegistered: visit_id policy_id parent_surface_id type planned_start_at planned_end_at
    parent_id external_refs
VisitResumed: visit_id
VisitStarted: visit_id
VisitSurfaceControlReleased: visit_id surface_id taken_by_visit_id
VisitSurfaceControlTaken: visit_id surface_id
VisitVoided: visit_id reason
ZoneDefined: zone_id name
"""


STREAMS = """
Acquisition Actor Agent Asset Attestation Calibration Campaign Capability Caution Clearance Conduit
Credential Dataset Decision Distribution Edition Enclosure Facility Family Frame Method Model Mount
Permit Plan Policy Practice Procedure Proposal Recipe Run Seal Subject Subscription Supply Surface
Visit Zone
"""


def test_the_events_and_their_fields_on_record():
    """Stored names never change and a new field has a default: this table only grows."""
    assert {
        kind.__name__: [name for name in kind.__struct_fields__ if name != "occurred_at"]
        for kind in CATALOGUE.streams
    } == {name: fields.split() for name, fields in EVENT.findall(FIELDS)}


def test_the_streams_on_record():
    """Stored names never change: this list only grows."""
    assert sorted(CATALOGUE.aggregates) == STREAMS.split()


def test_a_reason_is_marked_as_a_text_in_which_a_person_may_be_named(subtests: pytest.Subtests):
    for kind in KINDS:
        with subtests.test(kind.__name__):
            hints = get_type_hints(kind, include_extras=True)
            assert hints.get("reason", FreeText) in (FreeText, FreeText | None)


class LampLit(Event):
    lamp_id: UUID
    colour: str
    watts: int


class LampDimmed(Event):
    lamp_id: UUID


class LampNotFoundError(NotFound):
    """The lamp does not exist."""


class Lamp(Record):
    colour: str
    watts: int
    dimmed: int = 0


def begin(event: LampLit) -> Lamp:
    return Lamp(event.colour, event.watts)


def evolve(lamp: Lamp, event: LampDimmed) -> Lamp:
    return Lamp(lamp.colour, lamp.watts, lamp.dimmed + 1)


def with_colour(old: dict[str, object]) -> dict[str, object]:
    return old | {"colour": "white"}


def in_watts(old: dict[str, object]) -> dict[str, object]:
    kept = {name: value for name, value in old.items() if name != "kilowatts"}
    return kept | {"watts": int(str(old["kilowatts"])) * 1000}


lamps: Aggregate[Lamp, Any, Any] = Aggregate(
    "Lamp",
    begin,
    evolve,
    LampNotFoundError,
    upcasts=(Upcast("LampLit", 1, with_colour), Upcast("LampLit", 2, in_watts)),
)
LAMPS = Codec([lamps])


def lit(version: int, schema_version: int, **payload: object) -> StoredEvent:
    body: Mapping[str, object] = {"occurred_at": NOW, "lamp_id": ID, **payload}
    return StoredEvent(version, "LampLit", schema_version, encode(body))


DIMMED = encode({"occurred_at": NOW, "lamp_id": ID})


def test_an_event_is_stored_in_its_present_form():
    assert LAMPS.encode(LampLit(NOW, ID, "red", 5), 1, EVENT_ID).schema_version == 3
    assert LAMPS.encode(LampDimmed(NOW, ID), 1, EVENT_ID).schema_version == 1


def test_an_old_event_is_brought_to_its_present_form_step_by_step():
    for recorded, expected in (
        (lit(1, 1, kilowatts=2), LampLit(NOW, ID, "white", 2000)),
        (lit(1, 2, colour="red", kilowatts=3), LampLit(NOW, ID, "red", 3000)),
        (lit(1, 3, colour="red", watts=5), LampLit(NOW, ID, "red", 5)),
    ):
        assert LAMPS.decode("Lamp", [recorded]) == [expected]
        assert LAMPS.fold(lamps, [recorded]) == begin(expected)


def test_the_events_of_a_stream_fold_into_its_state():
    stream = [lit(1, 1, kilowatts=2), StoredEvent(2, "LampDimmed", 1, DIMMED)]
    assert LAMPS.fold(lamps, stream) == Lamp("white", 2000, 1)
    assert LAMPS.fold(lamps, []) is None


def test_a_field_added_later_takes_its_default():
    class ZoneDefined(Event):
        zone_id: UUID
        colour: str = "grey"

    def found(event: ZoneDefined) -> ZoneDefined:
        return event

    def kept(zone: ZoneDefined, event: LampDimmed) -> ZoneDefined:
        return zone

    zones: Aggregate[Any, Any, Any] = Aggregate("Zone", found, kept, LampNotFoundError)
    payload = encode({"occurred_at": NOW, "zone_id": ID, "unknown": 1})
    assert Codec([zones]).fold(zones, [StoredEvent(1, "ZoneDefined", 1, payload)]) == ZoneDefined(
        NOW, ID, "grey"
    )


def test_a_stream_with_a_hole_is_not_folded():
    first, third = lit(1, 1, kilowatts=2), StoredEvent(3, "LampDimmed", 1, DIMMED)
    with pytest.raises(BrokenStreamError, match="Lamp lacks version 2"):
        LAMPS.fold(lamps, [first, third])
    with pytest.raises(BrokenStreamError, match="Lamp lacks version 1"):
        LAMPS.fold(lamps, [third])


@pytest.mark.parametrize(("event_type", "form"), [("LampSold", 1), ("LampDimmed", 2)])
def test_an_unknown_event_is_not_guessed(event_type: str, form: int):
    unknown = StoredEvent(2, event_type, form, DIMMED)
    saying = f"Lamp has the unknown event {event_type} in form {form}"
    with pytest.raises(BrokenStreamError, match=saying):
        LAMPS.decode("Lamp", [unknown])
    with pytest.raises(BrokenStreamError, match=saying):
        LAMPS.fold(lamps, [lit(1, 1, kilowatts=2), unknown])


def test_the_events_until_a_version_or_a_time():
    later = encode({"occurred_at": NOW + timedelta(days=1), "lamp_id": ID})
    stream = [lit(1, 1, kilowatts=2), StoredEvent(2, "LampDimmed", 1, later)]
    assert LAMPS.until("Lamp", stream, 1) == stream[:1]
    assert LAMPS.until("Lamp", stream, 2) == stream
    assert LAMPS.until("Lamp", stream, 3) == stream
    assert LAMPS.until("Lamp", stream, NOW) == stream[:1]
    assert LAMPS.until("Lamp", stream, NOW + timedelta(days=1)) == stream
    assert LAMPS.until("Lamp", stream, NOW - timedelta(microseconds=1)) == []
