"""The classes of answers.

Written from the declarations; `make reference` writes it again.
"""

from __future__ import annotations

from typing import Any, Literal

from .answers import Answer, Changed, Time


class DefineZoneAnswer(Changed):
    """The answer of define_zone."""

    zone_id: str

class DefineConduitAnswer(Changed):
    """The answer of define_conduit."""

    conduit_id: str

class DefineSurfaceAnswer(Changed):
    """The answer of define_surface."""

    surface_id: str

class DefinePolicyAnswer(Changed):
    """The answer of define_policy."""

    policy_id: str

class RegisterActorAnswer(Changed):
    """The answer of register_actor."""

    actor_id: str

class RegisterTeamAnswer(Changed):
    """The answer of register_team."""

    team_id: str

class RegisterVisitAnswer(Changed):
    """The answer of register_visit."""

    visit_id: str

class RegisterFacilityAnswer(Changed):
    """The answer of register_facility."""

    facility_id: str

class RegisterCredentialAnswer(Changed):
    """The answer of register_credential."""

    credential_id: str

class DefinePermitAnswer(Changed):
    """The answer of define_permit."""

    permit_id: str

class InitializeSealAnswer(Changed):
    """The answer of initialize_seal."""

    facility_id: str

class RegisterEnclosureAnswer(Changed):
    """The answer of register_enclosure."""

    enclosure_id: str

class DefineFamilyAnswer(Changed):
    """The answer of define_family."""

    family_id: str

class DefineModelAnswer(Changed):
    """The answer of define_model."""

    model_id: str

class RegisterAssetAnswer(Changed):
    """The answer of register_asset."""

    asset_id: str

class RegisterMountAnswer(Changed):
    """The answer of register_mount."""

    mount_id: str

class RegisterFrameAnswer(Changed):
    """The answer of register_frame."""

    frame_id: str

class RegisterSupplyAnswer(Changed):
    """The answer of register_supply."""

    supply_id: str

class RegisterSubjectAnswer(Changed):
    """The answer of register_subject."""

    subject_id: str

class RegisterDecisionAnswer(Changed):
    """The answer of register_decision."""

    decision_id: str

class AppendInferencesAnswer(Changed):
    """The answer of append_inferences."""

    appended_count: int
    duplicate_count: int

class AppendDecisionLogbookEntryAnswer(Changed):
    """The answer of append_decision_logbook_entry."""

    entry_id: str

class DefineCapabilityAnswer(Changed):
    """The answer of define_capability."""

    capability_id: str

class DefineMethodAnswer(Changed):
    """The answer of define_method."""

    method_id: str

class DefinePracticeAnswer(Changed):
    """The answer of define_practice."""

    practice_id: str

class DefinePlanAnswer(Changed):
    """The answer of define_plan."""

    plan_id: str

class DefineRecipeAnswer(Changed):
    """The answer of define_recipe."""

    recipe_id: str

class AdjustRunAnswer(Changed):
    """The answer of adjust_run."""

    effective_parameters: Answer

class AppendObservationsAnswer(Changed):
    """The answer of append_observations."""

    appended_count: int
    duplicate_count: int

class AppendRunLogbookEntryAnswer(Changed):
    """The answer of append_run_logbook_entry."""

    entry_id: str

class RegisterProcedureAnswer(Changed):
    """The answer of register_procedure."""

    procedure_id: str

class AppendActivitiesAnswer(Changed):
    """The answer of append_activities."""

    appended_count: int
    duplicate_count: int

class MakeProcedureSafeAnswer(Changed):
    """The answer of make_procedure_safe."""

    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']

class RegisterDatasetAnswer(Changed):
    """The answer of register_dataset."""

    dataset_id: str

class RegisterDistributionAnswer(Changed):
    """The answer of register_distribution."""

    distribution_id: str

class RecordAcquisitionAnswer(Changed):
    """The answer of record_acquisition."""

    acquisition_id: str

class RecordAttestationAnswer(Changed):
    """The answer of record_attestation."""

    attestation_id: str

class RequestDistributionCheckAnswer(Changed):
    """The answer of request_distribution_check."""

    check_id: str

class IngestScanAnswer(Changed):
    """The answer of ingest_scan."""

    dataset_id: str
    distribution_id: str
    acquisition_ids: list[str]

class MintDatasetExternalIdAnswer(Changed):
    """The answer of mint_dataset_external_id."""

    external_id: str

class RegisterEditionAnswer(Changed):
    """The answer of register_edition."""

    edition_id: str

class MintEditionExternalIdAnswer(Changed):
    """The answer of mint_edition_external_id."""

    external_id: str

class DefineCalibrationAnswer(Changed):
    """The answer of define_calibration."""

    calibration_id: str

class AppendCalibrationRevisionAnswer(Changed):
    """The answer of append_calibration_revision."""

    revision_id: str

class RegisterCampaignAnswer(Changed):
    """The answer of register_campaign."""

    campaign_id: str

class RegisterClearanceAnswer(Changed):
    """The answer of register_clearance."""

    clearance_id: str

class AmendClearanceAnswer(Changed):
    """The answer of amend_clearance."""

    clearance_id: str

class RegisterCautionAnswer(Changed):
    """The answer of register_caution."""

    caution_id: str

class SupersedeCautionAnswer(Changed):
    """The answer of supersede_caution."""

    caution_id: str

class PromoteCautionProposalAnswer(Changed):
    """The answer of promote_caution_proposal."""

    caution_id: str

class StartRunAnswer(Changed):
    """The answer of start_run."""

    run_id: str
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class StartProcedureAnswer(Changed):
    """The answer of start_procedure."""

    status: Literal['Defined', 'Running', 'Held', 'Completed', 'Aborted', 'Truncated']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductProcedureAnswer(Changed):
    """The answer of conduct_procedure."""

    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductOrHoldProcedureAnswer(Changed):
    """The answer of conduct_or_hold_procedure."""

    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductFromProcedureAnswer(Changed):
    """The answer of conduct_from_procedure."""

    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductUntilConvergedAnswer(Changed):
    """The answer of conduct_until_converged."""

    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductUntilAdvisedAnswer(Changed):
    """The answer of conduct_until_advised."""

    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductUntilAdvisedFromAnswer(Changed):
    """The answer of conduct_until_advised_from."""

    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class RegisterSubscriptionAnswer(Changed):
    """The answer of register_subscription."""

    subscription_id: str
    secret: str | None

class RotateSubscriptionSecretAnswer(Changed):
    """The answer of rotate_subscription_secret."""

    secret: str | None

class DefineAgentAnswer(Changed):
    """The answer of define_agent."""

    agent_id: str

class ExportArtifactAnswer(Changed):
    """The answer of export_artifact."""

    exchange_id: str
    envelope: Answer
    signature: str

class ImportArtifactAnswer(Changed):
    """The answer of import_artifact."""

    exchange_id: str

class ApproveProposalAnswer(Changed):
    """The answer of approve_proposal."""

    proposal_id: str
    status: int
    answer: Answer | None

class GetActorAnswer(Answer):
    """The answer of get_actor."""

    actor_id: str
    kind: Literal['human', 'agent', 'service_account']
    active: bool
    unconfirmed_logins: list[Answer]
    owner_id: str
    name: str
    email: str | None
    phone: str | None
    affiliation: str | None
    external_id: str | None
    external_id_namespace: str | None
    identities: list[Answer]
    names: Answer
    names_more: bool

class GetActorHistoryAnswer(Answer):
    """The answer of get_actor_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListActorsAnswer(Answer):
    """The answer of list_actors."""

    actor_id: str
    kind: Literal['human', 'agent', 'service_account']
    active: bool
    unconfirmed_logins: list[Answer]
    owner_id: str
    created_at: Time
    deactivated_at: Time | None
    name: str

class GetZoneAnswer(Answer):
    """The answer of get_zone."""

    zone_id: str
    name: str
    owner_id: str
    names: Answer
    names_more: bool

class GetZoneHistoryAnswer(Answer):
    """The answer of get_zone_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListZonesAnswer(Answer):
    """The answer of list_zones."""

    zone_id: str
    name: str
    owner_id: str
    created_at: Time

