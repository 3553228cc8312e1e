"""Types of the client. Written by docs/generate.py; `make reference` writes it anew."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from .answers import Answer

type Token = str | Callable[[], str] | None
type Object = Mapping[str, Any]

def plural(noun: str) -> str: ...

class Changed(Answer):
    version: int

class Pages[R]:
    def __iter__(self) -> Iterator[R]: ...

class AsyncPages[R]:
    def __aiter__(self) -> AsyncIterator[R]: ...

class Event(Answer):
    id: str
    type: str
    subject: str
    time: str
    streamtype: str
    streamversion: int
    principalid: str
    commandname: str
    cursor: str
    data: Answer

class Events:
    def list(
        self,
        *,
        types: Sequence[str] | None = ...,
        stream_types: Sequence[str] | None = ...,
        stream_ids: Sequence[str] | None = ...,
        principal_id: str | None = ...,
        command_name: str | None = ...,
        since: str | None = ...,
        until: str | None = ...,
        after: str | None = ...,
    ) -> Iterator[Event]: ...
    def follow(
        self,
        *,
        types: Sequence[str] | None = ...,
        stream_types: Sequence[str] | None = ...,
        stream_ids: Sequence[str] | None = ...,
        principal_id: str | None = ...,
        command_name: str | None = ...,
        since: str | None = ...,
        after: str | None = ...,
    ) -> Iterator[Event]: ...


class RegisterActorAnswer(Answer):
    version: int
    actor_id: str

class GetActorAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListActorsAnswer(Answer):
    actor_id: str
    kind: Literal['human', 'agent', 'service_account']
    active: bool
    unconfirmed_logins: list[Answer]
    owner_id: str
    created_at: str
    deactivated_at: str | None
    name: str

class EvaluateAuthorizationAnswer(Answer):
    decision: str
    determining_policies: list[str]
    object_scope: Literal['All', 'Own'] | None
    reason_code: Literal['unknown_principal', 'inactive_principal', 'suspended_agent', 'no_matching_policy', 'tool_not_granted'] | None
    names: Answer
    names_more: bool

class DefineZoneAnswer(Answer):
    version: int
    zone_id: str

class GetZoneAnswer(Answer):
    zone_id: str
    name: str
    owner_id: str
    names: Answer
    names_more: bool

class GetZoneHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListZonesAnswer(Answer):
    zone_id: str
    name: str
    owner_id: str
    created_at: str

class DefineConduitAnswer(Answer):
    version: int
    conduit_id: str

class GetConduitAnswer(Answer):
    conduit_id: str
    name: str
    source_zone_id: str
    target_zone_id: str
    owner_id: str
    names: Answer
    names_more: bool

class GetConduitHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListConduitsAnswer(Answer):
    conduit_id: str
    name: str
    source_zone_id: str
    target_zone_id: str
    owner_id: str
    created_at: str

class ListConduitDenialsAnswer(Answer):
    denial_id: str
    conduit_id: str
    surface_id: str | None
    principal_id: str
    command_name: str
    reason_code: Literal['unknown_principal', 'inactive_principal', 'suspended_agent', 'no_matching_policy', 'tool_not_granted']
    correlation_id: str
    occurred_at: str

class DefineSurfaceAnswer(Answer):
    version: int
    surface_id: str

class GetSurfaceAnswer(Answer):
    surface_id: str
    name: str
    kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP']
    conduit_id: str
    unit_asset_id: str | None
    owner_id: str
    controlling_visit_id: str | None
    controlled_since: str | None
    names: Answer
    names_more: bool

class GetSurfaceHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListSurfacesAnswer(Answer):
    surface_id: str
    name: str
    kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP']
    conduit_id: str
    unit_asset_id: str | None
    owner_id: str
    created_at: str
    controlling_visit_id: str | None
    controlled_since: str | None

class DefinePolicyAnswer(Answer):
    version: int
    policy_id: str

class GetPolicyAnswer(Answer):
    policy_id: str
    name: str
    conduit_id: str
    surface_id: str | None
    permitted_principal_ids: list[str]
    permitted_commands: list[str]
    object_scope: Literal['All', 'Own']
    proposable_commands: list[str]
    owner_id: str
    names: Answer
    names_more: bool

class GetPolicyHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListPoliciesAnswer(Answer):
    policy_id: str
    name: str
    conduit_id: str
    surface_id: str | None
    permitted_principal_ids: list[str]
    permitted_commands: list[str]
    object_scope: Literal['All', 'Own']
    proposable_commands: list[str]
    owner_id: str
    created_at: str
    updated_at: str | None

class RegisterVisitAnswer(Answer):
    version: int
    visit_id: str

class GetVisitAnswer(Answer):
    visit_id: str
    policy_id: str
    parent_surface_id: str
    type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff']
    planned_start_at: str
    planned_end_at: str
    parent_id: str | None
    external_refs: Answer
    status: Literal['Planned', 'Arrived', 'InProgress', 'OnHold', 'Completed', 'Cancelled', 'Aborted', 'Voided']
    controlling: bool
    last_status_reason: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetVisitHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListVisitsAnswer(Answer):
    visit_id: str
    policy_id: str
    parent_surface_id: str
    type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff']
    planned_start_at: str
    planned_end_at: str
    parent_id: str | None
    external_refs: Answer
    status: Literal['Planned', 'Arrived', 'InProgress', 'OnHold', 'Completed', 'Cancelled', 'Aborted', 'Voided']
    controlling: bool
    last_status_reason: str | None
    owner_id: str
    created_at: str
    arrived_at: str | None
    started_at: str | None
    ended_at: str | None

class RegisterFacilityAnswer(Answer):
    version: int
    facility_id: str

class GetFacilityAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListFacilitiesAnswer(Answer):
    facility_id: str
    code: str
    name: str
    kind: Literal['Site', 'Area']
    parent_id: str | None
    status: Literal['Active', 'Decommissioned']
    trust_anchor_credential_ids: list[str]
    owner_id: str
    created_at: str
    decommissioned_at: str | None

class GetEventProofAnswer(Answer):
    stream_type: str
    stream_id: str
    leaf: str
    leaf_index: int
    tree_size: int
    proof: list[str]
    checkpoint: str
    names: Answer
    names_more: bool

class ListCheckpointsAnswer(Answer):
    checkpoint_id: str
    tree: Literal['events', 'rows']
    size: int
    root: str
    note: str
    signed_at: str

class RegisterCredentialAnswer(Answer):
    version: int
    credential_id: str

class GetCredentialAnswer(Answer):
    credential_id: str
    facility_id: str
    audience: str
    purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot']
    public_key: str
    fingerprint: str
    key_check_signature: str
    expires_at: str | None
    key_version: int
    status: Literal['Active', 'Rotating', 'Revoked']
    pending_public_key: str | None
    pending_fingerprint: str | None
    pending_key_check_signature: str | None
    pending_expires_at: str | None
    owner_id: str
    usable: bool | None
    names: Answer
    names_more: bool

class GetCredentialHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListCredentialsAnswer(Answer):
    credential_id: str
    facility_id: str
    audience: str
    purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot']
    public_key: str
    fingerprint: str
    key_check_signature: str
    expires_at: str | None
    key_version: int
    status: Literal['Active', 'Rotating', 'Revoked']
    pending_public_key: str | None
    pending_fingerprint: str | None
    pending_key_check_signature: str | None
    pending_expires_at: str | None
    owner_id: str
    created_at: str
    rotation_started_at: str | None
    revoked_at: str | None

class DefinePermitAnswer(Answer):
    version: int
    permit_id: str

class ExportArtifactAnswer(Answer):
    version: int
    exchange_id: str
    envelope: Answer
    signature: str

class ImportArtifactAnswer(Answer):
    version: int
    exchange_id: str

class GetPermitAnswer(Answer):
    permit_id: str
    direction: Literal['Outbound', 'Inbound']
    peer_facility_id: str
    audience: str
    purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot']
    allowed_credential_ids: list[str]
    expires_at: str
    status: Literal['Defined', 'Active', 'Suspended', 'Revoked']
    owner_id: str
    in_force: bool | None
    names: Answer
    names_more: bool

class GetPermitHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListPermitsAnswer(Answer):
    permit_id: str
    direction: Literal['Outbound', 'Inbound']
    peer_facility_id: str
    audience: str
    purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot']
    allowed_credential_ids: list[str]
    expires_at: str
    status: Literal['Defined', 'Active', 'Suspended', 'Revoked']
    owner_id: str
    created_at: str
    activated_at: str | None
    suspended_at: str | None
    revoked_at: str | None

class ListPermitExchangesAnswer(Answer):
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
    exported_at: str
    signature: str
    principal_id: str
    recorded_at: str

class GetPermitExchangeAnswer(Answer):
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
    exported_at: str
    signature: str
    principal_id: str
    recorded_at: str
    envelope: str | None
    names: Answer
    names_more: bool

class InitializeSealAnswer(Answer):
    version: int
    facility_id: str

class GetSealAnswer(Answer):
    facility_id: str
    online_credential_id: str
    offline_credential_id: str
    head_hash: str | None
    sequence_number: int
    signed_at: str | None
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListSealsAnswer(Answer):
    facility_id: str
    online_credential_id: str
    offline_credential_id: str
    head_hash: str | None
    sequence_number: int
    signed_at: str | None
    key_fingerprint: str | None
    signature: str | None
    last_rotation: Answer | None
    owner_id: str
    created_at: str
    rotated_at: str | None

class RegisterEnclosureAnswer(Answer):
    version: int
    enclosure_id: str

class GetEnclosureAnswer(Answer):
    enclosure_id: str
    name: str
    facility_code: str
    permit_status: Literal['Permitted', 'NotPermitted', 'Unknown']
    lifecycle: Literal['Active', 'Decommissioned']
    last_observed_reason: str | None
    last_monitor_ref: str | None
    monitor_ids: list[str]
    owner_id: str
    last_reported_at: str | None
    stale: bool | None
    names: Answer
    names_more: bool

class GetEnclosureHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListEnclosuresAnswer(Answer):
    enclosure_id: str
    name: str
    facility_code: str
    permit_status: Literal['Permitted', 'NotPermitted', 'Unknown']
    lifecycle: Literal['Active', 'Decommissioned']
    last_observed_reason: str | None
    last_monitor_ref: str | None
    monitor_ids: list[str]
    owner_id: str
    created_at: str
    last_observed_at: str | None
    decommissioned_at: str | None
    last_reported_at: str | None
    stale: bool | None

class DefineFamilyAnswer(Answer):
    version: int
    family_id: str

class GetFamilyAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListFamiliesAnswer(Answer):
    family_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    affordances: list[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']]
    settings_schema: Answer | None
    owner_id: str
    created_at: str

class DefineModelAnswer(Answer):
    version: int
    model_id: str

class GetModelAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListModelsAnswer(Answer):
    model_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    manufacturer: Answer
    part_number: str
    declared_family_ids: list[str]
    owner_id: str
    created_at: str

class RegisterAssetAnswer(Answer):
    version: int
    asset_id: str

class GetAssetAnswer(Answer):
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
    commissioned_at: str
    decommissioned_at: str | None
    lifecycle: Literal['Commissioned', 'Active', 'Maintenance', 'Decommissioned']
    condition: Literal['Nominal', 'Degraded', 'Faulted']
    mount_id: str | None
    external_id: str | None
    external_id_namespace: Literal['doi', 'handle'] | None
    lifecycle_since: str | None
    lifecycle_reason: str | None
    condition_since: str | None
    condition_reason: str | None
    settings_family_versions: list[Answer] | None
    owner_id: str
    facility_scope: str | None
    setting_units_changed: list[Answer] | None
    names: Answer
    names_more: bool

class GetAssetHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListAssetsAnswer(Answer):
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
    commissioned_at: str
    decommissioned_at: str | None
    lifecycle: Literal['Commissioned', 'Active', 'Maintenance', 'Decommissioned']
    condition: Literal['Nominal', 'Degraded', 'Faulted']
    mount_id: str | None
    external_id: str | None
    external_id_namespace: Literal['doi', 'handle'] | None
    lifecycle_since: str | None
    lifecycle_reason: str | None
    condition_since: str | None
    condition_reason: str | None
    settings_family_versions: list[Answer] | None
    owner_id: str
    created_at: str

class GetAssetTreeAnswer(Answer):
    asset_id: str
    as_of: str
    nodes: list[Answer]
    truncated: bool
    names: Answer
    names_more: bool

class GetAssetPidinstAnswer(Answer):
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

class GetBoardAnswer(Answer):
    asset_id: str
    name: str
    facility_code: str | None
    now: str
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

class RegisterMountAnswer(Answer):
    version: int
    mount_id: str

class GetMountAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListMountsAnswer(Answer):
    mount_id: str
    slot_code: str
    parent_id: str | None
    placement: Answer | None
    installed_asset_id: str | None
    status: Literal['Active', 'Decommissioned']
    owner_id: str
    created_at: str

class RegisterFrameAnswer(Answer):
    version: int
    frame_id: str

class GetFrameAnswer(Answer):
    frame_id: str
    name: str
    parent_id: str | None
    placement: Answer | None
    status: Literal['Active', 'Decommissioned']
    owner_id: str
    names: Answer
    names_more: bool

class GetFrameHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListFramesAnswer(Answer):
    frame_id: str
    name: str
    parent_id: str | None
    placement: Answer | None
    status: Literal['Active', 'Decommissioned']
    owner_id: str
    created_at: str

class RegisterSupplyAnswer(Answer):
    version: int
    supply_id: str

class GetSupplyAnswer(Answer):
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
    last_reported_at: str | None
    stale: bool | None
    names: Answer
    names_more: bool

class GetSupplyHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListSuppliesAnswer(Answer):
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
    created_at: str
    last_status_changed_at: str | None
    last_reported_at: str | None
    stale: bool | None

class RegisterSubjectAnswer(Answer):
    version: int
    subject_id: str

class GetSubjectAnswer(Answer):
    subject_id: str
    name: str
    status: Literal['Received', 'Mounted', 'Measured', 'Removed', 'Returned', 'Stored', 'Discarded']
    mounted_on_asset_id: str | None
    external_id: str | None
    external_id_namespace: Literal['igsn'] | None
    owner_id: str
    names: Answer
    names_more: bool

class GetSubjectHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListSubjectsAnswer(Answer):
    subject_id: str
    name: str
    status: Literal['Received', 'Mounted', 'Measured', 'Removed', 'Returned', 'Stored', 'Discarded']
    mounted_on_asset_id: str | None
    external_id: str | None
    external_id_namespace: Literal['igsn'] | None
    owner_id: str
    created_at: str
    last_status_changed_at: str | None

class RegisterDecisionAnswer(Answer):
    version: int
    decision_id: str

class AppendInferencesAnswer(Answer):
    version: int
    appended_count: int
    duplicate_count: int

class AppendDecisionLogbookEntryAnswer(Answer):
    version: int
    entry_id: str

class GetDecisionAnswer(Answer):
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
    created_at: str
    ratings: Answer
    promoted_caution_id: str | None
    owner_id: str
    child_ids: list[str]
    names: Answer
    names_more: bool

class GetDecisionHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListDecisionsAnswer(Answer):
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
    created_at: str
    ratings: Answer
    promoted_caution_id: str | None
    owner_id: str

class ListDecisionInferencesAnswer(Answer):
    inference_id: str
    occurred_at: str
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
    recorded_at: str

class ListDecisionLogbookEntriesAnswer(Answer):
    entry_id: str
    text: str
    author_id: str
    recorded_at: str
    surface_id: str | None
    correlation_id: str | None
    decision_id: str

class ListDecisionEvidenceAnswer(Answer):
    evidence_id: str
    question: str
    arguments: Answer | None
    asked_at: str
    surface_id: str | None
    correlation_id: str
    seen: list[Answer]
    hidden: int
    more: bool
    digest: str
    release: str
    since_last_decision: bool

class VerifyDecisionEvidenceAnswer(Answer):
    evidence_id: str
    question: str
    verdict: Literal['same', 'differs', 'not_replayable']
    asked_at: str
    release: str
    verified_by: str

class DefineCapabilityAnswer(Answer):
    version: int
    capability_id: str

class GetCapabilityAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListCapabilitiesAnswer(Answer):
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
    created_at: str
    versioned_at: str | None
    deprecated_at: str | None

class DefineMethodAnswer(Answer):
    version: int
    method_id: str

class GetMethodAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListMethodsAnswer(Answer):
    method_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    capability_id: str
    needed_family_ids: list[str]
    needed_supplies: list[str]
    parameters_schema: Answer | None
    owner_id: str
    created_at: str
    versioned_at: str | None
    deprecated_at: str | None

class DefinePracticeAnswer(Answer):
    version: int
    practice_id: str

class GetPracticeAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListPracticesAnswer(Answer):
    practice_id: str
    name: str
    status: Literal['Defined', 'Versioned', 'Deprecated']
    version_tag: str | None
    method_id: str
    facility_code: str | None
    family_ids: list[str]
    owner_id: str
    created_at: str
    versioned_at: str | None
    deprecated_at: str | None

class DefinePlanAnswer(Answer):
    version: int
    plan_id: str

class GetPlanAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListPlansAnswer(Answer):
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
    created_at: str
    versioned_at: str | None
    deprecated_at: str | None

class GetPlanReadinessAnswer(Answer):
    plan_id: str
    ready: bool
    checks: list[Answer]
    advisories: list[Answer]
    cautions: list[Answer]
    names: Answer
    names_more: bool

class DefineRecipeAnswer(Answer):
    version: int
    recipe_id: str

class GetRecipeAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListRecipesAnswer(Answer):
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
    created_at: str
    versioned_at: str | None
    deprecated_at: str | None

class GetRecipeVersionAnswer(Answer):
    recipe_id: str
    capability_id: str
    version_number: int
    version_tag: str | None
    steps: list[Any]
    closing_steps: list[Any]
    defined_at: str
    current: bool
    names: Answer
    names_more: bool

class ListRecipeVersionsAnswer(Answer):
    version_number: int
    version_tag: str | None
    step_count: int
    closing_step_count: int
    defined_at: str

class AdjustRunAnswer(Answer):
    version: int
    effective_parameters: Answer

class AppendObservationsAnswer(Answer):
    version: int
    appended_count: int
    duplicate_count: int

class AppendRunLogbookEntryAnswer(Answer):
    version: int
    entry_id: str

class StartRunAnswer(Answer):
    version: int
    run_id: str
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class GetRunAnswer(Answer):
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
    created_at: str
    campaign_id: str | None
    status: Literal['Running', 'Held', 'Completed', 'Aborted', 'Stopped', 'Truncated']
    adjustment_count: int
    last_status_reason: str | None
    interrupted_at: str | None
    declaration_versions: Answer | None
    clearance_ids: list[str]
    advisories: list[Answer]
    ended_at: str | None
    external_refs: Answer
    progress: Answer | None
    owner_id: str
    names: Answer
    names_more: bool

class GetRunHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListRunsAnswer(Answer):
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
    created_at: str
    campaign_id: str | None
    status: Literal['Running', 'Held', 'Completed', 'Aborted', 'Stopped', 'Truncated']
    adjustment_count: int
    last_status_reason: str | None
    interrupted_at: str | None
    declaration_versions: Answer | None
    clearance_ids: list[str]
    advisories: list[Answer]
    ended_at: str | None
    external_refs: Answer
    progress: Answer | None
    owner_id: str

class ListRunObservationsAnswer(Answer):
    observation_id: str
    channel_name: str
    value: float
    sampling_procedure: Literal['baseline', 'monitor']
    sampled_at: str
    simulated: bool
    unit: Answer | None
    run_id: str
    recorded_at: str
    principal_id: str
    surface_id: str | None
    correlation_id: str | None

class GetRunObservationSummaryAnswer(Answer):
    run_id: str
    channels: list[Answer]
    more: bool
    names: Answer
    names_more: bool

class GetRunSeriesAnswer(Answer):
    run_id: str
    since: str | None
    until: str | None
    channels: list[Answer]
    names: Answer
    names_more: bool

class ListRunLogbookEntriesAnswer(Answer):
    entry_id: str
    text: str
    author_id: str
    recorded_at: str
    surface_id: str | None
    correlation_id: str | None
    run_id: str
    kind: Literal['Note', 'Debrief']
    decision_id: str | None

class GetShiftHandoverAnswer(Answer):
    to: str
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

class RegisterProcedureAnswer(Answer):
    version: int
    procedure_id: str

class AppendActivitiesAnswer(Answer):
    version: int
    appended_count: int
    duplicate_count: int

class MakeProcedureSafeAnswer(Answer):
    version: int
    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']

class StartProcedureAnswer(Answer):
    version: int
    status: Literal['Defined', 'Running', 'Held', 'Completed', 'Aborted', 'Truncated']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductProcedureAnswer(Answer):
    version: int
    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductOrHoldProcedureAnswer(Answer):
    version: int
    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductFromProcedureAnswer(Answer):
    version: int
    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductUntilConvergedAnswer(Answer):
    version: int
    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductUntilAdvisedAnswer(Answer):
    version: int
    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class ConductUntilAdvisedFromAnswer(Answer):
    version: int
    conduct_id: str
    procedure_id: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]

class GetProcedureAnswer(Answer):
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
    interrupted_at: str | None
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]
    moved_asset_ids: list[str]
    steps_pinned: bool
    owner_id: str
    steps: list[Any] | None
    closing_steps: list[Any] | None
    names: Answer
    names_more: bool

class GetProcedureHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListProceduresAnswer(Answer):
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
    interrupted_at: str | None
    acknowledged_cautions: list[Answer]
    advisories: list[Answer]
    moved_asset_ids: list[str]
    steps_pinned: bool
    owner_id: str
    created_at: str
    started_at: str | None
    held_at: str | None
    ended_at: str | None

class ListProcedureIterationsAnswer(Answer):
    procedure_id: str
    iteration_index: int
    started_at: str
    coordinate: Answer | None
    ended_at: str | None
    converged: bool | None
    value: Any
    reason: str | None
    advised_stop: bool | None
    advice: Answer | None

class ListProcedureActivitiesAnswer(Answer):
    activity_id: str
    procedure_id: str
    source: Literal['Manual', 'Conductor']
    step_kind: Literal['setpoint', 'action', 'check', 'capture', 'compute']
    stage: Literal['Started', 'Submitted', 'Reading', 'Writing', 'Written', 'Succeeded', 'Failed', 'Skipped']
    detail: Answer
    sampled_at: str
    recorded_at: str
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
    conduct_id: str
    conduct_kind: Literal['Once', 'OrHold', 'From', 'UntilConverged', 'UntilAdvised', 'UntilAdvisedFrom', 'MakeSafe']
    requested_by: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None
    succeeded: bool | None
    requested_at: str
    ended_at: str | None
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
    started_at: str | None
    names: Answer
    names_more: bool

class ListConductsAnswer(Answer):
    conduct_id: str
    conduct_kind: Literal['Once', 'OrHold', 'From', 'UntilConverged', 'UntilAdvised', 'UntilAdvisedFrom', 'MakeSafe']
    requested_by: str
    status: Literal['Queued', 'Running', 'Closing', 'Ended']
    outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None
    succeeded: bool | None
    requested_at: str
    ended_at: str | None

class RegisterDatasetAnswer(Answer):
    version: int
    dataset_id: str

class IngestScanAnswer(Answer):
    version: int
    dataset_id: str
    distribution_id: str
    acquisition_ids: list[str]

class MintDatasetExternalIdAnswer(Answer):
    version: int
    external_id: str

class GetDatasetAnswer(Answer):
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
    created_at: str
    status: Literal['Registered', 'Archived', 'Discarded']
    intent: Literal['Trial', 'Production', 'Retracted']
    sealed_edition_ids: list[str]
    external_id: str | None
    external_id_namespace: Literal['doi'] | None
    external_id_state: Literal['Pending', 'Findable', 'Hidden'] | None
    pending_external_id: str | None
    confirmed_digests: list[str]
    released_by: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetDatasetHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListDatasetsAnswer(Answer):
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
    created_at: str
    status: Literal['Registered', 'Archived', 'Discarded']
    intent: Literal['Trial', 'Production', 'Retracted']
    sealed_edition_ids: list[str]
    external_id: str | None
    external_id_namespace: Literal['doi'] | None
    external_id_state: Literal['Pending', 'Findable', 'Hidden'] | None
    pending_external_id: str | None
    confirmed_digests: list[str]
    released_by: str | None
    owner_id: str
    archived_at: str | None
    discarded_at: str | None
    promoted_at: str | None
    demoted_at: str | None

class ListDatasetPartsAnswer(Answer):
    path: str
    byte_size: int
    sha256: str
    dataset_id: str

class ListCustodyAnswer(Answer):
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
    copies: list[Answer]
    datasets: list[Answer]
    discardable_bytes: int
    names: Answer
    names_more: bool

class GetCustodyReportAnswer(Answer):
    judged_at: str
    valid_until: str
    items: list[Answer]
    next_cursor: str | None
    names: Answer
    names_more: bool

class ExportDatasetDataciteAnswer(Answer):
    names: Answer
    names_more: bool

class GetDatasetLineageAnswer(Answer):
    dataset_id: str
    truncated: bool
    nodes: list[Answer]
    edges: list[Answer]
    names: Answer
    names_more: bool

class GetProvenanceAnswer(Answer):
    kind: Literal['Dataset', 'Run', 'Subject', 'Asset', 'CalibrationRevision', 'Edition']
    id: str
    truncated: bool
    nodes: list[Answer]
    edges: list[Answer]
    names: Answer
    names_more: bool

class RegisterDistributionAnswer(Answer):
    version: int
    distribution_id: str

class RequestDistributionCheckAnswer(Answer):
    version: int
    check_id: str

class GetDistributionAnswer(Answer):
    distribution_id: str
    dataset_id: str
    supply_id: str | None
    uri: str
    checksum: Answer
    byte_size: int
    encoding: Answer
    access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline']
    of_parts: bool
    created_at: str
    status: Literal['Registered', 'Verified', 'Stale', 'Discarded', 'Removed', 'Overwritten']
    good_checks: list[Answer]
    verified_by: Literal['Service', 'Client', 'Transfer'] | None
    verified_strength: Literal['Cryptographic', 'Integrity'] | None
    verified_at: str | None
    marked_stale_at: str | None
    unreachable_since: str | None
    file: Answer | None
    checks_count_from: str | None
    keeps_place: bool
    owner_id: str
    names: Answer
    names_more: bool

class GetDistributionHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListDistributionsAnswer(Answer):
    distribution_id: str
    dataset_id: str
    supply_id: str | None
    uri: str
    checksum: Answer
    byte_size: int
    encoding: Answer
    access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline']
    of_parts: bool
    created_at: str
    status: Literal['Registered', 'Verified', 'Stale', 'Discarded', 'Removed', 'Overwritten']
    good_checks: list[Answer]
    verified_by: Literal['Service', 'Client', 'Transfer'] | None
    verified_strength: Literal['Cryptographic', 'Integrity'] | None
    verified_at: str | None
    marked_stale_at: str | None
    unreachable_since: str | None
    file: Answer | None
    checks_count_from: str | None
    keeps_place: bool
    owner_id: str
    discarded_at: str | None
    restored_at: str | None
    removed_at: str | None
    overwritten_at: str | None

class ListDistributionChecksAnswer(Answer):
    distribution_id: str
    kind: Literal['ChecksumVerified', 'FormatValidated']
    check_id: str
    requested_at: str
    byte_size: int
    bytes_read: int
    percent: int
    bytes_per_second: int
    started_at: str | None
    updated_at: str | None

class RecordAcquisitionAnswer(Answer):
    version: int
    acquisition_id: str

class GetAcquisitionAnswer(Answer):
    acquisition_id: str
    dataset_id: str
    producing_asset_id: str
    producing_run_id: str | None
    captured_at: str
    settings: Answer
    evidence: Answer
    corrects_acquisition_id: str | None
    created_at: str
    owner_id: str
    corrected_by_acquisition_id: str | None
    names: Answer
    names_more: bool

class GetAcquisitionHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListAcquisitionsAnswer(Answer):
    acquisition_id: str
    dataset_id: str
    producing_asset_id: str
    producing_run_id: str | None
    captured_at: str
    settings: Answer
    evidence: Answer
    corrects_acquisition_id: str | None
    created_at: str
    owner_id: str

class RecordAttestationAnswer(Answer):
    version: int
    attestation_id: str

class GetAttestationAnswer(Answer):
    attestation_id: str
    dataset_id: str
    distribution_id: str
    kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated']
    verified_by: Literal['Service', 'Client', 'Transfer']
    outcome: Literal['Match', 'Mismatch', 'Unreachable']
    strength: Literal['Cryptographic', 'Integrity'] | None
    checked_at: str
    evidence: Answer
    created_at: str
    owner_id: str
    names: Answer
    names_more: bool

class GetAttestationHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListAttestationsAnswer(Answer):
    attestation_id: str
    dataset_id: str
    distribution_id: str
    kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated']
    verified_by: Literal['Service', 'Client', 'Transfer']
    outcome: Literal['Match', 'Mismatch', 'Unreachable']
    strength: Literal['Cryptographic', 'Integrity'] | None
    checked_at: str
    evidence: Answer
    created_at: str
    owner_id: str

class RegisterEditionAnswer(Answer):
    version: int
    edition_id: str

class MintEditionExternalIdAnswer(Answer):
    version: int
    external_id: str

class GetEditionAnswer(Answer):
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
    created_at: str
    content_hash: str | None
    status: Literal['Registered', 'Sealed', 'Published', 'Withdrawn']
    external_id: str | None
    external_id_namespace: Literal['doi'] | None
    external_id_state: Literal['Pending', 'Findable', 'Hidden'] | None
    pending_external_id: str | None
    sealed_at: str | None
    published_at: str | None
    withdrawn_at: str | None
    withdrawn_reason: str | None
    owner_id: str
    retracted_dataset_ids: list[str]
    uncovered_dataset_ids: list[str]
    names: Answer
    names_more: bool

class GetEditionHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListEditionsAnswer(Answer):
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
    created_at: str
    content_hash: str | None
    status: Literal['Registered', 'Sealed', 'Published', 'Withdrawn']
    external_id: str | None
    external_id_namespace: Literal['doi'] | None
    external_id_state: Literal['Pending', 'Findable', 'Hidden'] | None
    pending_external_id: str | None
    sealed_at: str | None
    published_at: str | None
    withdrawn_at: str | None
    withdrawn_reason: str | None
    owner_id: str

class GetEditionManifestAnswer(Answer):
    names: Answer
    names_more: bool

class DefineCalibrationAnswer(Answer):
    version: int
    calibration_id: str

class AppendCalibrationRevisionAnswer(Answer):
    version: int
    revision_id: str

class GetCalibrationAnswer(Answer):
    calibration_id: str
    asset_id: str
    quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile']
    operating_point: Answer
    description: str | None
    created_at: str
    revisions: list[Answer]
    revision_count: int
    current_revision_id: str | None
    current_status: Literal['Provisional', 'Verified'] | None
    current_source_kind: Literal['Measured', 'Computed', 'Asserted'] | None
    last_revised_at: str | None
    owner_id: str
    names: Answer
    names_more: bool

class GetCalibrationHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListCalibrationsAnswer(Answer):
    calibration_id: str
    asset_id: str
    quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile']
    operating_point: Answer
    description: str | None
    created_at: str
    revisions: list[Answer]
    revision_count: int
    current_revision_id: str | None
    current_status: Literal['Provisional', 'Verified'] | None
    current_source_kind: Literal['Measured', 'Computed', 'Asserted'] | None
    last_revised_at: str | None
    owner_id: str

class GetCalibrationRevisionAnswer(Answer):
    revision_id: str
    value: Answer
    status: Literal['Provisional', 'Verified']
    source: Answer
    established_at: str
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
    id: str
    kind: Literal['Run', 'Dataset']
    created_at: str
    name: str
    state: str

class RegisterCampaignAnswer(Answer):
    version: int
    campaign_id: str

class GetCampaignAnswer(Answer):
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
    owner_id: str
    names: Answer
    names_more: bool

class GetCampaignHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListCampaignsAnswer(Answer):
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
    owner_id: str
    created_at: str
    started_at: str | None
    last_status_changed_at: str | None

class RegisterClearanceAnswer(Answer):
    version: int
    clearance_id: str

class AmendClearanceAnswer(Answer):
    version: int
    clearance_id: str

class GetClearanceAnswer(Answer):
    clearance_id: str
    kind: str
    facility_code: str
    title: str
    bindings: list[Any]
    hazards: list[Answer]
    risk_band: Literal['Green', 'Yellow', 'Red'] | None
    valid_from: str | None
    valid_until: str | None
    parent_id: str | None
    status: Literal['Defined', 'Submitted', 'UnderReview', 'Approved', 'Active', 'Rejected', 'Expired', 'Superseded']
    review_steps: list[Answer]
    superseded_by_clearance_id: str | None
    last_status_reason: str | None
    owner_id: str
    in_force: bool
    names: Answer
    names_more: bool

class GetClearanceHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListClearancesAnswer(Answer):
    clearance_id: str
    kind: str
    facility_code: str
    title: str
    bindings: list[Any]
    hazards: list[Answer]
    risk_band: Literal['Green', 'Yellow', 'Red'] | None
    valid_from: str | None
    valid_until: str | None
    parent_id: str | None
    status: Literal['Defined', 'Submitted', 'UnderReview', 'Approved', 'Active', 'Rejected', 'Expired', 'Superseded']
    review_steps: list[Answer]
    superseded_by_clearance_id: str | None
    last_status_reason: str | None
    owner_id: str
    created_at: str
    last_status_changed_at: str | None
    in_force: bool

class RegisterCautionAnswer(Answer):
    version: int
    caution_id: str

class SupersedeCautionAnswer(Answer):
    version: int
    caution_id: str

class PromoteCautionProposalAnswer(Answer):
    version: int
    caution_id: str

class GetCautionAnswer(Answer):
    caution_id: str
    target: Answer
    category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha']
    severity: Literal['Notice', 'Caution', 'Warning']
    text: str
    workaround: str
    tags: list[str]
    expires_at: str | None
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListCautionsAnswer(Answer):
    caution_id: str
    target: Answer
    category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha']
    severity: Literal['Notice', 'Caution', 'Warning']
    text: str
    workaround: str
    tags: list[str]
    expires_at: str | None
    propagate_to_children: bool
    authored_by: str
    parent_id: str | None
    promoted_from_decision_id: str | None
    superseded_by_caution_id: str | None
    status: Literal['Active', 'Superseded', 'Retired']
    retire_reason: Literal['Resolved', 'NoLongerApplies', 'WrongTarget'] | None
    owner_id: str
    created_at: str
    last_status_changed_at: str | None
    in_effect: bool

class RegisterSubscriptionAnswer(Answer):
    version: int
    subscription_id: str
    secret: str | None

class RotateSubscriptionSecretAnswer(Answer):
    version: int
    secret: str | None

class GetSubscriptionAnswer(Answer):
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListSubscriptionsAnswer(Answer):
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
    created_at: str

class ListDeliveriesAnswer(Answer):
    subscription_id: str
    event_id: str
    event_type: str
    stream_type: str
    stream_id: str
    cursor: str
    status: Literal['Sending', 'Delivered', 'Refused', 'Skipped']
    attempt: int
    first_at: str
    at: str
    due_at: str | None
    http_status: int | None
    error: str | None
    answer: str | None
    outside_id: str | None

class DefineAgentAnswer(Answer):
    version: int
    agent_id: str

class ListAtRiskResultsAnswer(Answer):
    decision_id: str
    agent_id: str
    kind: str
    agent_status: Literal['Defined', 'Versioned', 'Suspended', 'Deprecated']
    context: str
    choice: str
    occurred_at: str
    request_model: str | None
    response_model: str | None
    reasons: list[Literal['NotReproducible', 'RatedMisleading', 'Overridden']]
    run_id: str | None
    caution_id: str | None

class GetAgentAnswer(Answer):
    agent_id: str
    kind: str
    name: str
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
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListAgentsAnswer(Answer):
    agent_id: str
    kind: str
    name: str
    description: str | None
    model_ref: Answer
    prompt_template_id: str | None
    capabilities: list[str]
    tools: list[str]
    budget: Answer | None
    status: Literal['Defined', 'Versioned', 'Suspended', 'Deprecated']
    owner_id: str
    created_at: str
    versioned_at: str | None
    suspended_at: str | None
    deprecated_at: str | None

class ListAgentCostsAnswer(Answer):
    day: str
    calls: int
    failed_calls: int
    unpriced_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    duration_ms: int

class ApproveProposalAnswer(Answer):
    version: int
    proposal_id: str
    status: int
    answer: Answer | None

class GetProposalAnswer(Answer):
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
    expires_at: str
    status: Literal['Open', 'Approved', 'Rejected', 'Withdrawn']
    closed_by: str | None
    closed_reason: str | None
    written: list[Answer]
    owner_id: str
    arguments: Answer
    note: str | None
    now: Answer | None
    open: bool
    names: Answer
    names_more: bool

class GetProposalHistoryAnswer(Answer):
    event_id: str
    stream_type: str
    stream_id: str
    transaction_id: int
    position: int
    event_type: str
    schema_version: int
    principal_id: str
    command_name: str
    surface_id: str | None
    correlation_id: str
    causation_id: str | None
    recorded_at: str
    occurred_at: str
    payload: Answer

class ListProposalsAnswer(Answer):
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
    expires_at: str
    status: Literal['Open', 'Approved', 'Rejected', 'Withdrawn']
    closed_by: str | None
    closed_reason: str | None
    written: list[Answer]
    owner_id: str
    created_at: str
    closed_at: str | None
    open: bool

class ResolveNamesAnswer(Answer):
    items: list[Answer]
    names: Answer
    names_more: bool

class GetSelfAnswer(Answer):
    actor_id: str
    kind: Literal['human', 'agent', 'service_account']
    name: str
    surface: Answer
    surface_ids: list[str]
    permitted_commands: list[str]
    own_only: list[str]
    proposable_commands: list[str]
    token_expires_at: str | None
    now: str
    facility: Answer
    names: Answer
    names_more: bool

class GetStatusAnswer(Answer):
    items: list[Answer]
    now: str
    more: bool
    names: Answer
    names_more: bool

class ActorVerbs:
    def update_profile(self, target: str, *, email: str | None = ..., phone: str | None = ..., affiliation: str | None = ..., external_id: str | None = ..., external_id_namespace: str | None = ..., name: str | None = ...) -> Changed: ...
    def register(self, *, name: str, email: str | None = ..., phone: str | None = ..., affiliation: str | None = ..., external_id: str | None = ..., external_id_namespace: str | None = ..., kind: Literal['human', 'service_account'] | None = ..., identities: Any | None = ...) -> RegisterActorAnswer: ...
    def deactivate(self, target: str) -> Changed: ...
    def forget(self, target: str) -> Changed: ...
    def bind_identity(self, target: str, *, issuer: str, subject: str) -> Changed: ...
    def confirm_identity(self, target: str, *, issuer: str, subject: str) -> Changed: ...
    def unbind_identity(self, target: str, *, issuer: str, subject: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetActorAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetActorHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., kind: Literal['human', 'agent', 'service_account'] | None = ..., active: bool | None = ..., unconfirmed_login_bound_by: str | None = ...) -> Pages[ListActorsAnswer]: ...
    def evaluate_authorization(self, *, principal_id: str, command_name: str, conduit: str, names: bool | None = ..., surface: str | None = ...) -> EvaluateAuthorizationAnswer: ...

class ZoneVerbs:
    def define(self, *, name: str) -> DefineZoneAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetZoneAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetZoneHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ...) -> Pages[ListZonesAnswer]: ...

class ConduitVerbs:
    def define(self, *, name: str, source_zone: str, target_zone: str) -> DefineConduitAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetConduitAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetConduitHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., source_zone: str | None = ..., target_zone: str | None = ...) -> Pages[ListConduitsAnswer]: ...
    def denials(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., principal_id: str | None = ..., reason_code: Literal['unknown_principal', 'inactive_principal', 'suspended_agent', 'no_matching_policy', 'tool_not_granted'] | None = ...) -> Pages[ListConduitDenialsAnswer]: ...

class SurfaceVerbs:
    def define(self, *, name: str, kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP'], conduit: str, unit_asset: str | None = ...) -> DefineSurfaceAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSurfaceAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetSurfaceHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP'] | None = ..., conduit: str | None = ..., unit_asset: str | None = ...) -> Pages[ListSurfacesAnswer]: ...

class PolicyVerbs:
    def define(self, *, name: str, conduit: str, surface: str, permitted_principal_ids: Sequence[str], permitted_commands: Sequence[str], object_scope: Literal['All', 'Own'], proposable_commands: Sequence[str] | None = ...) -> DefinePolicyAnswer: ...
    def add_grant(self, target: str, *, permitted_principal_id: str) -> Changed: ...
    def revoke_grant(self, target: str, *, permitted_principal_id: str, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetPolicyAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetPolicyHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., conduit: str | None = ..., surface: str | None = ..., permitted_principal_id: str | None = ...) -> Pages[ListPoliciesAnswer]: ...

class VisitVerbs:
    def register(self, *, policy: str, parent_surface: str, type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff'], planned_start_at: str, planned_end_at: str, parent_id: str | None = ..., external_refs: Any | None = ...) -> RegisterVisitAnswer: ...
    def record_arrival(self, target: str) -> Changed: ...
    def start(self, target: str) -> Changed: ...
    def hold(self, target: str, *, reason: str) -> Changed: ...
    def resume(self, target: str) -> Changed: ...
    def complete(self, target: str) -> Changed: ...
    def cancel(self, target: str, *, reason: str) -> Changed: ...
    def abort(self, target: str, *, reason: str) -> Changed: ...
    def void(self, target: str, *, reason: str) -> Changed: ...
    def take_surface_control(self, target: str) -> Changed: ...
    def take(self, target: str) -> Changed: ...
    def release_surface_control(self, target: str) -> Changed: ...
    def release(self, target: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetVisitAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetVisitHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Planned', 'Arrived', 'InProgress', 'OnHold', 'Completed', 'Cancelled', 'Aborted', 'Voided']] | None = ..., parent_surface: str | None = ..., type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff'] | None = ..., parent_id: str | None = ..., policy: str | None = ...) -> Pages[ListVisitsAnswer]: ...

class FacilityVerbs:
    def register(self, *, code: str, name: str, kind: Literal['Site', 'Area'], parent_id: str | None = ...) -> RegisterFacilityAnswer: ...
    def decommission(self, target: str, *, reason: str) -> Changed: ...
    def add_trust_anchor_credential(self, target: str, *, credential: str) -> Changed: ...
    def remove_trust_anchor_credential(self, target: str, *, credential: str, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetFacilityAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetFacilityHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., code: str | None = ..., kind: Literal['Site', 'Area'] | None = ..., status: Sequence[Literal['Active', 'Decommissioned']] | None = ..., parent_id: str | None = ...) -> Pages[ListFacilitiesAnswer]: ...
    def event_proof(self, *, stream_type: str, stream_id: str, version: int, names: bool | None = ...) -> GetEventProofAnswer: ...
    def checkpoints(self, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., tree: Literal['events', 'rows'] | None = ..., since: str | None = ...) -> Pages[ListCheckpointsAnswer]: ...

class CredentialVerbs:
    def register(self, *, facility: str, audience: str, purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'], public_key: str, secret_ref: str | None = ..., key_check_signature: str | None = ..., expires_at: str | None = ...) -> RegisterCredentialAnswer: ...
    def start_rotation(self, target: str, *, new_public_key: str, new_secret_ref: str | None = ..., new_key_check_signature: str | None = ..., new_expires_at: str | None = ...) -> Changed: ...
    def complete_rotation(self, target: str) -> Changed: ...
    def abort_rotation(self, target: str, *, reason: str) -> Changed: ...
    def revoke(self, target: str, *, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCredentialAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetCredentialHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., facility: str | None = ..., audience: str | None = ..., purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'] | None = ..., status: Sequence[Literal['Active', 'Rotating', 'Revoked']] | None = ...) -> Pages[ListCredentialsAnswer]: ...

class PermitVerbs:
    def define(self, *, direction: Literal['Outbound', 'Inbound'], peer_facility: str, audience: str, purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'], allowed_credential_ids: Sequence[str], expires_at: str) -> DefinePermitAnswer: ...
    def activate(self, target: str) -> Changed: ...
    def suspend(self, target: str, *, reason: str) -> Changed: ...
    def resume(self, target: str) -> Changed: ...
    def revoke(self, target: str, *, reason: str) -> Changed: ...
    def export_artifact(self, target: str, *, artifact_id: str, credential: str | None = ...) -> ExportArtifactAnswer: ...
    def import_artifact(self, target: str, *, envelope: Any, signature: str) -> ImportArtifactAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetPermitAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetPermitHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., direction: Literal['Outbound', 'Inbound'] | None = ..., peer_facility: str | None = ..., audience: str | None = ..., purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'] | None = ..., status: Sequence[Literal['Defined', 'Active', 'Suspended', 'Revoked']] | None = ...) -> Pages[ListPermitsAnswer]: ...
    def exchanges(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., artifact_id: str | None = ...) -> Pages[ListPermitExchangesAnswer]: ...
    def exchange(self, target: str, *, exchange_id: str, names: bool | None = ...) -> GetPermitExchangeAnswer: ...

class SealVerbs:
    def initialize(self, *, facility: str, online_credential: str, offline_credential: str) -> InitializeSealAnswer: ...
    def sign_pointer(self, target: str, *, head_hash: str, sequence_number: int) -> Changed: ...
    def rotate_online_key(self, target: str, *, new_online_credential: str, signed_by_offline_root: bool, offline_root_signature: str | None = ...) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSealAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetSealHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ...) -> Pages[ListSealsAnswer]: ...

class EnclosureVerbs:
    def register(self, *, name: str, facility_code: str) -> RegisterEnclosureAnswer: ...
    def observe_status(self, target: str, *, reason: str, permit_status: Literal['Permitted', 'NotPermitted', 'Unknown'], monitor_ref: str) -> Changed: ...
    def bind_monitor(self, target: str, *, monitor_id: str) -> Changed: ...
    def unbind_monitor(self, target: str, *, monitor_id: str) -> Changed: ...
    def decommission(self, target: str, *, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetEnclosureAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetEnclosureHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., facility_code: str | None = ..., permit_status: Sequence[Literal['Permitted', 'NotPermitted', 'Unknown']] | None = ..., lifecycle: Literal['Active', 'Decommissioned'] | None = ...) -> Pages[ListEnclosuresAnswer]: ...

class FamilyVerbs:
    def define(self, *, affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']], name: str, settings_schema: Any | None = ...) -> DefineFamilyAnswer: ...
    def version(self, target: str, *, affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']], settings_schema: Any, version_tag: str) -> Changed: ...
    def deprecate(self, target: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetFamilyAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetFamilyHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., affordance: Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable'] | None = ...) -> Pages[ListFamiliesAnswer]: ...

class ModelVerbs:
    def define(self, *, name: str, manufacturer: Any, part_number: str, declared_family_ids: Sequence[str]) -> DefineModelAnswer: ...
    def version(self, target: str, *, name: str, manufacturer: Any, part_number: str, declared_family_ids: Sequence[str], version_tag: str) -> Changed: ...
    def deprecate(self, target: str, *, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetModelAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetModelHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., family: str | None = ..., part_number: str | None = ...) -> Pages[ListModelsAnswer]: ...

class AssetVerbs:
    def register(self, *, name: str, tier: Literal['Unit', 'Component', 'Device'], family_ids: Sequence[str], parent_id: str | None = ..., facility_code: str | None = ..., model: str | None = ..., located_in_enclosure: str | None = ..., alternate_identifiers: Any | None = ...) -> RegisterAssetAnswer: ...
    def rename(self, target: str, *, name: str) -> Changed: ...
    def activate(self, target: str) -> Changed: ...
    def enter_maintenance(self, target: str, *, reason: str | None = ...) -> Changed: ...
    def exit_maintenance(self, target: str) -> Changed: ...
    def decommission(self, target: str) -> Changed: ...
    def degrade(self, target: str, *, reason: str) -> Changed: ...
    def fault(self, target: str, *, reason: str) -> Changed: ...
    def restore(self, target: str, *, reason: str) -> Changed: ...
    def relocate(self, target: str, *, reason: str, to_parent_id: str) -> Changed: ...
    def locate(self, target: str, *, located_in_enclosure: str) -> Changed: ...
    def add_family(self, target: str, *, family: str) -> Changed: ...
    def remove_family(self, target: str, *, family: str) -> Changed: ...
    def update_settings(self, target: str, *, settings_patch: Any) -> Changed: ...
    def add_alternate_identifier(self, target: str, *, kind: Literal['InventoryNumber', 'EPICS_PV', 'TANGO_ATTRIBUTE', 'CONTROLSYS_PV', 'Other'], value: str) -> Changed: ...
    def remove_alternate_identifier(self, target: str, *, kind: Literal['InventoryNumber', 'EPICS_PV', 'TANGO_ATTRIBUTE', 'CONTROLSYS_PV', 'Other'], value: str) -> Changed: ...
    def assign_external_id(self, target: str, *, external_id_namespace: Literal['doi', 'handle'], external_id: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetAssetAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetAssetHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., tier: Literal['Unit', 'Component', 'Device'] | None = ..., lifecycle: Literal['Commissioned', 'Active', 'Maintenance', 'Decommissioned'] | None = ..., condition: Literal['Nominal', 'Degraded', 'Faulted'] | None = ..., parent_id: str | None = ..., below: str | None = ..., above: str | None = ..., family: str | None = ..., facility_code: str | None = ..., located_in_enclosure: Sequence[str] | None = ..., model: str | None = ...) -> Pages[ListAssetsAnswer]: ...
    def tree(self, target: str, *, names: bool | None = ..., as_of: str | None = ...) -> GetAssetTreeAnswer: ...
    def pidinst(self, target: str, *, names: bool | None = ...) -> GetAssetPidinstAnswer: ...
    def board(self, target: str, *, names: bool | None = ..., min_token: str | None = ..., plan: str | None = ..., subject: str | None = ...) -> GetBoardAnswer: ...

class MountVerbs:
    def register(self, *, slot_code: str, parent_id: str | None = ..., placement: Any | None = ...) -> RegisterMountAnswer: ...
    def install_asset(self, target: str, *, asset: str) -> Changed: ...
    def uninstall_asset(self, target: str, *, reason: str) -> Changed: ...
    def update_placement(self, target: str, *, placement: Any) -> Changed: ...
    def decommission(self, target: str, *, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetMountAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetMountHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Active', 'Decommissioned']] | None = ..., parent_id: str | None = ..., frame: str | None = ..., slot_code: str | None = ..., installed_asset: str | None = ...) -> Pages[ListMountsAnswer]: ...

class FrameVerbs:
    def decommission(self, target: str, *, reason: str) -> Changed: ...
    def register(self, *, name: str, parent_id: str | None = ..., placement: Any | None = ...) -> RegisterFrameAnswer: ...
    def update_placement(self, target: str, *, placement: Any) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetFrameAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetFrameHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Active', 'Decommissioned']] | None = ..., parent_id: str | None = ...) -> Pages[ListFramesAnswer]: ...

class SupplyVerbs:
    def register(self, *, kind: str, name: str, facility_code: str, containing_asset: str | None = ...) -> RegisterSupplyAnswer: ...
    def mark_available(self, target: str, *, reason: str) -> Changed: ...
    def degrade(self, target: str, *, reason: str) -> Changed: ...
    def mark_unavailable(self, target: str, *, reason: str) -> Changed: ...
    def mark_recovering(self, target: str, *, reason: str) -> Changed: ...
    def restore(self, target: str, *, reason: str) -> Changed: ...
    def observe_status(self, target: str, *, reason: str, status: Literal['Unavailable', 'Recovering'], monitor_ref: str, unchanged: bool | None = ...) -> Changed: ...
    def bind_monitor(self, target: str, *, monitor_id: str) -> Changed: ...
    def unbind_monitor(self, target: str, *, monitor_id: str) -> Changed: ...
    def deregister(self, target: str, *, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSupplyAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetSupplyHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., facility_code: str | None = ..., containing_asset: str | None = ..., kind: str | None = ..., status: Sequence[Literal['Unknown', 'Available', 'Degraded', 'Unavailable', 'Recovering', 'Decommissioned']] | None = ...) -> Pages[ListSuppliesAnswer]: ...

class SubjectVerbs:
    def register(self, *, name: str) -> RegisterSubjectAnswer: ...
    def mount(self, target: str, *, reason: str, asset: str) -> Changed: ...
    def measure(self, target: str) -> Changed: ...
    def dismount(self, target: str, *, reason: str) -> Changed: ...
    def remove(self, target: str) -> Changed: ...
    def return_(self, target: str) -> Changed: ...
    def store(self, target: str) -> Changed: ...
    def discard(self, target: str, *, reason: str) -> Changed: ...
    def assign_external_id(self, target: str, *, external_id_namespace: Literal['igsn'], external_id: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSubjectAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetSubjectHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Received', 'Mounted', 'Measured', 'Removed', 'Returned', 'Stored', 'Discarded']] | None = ..., mounted_on_asset: str | None = ..., under_asset: str | None = ...) -> Pages[ListSubjectsAnswer]: ...

class DecisionVerbs:
    def register(self, *, context: str, choice: str, actor: str | None = ..., parent_id: str | None = ..., override_kind: Literal['correction', 'exception', 'appeal', 'supersession', 'invalidation'] | None = ..., rule: str | None = ..., reasoning: str | None = ..., confidence: float | None = ..., confidence_source: Literal['self_reported', 'logprob', 'ensemble', 'human'] | None = ..., alternatives: Sequence[str] | None = ..., inputs: Any | None = ..., determining_policy_ids: Sequence[str] | None = ...) -> RegisterDecisionAnswer: ...
    def rate(self, target: str, *, rating: Literal['useful', 'misleading', 'ignored'], comment: str | None = ...) -> Changed: ...
    def append_inferences(self, target: str, *, entries: Any) -> AppendInferencesAnswer: ...
    def append_logbook_entry(self, target: str, *, text: str, entry_id: str | None = ...) -> AppendDecisionLogbookEntryAnswer: ...
    def note(self, target: str, *, text: str, entry_id: str | None = ...) -> AppendDecisionLogbookEntryAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetDecisionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetDecisionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., actor: str | None = ..., context: str | None = ..., choice: str | None = ..., exclude_choice: Sequence[str] | None = ..., confidence_band: Literal['Low', 'Medium', 'High', 'Certain'] | None = ..., rule: str | None = ..., parent_id: str | None = ..., run: str | None = ..., rating: Literal['useful', 'misleading', 'ignored'] | None = ..., promoted: bool | None = ..., from_: str | None = ..., to: str | None = ...) -> Pages[ListDecisionsAnswer]: ...
    def inferences(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., include_messages: bool | None = ...) -> Pages[ListDecisionInferencesAnswer]: ...
    def logbook_entries(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., author_id: str | None = ...) -> Pages[ListDecisionLogbookEntriesAnswer]: ...
    def evidence(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., window_minutes: int | None = ...) -> Pages[ListDecisionEvidenceAnswer]: ...
    def verify_evidence(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., window_minutes: int | None = ...) -> Pages[VerifyDecisionEvidenceAnswer]: ...

class CapabilityVerbs:
    def define(self, *, name: str, required_affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']], executor_shapes: Sequence[Literal['METHOD', 'PROCEDURE']], code: str, description: str | None = ..., parameters_schema: Any | None = ...) -> DefineCapabilityAnswer: ...
    def version(self, target: str, *, name: str, required_affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']], executor_shapes: Sequence[Literal['METHOD', 'PROCEDURE']], description: str, parameters_schema: Any, version_tag: str) -> Changed: ...
    def deprecate(self, target: str, *, replaced_by_capability: str | None = ...) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCapabilityAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetCapabilityHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., executor_shape: Literal['METHOD', 'PROCEDURE'] | None = ..., affordance: Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable'] | None = ..., code: str | None = ...) -> Pages[ListCapabilitiesAnswer]: ...

class MethodVerbs:
    def define(self, *, name: str, needed_family_ids: Sequence[str], capability: str, needed_supplies: Sequence[str] | None = ..., parameters_schema: Any | None = ...) -> DefineMethodAnswer: ...
    def version(self, target: str, *, name: str, needed_family_ids: Sequence[str], needed_supplies: Sequence[str], parameters_schema: Any, version_tag: str) -> Changed: ...
    def deprecate(self, target: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetMethodAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetMethodHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., capability: str | None = ..., family: str | None = ...) -> Pages[ListMethodsAnswer]: ...

class PracticeVerbs:
    def define(self, *, name: str, method: str, facility_code: str | None = ..., family_ids: Sequence[str] | None = ...) -> DefinePracticeAnswer: ...
    def version(self, target: str, *, name: str, facility_code: str, family_ids: Sequence[str], version_tag: str) -> Changed: ...
    def deprecate(self, target: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetPracticeAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetPracticeHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., method: str | None = ..., facility_code: str | None = ...) -> Pages[ListPracticesAnswer]: ...

class PlanVerbs:
    def define(self, *, name: str, asset_ids: Sequence[str], practice: str, window: Any | None = ..., default_parameters: Any | None = ...) -> DefinePlanAnswer: ...
    def version(self, target: str, *, name: str, asset_ids: Sequence[str], window: Any, default_parameters: Any, version_tag: str) -> Changed: ...
    def update_default_parameters(self, target: str, *, default_parameters_patch: Any) -> Changed: ...
    def deprecate(self, target: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetPlanAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetPlanHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., practice: str | None = ..., method: str | None = ..., asset: str | None = ..., under_asset: str | None = ...) -> Pages[ListPlansAnswer]: ...
    def readiness(self, target: str, *, names: bool | None = ..., min_token: str | None = ..., subject: str | None = ..., pinned_calibration: Sequence[str] | None = ...) -> GetPlanReadinessAnswer: ...
    def ready(self, target: str, *, names: bool | None = ..., min_token: str | None = ..., subject: str | None = ..., pinned_calibration: Sequence[str] | None = ...) -> GetPlanReadinessAnswer: ...

class RecipeVerbs:
    def define(self, *, steps: Any, name: str, capability: str, closing_steps: Any | None = ...) -> DefineRecipeAnswer: ...
    def version(self, target: str, *, steps: Any, closing_steps: Any, version_tag: str) -> Changed: ...
    def deprecate(self, target: str, *, replaced_by_recipe: str | None = ...) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetRecipeAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetRecipeHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., capability: str | None = ...) -> Pages[ListRecipesAnswer]: ...
    def get_version(self, target: str, *, version_number: int, names: bool | None = ...) -> GetRecipeVersionAnswer: ...
    def versions(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[ListRecipeVersionsAnswer]: ...

class RunVerbs:
    def hold(self, target: str, *, decided_by_decision: str | None = ..., reason: str | None = ...) -> Changed: ...
    def complete(self, target: str) -> Changed: ...
    def stop(self, target: str, *, reason: str, decided_by_decision: str | None = ...) -> Changed: ...
    def abort(self, target: str, *, reason: str, decided_by_decision: str | None = ...) -> Changed: ...
    def truncate(self, target: str, *, reason: str, decided_by_decision: str | None = ..., interrupted_at: str | None = ...) -> Changed: ...
    def adjust(self, target: str, *, reason: str, parameters_patch: Any, decided_by_decision: str | None = ...) -> AdjustRunAnswer: ...
    def append_observations(self, target: str, *, entries: Any) -> AppendObservationsAnswer: ...
    def append_logbook_entry(self, target: str, *, text: str, entry_id: str | None = ..., kind: Literal['Note', 'Debrief'] | None = ..., decision: str | None = ...) -> AppendRunLogbookEntryAnswer: ...
    def note(self, target: str, *, text: str, entry_id: str | None = ..., kind: Literal['Note', 'Debrief'] | None = ..., decision: str | None = ...) -> AppendRunLogbookEntryAnswer: ...
    def start(self, *, name: str, plan: str, subject: str | None = ..., raid: str | None = ..., override_parameters: Any | None = ..., pinned_calibration_ids: Sequence[str] | None = ..., campaign: str | None = ..., decided_by_decision: str | None = ..., external_refs: Any | None = ..., progress: Any | None = ...) -> StartRunAnswer: ...
    def resume(self, target: str, *, decided_by_decision: str | None = ..., acknowledgement: str | None = ...) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetRunAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetRunHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Running', 'Held', 'Completed', 'Aborted', 'Stopped', 'Truncated']] | None = ..., plan: str | None = ..., subject: str | None = ..., campaign: str | None = ..., asset: Sequence[str] | None = ..., under_asset: str | None = ..., pinned_calibration: str | None = ..., external_ref: str | None = ..., started_from: str | None = ..., started_to: str | None = ...) -> Pages[ListRunsAnswer]: ...
    def observations(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., channel_name: str | None = ..., sampling_procedure: Literal['baseline', 'monitor'] | None = ..., simulated: bool | None = ..., sampled_from: str | None = ..., sampled_to: str | None = ...) -> Pages[ListRunObservationsAnswer]: ...
    def observation_summary(self, target: str, *, names: bool | None = ...) -> GetRunObservationSummaryAnswer: ...
    def series(self, target: str, *, channel_name: Sequence[str], names: bool | None = ..., from_: str | None = ..., to: str | None = ..., points: int | None = ...) -> GetRunSeriesAnswer: ...
    def logbook_entries(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., kind: Literal['Note', 'Debrief'] | None = ..., author_id: str | None = ...) -> Pages[ListRunLogbookEntriesAnswer]: ...
    def shift_handover(self, *, from_: str, to: str, names: bool | None = ..., min_token: str | None = ..., facility_code: str | None = ...) -> GetShiftHandoverAnswer: ...

class ProcedureVerbs:
    def register(self, *, name: str, kind: str, target_asset_ids: Sequence[str] | None = ..., parent_run: str | None = ..., capability: str | None = ..., max_consecutive_unconverged_iterations: int | None = ..., recipe: Any | None = ...) -> RegisterProcedureAnswer: ...
    def resume(self, target: str, *, decided_by_decision: str | None = ...) -> Changed: ...
    def complete(self, target: str) -> Changed: ...
    def truncate(self, target: str, *, reason: str, interrupted_at: str | None = ...) -> Changed: ...
    def start_iteration(self, target: str, *, iteration_index: int) -> Changed: ...
    def end_iteration(self, target: str, *, iteration_index: int, converged: bool, reason: str | None = ..., value: Any | None = ...) -> Changed: ...
    def hold(self, target: str, *, reason: str, decided_by_decision: str | None = ...) -> Changed: ...
    def abort(self, target: str, *, reason: str) -> Changed: ...
    def cancel_conduct(self, target: str, *, reason: str, conduct_id: str) -> Changed: ...
    def append_activities(self, target: str, *, entries: Any) -> AppendActivitiesAnswer: ...
    def make_safe(self, target: str, *, decided_by_decision: str | None = ...) -> MakeProcedureSafeAnswer: ...
    def start(self, target: str) -> StartProcedureAnswer: ...
    def conduct(self, target: str, *, decided_by_decision: str | None = ..., steps: Any | None = ..., closing_steps: Any | None = ...) -> ConductProcedureAnswer: ...
    def conduct_or_hold(self, target: str, *, decided_by_decision: str | None = ..., steps: Any | None = ..., closing_steps: Any | None = ...) -> ConductOrHoldProcedureAnswer: ...
    def conduct_from(self, target: str, *, decided_by_decision: str | None = ..., redo_step_indexes: Sequence[int] | None = ..., skip_step_indexes: Sequence[int] | None = ..., abandon: bool | None = ..., from_step_index: int | None = ...) -> ConductFromProcedureAnswer: ...
    def conduct_until_converged(self, target: str, *, capture_name: str, criterion: Any, decided_by_decision: str | None = ..., steps: Any | None = ..., closing_steps: Any | None = ..., max_consecutive_unconverged_iterations: int | None = ..., max_iterations: int | None = ...) -> ConductUntilConvergedAnswer: ...
    def conduct_until_advised(self, target: str, *, advisor: Any, objective: Any, space: Any, decided_by_decision: str | None = ..., steps: Any | None = ..., closing_steps: Any | None = ..., max_iterations: int | None = ..., time_budget: float | None = ...) -> ConductUntilAdvisedAnswer: ...
    def conduct_until_advised_from(self, target: str, *, decided_by_decision: str | None = ..., redo_step_indexes: Sequence[int] | None = ..., skip_step_indexes: Sequence[int] | None = ..., abandon: bool | None = ..., max_iterations: int | None = ...) -> ConductUntilAdvisedFromAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetProcedureAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetProcedureHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Running', 'Held', 'Completed', 'Aborted', 'Truncated']] | None = ..., kind: str | None = ..., parent_run: str | None = ..., target_asset: Sequence[str] | None = ..., under_asset: str | None = ..., asset: Sequence[str] | None = ..., recipe: str | None = ..., conducting: bool | None = ..., last_outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None = ...) -> Pages[ListProceduresAnswer]: ...
    def iterations(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[ListProcedureIterationsAnswer]: ...
    def activities(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., conduct_id: str | None = ..., phase: Literal['Steps', 'Closing'] | None = ..., iteration_index: int | None = ..., step_index: int | None = ..., stage: Literal['Started', 'Submitted', 'Reading', 'Writing', 'Written', 'Succeeded', 'Failed', 'Skipped'] | None = ..., after_sequence: int | None = ...) -> Pages[ListProcedureActivitiesAnswer]: ...
    def get_conduct(self, target: str, *, conduct_id: str, names: bool | None = ...) -> GetConductAnswer: ...
    def conducts(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., status: Literal['Queued', 'Running', 'Closing', 'Ended'] | None = ..., outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None = ...) -> Pages[ListConductsAnswer]: ...

class DatasetVerbs:
    def register(self, *, name: str, checksum: Any, byte_size: int, encoding: Any, digests: Any | None = ..., file_count: int | None = ..., parts: Any | None = ..., producing_run: str | None = ..., subject: str | None = ..., derived_from: Sequence[str] | None = ..., used_calibration_ids: Sequence[str] | None = ..., retain_until: str | None = ..., available_from: str | None = ...) -> RegisterDatasetAnswer: ...
    def discard(self, target: str, *, reason: str, despite_derived: bool | None = ...) -> Changed: ...
    def promote(self, target: str, *, reason: str) -> Changed: ...
    def demote(self, target: str, *, reason: str) -> Changed: ...
    def update_retention(self, target: str, *, reason: str, retain_until: str | None = ..., available_from: str | None = ...) -> Changed: ...
    def archive(self, target: str) -> Changed: ...
    def ingest_scan(self, *, locator: str, producing_asset: str, producing_run: str | None = ..., subject: str | None = ..., supply: str | None = ..., name: str | None = ..., captured_at: str | None = ..., entry: str | None = ..., checksum: Any | None = ..., parts: Any | None = ..., used_calibration_ids: Sequence[str] | None = ..., retain_until: str | None = ..., available_from: str | None = ...) -> IngestScanAnswer: ...
    def assign_external_id(self, target: str, *, external_id: str, external_id_namespace: Literal['doi'] | None = ...) -> Changed: ...
    def mint_external_id(self, target: str, *, creator_ids: Sequence[str], publisher_facility_code: str, contributors: Any | None = ..., publication_year: int | None = ..., license: str | None = ...) -> MintDatasetExternalIdAnswer: ...
    def hide_external_id(self, target: str, *, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetDatasetAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetDatasetHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Registered', 'Archived', 'Discarded']] | None = ..., intent: Literal['Trial', 'Production', 'Retracted'] | None = ..., producing_run: str | None = ..., subject: str | None = ..., used_calibration: str | None = ..., derived_from: str | None = ..., checksum_value: str | None = ..., media_type: str | None = ..., external_id: str | None = ...) -> Pages[ListDatasetsAnswer]: ...
    def parts(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[ListDatasetPartsAnswer]: ...
    def custody(self, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., verdict: Literal['Lost', 'Below', 'Met', 'Spare'] | None = ..., intent: Literal['Trial', 'Production', 'Retracted'] | None = ..., producing_run: str | None = ..., dataset: str | None = ..., supply: str | None = ..., sole_supply: str | None = ...) -> Pages[ListCustodyAnswer]: ...
    def custody_summary(self, *, names: bool | None = ..., supply: str | None = ...) -> GetCustodySummaryAnswer: ...
    def custody_report(self, *, names: bool | None = ..., supply: str | None = ..., uri_prefix: str | None = ..., distribution: str | None = ..., after: str | None = ..., limit: int | None = ...) -> GetCustodyReportAnswer: ...
    def export_datacite(self, target: str, *, names: bool | None = ...) -> ExportDatasetDataciteAnswer: ...
    def lineage(self, target: str, *, names: bool | None = ..., direction: Literal['upstream', 'downstream', 'both'] | None = ..., depth: int | None = ...) -> GetDatasetLineageAnswer: ...
    def provenance(self, *, kind: Literal['Dataset', 'Run', 'Subject', 'Asset', 'CalibrationRevision', 'Edition'], id: str, names: bool | None = ..., direction: Literal['upstream', 'downstream', 'both'] | None = ..., depth: int | None = ...) -> GetProvenanceAnswer: ...

class DistributionVerbs:
    def register(self, *, dataset: str, uri: str, checksum: Any, byte_size: int, access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline'], supply: str | None = ...) -> RegisterDistributionAnswer: ...
    def mark_stale(self, target: str, *, reason: str) -> Changed: ...
    def restore(self, target: str, *, reason: str) -> Changed: ...
    def mark_overwritten(self, target: str, *, reason: str) -> Changed: ...
    def record_removal(self, target: str, *, removed_at: str | None = ...) -> Changed: ...
    def discard(self, target: str, *, reason: str) -> Changed: ...
    def request_check(self, target: str, *, kind: Literal['ChecksumVerified', 'FormatValidated'] | None = ...) -> RequestDistributionCheckAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetDistributionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetDistributionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., dataset: str | None = ..., supply: str | None = ..., status: Sequence[Literal['Registered', 'Verified', 'Stale', 'Discarded', 'Removed', 'Overwritten']] | None = ..., access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline'] | None = ..., unreachable: bool | None = ..., verified_before: str | None = ...) -> Pages[ListDistributionsAnswer]: ...
    def checks(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[ListDistributionChecksAnswer]: ...

class AcquisitionVerbs:
    def record(self, *, dataset: str, producing_asset: str, captured_at: str, producing_run: str | None = ..., settings: Any | None = ..., evidence: Any | None = ..., corrects_acquisition: str | None = ...) -> RecordAcquisitionAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetAcquisitionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetAcquisitionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., dataset: str | None = ..., producing_asset: str | None = ..., producing_run: str | None = ..., captured_from: str | None = ..., captured_to: str | None = ...) -> Pages[ListAcquisitionsAnswer]: ...

class AttestationVerbs:
    def record(self, *, distribution: str, kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated'], checked_at: str, checker: str, found: Any | None = ..., failure: Literal['NotFound', 'PermissionDenied', 'OutsideRoots', 'Timeout', 'TransportError', 'Corrupt'] | None = ..., service: str | None = ..., task_id: str | None = ...) -> RecordAttestationAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetAttestationAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetAttestationHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., dataset: str | None = ..., distribution: str | None = ..., kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated'] | None = ..., verified_by: Literal['Service', 'Client', 'Transfer'] | None = ..., outcome: Literal['Match', 'Mismatch', 'Unreachable'] | None = ...) -> Pages[ListAttestationsAnswer]: ...

class EditionVerbs:
    def register(self, *, title: str, kind: Literal['ROCrate', 'DataCite'], dataset_ids: Sequence[str], creator_ids: Sequence[str], description: str | None = ..., contributors: Any | None = ..., publisher_facility_code: str | None = ..., publication_year: int | None = ..., license: str | None = ..., available_from: str | None = ...) -> RegisterEditionAnswer: ...
    def add_dataset(self, target: str, *, dataset: str) -> Changed: ...
    def remove_dataset(self, target: str, *, dataset: str) -> Changed: ...
    def seal(self, target: str, *, publisher_facility_code: str | None = ..., publication_year: int | None = ..., license: str | None = ...) -> Changed: ...
    def publish(self, target: str) -> Changed: ...
    def withdraw(self, target: str, *, reason: str) -> Changed: ...
    def assign_external_id(self, target: str, *, external_id: str, external_id_namespace: Literal['doi'] | None = ...) -> Changed: ...
    def mint_external_id(self, target: str) -> MintEditionExternalIdAnswer: ...
    def hide_external_id(self, target: str, *, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetEditionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetEditionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Registered', 'Sealed', 'Published', 'Withdrawn']] | None = ..., kind: Literal['ROCrate', 'DataCite'] | None = ..., dataset: str | None = ..., publisher_facility_code: str | None = ..., external_id: str | None = ...) -> Pages[ListEditionsAnswer]: ...
    def manifest(self, target: str, *, names: bool | None = ...) -> GetEditionManifestAnswer: ...

class CalibrationVerbs:
    def define(self, *, asset: str, quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile'], operating_point: Any, description: str | None = ...) -> DefineCalibrationAnswer: ...
    def append_revision(self, target: str, *, value: Any, status: Literal['Provisional', 'Verified'], source: Any, established_at: str | None = ..., supersedes_revision_id: str | None = ..., decided_by_decision: str | None = ...) -> AppendCalibrationRevisionAnswer: ...
    def update_description(self, target: str, *, description: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCalibrationAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetCalibrationHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., asset: str | None = ..., quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile'] | None = ..., current_status: Sequence[Literal['Provisional', 'Verified', 'None']] | None = ..., current_source_kind: Literal['Measured', 'Computed', 'Asserted'] | None = ..., operating_point: str | None = ...) -> Pages[ListCalibrationsAnswer]: ...
    def revision(self, *, revision_id: str, names: bool | None = ...) -> GetCalibrationRevisionAnswer: ...
    def uses(self, *, revision_id: str, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[ListCalibrationUsesAnswer]: ...

class CampaignVerbs:
    def register(self, *, name: str, intent: Literal['Series', 'Sweep', 'Coordination', 'Block'], lead_actor: str, subject: str | None = ..., description: str | None = ..., tags: Sequence[str] | None = ..., external_refs: Any | None = ...) -> RegisterCampaignAnswer: ...
    def start(self, target: str) -> Changed: ...
    def hold(self, target: str, *, reason: str) -> Changed: ...
    def resume(self, target: str) -> Changed: ...
    def close(self, target: str) -> Changed: ...
    def abandon(self, target: str, *, reason: str) -> Changed: ...
    def add_run(self, target: str, *, run: str) -> Changed: ...
    def remove_run(self, target: str, *, reason: str, run: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCampaignAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetCampaignHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Planned', 'Active', 'Held', 'Closed', 'Abandoned']] | None = ..., intent: Literal['Series', 'Sweep', 'Coordination', 'Block'] | None = ..., lead_actor: str | None = ..., subject: str | None = ..., tag: str | None = ...) -> Pages[ListCampaignsAnswer]: ...

class ClearanceVerbs:
    def register(self, *, title: str, bindings: Any, kind: str, facility_code: str, hazards: Any | None = ..., risk_band: Literal['Green', 'Yellow', 'Red'] | None = ..., valid_from: str | None = ..., valid_until: str | None = ...) -> RegisterClearanceAnswer: ...
    def submit(self, target: str) -> Changed: ...
    def start_review(self, target: str) -> Changed: ...
    def append_review_step(self, target: str, *, role: str, decision: Literal['Approved', 'Rejected', 'RequestedChanges'], notes: str | None = ...) -> Changed: ...
    def approve(self, target: str, *, valid_from: str | None = ..., valid_until: str | None = ...) -> Changed: ...
    def reject(self, target: str, *, reason: str) -> Changed: ...
    def activate(self, target: str) -> Changed: ...
    def expire(self, target: str, *, reason: str) -> Changed: ...
    def amend(self, target: str, *, title: str, bindings: Any, hazards: Any | None = ..., risk_band: Literal['Green', 'Yellow', 'Red'] | None = ..., valid_from: str | None = ..., valid_until: str | None = ...) -> AmendClearanceAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetClearanceAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetClearanceHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Submitted', 'UnderReview', 'Approved', 'Active', 'Rejected', 'Expired', 'Superseded']] | None = ..., kind: str | None = ..., facility_code: str | None = ..., risk_band: Literal['Green', 'Yellow', 'Red'] | None = ..., parent_id: str | None = ..., binding_kind: Literal['Subject', 'Asset', 'Run', 'Procedure', 'External'] | None = ..., binding_id: Sequence[str] | None = ..., covering_asset: str | None = ..., in_force: bool | None = ..., valid_until_before: str | None = ..., valid_until_from: str | None = ...) -> Pages[ListClearancesAnswer]: ...

class CautionVerbs:
    def register(self, *, category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'], severity: Literal['Notice', 'Caution', 'Warning'], text: str, workaround: str, target: Any, tags: Sequence[str] | None = ..., propagate_to_children: bool | None = ..., expires_at: str | None = ...) -> RegisterCautionAnswer: ...
    def supersede(self, target: str, *, category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'], severity: Literal['Notice', 'Caution', 'Warning'], text: str, workaround: str, tags: Sequence[str] | None = ..., propagate_to_children: bool | None = ..., expires_at: str | None = ...) -> SupersedeCautionAnswer: ...
    def retire(self, target: str, *, retire_reason: Literal['Resolved', 'NoLongerApplies', 'WrongTarget']) -> Changed: ...
    def promote_proposal(self, target: str) -> PromoteCautionProposalAnswer: ...
    def promote(self, target: str) -> PromoteCautionProposalAnswer: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCautionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetCautionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Active', 'Superseded', 'Retired']] | None = ..., target_kind: Literal['Asset', 'Procedure'] | None = ..., target_id: Sequence[str] | None = ..., covering_asset: str | None = ..., category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'] | None = ..., min_severity: Literal['Notice', 'Caution', 'Warning'] | None = ..., tag: str | None = ..., authored_by: str | None = ..., in_effect: bool | None = ...) -> Pages[ListCautionsAnswer]: ...

class SubscriptionVerbs:
    def register(self, *, name: str, url: str, format: Literal['CloudEvent', 'Text', 'Card'] | None = ..., types: Sequence[str] | None = ..., stream_types: Sequence[str] | None = ..., stream_ids: Sequence[str] | None = ..., facility_code: str | None = ...) -> RegisterSubscriptionAnswer: ...
    def pause(self, target: str, *, reason: str) -> Changed: ...
    def resume(self, target: str, *, from_: Literal['now', 'where_it_stopped']) -> Changed: ...
    def rotate_secret(self, target: str) -> RotateSubscriptionSecretAnswer: ...
    def retire(self, target: str, *, reason: str) -> Changed: ...
    def retry_delivery(self, target: str, *, event_id: str) -> Changed: ...
    def skip_delivery(self, target: str, *, event_id: str, reason: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSubscriptionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetSubscriptionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Active', 'Paused', 'Retired']] | None = ..., format: Literal['CloudEvent', 'Text', 'Card'] | None = ...) -> Pages[ListSubscriptionsAnswer]: ...
    def deliveries(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., status: Literal['Sending', 'Delivered', 'Refused', 'Skipped'] | None = ...) -> Pages[ListDeliveriesAnswer]: ...

class AgentVerbs:
    def define(self, *, kind: str, name: str, version: str, model_ref: Any, description: str | None = ..., prompt_template_id: str | None = ..., capabilities: Sequence[str] | None = ..., tools: Sequence[str] | None = ..., budget: Any | None = ...) -> DefineAgentAnswer: ...
    def version(self, target: str) -> Changed: ...
    def suspend(self, target: str, *, reason: str) -> Changed: ...
    def resume(self, target: str) -> Changed: ...
    def deprecate(self, target: str, *, reason: str) -> Changed: ...
    def grant_tool(self, target: str, *, tool_name: str) -> Changed: ...
    def revoke_tool(self, target: str, *, tool_name: str) -> Changed: ...
    def update_budget(self, target: str, *, monthly_usd_cap: float | None = ..., daily_token_cap: int | None = ..., daily_action_cap: int | None = ...) -> Changed: ...
    def at_risk_results(self, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., agent: str | None = ..., kind: str | None = ..., reason: Literal['NotReproducible', 'RatedMisleading', 'Overridden'] | None = ..., provider: str | None = ..., model: str | None = ..., from_: str | None = ..., to: str | None = ...) -> Pages[ListAtRiskResultsAnswer]: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetAgentAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetAgentHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., kind: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Suspended', 'Deprecated']] | None = ...) -> Pages[ListAgentsAnswer]: ...
    def costs(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., from_: str | None = ..., to: str | None = ...) -> Pages[ListAgentCostsAnswer]: ...

class ProposalVerbs:
    def approve(self, target: str, *, basis: str | None = ...) -> ApproveProposalAnswer: ...
    def reject(self, target: str, *, reason: str) -> Changed: ...
    def withdraw(self, target: str) -> Changed: ...
    def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetProposalAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> Pages[GetProposalHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Open', 'Approved', 'Rejected', 'Withdrawn']] | None = ..., open: bool | None = ..., command_name: str | None = ..., proposed_by: str | None = ..., target_id: str | None = ..., decision: str | None = ...) -> Pages[ListProposalsAnswer]: ...

class AsyncActorVerbs:
    async def update_profile(self, target: str, *, email: str | None = ..., phone: str | None = ..., affiliation: str | None = ..., external_id: str | None = ..., external_id_namespace: str | None = ..., name: str | None = ...) -> Changed: ...
    async def register(self, *, name: str, email: str | None = ..., phone: str | None = ..., affiliation: str | None = ..., external_id: str | None = ..., external_id_namespace: str | None = ..., kind: Literal['human', 'service_account'] | None = ..., identities: Any | None = ...) -> RegisterActorAnswer: ...
    async def deactivate(self, target: str) -> Changed: ...
    async def forget(self, target: str) -> Changed: ...
    async def bind_identity(self, target: str, *, issuer: str, subject: str) -> Changed: ...
    async def confirm_identity(self, target: str, *, issuer: str, subject: str) -> Changed: ...
    async def unbind_identity(self, target: str, *, issuer: str, subject: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetActorAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetActorHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., kind: Literal['human', 'agent', 'service_account'] | None = ..., active: bool | None = ..., unconfirmed_login_bound_by: str | None = ...) -> AsyncPages[ListActorsAnswer]: ...
    async def evaluate_authorization(self, *, principal_id: str, command_name: str, conduit: str, names: bool | None = ..., surface: str | None = ...) -> EvaluateAuthorizationAnswer: ...

class AsyncZoneVerbs:
    async def define(self, *, name: str) -> DefineZoneAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetZoneAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetZoneHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ...) -> AsyncPages[ListZonesAnswer]: ...

class AsyncConduitVerbs:
    async def define(self, *, name: str, source_zone: str, target_zone: str) -> DefineConduitAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetConduitAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetConduitHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., source_zone: str | None = ..., target_zone: str | None = ...) -> AsyncPages[ListConduitsAnswer]: ...
    def denials(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., principal_id: str | None = ..., reason_code: Literal['unknown_principal', 'inactive_principal', 'suspended_agent', 'no_matching_policy', 'tool_not_granted'] | None = ...) -> AsyncPages[ListConduitDenialsAnswer]: ...

class AsyncSurfaceVerbs:
    async def define(self, *, name: str, kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP'], conduit: str, unit_asset: str | None = ...) -> DefineSurfaceAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSurfaceAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetSurfaceHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP'] | None = ..., conduit: str | None = ..., unit_asset: str | None = ...) -> AsyncPages[ListSurfacesAnswer]: ...

class AsyncPolicyVerbs:
    async def define(self, *, name: str, conduit: str, surface: str, permitted_principal_ids: Sequence[str], permitted_commands: Sequence[str], object_scope: Literal['All', 'Own'], proposable_commands: Sequence[str] | None = ...) -> DefinePolicyAnswer: ...
    async def add_grant(self, target: str, *, permitted_principal_id: str) -> Changed: ...
    async def revoke_grant(self, target: str, *, permitted_principal_id: str, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetPolicyAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetPolicyHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., conduit: str | None = ..., surface: str | None = ..., permitted_principal_id: str | None = ...) -> AsyncPages[ListPoliciesAnswer]: ...

class AsyncVisitVerbs:
    async def register(self, *, policy: str, parent_surface: str, type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff'], planned_start_at: str, planned_end_at: str, parent_id: str | None = ..., external_refs: Any | None = ...) -> RegisterVisitAnswer: ...
    async def record_arrival(self, target: str) -> Changed: ...
    async def start(self, target: str) -> Changed: ...
    async def hold(self, target: str, *, reason: str) -> Changed: ...
    async def resume(self, target: str) -> Changed: ...
    async def complete(self, target: str) -> Changed: ...
    async def cancel(self, target: str, *, reason: str) -> Changed: ...
    async def abort(self, target: str, *, reason: str) -> Changed: ...
    async def void(self, target: str, *, reason: str) -> Changed: ...
    async def take_surface_control(self, target: str) -> Changed: ...
    async def take(self, target: str) -> Changed: ...
    async def release_surface_control(self, target: str) -> Changed: ...
    async def release(self, target: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetVisitAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetVisitHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Planned', 'Arrived', 'InProgress', 'OnHold', 'Completed', 'Cancelled', 'Aborted', 'Voided']] | None = ..., parent_surface: str | None = ..., type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff'] | None = ..., parent_id: str | None = ..., policy: str | None = ...) -> AsyncPages[ListVisitsAnswer]: ...

class AsyncFacilityVerbs:
    async def register(self, *, code: str, name: str, kind: Literal['Site', 'Area'], parent_id: str | None = ...) -> RegisterFacilityAnswer: ...
    async def decommission(self, target: str, *, reason: str) -> Changed: ...
    async def add_trust_anchor_credential(self, target: str, *, credential: str) -> Changed: ...
    async def remove_trust_anchor_credential(self, target: str, *, credential: str, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetFacilityAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetFacilityHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., code: str | None = ..., kind: Literal['Site', 'Area'] | None = ..., status: Sequence[Literal['Active', 'Decommissioned']] | None = ..., parent_id: str | None = ...) -> AsyncPages[ListFacilitiesAnswer]: ...
    async def event_proof(self, *, stream_type: str, stream_id: str, version: int, names: bool | None = ...) -> GetEventProofAnswer: ...
    def checkpoints(self, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., tree: Literal['events', 'rows'] | None = ..., since: str | None = ...) -> AsyncPages[ListCheckpointsAnswer]: ...

class AsyncCredentialVerbs:
    async def register(self, *, facility: str, audience: str, purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'], public_key: str, secret_ref: str | None = ..., key_check_signature: str | None = ..., expires_at: str | None = ...) -> RegisterCredentialAnswer: ...
    async def start_rotation(self, target: str, *, new_public_key: str, new_secret_ref: str | None = ..., new_key_check_signature: str | None = ..., new_expires_at: str | None = ...) -> Changed: ...
    async def complete_rotation(self, target: str) -> Changed: ...
    async def abort_rotation(self, target: str, *, reason: str) -> Changed: ...
    async def revoke(self, target: str, *, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCredentialAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetCredentialHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., facility: str | None = ..., audience: str | None = ..., purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'] | None = ..., status: Sequence[Literal['Active', 'Rotating', 'Revoked']] | None = ...) -> AsyncPages[ListCredentialsAnswer]: ...

class AsyncPermitVerbs:
    async def define(self, *, direction: Literal['Outbound', 'Inbound'], peer_facility: str, audience: str, purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'], allowed_credential_ids: Sequence[str], expires_at: str) -> DefinePermitAnswer: ...
    async def activate(self, target: str) -> Changed: ...
    async def suspend(self, target: str, *, reason: str) -> Changed: ...
    async def resume(self, target: str) -> Changed: ...
    async def revoke(self, target: str, *, reason: str) -> Changed: ...
    async def export_artifact(self, target: str, *, artifact_id: str, credential: str | None = ...) -> ExportArtifactAnswer: ...
    async def import_artifact(self, target: str, *, envelope: Any, signature: str) -> ImportArtifactAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetPermitAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetPermitHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., direction: Literal['Outbound', 'Inbound'] | None = ..., peer_facility: str | None = ..., audience: str | None = ..., purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'] | None = ..., status: Sequence[Literal['Defined', 'Active', 'Suspended', 'Revoked']] | None = ...) -> AsyncPages[ListPermitsAnswer]: ...
    def exchanges(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., artifact_id: str | None = ...) -> AsyncPages[ListPermitExchangesAnswer]: ...
    async def exchange(self, target: str, *, exchange_id: str, names: bool | None = ...) -> GetPermitExchangeAnswer: ...

class AsyncSealVerbs:
    async def initialize(self, *, facility: str, online_credential: str, offline_credential: str) -> InitializeSealAnswer: ...
    async def sign_pointer(self, target: str, *, head_hash: str, sequence_number: int) -> Changed: ...
    async def rotate_online_key(self, target: str, *, new_online_credential: str, signed_by_offline_root: bool, offline_root_signature: str | None = ...) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSealAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetSealHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ...) -> AsyncPages[ListSealsAnswer]: ...

class AsyncEnclosureVerbs:
    async def register(self, *, name: str, facility_code: str) -> RegisterEnclosureAnswer: ...
    async def observe_status(self, target: str, *, reason: str, permit_status: Literal['Permitted', 'NotPermitted', 'Unknown'], monitor_ref: str) -> Changed: ...
    async def bind_monitor(self, target: str, *, monitor_id: str) -> Changed: ...
    async def unbind_monitor(self, target: str, *, monitor_id: str) -> Changed: ...
    async def decommission(self, target: str, *, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetEnclosureAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetEnclosureHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., facility_code: str | None = ..., permit_status: Sequence[Literal['Permitted', 'NotPermitted', 'Unknown']] | None = ..., lifecycle: Literal['Active', 'Decommissioned'] | None = ...) -> AsyncPages[ListEnclosuresAnswer]: ...

class AsyncFamilyVerbs:
    async def define(self, *, affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']], name: str, settings_schema: Any | None = ...) -> DefineFamilyAnswer: ...
    async def version(self, target: str, *, affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']], settings_schema: Any, version_tag: str) -> Changed: ...
    async def deprecate(self, target: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetFamilyAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetFamilyHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., affordance: Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable'] | None = ...) -> AsyncPages[ListFamiliesAnswer]: ...

class AsyncModelVerbs:
    async def define(self, *, name: str, manufacturer: Any, part_number: str, declared_family_ids: Sequence[str]) -> DefineModelAnswer: ...
    async def version(self, target: str, *, name: str, manufacturer: Any, part_number: str, declared_family_ids: Sequence[str], version_tag: str) -> Changed: ...
    async def deprecate(self, target: str, *, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetModelAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetModelHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., family: str | None = ..., part_number: str | None = ...) -> AsyncPages[ListModelsAnswer]: ...

class AsyncAssetVerbs:
    async def register(self, *, name: str, tier: Literal['Unit', 'Component', 'Device'], family_ids: Sequence[str], parent_id: str | None = ..., facility_code: str | None = ..., model: str | None = ..., located_in_enclosure: str | None = ..., alternate_identifiers: Any | None = ...) -> RegisterAssetAnswer: ...
    async def rename(self, target: str, *, name: str) -> Changed: ...
    async def activate(self, target: str) -> Changed: ...
    async def enter_maintenance(self, target: str, *, reason: str | None = ...) -> Changed: ...
    async def exit_maintenance(self, target: str) -> Changed: ...
    async def decommission(self, target: str) -> Changed: ...
    async def degrade(self, target: str, *, reason: str) -> Changed: ...
    async def fault(self, target: str, *, reason: str) -> Changed: ...
    async def restore(self, target: str, *, reason: str) -> Changed: ...
    async def relocate(self, target: str, *, reason: str, to_parent_id: str) -> Changed: ...
    async def locate(self, target: str, *, located_in_enclosure: str) -> Changed: ...
    async def add_family(self, target: str, *, family: str) -> Changed: ...
    async def remove_family(self, target: str, *, family: str) -> Changed: ...
    async def update_settings(self, target: str, *, settings_patch: Any) -> Changed: ...
    async def add_alternate_identifier(self, target: str, *, kind: Literal['InventoryNumber', 'EPICS_PV', 'TANGO_ATTRIBUTE', 'CONTROLSYS_PV', 'Other'], value: str) -> Changed: ...
    async def remove_alternate_identifier(self, target: str, *, kind: Literal['InventoryNumber', 'EPICS_PV', 'TANGO_ATTRIBUTE', 'CONTROLSYS_PV', 'Other'], value: str) -> Changed: ...
    async def assign_external_id(self, target: str, *, external_id_namespace: Literal['doi', 'handle'], external_id: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetAssetAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetAssetHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., tier: Literal['Unit', 'Component', 'Device'] | None = ..., lifecycle: Literal['Commissioned', 'Active', 'Maintenance', 'Decommissioned'] | None = ..., condition: Literal['Nominal', 'Degraded', 'Faulted'] | None = ..., parent_id: str | None = ..., below: str | None = ..., above: str | None = ..., family: str | None = ..., facility_code: str | None = ..., located_in_enclosure: Sequence[str] | None = ..., model: str | None = ...) -> AsyncPages[ListAssetsAnswer]: ...
    async def tree(self, target: str, *, names: bool | None = ..., as_of: str | None = ...) -> GetAssetTreeAnswer: ...
    async def pidinst(self, target: str, *, names: bool | None = ...) -> GetAssetPidinstAnswer: ...
    async def board(self, target: str, *, names: bool | None = ..., min_token: str | None = ..., plan: str | None = ..., subject: str | None = ...) -> GetBoardAnswer: ...

class AsyncMountVerbs:
    async def register(self, *, slot_code: str, parent_id: str | None = ..., placement: Any | None = ...) -> RegisterMountAnswer: ...
    async def install_asset(self, target: str, *, asset: str) -> Changed: ...
    async def uninstall_asset(self, target: str, *, reason: str) -> Changed: ...
    async def update_placement(self, target: str, *, placement: Any) -> Changed: ...
    async def decommission(self, target: str, *, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetMountAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetMountHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Active', 'Decommissioned']] | None = ..., parent_id: str | None = ..., frame: str | None = ..., slot_code: str | None = ..., installed_asset: str | None = ...) -> AsyncPages[ListMountsAnswer]: ...

class AsyncFrameVerbs:
    async def decommission(self, target: str, *, reason: str) -> Changed: ...
    async def register(self, *, name: str, parent_id: str | None = ..., placement: Any | None = ...) -> RegisterFrameAnswer: ...
    async def update_placement(self, target: str, *, placement: Any) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetFrameAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetFrameHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Active', 'Decommissioned']] | None = ..., parent_id: str | None = ...) -> AsyncPages[ListFramesAnswer]: ...

class AsyncSupplyVerbs:
    async def register(self, *, kind: str, name: str, facility_code: str, containing_asset: str | None = ...) -> RegisterSupplyAnswer: ...
    async def mark_available(self, target: str, *, reason: str) -> Changed: ...
    async def degrade(self, target: str, *, reason: str) -> Changed: ...
    async def mark_unavailable(self, target: str, *, reason: str) -> Changed: ...
    async def mark_recovering(self, target: str, *, reason: str) -> Changed: ...
    async def restore(self, target: str, *, reason: str) -> Changed: ...
    async def observe_status(self, target: str, *, reason: str, status: Literal['Unavailable', 'Recovering'], monitor_ref: str, unchanged: bool | None = ...) -> Changed: ...
    async def bind_monitor(self, target: str, *, monitor_id: str) -> Changed: ...
    async def unbind_monitor(self, target: str, *, monitor_id: str) -> Changed: ...
    async def deregister(self, target: str, *, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSupplyAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetSupplyHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., facility_code: str | None = ..., containing_asset: str | None = ..., kind: str | None = ..., status: Sequence[Literal['Unknown', 'Available', 'Degraded', 'Unavailable', 'Recovering', 'Decommissioned']] | None = ...) -> AsyncPages[ListSuppliesAnswer]: ...

class AsyncSubjectVerbs:
    async def register(self, *, name: str) -> RegisterSubjectAnswer: ...
    async def mount(self, target: str, *, reason: str, asset: str) -> Changed: ...
    async def measure(self, target: str) -> Changed: ...
    async def dismount(self, target: str, *, reason: str) -> Changed: ...
    async def remove(self, target: str) -> Changed: ...
    async def return_(self, target: str) -> Changed: ...
    async def store(self, target: str) -> Changed: ...
    async def discard(self, target: str, *, reason: str) -> Changed: ...
    async def assign_external_id(self, target: str, *, external_id_namespace: Literal['igsn'], external_id: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSubjectAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetSubjectHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Received', 'Mounted', 'Measured', 'Removed', 'Returned', 'Stored', 'Discarded']] | None = ..., mounted_on_asset: str | None = ..., under_asset: str | None = ...) -> AsyncPages[ListSubjectsAnswer]: ...

class AsyncDecisionVerbs:
    async def register(self, *, context: str, choice: str, actor: str | None = ..., parent_id: str | None = ..., override_kind: Literal['correction', 'exception', 'appeal', 'supersession', 'invalidation'] | None = ..., rule: str | None = ..., reasoning: str | None = ..., confidence: float | None = ..., confidence_source: Literal['self_reported', 'logprob', 'ensemble', 'human'] | None = ..., alternatives: Sequence[str] | None = ..., inputs: Any | None = ..., determining_policy_ids: Sequence[str] | None = ...) -> RegisterDecisionAnswer: ...
    async def rate(self, target: str, *, rating: Literal['useful', 'misleading', 'ignored'], comment: str | None = ...) -> Changed: ...
    async def append_inferences(self, target: str, *, entries: Any) -> AppendInferencesAnswer: ...
    async def append_logbook_entry(self, target: str, *, text: str, entry_id: str | None = ...) -> AppendDecisionLogbookEntryAnswer: ...
    async def note(self, target: str, *, text: str, entry_id: str | None = ...) -> AppendDecisionLogbookEntryAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetDecisionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetDecisionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., actor: str | None = ..., context: str | None = ..., choice: str | None = ..., exclude_choice: Sequence[str] | None = ..., confidence_band: Literal['Low', 'Medium', 'High', 'Certain'] | None = ..., rule: str | None = ..., parent_id: str | None = ..., run: str | None = ..., rating: Literal['useful', 'misleading', 'ignored'] | None = ..., promoted: bool | None = ..., from_: str | None = ..., to: str | None = ...) -> AsyncPages[ListDecisionsAnswer]: ...
    def inferences(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., include_messages: bool | None = ...) -> AsyncPages[ListDecisionInferencesAnswer]: ...
    def logbook_entries(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., author_id: str | None = ...) -> AsyncPages[ListDecisionLogbookEntriesAnswer]: ...
    def evidence(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., window_minutes: int | None = ...) -> AsyncPages[ListDecisionEvidenceAnswer]: ...
    def verify_evidence(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., window_minutes: int | None = ...) -> AsyncPages[VerifyDecisionEvidenceAnswer]: ...

class AsyncCapabilityVerbs:
    async def define(self, *, name: str, required_affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']], executor_shapes: Sequence[Literal['METHOD', 'PROCEDURE']], code: str, description: str | None = ..., parameters_schema: Any | None = ...) -> DefineCapabilityAnswer: ...
    async def version(self, target: str, *, name: str, required_affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']], executor_shapes: Sequence[Literal['METHOD', 'PROCEDURE']], description: str, parameters_schema: Any, version_tag: str) -> Changed: ...
    async def deprecate(self, target: str, *, replaced_by_capability: str | None = ...) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCapabilityAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetCapabilityHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., executor_shape: Literal['METHOD', 'PROCEDURE'] | None = ..., affordance: Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable'] | None = ..., code: str | None = ...) -> AsyncPages[ListCapabilitiesAnswer]: ...

class AsyncMethodVerbs:
    async def define(self, *, name: str, needed_family_ids: Sequence[str], capability: str, needed_supplies: Sequence[str] | None = ..., parameters_schema: Any | None = ...) -> DefineMethodAnswer: ...
    async def version(self, target: str, *, name: str, needed_family_ids: Sequence[str], needed_supplies: Sequence[str], parameters_schema: Any, version_tag: str) -> Changed: ...
    async def deprecate(self, target: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetMethodAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetMethodHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., capability: str | None = ..., family: str | None = ...) -> AsyncPages[ListMethodsAnswer]: ...

class AsyncPracticeVerbs:
    async def define(self, *, name: str, method: str, facility_code: str | None = ..., family_ids: Sequence[str] | None = ...) -> DefinePracticeAnswer: ...
    async def version(self, target: str, *, name: str, facility_code: str, family_ids: Sequence[str], version_tag: str) -> Changed: ...
    async def deprecate(self, target: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetPracticeAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetPracticeHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., method: str | None = ..., facility_code: str | None = ...) -> AsyncPages[ListPracticesAnswer]: ...

class AsyncPlanVerbs:
    async def define(self, *, name: str, asset_ids: Sequence[str], practice: str, window: Any | None = ..., default_parameters: Any | None = ...) -> DefinePlanAnswer: ...
    async def version(self, target: str, *, name: str, asset_ids: Sequence[str], window: Any, default_parameters: Any, version_tag: str) -> Changed: ...
    async def update_default_parameters(self, target: str, *, default_parameters_patch: Any) -> Changed: ...
    async def deprecate(self, target: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetPlanAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetPlanHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., practice: str | None = ..., method: str | None = ..., asset: str | None = ..., under_asset: str | None = ...) -> AsyncPages[ListPlansAnswer]: ...
    async def readiness(self, target: str, *, names: bool | None = ..., min_token: str | None = ..., subject: str | None = ..., pinned_calibration: Sequence[str] | None = ...) -> GetPlanReadinessAnswer: ...
    async def ready(self, target: str, *, names: bool | None = ..., min_token: str | None = ..., subject: str | None = ..., pinned_calibration: Sequence[str] | None = ...) -> GetPlanReadinessAnswer: ...

class AsyncRecipeVerbs:
    async def define(self, *, steps: Any, name: str, capability: str, closing_steps: Any | None = ...) -> DefineRecipeAnswer: ...
    async def version(self, target: str, *, steps: Any, closing_steps: Any, version_tag: str) -> Changed: ...
    async def deprecate(self, target: str, *, replaced_by_recipe: str | None = ...) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetRecipeAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetRecipeHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = ..., capability: str | None = ...) -> AsyncPages[ListRecipesAnswer]: ...
    async def get_version(self, target: str, *, version_number: int, names: bool | None = ...) -> GetRecipeVersionAnswer: ...
    def versions(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[ListRecipeVersionsAnswer]: ...

class AsyncRunVerbs:
    async def hold(self, target: str, *, decided_by_decision: str | None = ..., reason: str | None = ...) -> Changed: ...
    async def complete(self, target: str) -> Changed: ...
    async def stop(self, target: str, *, reason: str, decided_by_decision: str | None = ...) -> Changed: ...
    async def abort(self, target: str, *, reason: str, decided_by_decision: str | None = ...) -> Changed: ...
    async def truncate(self, target: str, *, reason: str, decided_by_decision: str | None = ..., interrupted_at: str | None = ...) -> Changed: ...
    async def adjust(self, target: str, *, reason: str, parameters_patch: Any, decided_by_decision: str | None = ...) -> AdjustRunAnswer: ...
    async def append_observations(self, target: str, *, entries: Any) -> AppendObservationsAnswer: ...
    async def append_logbook_entry(self, target: str, *, text: str, entry_id: str | None = ..., kind: Literal['Note', 'Debrief'] | None = ..., decision: str | None = ...) -> AppendRunLogbookEntryAnswer: ...
    async def note(self, target: str, *, text: str, entry_id: str | None = ..., kind: Literal['Note', 'Debrief'] | None = ..., decision: str | None = ...) -> AppendRunLogbookEntryAnswer: ...
    async def start(self, *, name: str, plan: str, subject: str | None = ..., raid: str | None = ..., override_parameters: Any | None = ..., pinned_calibration_ids: Sequence[str] | None = ..., campaign: str | None = ..., decided_by_decision: str | None = ..., external_refs: Any | None = ..., progress: Any | None = ...) -> StartRunAnswer: ...
    async def resume(self, target: str, *, decided_by_decision: str | None = ..., acknowledgement: str | None = ...) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetRunAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetRunHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Running', 'Held', 'Completed', 'Aborted', 'Stopped', 'Truncated']] | None = ..., plan: str | None = ..., subject: str | None = ..., campaign: str | None = ..., asset: Sequence[str] | None = ..., under_asset: str | None = ..., pinned_calibration: str | None = ..., external_ref: str | None = ..., started_from: str | None = ..., started_to: str | None = ...) -> AsyncPages[ListRunsAnswer]: ...
    def observations(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., channel_name: str | None = ..., sampling_procedure: Literal['baseline', 'monitor'] | None = ..., simulated: bool | None = ..., sampled_from: str | None = ..., sampled_to: str | None = ...) -> AsyncPages[ListRunObservationsAnswer]: ...
    async def observation_summary(self, target: str, *, names: bool | None = ...) -> GetRunObservationSummaryAnswer: ...
    async def series(self, target: str, *, channel_name: Sequence[str], names: bool | None = ..., from_: str | None = ..., to: str | None = ..., points: int | None = ...) -> GetRunSeriesAnswer: ...
    def logbook_entries(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., kind: Literal['Note', 'Debrief'] | None = ..., author_id: str | None = ...) -> AsyncPages[ListRunLogbookEntriesAnswer]: ...
    async def shift_handover(self, *, from_: str, to: str, names: bool | None = ..., min_token: str | None = ..., facility_code: str | None = ...) -> GetShiftHandoverAnswer: ...

class AsyncProcedureVerbs:
    async def register(self, *, name: str, kind: str, target_asset_ids: Sequence[str] | None = ..., parent_run: str | None = ..., capability: str | None = ..., max_consecutive_unconverged_iterations: int | None = ..., recipe: Any | None = ...) -> RegisterProcedureAnswer: ...
    async def resume(self, target: str, *, decided_by_decision: str | None = ...) -> Changed: ...
    async def complete(self, target: str) -> Changed: ...
    async def truncate(self, target: str, *, reason: str, interrupted_at: str | None = ...) -> Changed: ...
    async def start_iteration(self, target: str, *, iteration_index: int) -> Changed: ...
    async def end_iteration(self, target: str, *, iteration_index: int, converged: bool, reason: str | None = ..., value: Any | None = ...) -> Changed: ...
    async def hold(self, target: str, *, reason: str, decided_by_decision: str | None = ...) -> Changed: ...
    async def abort(self, target: str, *, reason: str) -> Changed: ...
    async def cancel_conduct(self, target: str, *, reason: str, conduct_id: str) -> Changed: ...
    async def append_activities(self, target: str, *, entries: Any) -> AppendActivitiesAnswer: ...
    async def make_safe(self, target: str, *, decided_by_decision: str | None = ...) -> MakeProcedureSafeAnswer: ...
    async def start(self, target: str) -> StartProcedureAnswer: ...
    async def conduct(self, target: str, *, decided_by_decision: str | None = ..., steps: Any | None = ..., closing_steps: Any | None = ...) -> ConductProcedureAnswer: ...
    async def conduct_or_hold(self, target: str, *, decided_by_decision: str | None = ..., steps: Any | None = ..., closing_steps: Any | None = ...) -> ConductOrHoldProcedureAnswer: ...
    async def conduct_from(self, target: str, *, decided_by_decision: str | None = ..., redo_step_indexes: Sequence[int] | None = ..., skip_step_indexes: Sequence[int] | None = ..., abandon: bool | None = ..., from_step_index: int | None = ...) -> ConductFromProcedureAnswer: ...
    async def conduct_until_converged(self, target: str, *, capture_name: str, criterion: Any, decided_by_decision: str | None = ..., steps: Any | None = ..., closing_steps: Any | None = ..., max_consecutive_unconverged_iterations: int | None = ..., max_iterations: int | None = ...) -> ConductUntilConvergedAnswer: ...
    async def conduct_until_advised(self, target: str, *, advisor: Any, objective: Any, space: Any, decided_by_decision: str | None = ..., steps: Any | None = ..., closing_steps: Any | None = ..., max_iterations: int | None = ..., time_budget: float | None = ...) -> ConductUntilAdvisedAnswer: ...
    async def conduct_until_advised_from(self, target: str, *, decided_by_decision: str | None = ..., redo_step_indexes: Sequence[int] | None = ..., skip_step_indexes: Sequence[int] | None = ..., abandon: bool | None = ..., max_iterations: int | None = ...) -> ConductUntilAdvisedFromAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetProcedureAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetProcedureHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Running', 'Held', 'Completed', 'Aborted', 'Truncated']] | None = ..., kind: str | None = ..., parent_run: str | None = ..., target_asset: Sequence[str] | None = ..., under_asset: str | None = ..., asset: Sequence[str] | None = ..., recipe: str | None = ..., conducting: bool | None = ..., last_outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None = ...) -> AsyncPages[ListProceduresAnswer]: ...
    def iterations(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[ListProcedureIterationsAnswer]: ...
    def activities(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., conduct_id: str | None = ..., phase: Literal['Steps', 'Closing'] | None = ..., iteration_index: int | None = ..., step_index: int | None = ..., stage: Literal['Started', 'Submitted', 'Reading', 'Writing', 'Written', 'Succeeded', 'Failed', 'Skipped'] | None = ..., after_sequence: int | None = ...) -> AsyncPages[ListProcedureActivitiesAnswer]: ...
    async def get_conduct(self, target: str, *, conduct_id: str, names: bool | None = ...) -> GetConductAnswer: ...
    def conducts(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., status: Literal['Queued', 'Running', 'Closing', 'Ended'] | None = ..., outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None = ...) -> AsyncPages[ListConductsAnswer]: ...

class AsyncDatasetVerbs:
    async def register(self, *, name: str, checksum: Any, byte_size: int, encoding: Any, digests: Any | None = ..., file_count: int | None = ..., parts: Any | None = ..., producing_run: str | None = ..., subject: str | None = ..., derived_from: Sequence[str] | None = ..., used_calibration_ids: Sequence[str] | None = ..., retain_until: str | None = ..., available_from: str | None = ...) -> RegisterDatasetAnswer: ...
    async def discard(self, target: str, *, reason: str, despite_derived: bool | None = ...) -> Changed: ...
    async def promote(self, target: str, *, reason: str) -> Changed: ...
    async def demote(self, target: str, *, reason: str) -> Changed: ...
    async def update_retention(self, target: str, *, reason: str, retain_until: str | None = ..., available_from: str | None = ...) -> Changed: ...
    async def archive(self, target: str) -> Changed: ...
    async def ingest_scan(self, *, locator: str, producing_asset: str, producing_run: str | None = ..., subject: str | None = ..., supply: str | None = ..., name: str | None = ..., captured_at: str | None = ..., entry: str | None = ..., checksum: Any | None = ..., parts: Any | None = ..., used_calibration_ids: Sequence[str] | None = ..., retain_until: str | None = ..., available_from: str | None = ...) -> IngestScanAnswer: ...
    async def assign_external_id(self, target: str, *, external_id: str, external_id_namespace: Literal['doi'] | None = ...) -> Changed: ...
    async def mint_external_id(self, target: str, *, creator_ids: Sequence[str], publisher_facility_code: str, contributors: Any | None = ..., publication_year: int | None = ..., license: str | None = ...) -> MintDatasetExternalIdAnswer: ...
    async def hide_external_id(self, target: str, *, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetDatasetAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetDatasetHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Registered', 'Archived', 'Discarded']] | None = ..., intent: Literal['Trial', 'Production', 'Retracted'] | None = ..., producing_run: str | None = ..., subject: str | None = ..., used_calibration: str | None = ..., derived_from: str | None = ..., checksum_value: str | None = ..., media_type: str | None = ..., external_id: str | None = ...) -> AsyncPages[ListDatasetsAnswer]: ...
    def parts(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[ListDatasetPartsAnswer]: ...
    def custody(self, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., verdict: Literal['Lost', 'Below', 'Met', 'Spare'] | None = ..., intent: Literal['Trial', 'Production', 'Retracted'] | None = ..., producing_run: str | None = ..., dataset: str | None = ..., supply: str | None = ..., sole_supply: str | None = ...) -> AsyncPages[ListCustodyAnswer]: ...
    async def custody_summary(self, *, names: bool | None = ..., supply: str | None = ...) -> GetCustodySummaryAnswer: ...
    async def custody_report(self, *, names: bool | None = ..., supply: str | None = ..., uri_prefix: str | None = ..., distribution: str | None = ..., after: str | None = ..., limit: int | None = ...) -> GetCustodyReportAnswer: ...
    async def export_datacite(self, target: str, *, names: bool | None = ...) -> ExportDatasetDataciteAnswer: ...
    async def lineage(self, target: str, *, names: bool | None = ..., direction: Literal['upstream', 'downstream', 'both'] | None = ..., depth: int | None = ...) -> GetDatasetLineageAnswer: ...
    async def provenance(self, *, kind: Literal['Dataset', 'Run', 'Subject', 'Asset', 'CalibrationRevision', 'Edition'], id: str, names: bool | None = ..., direction: Literal['upstream', 'downstream', 'both'] | None = ..., depth: int | None = ...) -> GetProvenanceAnswer: ...

class AsyncDistributionVerbs:
    async def register(self, *, dataset: str, uri: str, checksum: Any, byte_size: int, access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline'], supply: str | None = ...) -> RegisterDistributionAnswer: ...
    async def mark_stale(self, target: str, *, reason: str) -> Changed: ...
    async def restore(self, target: str, *, reason: str) -> Changed: ...
    async def mark_overwritten(self, target: str, *, reason: str) -> Changed: ...
    async def record_removal(self, target: str, *, removed_at: str | None = ...) -> Changed: ...
    async def discard(self, target: str, *, reason: str) -> Changed: ...
    async def request_check(self, target: str, *, kind: Literal['ChecksumVerified', 'FormatValidated'] | None = ...) -> RequestDistributionCheckAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetDistributionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetDistributionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., dataset: str | None = ..., supply: str | None = ..., status: Sequence[Literal['Registered', 'Verified', 'Stale', 'Discarded', 'Removed', 'Overwritten']] | None = ..., access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline'] | None = ..., unreachable: bool | None = ..., verified_before: str | None = ...) -> AsyncPages[ListDistributionsAnswer]: ...
    def checks(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[ListDistributionChecksAnswer]: ...

class AsyncAcquisitionVerbs:
    async def record(self, *, dataset: str, producing_asset: str, captured_at: str, producing_run: str | None = ..., settings: Any | None = ..., evidence: Any | None = ..., corrects_acquisition: str | None = ...) -> RecordAcquisitionAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetAcquisitionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetAcquisitionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., dataset: str | None = ..., producing_asset: str | None = ..., producing_run: str | None = ..., captured_from: str | None = ..., captured_to: str | None = ...) -> AsyncPages[ListAcquisitionsAnswer]: ...

class AsyncAttestationVerbs:
    async def record(self, *, distribution: str, kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated'], checked_at: str, checker: str, found: Any | None = ..., failure: Literal['NotFound', 'PermissionDenied', 'OutsideRoots', 'Timeout', 'TransportError', 'Corrupt'] | None = ..., service: str | None = ..., task_id: str | None = ...) -> RecordAttestationAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetAttestationAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetAttestationHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., dataset: str | None = ..., distribution: str | None = ..., kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated'] | None = ..., verified_by: Literal['Service', 'Client', 'Transfer'] | None = ..., outcome: Literal['Match', 'Mismatch', 'Unreachable'] | None = ...) -> AsyncPages[ListAttestationsAnswer]: ...

class AsyncEditionVerbs:
    async def register(self, *, title: str, kind: Literal['ROCrate', 'DataCite'], dataset_ids: Sequence[str], creator_ids: Sequence[str], description: str | None = ..., contributors: Any | None = ..., publisher_facility_code: str | None = ..., publication_year: int | None = ..., license: str | None = ..., available_from: str | None = ...) -> RegisterEditionAnswer: ...
    async def add_dataset(self, target: str, *, dataset: str) -> Changed: ...
    async def remove_dataset(self, target: str, *, dataset: str) -> Changed: ...
    async def seal(self, target: str, *, publisher_facility_code: str | None = ..., publication_year: int | None = ..., license: str | None = ...) -> Changed: ...
    async def publish(self, target: str) -> Changed: ...
    async def withdraw(self, target: str, *, reason: str) -> Changed: ...
    async def assign_external_id(self, target: str, *, external_id: str, external_id_namespace: Literal['doi'] | None = ...) -> Changed: ...
    async def mint_external_id(self, target: str) -> MintEditionExternalIdAnswer: ...
    async def hide_external_id(self, target: str, *, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetEditionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetEditionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Registered', 'Sealed', 'Published', 'Withdrawn']] | None = ..., kind: Literal['ROCrate', 'DataCite'] | None = ..., dataset: str | None = ..., publisher_facility_code: str | None = ..., external_id: str | None = ...) -> AsyncPages[ListEditionsAnswer]: ...
    async def manifest(self, target: str, *, names: bool | None = ...) -> GetEditionManifestAnswer: ...

class AsyncCalibrationVerbs:
    async def define(self, *, asset: str, quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile'], operating_point: Any, description: str | None = ...) -> DefineCalibrationAnswer: ...
    async def append_revision(self, target: str, *, value: Any, status: Literal['Provisional', 'Verified'], source: Any, established_at: str | None = ..., supersedes_revision_id: str | None = ..., decided_by_decision: str | None = ...) -> AppendCalibrationRevisionAnswer: ...
    async def update_description(self, target: str, *, description: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCalibrationAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetCalibrationHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., asset: str | None = ..., quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile'] | None = ..., current_status: Sequence[Literal['Provisional', 'Verified', 'None']] | None = ..., current_source_kind: Literal['Measured', 'Computed', 'Asserted'] | None = ..., operating_point: str | None = ...) -> AsyncPages[ListCalibrationsAnswer]: ...
    async def revision(self, *, revision_id: str, names: bool | None = ...) -> GetCalibrationRevisionAnswer: ...
    def uses(self, *, revision_id: str, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[ListCalibrationUsesAnswer]: ...

class AsyncCampaignVerbs:
    async def register(self, *, name: str, intent: Literal['Series', 'Sweep', 'Coordination', 'Block'], lead_actor: str, subject: str | None = ..., description: str | None = ..., tags: Sequence[str] | None = ..., external_refs: Any | None = ...) -> RegisterCampaignAnswer: ...
    async def start(self, target: str) -> Changed: ...
    async def hold(self, target: str, *, reason: str) -> Changed: ...
    async def resume(self, target: str) -> Changed: ...
    async def close(self, target: str) -> Changed: ...
    async def abandon(self, target: str, *, reason: str) -> Changed: ...
    async def add_run(self, target: str, *, run: str) -> Changed: ...
    async def remove_run(self, target: str, *, reason: str, run: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCampaignAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetCampaignHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Planned', 'Active', 'Held', 'Closed', 'Abandoned']] | None = ..., intent: Literal['Series', 'Sweep', 'Coordination', 'Block'] | None = ..., lead_actor: str | None = ..., subject: str | None = ..., tag: str | None = ...) -> AsyncPages[ListCampaignsAnswer]: ...

class AsyncClearanceVerbs:
    async def register(self, *, title: str, bindings: Any, kind: str, facility_code: str, hazards: Any | None = ..., risk_band: Literal['Green', 'Yellow', 'Red'] | None = ..., valid_from: str | None = ..., valid_until: str | None = ...) -> RegisterClearanceAnswer: ...
    async def submit(self, target: str) -> Changed: ...
    async def start_review(self, target: str) -> Changed: ...
    async def append_review_step(self, target: str, *, role: str, decision: Literal['Approved', 'Rejected', 'RequestedChanges'], notes: str | None = ...) -> Changed: ...
    async def approve(self, target: str, *, valid_from: str | None = ..., valid_until: str | None = ...) -> Changed: ...
    async def reject(self, target: str, *, reason: str) -> Changed: ...
    async def activate(self, target: str) -> Changed: ...
    async def expire(self, target: str, *, reason: str) -> Changed: ...
    async def amend(self, target: str, *, title: str, bindings: Any, hazards: Any | None = ..., risk_band: Literal['Green', 'Yellow', 'Red'] | None = ..., valid_from: str | None = ..., valid_until: str | None = ...) -> AmendClearanceAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetClearanceAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetClearanceHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Defined', 'Submitted', 'UnderReview', 'Approved', 'Active', 'Rejected', 'Expired', 'Superseded']] | None = ..., kind: str | None = ..., facility_code: str | None = ..., risk_band: Literal['Green', 'Yellow', 'Red'] | None = ..., parent_id: str | None = ..., binding_kind: Literal['Subject', 'Asset', 'Run', 'Procedure', 'External'] | None = ..., binding_id: Sequence[str] | None = ..., covering_asset: str | None = ..., in_force: bool | None = ..., valid_until_before: str | None = ..., valid_until_from: str | None = ...) -> AsyncPages[ListClearancesAnswer]: ...

class AsyncCautionVerbs:
    async def register(self, *, category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'], severity: Literal['Notice', 'Caution', 'Warning'], text: str, workaround: str, target: Any, tags: Sequence[str] | None = ..., propagate_to_children: bool | None = ..., expires_at: str | None = ...) -> RegisterCautionAnswer: ...
    async def supersede(self, target: str, *, category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'], severity: Literal['Notice', 'Caution', 'Warning'], text: str, workaround: str, tags: Sequence[str] | None = ..., propagate_to_children: bool | None = ..., expires_at: str | None = ...) -> SupersedeCautionAnswer: ...
    async def retire(self, target: str, *, retire_reason: Literal['Resolved', 'NoLongerApplies', 'WrongTarget']) -> Changed: ...
    async def promote_proposal(self, target: str) -> PromoteCautionProposalAnswer: ...
    async def promote(self, target: str) -> PromoteCautionProposalAnswer: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetCautionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetCautionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Active', 'Superseded', 'Retired']] | None = ..., target_kind: Literal['Asset', 'Procedure'] | None = ..., target_id: Sequence[str] | None = ..., covering_asset: str | None = ..., category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'] | None = ..., min_severity: Literal['Notice', 'Caution', 'Warning'] | None = ..., tag: str | None = ..., authored_by: str | None = ..., in_effect: bool | None = ...) -> AsyncPages[ListCautionsAnswer]: ...

class AsyncSubscriptionVerbs:
    async def register(self, *, name: str, url: str, format: Literal['CloudEvent', 'Text', 'Card'] | None = ..., types: Sequence[str] | None = ..., stream_types: Sequence[str] | None = ..., stream_ids: Sequence[str] | None = ..., facility_code: str | None = ...) -> RegisterSubscriptionAnswer: ...
    async def pause(self, target: str, *, reason: str) -> Changed: ...
    async def resume(self, target: str, *, from_: Literal['now', 'where_it_stopped']) -> Changed: ...
    async def rotate_secret(self, target: str) -> RotateSubscriptionSecretAnswer: ...
    async def retire(self, target: str, *, reason: str) -> Changed: ...
    async def retry_delivery(self, target: str, *, event_id: str) -> Changed: ...
    async def skip_delivery(self, target: str, *, event_id: str, reason: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetSubscriptionAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetSubscriptionHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Active', 'Paused', 'Retired']] | None = ..., format: Literal['CloudEvent', 'Text', 'Card'] | None = ...) -> AsyncPages[ListSubscriptionsAnswer]: ...
    def deliveries(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., status: Literal['Sending', 'Delivered', 'Refused', 'Skipped'] | None = ...) -> AsyncPages[ListDeliveriesAnswer]: ...

class AsyncAgentVerbs:
    async def define(self, *, kind: str, name: str, version: str, model_ref: Any, description: str | None = ..., prompt_template_id: str | None = ..., capabilities: Sequence[str] | None = ..., tools: Sequence[str] | None = ..., budget: Any | None = ...) -> DefineAgentAnswer: ...
    async def version(self, target: str) -> Changed: ...
    async def suspend(self, target: str, *, reason: str) -> Changed: ...
    async def resume(self, target: str) -> Changed: ...
    async def deprecate(self, target: str, *, reason: str) -> Changed: ...
    async def grant_tool(self, target: str, *, tool_name: str) -> Changed: ...
    async def revoke_tool(self, target: str, *, tool_name: str) -> Changed: ...
    async def update_budget(self, target: str, *, monthly_usd_cap: float | None = ..., daily_token_cap: int | None = ..., daily_action_cap: int | None = ...) -> Changed: ...
    def at_risk_results(self, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., agent: str | None = ..., kind: str | None = ..., reason: Literal['NotReproducible', 'RatedMisleading', 'Overridden'] | None = ..., provider: str | None = ..., model: str | None = ..., from_: str | None = ..., to: str | None = ...) -> AsyncPages[ListAtRiskResultsAnswer]: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetAgentAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetAgentHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., kind: str | None = ..., status: Sequence[Literal['Defined', 'Versioned', 'Suspended', 'Deprecated']] | None = ...) -> AsyncPages[ListAgentsAnswer]: ...
    def costs(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ..., from_: str | None = ..., to: str | None = ...) -> AsyncPages[ListAgentCostsAnswer]: ...

class AsyncProposalVerbs:
    async def approve(self, target: str, *, basis: str | None = ...) -> ApproveProposalAnswer: ...
    async def reject(self, target: str, *, reason: str) -> Changed: ...
    async def withdraw(self, target: str) -> Changed: ...
    async def get(self, target: str, *, names: bool | None = ..., as_of: Any | None = ...) -> GetProposalAnswer: ...
    def history(self, target: str, *, names: bool | None = ..., cursor: str | None = ..., limit: int | None = ...) -> AsyncPages[GetProposalHistoryAnswer]: ...
    def list(self, *, names: bool | None = ..., min_token: str | None = ..., cursor: str | None = ..., limit: int | None = ..., order: Literal['newest', 'oldest'] | None = ..., owner_id: str | None = ..., created_after: str | None = ..., created_before: str | None = ..., count: bool | None = ..., name: str | None = ..., status: Sequence[Literal['Open', 'Approved', 'Rejected', 'Withdrawn']] | None = ..., open: bool | None = ..., command_name: str | None = ..., proposed_by: str | None = ..., target_id: str | None = ..., decision: str | None = ...) -> AsyncPages[ListProposalsAnswer]: ...

class Beamkeep:
    def __init__(
        self,
        url: str | None = ...,
        token: Token = ...,
        *,
        profile: str = ...,
        surface_id: str | None = ...,
        transport: Any = ...,
    ) -> None: ...
    actors: ActorVerbs
    zones: ZoneVerbs
    conduits: ConduitVerbs
    surfaces: SurfaceVerbs
    policies: PolicyVerbs
    visits: VisitVerbs
    facilities: FacilityVerbs
    credentials: CredentialVerbs
    permits: PermitVerbs
    seals: SealVerbs
    enclosures: EnclosureVerbs
    families: FamilyVerbs
    models: ModelVerbs
    assets: AssetVerbs
    mounts: MountVerbs
    frames: FrameVerbs
    supplies: SupplyVerbs
    subjects: SubjectVerbs
    decisions: DecisionVerbs
    capabilities: CapabilityVerbs
    methods: MethodVerbs
    practices: PracticeVerbs
    plans: PlanVerbs
    recipes: RecipeVerbs
    runs: RunVerbs
    procedures: ProcedureVerbs
    datasets: DatasetVerbs
    distributions: DistributionVerbs
    acquisitions: AcquisitionVerbs
    attestations: AttestationVerbs
    editions: EditionVerbs
    calibrations: CalibrationVerbs
    campaigns: CampaignVerbs
    clearances: ClearanceVerbs
    cautions: CautionVerbs
    subscriptions: SubscriptionVerbs
    agents: AgentVerbs
    proposals: ProposalVerbs
    def names(self, *, id: Sequence[str], names: bool | None = ...) -> ResolveNamesAnswer: ...
    def whoami(self, *, names: bool | None = ...) -> GetSelfAnswer: ...
    def status(self, *, names: bool | None = ..., min_token: str | None = ..., facility_code: str | None = ...) -> GetStatusAnswer: ...
    events: Events
    def search(self, q: str, **filters: Any) -> list[Answer]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

class AsyncBeamkeep:
    def __init__(
        self,
        url: str | None = ...,
        token: Token = ...,
        *,
        profile: str = ...,
        surface_id: str | None = ...,
        transport: Any = ...,
    ) -> None: ...
    actors: AsyncActorVerbs
    zones: AsyncZoneVerbs
    conduits: AsyncConduitVerbs
    surfaces: AsyncSurfaceVerbs
    policies: AsyncPolicyVerbs
    visits: AsyncVisitVerbs
    facilities: AsyncFacilityVerbs
    credentials: AsyncCredentialVerbs
    permits: AsyncPermitVerbs
    seals: AsyncSealVerbs
    enclosures: AsyncEnclosureVerbs
    families: AsyncFamilyVerbs
    models: AsyncModelVerbs
    assets: AsyncAssetVerbs
    mounts: AsyncMountVerbs
    frames: AsyncFrameVerbs
    supplies: AsyncSupplyVerbs
    subjects: AsyncSubjectVerbs
    decisions: AsyncDecisionVerbs
    capabilities: AsyncCapabilityVerbs
    methods: AsyncMethodVerbs
    practices: AsyncPracticeVerbs
    plans: AsyncPlanVerbs
    recipes: AsyncRecipeVerbs
    runs: AsyncRunVerbs
    procedures: AsyncProcedureVerbs
    datasets: AsyncDatasetVerbs
    distributions: AsyncDistributionVerbs
    acquisitions: AsyncAcquisitionVerbs
    attestations: AsyncAttestationVerbs
    editions: AsyncEditionVerbs
    calibrations: AsyncCalibrationVerbs
    campaigns: AsyncCampaignVerbs
    clearances: AsyncClearanceVerbs
    cautions: AsyncCautionVerbs
    subscriptions: AsyncSubscriptionVerbs
    agents: AsyncAgentVerbs
    proposals: AsyncProposalVerbs
    async def names(self, *, id: Sequence[str], names: bool | None = ...) -> ResolveNamesAnswer: ...
    async def whoami(self, *, names: bool | None = ...) -> GetSelfAnswer: ...
    async def status(self, *, names: bool | None = ..., min_token: str | None = ..., facility_code: str | None = ...) -> GetStatusAnswer: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