class GetConduitAnswer(Answer):
    """The answer of get_conduit."""

    conduit_id: str
    name: str
    source_zone_id: str
    target_zone_id: str
    owner_id: str
    names: Answer
    names_more: bool

class GetConduitHistoryAnswer(Answer):
    """The answer of get_conduit_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListConduitsAnswer(Answer):
    """The answer of list_conduits."""

    conduit_id: str
    name: str
    source_zone_id: str
    target_zone_id: str
    owner_id: str
    created_at: Time

class ListConduitDenialsAnswer(Answer):
    """The answer of list_conduit_denials."""

    denial_id: str
    conduit_id: str
    surface_id: str | None
    principal_id: str
    command_name: str
    reason_code: Literal['unknown_principal', 'inactive_principal', 'suspended_agent', 'no_matching_policy', 'tool_not_granted']
    correlation_id: str
    occurred_at: Time

class GetSurfaceAnswer(Answer):
    """The answer of get_surface."""

    surface_id: str
    name: str
    kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP']
    conduit_id: str
    unit_asset_id: str | None
    owner_id: str
    controlling_visit_id: str | None
    controlled_since: Time | None
    names: Answer
    names_more: bool

class GetSurfaceHistoryAnswer(Answer):
    """The answer of get_surface_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListSurfacesAnswer(Answer):
    """The answer of list_surfaces."""

    surface_id: str
    name: str
    kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP']
    conduit_id: str
    unit_asset_id: str | None
    owner_id: str
    created_at: Time
    controlling_visit_id: str | None
    controlled_since: Time | None

class GetPolicyAnswer(Answer):
    """The answer of get_policy."""

    policy_id: str
    name: str
    conduit_id: str
    surface_id: str | None
    permitted_principal_ids: list[str]
    permitted_commands: list[str]
    object_scope: Literal['All', 'Team', 'Own']
    proposable_commands: list[str]
    owner_id: str
    names: Answer
    names_more: bool

class GetPolicyHistoryAnswer(Answer):
    """The answer of get_policy_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListPoliciesAnswer(Answer):
    """The answer of list_policies."""

    policy_id: str
    name: str
    conduit_id: str
    surface_id: str | None
    permitted_principal_ids: list[str]
    permitted_commands: list[str]
    object_scope: Literal['All', 'Team', 'Own']
    proposable_commands: list[str]
    owner_id: str
    created_at: Time
    updated_at: Time | None

class EvaluateAuthorizationAnswer(Answer):
    """The answer of evaluate_authorization."""

    decision: str
    determining_policies: list[str]
    object_scope: Literal['All', 'Team', 'Own'] | None
    reason_code: Literal['unknown_principal', 'inactive_principal', 'suspended_agent', 'no_matching_policy', 'tool_not_granted'] | None
    names: Answer
    names_more: bool

class GetTeamAnswer(Answer):
    """The answer of get_team."""

    team_id: str
    title: str
    external_refs: Answer
    members: list[Answer]
    closed: bool
    owner_id: str
    names: Answer
    names_more: bool

class GetTeamHistoryAnswer(Answer):
    """The answer of get_team_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListTeamsAnswer(Answer):
    """The answer of list_teams."""

    team_id: str
    title: str
    external_refs: Answer
    members: list[Answer]
    closed: bool
    owner_id: str
    created_at: Time

class GetVisitAnswer(Answer):
    """The answer of get_visit."""

    visit_id: str
    policy_id: str | None
    parent_surface_id: str
    type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff']
    planned_start_at: Time
    planned_end_at: Time
    parent_id: str | None
    external_refs: Answer
    status: Literal['Planned', 'Arrived', 'InProgress', 'OnHold', 'Completed', 'Cancelled', 'Aborted', 'Voided']
    controlling: bool
    last_status_reason: str | None
    team_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetVisitHistoryAnswer(Answer):
    """The answer of get_visit_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListVisitsAnswer(Answer):
    """The answer of list_visits."""

    visit_id: str
    policy_id: str | None
    parent_surface_id: str
    type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff']
    planned_start_at: Time
    planned_end_at: Time
    parent_id: str | None
    external_refs: Answer
    status: Literal['Planned', 'Arrived', 'InProgress', 'OnHold', 'Completed', 'Cancelled', 'Aborted', 'Voided']
    controlling: bool
    last_status_reason: str | None
    team_id: str | None
    owner_id: str
    created_at: Time
    arrived_at: Time | None
    started_at: Time | None
    ended_at: Time | None

class GetFacilityAnswer(Answer):
    """The answer of get_facility."""

    facility_id: str
    code: str
    name: str
    kind: Literal['Site', 'Area']
    parent_id: str | None
    status: Literal['Active', 'Decommissioned']
    trust_anchor_credential_ids: list[str]
    owner_id: str
    names: Answer
    names_more: bool

class GetFacilityHistoryAnswer(Answer):
    """The answer of get_facility_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListFacilitiesAnswer(Answer):
    """The answer of list_facilities."""

    facility_id: str
    code: str
    name: str
    kind: Literal['Site', 'Area']
    parent_id: str | None
    status: Literal['Active', 'Decommissioned']
    trust_anchor_credential_ids: list[str]
    owner_id: str
    created_at: Time
    decommissioned_at: Time | None

class GetCredentialAnswer(Answer):
    """The answer of get_credential."""

    credential_id: str
    facility_id: str
    audience: str
    purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot']
    public_key: str
    fingerprint: str
    key_check_signature: str
    expires_at: Time | None
    key_version: int
    status: Literal['Active', 'Rotating', 'Revoked']
    pending_public_key: str | None
    pending_fingerprint: str | None
    pending_key_check_signature: str | None
    pending_expires_at: Time | None
    owner_id: str
    usable: bool | None
    names: Answer
    names_more: bool

class GetCredentialHistoryAnswer(Answer):
    """The answer of get_credential_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListCredentialsAnswer(Answer):
    """The answer of list_credentials."""

    credential_id: str
    facility_id: str
    audience: str
    purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot']
    public_key: str
    fingerprint: str
    key_check_signature: str
    expires_at: Time | None
    key_version: int
    status: Literal['Active', 'Rotating', 'Revoked']
    pending_public_key: str | None
    pending_fingerprint: str | None
    pending_key_check_signature: str | None
    pending_expires_at: Time | None
    owner_id: str
    created_at: Time
    rotation_started_at: Time | None
    revoked_at: Time | None

class GetPermitAnswer(Answer):
    """The answer of get_permit."""

    permit_id: str
    direction: Literal['Outbound', 'Inbound']
    peer_facility_id: str
    audience: str
    purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot']
    allowed_credential_ids: list[str]
    expires_at: Time
    status: Literal['Defined', 'Active', 'Suspended', 'Revoked']
    owner_id: str
    in_force: bool | None
    names: Answer
    names_more: bool

class GetPermitHistoryAnswer(Answer):
    """The answer of get_permit_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListPermitsAnswer(Answer):
    """The answer of list_permits."""

    permit_id: str
    direction: Literal['Outbound', 'Inbound']
    peer_facility_id: str
    audience: str
    purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot']
    allowed_credential_ids: list[str]
    expires_at: Time
    status: Literal['Defined', 'Active', 'Suspended', 'Revoked']
    owner_id: str
    created_at: Time
    activated_at: Time | None
    suspended_at: Time | None
    revoked_at: Time | None

class GetSealAnswer(Answer):
    """The answer of get_seal."""

    facility_id: str
    online_credential_id: str
    offline_credential_id: str
    head_hash: str | None
    sequence_number: int
    signed_at: Time | None
    key_fingerprint: str | None
    signature: str | None
    last_rotation: Answer | None
    owner_id: str
    facility_code: str
    online_public_key: str | None
    offline_public_key: str | None
    names: Answer
    names_more: bool

class GetSealHistoryAnswer(Answer):
    """The answer of get_seal_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListSealsAnswer(Answer):
    """The answer of list_seals."""

    facility_id: str
    online_credential_id: str
    offline_credential_id: str
    head_hash: str | None
    sequence_number: int
    signed_at: Time | None
    key_fingerprint: str | None
    signature: str | None
    last_rotation: Answer | None
    owner_id: str
    created_at: Time
    rotated_at: Time | None

class GetEnclosureAnswer(Answer):
    """The answer of get_enclosure."""

    enclosure_id: str
    name: str
    facility_code: str
    permit_status: Literal['Permitted', 'NotPermitted', 'Unknown']
    lifecycle: Literal['Active', 'Decommissioned']
    last_observed_reason: str | None
    last_monitor_ref: str | None
    monitor_ids: list[str]
    owner_id: str
    last_reported_at: Time | None
    stale: bool | None
    names: Answer
    names_more: bool

class GetEnclosureHistoryAnswer(Answer):
    """The answer of get_enclosure_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListEnclosuresAnswer(Answer):
    """The answer of list_enclosures."""

    enclosure_id: str
    name: str
    facility_code: str
    permit_status: Literal['Permitted', 'NotPermitted', 'Unknown']
    lifecycle: Literal['Active', 'Decommissioned']
    last_observed_reason: str | None
    last_monitor_ref: str | None
    monitor_ids: list[str]
    owner_id: str
    created_at: Time
    last_observed_at: Time | None
    decommissioned_at: Time | None
    last_reported_at: Time | None
    stale: bool | None

class GetFamilyAnswer(Answer):
    """The answer of get_family."""

    family_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    affordances: list[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']]
    settings_schema: Answer | None
    owner_id: str
    names: Answer
    names_more: bool

class GetFamilyHistoryAnswer(Answer):
    """The answer of get_family_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListFamiliesAnswer(Answer):
    """The answer of list_families."""

    family_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    affordances: list[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']]
    settings_schema: Answer | None
    owner_id: str
    created_at: Time

class GetModelAnswer(Answer):
    """The answer of get_model."""

    model_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    manufacturer: Answer
    part_number: str
    declared_family_ids: list[str]
    owner_id: str
    names: Answer
    names_more: bool

class GetModelHistoryAnswer(Answer):
    """The answer of get_model_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListModelsAnswer(Answer):
    """The answer of list_models."""

    model_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    manufacturer: Answer
    part_number: str
    declared_family_ids: list[str]
    owner_id: str
    created_at: Time

class GetAssetAnswer(Answer):
    """The answer of get_asset."""

    asset_id: str
    name: str
    tier: Literal['Unit', 'Component', 'Device']
    parent_id: str | None
    facility_code: str | None
    family_ids: list[str]
    model_id: str | None
    located_in_enclosure_id: str | None
    alternate_identifiers: list[Answer]
    settings: Answer
    commissioned_at: Time
    decommissioned_at: Time | None
    lifecycle: Literal['Commissioned', 'Active', 'Maintenance', 'Decommissioned']
    condition: Literal['Nominal', 'Degraded', 'Faulted']
    mount_id: str | None
    external_id: str | None
    external_id_namespace: Literal['doi', 'handle'] | None
    lifecycle_since: Time | None
    lifecycle_reason: str | None
    condition_since: Time | None
    condition_reason: str | None
    settings_family_versions: list[Answer] | None
    owner_id: str
    facility_scope: str | None
    setting_units_changed: list[Answer] | None
    names: Answer
    names_more: bool

class GetAssetHistoryAnswer(Answer):
    """The answer of get_asset_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListAssetsAnswer(Answer):
    """The answer of list_assets."""

    asset_id: str
    name: str
    tier: Literal['Unit', 'Component', 'Device']
    parent_id: str | None
    facility_code: str | None
    family_ids: list[str]
    model_id: str | None
    located_in_enclosure_id: str | None
    alternate_identifiers: list[Answer]
    settings: Answer
    commissioned_at: Time
    decommissioned_at: Time | None
    lifecycle: Literal['Commissioned', 'Active', 'Maintenance', 'Decommissioned']
    condition: Literal['Nominal', 'Degraded', 'Faulted']
    mount_id: str | None
    external_id: str | None
    external_id_namespace: Literal['doi', 'handle'] | None
    lifecycle_since: Time | None
    lifecycle_reason: str | None
    condition_since: Time | None
    condition_reason: str | None
    settings_family_versions: list[Answer] | None
    owner_id: str
    created_at: Time

class GetAssetTreeAnswer(Answer):
    """The answer of get_asset_tree."""

    asset_id: str
    as_of: Time
    nodes: list[Answer]
    truncated: bool
    names: Answer
    names_more: bool

class GetAssetPidinstAnswer(Answer):
    """The answer of get_asset_pidinst."""

    identifier: Answer
    schema_version: str
    landing_page: str
    name: str
    owners: list[Answer]
    manufacturers: list[Answer]
    model: Answer
    instrument_types: list[Answer]
    dates: list[Answer]
    related_identifiers: list[Answer]
    alternate_identifiers: list[Answer]
    names: Answer
    names_more: bool

class GetMountAnswer(Answer):
    """The answer of get_mount."""

    mount_id: str
    slot_code: str
    parent_id: str | None
    placement: Answer | None
    installed_asset_id: str | None
    status: Literal['Active', 'Decommissioned']
    owner_id: str
    names: Answer
    names_more: bool

class GetMountHistoryAnswer(Answer):
    """The answer of get_mount_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListMountsAnswer(Answer):
    """The answer of list_mounts."""

    mount_id: str
    slot_code: str
    parent_id: str | None
    placement: Answer | None
    installed_asset_id: str | None
    status: Literal['Active', 'Decommissioned']
    owner_id: str
    created_at: Time

class GetFrameAnswer(Answer):
    """The answer of get_frame."""

    frame_id: str
    name: str
    parent_id: str | None
    placement: Answer | None
    status: Literal['Active', 'Decommissioned']
    owner_id: str
    names: Answer
    names_more: bool

class GetFrameHistoryAnswer(Answer):
    """The answer of get_frame_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListFramesAnswer(Answer):
    """The answer of list_frames."""

    frame_id: str
    name: str
    parent_id: str | None
    placement: Answer | None
    status: Literal['Active', 'Decommissioned']
    owner_id: str
    created_at: Time

class GetSupplyAnswer(Answer):
    """The answer of get_supply."""

    supply_id: str
    kind: str
    name: str
    facility_code: str
    containing_asset_id: str | None
    status: Literal['Unknown', 'Available', 'Degraded', 'Unavailable', 'Recovering', 'Decommissioned']
    last_status_reason: str | None
    last_trigger: Literal['Operator', 'Monitor', 'Auto'] | None
    monitor_ids: list[str]
    owner_id: str
    last_reported_at: Time | None
    stale: bool | None
    names: Answer
    names_more: bool

class GetSupplyHistoryAnswer(Answer):
    """The answer of get_supply_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListSuppliesAnswer(Answer):
    """The answer of list_supplies."""

    supply_id: str
    kind: str
    name: str
    facility_code: str
    containing_asset_id: str | None
    status: Literal['Unknown', 'Available', 'Degraded', 'Unavailable', 'Recovering', 'Decommissioned']
    last_status_reason: str | None
    last_trigger: Literal['Operator', 'Monitor', 'Auto'] | None
    monitor_ids: list[str]
    owner_id: str
    created_at: Time
    last_status_changed_at: Time | None
    last_reported_at: Time | None
    stale: bool | None

class GetSubjectAnswer(Answer):
    """The answer of get_subject."""

    subject_id: str
    name: str
    status: Literal['Received', 'Mounted', 'Measured', 'Removed', 'Returned', 'Stored', 'Discarded']
    mounted_on_asset_id: str | None
    external_id: str | None
    external_id_namespace: Literal['igsn'] | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetSubjectHistoryAnswer(Answer):
    """The answer of get_subject_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListSubjectsAnswer(Answer):
    """The answer of list_subjects."""

    subject_id: str
    name: str
    status: Literal['Received', 'Mounted', 'Measured', 'Removed', 'Returned', 'Stored', 'Discarded']
    mounted_on_asset_id: str | None
    external_id: str | None
    external_id_namespace: Literal['igsn'] | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    created_at: Time
    last_status_changed_at: Time | None

class GetDecisionAnswer(Answer):
    """The answer of get_decision."""

    decision_id: str
    actor_id: str
    context: str
    choice: str
    parent_id: str | None
    override_kind: Literal['correction', 'exception', 'appeal', 'supersession', 'invalidation'] | None
    rule: str | None
    reasoning: str | None
    confidence: float | None
    confidence_source: Literal['self_reported', 'logprob', 'ensemble', 'human'] | None
    alternatives: list[str]
    inputs: Answer | None
    determining_policy_ids: list[str]
    confidence_band: Literal['Low', 'Medium', 'High', 'Certain'] | None
    created_at: Time
    ratings: Answer
    promoted_caution_id: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    child_ids: list[str]
    names: Answer
    names_more: bool

class GetDecisionHistoryAnswer(Answer):
    """The answer of get_decision_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListDecisionsAnswer(Answer):
    """The answer of list_decisions."""

    decision_id: str
    actor_id: str
    context: str
    choice: str
    parent_id: str | None
    override_kind: Literal['correction', 'exception', 'appeal', 'supersession', 'invalidation'] | None
    rule: str | None
    reasoning: str | None
    confidence: float | None
    confidence_source: Literal['self_reported', 'logprob', 'ensemble', 'human'] | None
    alternatives: list[str]
    inputs: Answer | None
    determining_policy_ids: list[str]
    confidence_band: Literal['Low', 'Medium', 'High', 'Certain'] | None
    created_at: Time
    ratings: Answer
    promoted_caution_id: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str

class ListDecisionInferencesAnswer(Answer):
    """The answer of list_decision_inferences."""

    inference_id: str
    occurred_at: Time
    operation_name: str
    provider_name: str
    request_model: str
    response_model: str | None
    response_id: str | None
    duration_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    request_temperature: float | None
    request_max_tokens: int | None
    finish_reasons: list[str]
    conversation_id: str | None
    tool_name: str | None
    tool_call_id: str | None
    error: str | None
    messages: Answer | None
    decision_id: str
    agent_id: str | None
    principal_id: str
    surface_id: str | None
    correlation_id: str | None
    recorded_at: Time

class ListDecisionLogbookEntriesAnswer(Answer):
    """The answer of list_decision_logbook_entries."""

    entry_id: str
    text: str
    author_id: str
    recorded_at: Time
    surface_id: str | None
    correlation_id: str | None
    decision_id: str

class ListDecisionEvidenceAnswer(Answer):
    """The answer of list_decision_evidence."""

    evidence_id: str
    question: str
    arguments: Answer | None
    asked_at: Time
    surface_id: str | None
    correlation_id: str
    seen: list[Answer]
    hidden: int
    more: bool
    digest: str
    release: str
    since_last_decision: bool

class VerifyDecisionEvidenceAnswer(Answer):
    """The answer of verify_decision_evidence."""

    evidence_id: str
    question: str
    verdict: Literal['same', 'differs', 'not_replayable']
    asked_at: Time
    release: str
    verified_by: str

class GetCapabilityAnswer(Answer):
    """The answer of get_capability."""

    capability_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    code: str
    description: str | None
    required_affordances: list[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']]
    executor_shapes: list[Literal['METHOD', 'PROCEDURE']]
    parameters_schema: Answer | None
    replaced_by_capability_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetCapabilityHistoryAnswer(Answer):
    """The answer of get_capability_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListCapabilitiesAnswer(Answer):
    """The answer of list_capabilities."""

    capability_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    code: str
    description: str | None
    required_affordances: list[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']]
    executor_shapes: list[Literal['METHOD', 'PROCEDURE']]
    parameters_schema: Answer | None
    replaced_by_capability_id: str | None
    owner_id: str
    created_at: Time
    versioned_at: Time | None
    deprecated_at: Time | None

class GetMethodAnswer(Answer):
    """The answer of get_method."""

    method_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    capability_id: str
    needed_family_ids: list[str]
    needed_supplies: list[str]
    parameters_schema: Answer | None
    owner_id: str
    names: Answer
    names_more: bool

class GetMethodHistoryAnswer(Answer):
    """The answer of get_method_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListMethodsAnswer(Answer):
    """The answer of list_methods."""

    method_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    capability_id: str
    needed_family_ids: list[str]
    needed_supplies: list[str]
    parameters_schema: Answer | None
    owner_id: str
    created_at: Time
    versioned_at: Time | None
    deprecated_at: Time | None

class GetPracticeAnswer(Answer):
    """The answer of get_practice."""

    practice_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    method_id: str
    facility_code: str | None
    family_ids: list[str]
    owner_id: str
    names: Answer
    names_more: bool

class GetPracticeHistoryAnswer(Answer):
    """The answer of get_practice_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListPracticesAnswer(Answer):
    """The answer of list_practices."""

    practice_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    method_id: str
    facility_code: str | None
    family_ids: list[str]
    owner_id: str
    created_at: Time
    versioned_at: Time | None
    deprecated_at: Time | None

class GetPlanAnswer(Answer):
    """The answer of get_plan."""

    plan_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    practice_id: str
    method_id: str
    asset_ids: list[str]
    window: Answer
    default_parameters: Answer
    method_version: int | None
    owner_id: str
    names: Answer
    names_more: bool

class GetPlanHistoryAnswer(Answer):
    """The answer of get_plan_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListPlansAnswer(Answer):
    """The answer of list_plans."""

    plan_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    practice_id: str
    method_id: str
    asset_ids: list[str]
    window: Answer
    default_parameters: Answer
    method_version: int | None
    owner_id: str
    created_at: Time
    versioned_at: Time | None
    deprecated_at: Time | None

class GetRecipeAnswer(Answer):
    """The answer of get_recipe."""

    recipe_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    capability_id: str
    steps: list[Any]
    closing_steps: list[Any]
    step_count: int
    version_number: int
    versions: list[Answer]
    replaced_by_recipe_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetRecipeHistoryAnswer(Answer):
    """The answer of get_recipe_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListRecipesAnswer(Answer):
    """The answer of list_recipes."""

    recipe_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    capability_id: str
    steps: list[Any]
    closing_steps: list[Any]
    step_count: int
    version_number: int
    versions: list[Answer]
    replaced_by_recipe_id: str | None
    owner_id: str
    created_at: Time
    versioned_at: Time | None
    deprecated_at: Time | None

class GetRecipeVersionAnswer(Answer):
    """The answer of get_recipe_version."""

    recipe_id: str
    capability_id: str
    version_number: int
    version_tag: str | None
    steps: list[Any]
    closing_steps: list[Any]
    defined_at: Time
    current: bool
    names: Answer
    names_more: bool

class ListRecipeVersionsAnswer(Answer):
    """The answer of list_recipe_versions."""

    version_number: int
    version_tag: str | None
    step_count: int
    closing_step_count: int
    defined_at: Time

class GetRunAnswer(Answer):
    """The answer of get_run."""

    run_id: str
    name: str
    plan_id: str
    method_id: str
    asset_ids: list[str]
    subject_id: str | None
    raid: str | None
    override_parameters: Answer
    effective_parameters: Answer
    pinned_calibration_ids: list[str]
    acknowledged_cautions: list[Answer]
    created_at: Time
    campaign_id: str | None
    status: Literal['Running', 'Held', 'Completed', 'Aborted', 'Stopped', 'Truncated']
    adjustment_count: int
    last_status_reason: str | None
    interrupted_at: Time | None
    declaration_versions: Answer | None
    clearance_ids: list[str]
    advisories: list[Answer]
    ended_at: Time | None
    external_refs: Answer
    progress: Answer | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetRunHistoryAnswer(Answer):
    """The answer of get_run_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListRunsAnswer(Answer):
    """The answer of list_runs."""

    run_id: str
    name: str
    plan_id: str
    method_id: str
    asset_ids: list[str]
    subject_id: str | None
    raid: str | None
    override_parameters: Answer
    effective_parameters: Answer
    pinned_calibration_ids: list[str]
    acknowledged_cautions: list[Answer]
    created_at: Time
    campaign_id: str | None
    status: Literal['Running', 'Held', 'Completed', 'Aborted', 'Stopped', 'Truncated']
    adjustment_count: int
    last_status_reason: str | None
    interrupted_at: Time | None
    declaration_versions: Answer | None
    clearance_ids: list[str]
    advisories: list[Answer]
    ended_at: Time | None
    external_refs: Answer
    progress: Answer | None
    team_id: str | None
    visit_id: str | None
    owner_id: str

class ListRunObservationsAnswer(Answer):
    """The answer of list_run_observations."""

    observation_id: str
    channel_name: str
    value: float
    sampling_procedure: Literal['baseline', 'monitor']
    sampled_at: Time
    simulated: bool
    unit: Answer | None
    run_id: str
    recorded_at: Time
    principal_id: str
    surface_id: str | None
    correlation_id: str | None

class GetRunObservationSummaryAnswer(Answer):
    """The answer of get_run_observation_summary."""

    run_id: str
    channels: list[Answer]
    more: bool
    names: Answer
    names_more: bool

class GetRunSeriesAnswer(Answer):
    """The answer of get_run_series."""

    run_id: str
    since: Time | None
    until: Time | None
    channels: list[Answer]
    names: Answer
    names_more: bool

class ListRunLogbookEntriesAnswer(Answer):
    """The answer of list_run_logbook_entries."""

    entry_id: str
    text: str
    author_id: str
    recorded_at: Time
    surface_id: str | None
    correlation_id: str | None
    run_id: str
    kind: Literal['Note', 'Debrief']
    decision_id: str | None

class GetProcedureAnswer(Answer):
    """The answer of get_procedure."""

    procedure_id: str
    name: str
    kind: str
    target_asset_ids: list[str]
    parent_run_id: str | None
    capability_id: str | None
    recipe_id: str | None
    recipe_version_number: int | None
    bindings: Answer
    max_consecutive_unconverged_iterations: int | None
    status: Literal['Defined', 'Running', 'Held', 'Completed', 'Aborted', 'Truncated']
    iteration_count: int
    current_iteration_index: int | None
    consecutive_unconverged_iterations: int
    active_conduct: Answer | None
    last_conduct: Answer | None
    last_status_reason: str | None
    interrupted_at: Time | None
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]
    moved_asset_ids: list[str]
    steps_pinned: bool
    team_id: str | None
    visit_id: str | None
    owner_id: str
    steps: list[Any] | None
    closing_steps: list[Any] | None
    names: Answer
    names_more: bool

class GetProcedureHistoryAnswer(Answer):
    """The answer of get_procedure_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListProceduresAnswer(Answer):
    """The answer of list_procedures."""

    procedure_id: str
    name: str
    kind: str
    target_asset_ids: list[str]
    parent_run_id: str | None
    capability_id: str | None
    recipe_id: str | None
    recipe_version_number: int | None
    bindings: Answer
    max_consecutive_unconverged_iterations: int | None
    status: Literal['Defined', 'Running', 'Held', 'Completed', 'Aborted', 'Truncated']
    iteration_count: int
    current_iteration_index: int | None
    consecutive_unconverged_iterations: int
    active_conduct: Answer | None
    last_conduct: Answer | None
    last_status_reason: str | None
    interrupted_at: Time | None
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]
    moved_asset_ids: list[str]
    steps_pinned: bool
    team_id: str | None
    visit_id: str | None
    owner_id: str
    created_at: Time
    started_at: Time | None
    held_at: Time | None
    ended_at: Time | None

class ListProcedureIterationsAnswer(Answer):
    """The answer of list_procedure_iterations."""

    procedure_id: str
    iteration_index: int
    started_at: Time
    coordinate: Answer | None
    ended_at: Time | None
    converged: bool | None
    value: Any
    reason: str | None
    advised_stop: bool | None
    advice: Answer | None

class ListProcedureActivitiesAnswer(Answer):
    """The answer of list_procedure_activities."""

    activity_id: str
    procedure_id: str
    source: Literal['Manual', 'Conductor']
    step_kind: Literal['setpoint', 'action', 'check', 'capture', 'compute']
    stage: Literal['Started', 'Submitted', 'Reading', 'Writing', 'Written', 'Succeeded', 'Failed', 'Skipped']
    detail: Answer
    sampled_at: Time
    recorded_at: Time
    principal_id: str
    surface_id: str | None
    correlation_id: str | None
    conduct_id: str | None
    claim: int | None
    phase: Literal['Steps', 'Closing'] | None
    iteration_index: int | None
    step_index: int | None
    attempt: int | None
    sequence: int

class GetConductAnswer(Answer):
    """The answer of get_conduct."""

    conduct_id: str
    conduct_kind: Literal['Once', 'OrHold', 'From', 'UntilConverged', 'UntilAdvised', 'UntilAdvisedFrom', 'MakeSafe']
    requested_by: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None
    succeeded: bool | None
    requested_at: Time
    ended_at: Time | None
    procedure_id: str
    root_kind: Literal['Once', 'OrHold', 'From', 'UntilConverged', 'UntilAdvised', 'UntilAdvisedFrom', 'MakeSafe']
    continues_conduct_id: str | None
    lease_expired: bool
    cancel_requested: bool
    claim_count: int
    needs: list[str] | None
    undecided_step_indexes: list[int]
    step_count: int
    completed_count: int
    iteration_count: int
    max_iterations: int | None
    current: Answer | None
    failure: Answer | None
    closing_failures: list[Answer]
    actuation_kind: Literal['Physical', 'Simulated', 'Hybrid'] | None
    captures: Answer
    outputs: Answer
    started_at: Time | None
    names: Answer
    names_more: bool

class ListConductsAnswer(Answer):
    """The answer of list_conducts."""

    conduct_id: str
    conduct_kind: Literal['Once', 'OrHold', 'From', 'UntilConverged', 'UntilAdvised', 'UntilAdvisedFrom', 'MakeSafe']
    requested_by: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None
    succeeded: bool | None
    requested_at: Time
    ended_at: Time | None

class GetDatasetAnswer(Answer):
    """The answer of get_dataset."""

    dataset_id: str
    name: str
    checksum: Answer
    byte_size: int
    encoding: Answer
    digests: Answer
    file_count: int | None
    of_parts: bool
    producing_run_id: str | None
    subject_id: str | None
    derived_from: list[str]
    used_calibration_ids: list[str]
    retain_until: str | None
    available_from: str | None
    was_ingested: bool
    created_at: Time
    status: Literal['Registered', 'Archived', 'Discarded']
    intent: Literal['Trial', 'Production', 'Retracted']
    sealed_edition_ids: list[str]
    external_id: str | None
    external_id_namespace: Literal['doi'] | None
    external_id_state: Literal['Pending', 'Findable', 'Hidden'] | None
    pending_external_id: str | None
    confirmed_digests: list[str]
    released_by: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetDatasetHistoryAnswer(Answer):
    """The answer of get_dataset_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListDatasetsAnswer(Answer):
    """The answer of list_datasets."""

    dataset_id: str
    name: str
    checksum: Answer
    byte_size: int
    encoding: Answer
    digests: Answer
    file_count: int | None
    of_parts: bool
    producing_run_id: str | None
    subject_id: str | None
    derived_from: list[str]
    used_calibration_ids: list[str]
    retain_until: str | None
    available_from: str | None
    was_ingested: bool
    created_at: Time
    status: Literal['Registered', 'Archived', 'Discarded']
    intent: Literal['Trial', 'Production', 'Retracted']
    sealed_edition_ids: list[str]
    external_id: str | None
    external_id_namespace: Literal['doi'] | None
    external_id_state: Literal['Pending', 'Findable', 'Hidden'] | None
    pending_external_id: str | None
    confirmed_digests: list[str]
    released_by: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    archived_at: Time | None
    discarded_at: Time | None
    promoted_at: Time | None
    demoted_at: Time | None

class ListDatasetPartsAnswer(Answer):
    """The answer of list_dataset_parts."""

    path: str
    byte_size: int
    sha256: str
    dataset_id: str

class GetDistributionAnswer(Answer):
    """The answer of get_distribution."""

    distribution_id: str
    dataset_id: str
    supply_id: str | None
    uri: str
    checksum: Answer
    byte_size: int
    encoding: Answer
    access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline']
    of_parts: bool
    created_at: Time
    status: Literal['Registered', 'Verified', 'Stale', 'Discarded', 'Removed', 'Overwritten']
    good_checks: list[Answer]
    verified_by: Literal['Service', 'Client', 'Transfer'] | None
    verified_strength: Literal['Cryptographic', 'Integrity'] | None
    verified_at: Time | None
    marked_stale_at: Time | None
    unreachable_since: Time | None
    file: Answer | None
    checks_count_from: Time | None
    keeps_place: bool
    team_id: str | None
    visit_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetDistributionHistoryAnswer(Answer):
    """The answer of get_distribution_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListDistributionsAnswer(Answer):
    """The answer of list_distributions."""

    distribution_id: str
    dataset_id: str
    supply_id: str | None
    uri: str
    checksum: Answer
    byte_size: int
    encoding: Answer
    access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline']
    of_parts: bool
    created_at: Time
    status: Literal['Registered', 'Verified', 'Stale', 'Discarded', 'Removed', 'Overwritten']
    good_checks: list[Answer]
    verified_by: Literal['Service', 'Client', 'Transfer'] | None
    verified_strength: Literal['Cryptographic', 'Integrity'] | None
    verified_at: Time | None
    marked_stale_at: Time | None
    unreachable_since: Time | None
    file: Answer | None
    checks_count_from: Time | None
    keeps_place: bool
    team_id: str | None
    visit_id: str | None
    owner_id: str
    discarded_at: Time | None
    restored_at: Time | None
    removed_at: Time | None
    overwritten_at: Time | None

class ListCustodyAnswer(Answer):
    """The answer of list_custody."""

    dataset_id: str
    name: str
    producing_run_id: str | None
    byte_size: int
    status: Literal['Registered', 'Archived', 'Discarded']
    intent: Literal['Trial', 'Production', 'Retracted']
    retain_until: str | None
    copies: list[Answer]
    verified_count: int
    short: Answer
    verdict: Literal['Lost', 'Below', 'Met', 'Spare']
    discardable_distribution_ids: list[str]
    discardable: bool
    kept_by: Literal['Edition', 'Retention'] | None

class GetCustodySummaryAnswer(Answer):
    """The answer of get_custody_summary."""

    copies: list[Answer]
    datasets: list[Answer]
    discardable_bytes: int
    names: Answer
    names_more: bool

class GetCustodyReportAnswer(Answer):
    """The answer of get_custody_report."""

    distribution_id: str
    dataset_id: str
    supply_id: str | None
    uri: str
    byte_size: int
    status: Literal['Registered', 'Verified', 'Stale', 'Discarded', 'Removed', 'Overwritten']
    verdict: Literal['Discarded', 'Deletable', 'CheckFirst', 'Needed']
    why: str
    check_first: list[str]

class GetAcquisitionAnswer(Answer):
    """The answer of get_acquisition."""

    acquisition_id: str
    dataset_id: str
    producing_asset_id: str
    producing_run_id: str | None
    captured_at: Time
    settings: Answer
    evidence: Answer
    corrects_acquisition_id: str | None
    created_at: Time
    team_id: str | None
    visit_id: str | None
    owner_id: str
    corrected_by_acquisition_id: str | None
    names: Answer
    names_more: bool

class GetAcquisitionHistoryAnswer(Answer):
    """The answer of get_acquisition_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListAcquisitionsAnswer(Answer):
    """The answer of list_acquisitions."""

    acquisition_id: str
    dataset_id: str
    producing_asset_id: str
    producing_run_id: str | None
    captured_at: Time
    settings: Answer
    evidence: Answer
    corrects_acquisition_id: str | None
    created_at: Time
    team_id: str | None
    visit_id: str | None
    owner_id: str

class GetAttestationAnswer(Answer):
    """The answer of get_attestation."""

    attestation_id: str
    dataset_id: str
    distribution_id: str
    kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated']
    verified_by: Literal['Service', 'Client', 'Transfer']
    outcome: Literal['Match', 'Mismatch', 'Unreachable']
    strength: Literal['Cryptographic', 'Integrity'] | None
    checked_at: Time
    evidence: Answer
    created_at: Time
    team_id: str | None
    visit_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetAttestationHistoryAnswer(Answer):
    """The answer of get_attestation_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListAttestationsAnswer(Answer):
    """The answer of list_attestations."""

    attestation_id: str
    dataset_id: str
    distribution_id: str
    kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated']
    verified_by: Literal['Service', 'Client', 'Transfer']
    outcome: Literal['Match', 'Mismatch', 'Unreachable']
    strength: Literal['Cryptographic', 'Integrity'] | None
    checked_at: Time
    evidence: Answer
    created_at: Time
    team_id: str | None
    visit_id: str | None
    owner_id: str

class ListDistributionChecksAnswer(Answer):
    """The answer of list_distribution_checks."""

    distribution_id: str
    kind: Literal['ChecksumVerified', 'FormatValidated']
    check_id: str
    requested_at: Time
    byte_size: int
    bytes_read: int
    percent: int
    bytes_per_second: int
    started_at: Time | None
    updated_at: Time | None

class GetEditionAnswer(Answer):
    """The answer of get_edition."""

    edition_id: str
    title: str
    description: str | None
    kind: Literal['ROCrate', 'DataCite']
    dataset_ids: list[str]
    creator_ids: list[str]
    contributors: list[Answer]
    publisher_facility_code: str | None
    publication_year: int | None
    license: str | None
    available_from: str | None
    created_at: Time
    content_hash: str | None
    status: Literal['Registered', 'Sealed', 'Published', 'Withdrawn']
    external_id: str | None
    external_id_namespace: Literal['doi'] | None
    external_id_state: Literal['Pending', 'Findable', 'Hidden'] | None
    pending_external_id: str | None
    sealed_at: Time | None
    published_at: Time | None
    withdrawn_at: Time | None
    withdrawn_reason: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    retracted_dataset_ids: list[str]
    uncovered_dataset_ids: list[str]
    names: Answer
    names_more: bool

class GetEditionHistoryAnswer(Answer):
    """The answer of get_edition_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListEditionsAnswer(Answer):
    """The answer of list_editions."""

    edition_id: str
    title: str
    description: str | None
    kind: Literal['ROCrate', 'DataCite']
    dataset_ids: list[str]
    creator_ids: list[str]
    contributors: list[Answer]
    publisher_facility_code: str | None
    publication_year: int | None
    license: str | None
    available_from: str | None
    created_at: Time
    content_hash: str | None
    status: Literal['Registered', 'Sealed', 'Published', 'Withdrawn']
    external_id: str | None
    external_id_namespace: Literal['doi'] | None
    external_id_state: Literal['Pending', 'Findable', 'Hidden'] | None
    pending_external_id: str | None
    sealed_at: Time | None
    published_at: Time | None
    withdrawn_at: Time | None
    withdrawn_reason: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str

class ExportDatasetDataciteAnswer(Answer):
    """The answer of export_dataset_datacite."""

    names: Answer
    names_more: bool

class GetEditionManifestAnswer(Answer):
    """The answer of get_edition_manifest."""

    names: Answer
    names_more: bool

class GetCalibrationAnswer(Answer):
    """The answer of get_calibration."""

    calibration_id: str
    asset_id: str
    quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile']
    operating_point: Answer
    description: str | None
    created_at: Time
    revisions: list[Answer]
    revision_count: int
    current_revision_id: str | None
    current_status: Literal['Provisional', 'Verified'] | None
    current_source_kind: Literal['Measured', 'Computed', 'Asserted'] | None
    last_revised_at: Time | None
    owner_id: str
    names: Answer
    names_more: bool

class GetCalibrationHistoryAnswer(Answer):
    """The answer of get_calibration_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListCalibrationsAnswer(Answer):
    """The answer of list_calibrations."""

    calibration_id: str
    asset_id: str
    quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile']
    operating_point: Answer
    description: str | None
    created_at: Time
    revisions: list[Answer]
    revision_count: int
    current_revision_id: str | None
    current_status: Literal['Provisional', 'Verified'] | None
    current_source_kind: Literal['Measured', 'Computed', 'Asserted'] | None
    last_revised_at: Time | None
    owner_id: str

class GetCalibrationRevisionAnswer(Answer):
    """The answer of get_calibration_revision."""

    revision_id: str
    value: Answer
    status: Literal['Provisional', 'Verified']
    source: Answer
    established_at: Time
    supersedes_revision_id: str | None
    decided_by_decision_id: str | None
    superseded_by_revision_id: str | None
    calibration_id: str
    asset_id: str
    quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile']
    operating_point: Answer
    names: Answer
    names_more: bool

class ListCalibrationUsesAnswer(Answer):
    """The answer of list_calibration_uses."""

    id: str
    kind: Literal['Run', 'Dataset']
    created_at: Time
    name: str
    state: str

class GetDatasetLineageAnswer(Answer):
    """The answer of get_dataset_lineage."""

    dataset_id: str
    truncated: bool
    nodes: list[Answer]
    edges: list[Answer]
    names: Answer
    names_more: bool

class GetProvenanceAnswer(Answer):
    """The answer of get_provenance."""

    kind: Literal['Dataset', 'Run', 'Subject', 'Asset', 'CalibrationRevision', 'Edition']
    id: str
    truncated: bool
    nodes: list[Answer]
    edges: list[Answer]
    names: Answer
    names_more: bool

class GetCampaignAnswer(Answer):
    """The answer of get_campaign."""

    campaign_id: str
    name: str
    intent: Literal['Series', 'Sweep', 'Coordination', 'Block']
    lead_actor_id: str
    subject_id: str | None
    description: str | None
    tags: list[str]
    external_refs: Answer
    run_ids: list[str]
    run_count: int
    status: Literal['Planned', 'Active', 'Held', 'Closed', 'Abandoned']
    last_status_reason: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetCampaignHistoryAnswer(Answer):
    """The answer of get_campaign_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListCampaignsAnswer(Answer):
    """The answer of list_campaigns."""

    campaign_id: str
    name: str
    intent: Literal['Series', 'Sweep', 'Coordination', 'Block']
    lead_actor_id: str
    subject_id: str | None
    description: str | None
    tags: list[str]
    external_refs: Answer
    run_ids: list[str]
    run_count: int
    status: Literal['Planned', 'Active', 'Held', 'Closed', 'Abandoned']
    last_status_reason: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    created_at: Time
    started_at: Time | None
    last_status_changed_at: Time | None

class GetClearanceAnswer(Answer):
    """The answer of get_clearance."""

    clearance_id: str
    kind: str
    facility_code: str
    title: str
    bindings: list[Any]
    hazards: list[Answer]
    risk_band: Literal['Green', 'Yellow', 'Red'] | None
    valid_from: Time | None
    valid_until: Time | None
    parent_id: str | None
    status: Literal['Defined', 'Submitted', 'UnderReview', 'Approved', 'Active', 'Rejected', 'Expired', 'Superseded']
    review_steps: list[Answer]
    superseded_by_clearance_id: str | None
    last_status_reason: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    in_force: bool
    names: Answer
    names_more: bool

class GetClearanceHistoryAnswer(Answer):
    """The answer of get_clearance_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListClearancesAnswer(Answer):
    """The answer of list_clearances."""

    clearance_id: str
    kind: str
    facility_code: str
    title: str
    bindings: list[Any]
    hazards: list[Answer]
    risk_band: Literal['Green', 'Yellow', 'Red'] | None
    valid_from: Time | None
    valid_until: Time | None
    parent_id: str | None
    status: Literal['Defined', 'Submitted', 'UnderReview', 'Approved', 'Active', 'Rejected', 'Expired', 'Superseded']
    review_steps: list[Answer]
    superseded_by_clearance_id: str | None
    last_status_reason: str | None
    team_id: str | None
    visit_id: str | None
    owner_id: str
    created_at: Time
    last_status_changed_at: Time | None
    in_force: bool

class GetCautionAnswer(Answer):
    """The answer of get_caution."""

    caution_id: str
    target: Answer
    category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha']
    severity: Literal['Notice', 'Caution', 'Warning']
    text: str
    workaround: str
    tags: list[str]
    expires_at: Time | None
    propagate_to_children: bool
    authored_by: str
    parent_id: str | None
    promoted_from_decision_id: str | None
    superseded_by_caution_id: str | None
    status: Literal['Active', 'Superseded', 'Retired']
    retire_reason: Literal['Resolved', 'NoLongerApplies', 'WrongTarget'] | None
    owner_id: str
    in_effect: bool
    names: Answer
    names_more: bool

class GetCautionHistoryAnswer(Answer):
    """The answer of get_caution_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListCautionsAnswer(Answer):
    """The answer of list_cautions."""

    caution_id: str
    target: Answer
    category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha']
    severity: Literal['Notice', 'Caution', 'Warning']
    text: str
    workaround: str
    tags: list[str]
    expires_at: Time | None
    propagate_to_children: bool
    authored_by: str
    parent_id: str | None
    promoted_from_decision_id: str | None
    superseded_by_caution_id: str | None
    status: Literal['Active', 'Superseded', 'Retired']
    retire_reason: Literal['Resolved', 'NoLongerApplies', 'WrongTarget'] | None
    owner_id: str
    created_at: Time
    last_status_changed_at: Time | None
    in_effect: bool

class GetPlanReadinessAnswer(Answer):
    """The answer of get_plan_readiness."""

    plan_id: str
    ready: bool
    checks: list[Answer]
    advisories: list[Answer]
    cautions: list[Answer]
    names: Answer
    names_more: bool

class GetShiftHandoverAnswer(Answer):
    """The answer of get_shift_handover."""

    to: Time
    facility_code: str | None
    runs: list[Answer]
    holds: list[Answer]
    equipment: list[Answer]
    cautions: list[Answer]
    supplies: list[Answer]
    expiring: list[Answer]
    procedures: list[Answer]
    adjustments: list[Answer]
    refused: list[Answer]
    permits: list[Answer]
    clearances: list[Answer]
    visits: list[Answer]
    notes: list[Answer]
    data: list[Answer]
    decisions: list[Answer]
    open: list[Answer] | None
    names: Answer
    names_more: bool

class Event(Answer):
    """A row of list_events."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: Time
    dataschema: str
    datacontenttype: str
    streamtype: str
    streamid: str
    streamversion: int
    recordedtime: Time
    principalid: str
    commandname: str
    correlationid: str
    cursor: str
    positiontoken: str
    data: Answer
    causationid: str
    teamid: str
    visitid: str

class GetEventProofAnswer(Answer):
    """The answer of get_event_proof."""

    stream_type: str
    stream_id: str
    version: int
    leaf: str
    leaf_index: int
    tree_size: int
    proof: list[str]
    checkpoint: str
    names: Answer
    names_more: bool

class ListCheckpointsAnswer(Answer):
    """The answer of list_checkpoints."""

    checkpoint_id: str
    tree: Literal['events', 'rows']
    size: int
    root: str
    note: str
    signed_at: Time

class GetSubscriptionAnswer(Answer):
    """The answer of get_subscription."""

    subscription_id: str
    name: str
    types: list[str]
    stream_types: list[str]
    stream_ids: list[str]
    host: str
    format: Literal['CloudEvent', 'Text', 'Card']
    secret_id: str
    facility_code: str | None
    status: Literal['Active', 'Paused', 'Retired']
    status_reason: str | None
    status_trigger: Literal['Operator', 'Monitor', 'Auto'] | None
    owner_id: str
    url: str | None
    names: Answer
    names_more: bool

class GetSubscriptionHistoryAnswer(Answer):
    """The answer of get_subscription_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListSubscriptionsAnswer(Answer):
    """The answer of list_subscriptions."""

    subscription_id: str
    name: str
    types: list[str]
    stream_types: list[str]
    stream_ids: list[str]
    host: str
    format: Literal['CloudEvent', 'Text', 'Card']
    secret_id: str
    facility_code: str | None
    status: Literal['Active', 'Paused', 'Retired']
    status_reason: str | None
    status_trigger: Literal['Operator', 'Monitor', 'Auto'] | None
    owner_id: str
    created_at: Time

class ListDeliveriesAnswer(Answer):
    """The answer of list_deliveries."""

    subscription_id: str
    event_id: str
    event_type: str
    stream_type: str
    stream_id: str
    cursor: str
    status: Literal['Sending', 'Delivered', 'Refused', 'Skipped']
    attempt: int
    first_at: Time
    at: Time
    due_at: Time | None
    http_status: int | None
    error: str | None
    answer: str | None
    outside_id: str | None

class ListAtRiskResultsAnswer(Answer):
    """The answer of list_at_risk_results."""

    decision_id: str
    agent_id: str
    kind: str
    agent_status: Literal['Defined', 'Versioned', 'Suspended', 'Deprecated']
    context: str
    choice: str
    occurred_at: Time
    request_model: str | None
    response_model: str | None
    reasons: list[Literal['NotReproducible', 'RatedMisleading', 'Overridden']]
    run_id: str | None
    caution_id: str | None

class GetAgentAnswer(Answer):
    """The answer of get_agent."""

    agent_id: str
    kind: str
    name: str
    version: str
    description: str | None
    model_ref: Answer
    prompt_template_id: str | None
    capabilities: list[str]
    tools: list[str]
    budget: Answer | None
    status: Literal['Defined', 'Versioned', 'Suspended', 'Deprecated']
    owner_id: str
    tokens_today: int
    usd_this_month: float
    actions_today: int
    enabled: bool | None
    idle_because: str | None
    names: Answer
    names_more: bool

class GetAgentHistoryAnswer(Answer):
    """The answer of get_agent_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListAgentsAnswer(Answer):
    """The answer of list_agents."""

    agent_id: str
    kind: str
    name: str
    version: str
    description: str | None
    model_ref: Answer
    prompt_template_id: str | None
    capabilities: list[str]
    tools: list[str]
    budget: Answer | None
    status: Literal['Defined', 'Versioned', 'Suspended', 'Deprecated']
    owner_id: str
    created_at: Time
    versioned_at: Time | None
    suspended_at: Time | None
    deprecated_at: Time | None

class ListAgentCostsAnswer(Answer):
    """The answer of list_agent_costs."""

    day: str
    calls: int
    failed_calls: int
    unpriced_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    duration_ms: int

class Hit(Answer):
    """A row of search."""

    kind: str
    name: str
    status: str | None
    link: str
    id: str

class ResolveNamesAnswer(Answer):
    """The answer of resolve_names."""

    items: list[Answer]  # pyright: ignore
    names: Answer
    names_more: bool

class GetSelfAnswer(Answer):
    """The answer of get_self."""

    actor_id: str
    kind: Literal['human', 'agent', 'service_account']
    name: str
    surface: Answer
    surface_ids: list[str]
    permitted_commands: list[str]
    own_only: list[str]
    proposable_commands: list[str]
    token_expires_at: Time | None
    now: Time
    facility: Answer
    names: Answer
    names_more: bool

class GetBoardAnswer(Answer):
    """The answer of get_board."""

    asset_id: str
    name: str
    facility_code: str | None
    now: Time
    cursor: str | None
    ready: bool | None
    plans: list[Answer] | None
    supplies: list[Answer] | None
    enclosures: list[Answer] | None
    clearances: list[Answer] | None
    cautions: list[Answer] | None
    surfaces: list[Answer] | None
    runs: list[Answer] | None
    procedures: list[Answer] | None
    assets: list[Answer] | None
    more: list[str]
    names: Answer
    names_more: bool

class GetStatusAnswer(Answer):
    """The answer of get_status."""

    items: list[Answer]  # pyright: ignore
    now: Time
    more: bool
    names: Answer
    names_more: bool

class ListPermitExchangesAnswer(Answer):
    """The answer of list_permit_exchanges."""

    exchange_id: str
    permit_id: str
    peer_facility_id: str
    direction: Literal['Outbound', 'Inbound']
    credential_id: str
    key_fingerprint: str
    artifact_kind: str
    artifact_id: str
    content_hash: str
    seal_sequence_number: int | None
    seal_head_hash: str | None
    exported_at: Time
    signature: str
    principal_id: str
    recorded_at: Time

class GetPermitExchangeAnswer(Answer):
    """The answer of get_permit_exchange."""

    exchange_id: str
    permit_id: str
    peer_facility_id: str
    direction: Literal['Outbound', 'Inbound']
    credential_id: str
    key_fingerprint: str
    artifact_kind: str
    artifact_id: str
    content_hash: str
    seal_sequence_number: int | None
    seal_head_hash: str | None
    exported_at: Time
    signature: str
    principal_id: str
    recorded_at: Time
    envelope: str | None
    names: Answer
    names_more: bool

class GetProposalAnswer(Answer):
    """The answer of get_proposal."""

    proposal_id: str
    command_name: str
    digest: str
    target: Answer | None
    required_version: int | None
    basis: str
    would_write: list[str]
    proposed_by: str
    decision_id: str | None
    decision_by_proposer: bool | None
    expires_at: Time
    status: Literal['Open', 'Approved', 'Rejected', 'Withdrawn']
    closed_by: str | None
    closed_reason: str | None
    written: list[Answer]
    team_id: str | None
    visit_id: str | None
    owner_id: str
    arguments: Answer
    note: str | None
    now: Answer | None
    open: bool
    names: Answer
    names_more: bool

class GetProposalHistoryAnswer(Answer):
    """The answer of get_proposal_history."""

    event_id: str
    stream_type: str
    stream_id: str
    version: int
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: Time
    occurred_at: Time
    payload: Answer

class ListProposalsAnswer(Answer):
    """The answer of list_proposals."""

    proposal_id: str
    command_name: str
    digest: str
    target: Answer | None
    required_version: int | None
    basis: str
    would_write: list[str]
    proposed_by: str
    decision_id: str | None
    decision_by_proposer: bool | None
    expires_at: Time
    status: Literal['Open', 'Approved', 'Rejected', 'Withdrawn']
    closed_by: str | None
    closed_reason: str | None
    written: list[Answer]
    team_id: str | None
    visit_id: str | None
    owner_id: str
    created_at: Time
    closed_at: Time | None
    open: bool
