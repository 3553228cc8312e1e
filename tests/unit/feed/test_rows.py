"""A list row is a fold of one stream, and survives being stored as JSON."""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.corpus import FOLDER, read
from tests.support.rows import is_wanted

from beamkeep.contexts.access.actor import (
    ActorDeactivated,
    ActorIdentityBound,
    ActorProfileForgotten,
    ActorRegistered,
)
from beamkeep.contexts.agent.agent import (
    AgentBudget,
    AgentBudgetUpdated,
    AgentDefined,
    AgentDeprecated,
    AgentResumed,
    AgentSuspended,
    AgentToolGranted,
    AgentToolRevoked,
    AgentVersioned,
    ModelRef,
)
from beamkeep.contexts.campaign.campaign import (
    CampaignClosed,
    CampaignHeld,
    CampaignIntent,
    CampaignRegistered,
    CampaignResumed,
    CampaignRunAdded,
    CampaignRunRemoved,
    CampaignStarted,
)
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.caution.caution import (
    CautionCategory,
    CautionRegistered,
    CautionRetired,
    CautionSeverity,
    RetireReason,
    Target,
    TargetKind,
)
from beamkeep.contexts.data.acquisition import AcquisitionRecorded
from beamkeep.contexts.data.attestation import (
    AttestationKind,
    AttestationOutcome,
    AttestationRecorded,
)
from beamkeep.contexts.data.authorship import Contributor, ContributorRole
from beamkeep.contexts.data.dataset import (
    DatasetArchived,
    DatasetDemoted,
    DatasetDigestsConfirmed,
    DatasetDiscarded,
    DatasetExternalIdAssigned,
    DatasetExternalIdHidden,
    DatasetExternalIdRefused,
    DatasetExternalIdRequested,
    DatasetPromoted,
    DatasetRegistered,
    DatasetReleasedFromEdition,
    DatasetRetentionUpdated,
    DatasetSealedIntoEdition,
)
from beamkeep.contexts.data.distribution import (
    AccessProtocol,
    DistributionDiscarded,
    DistributionMarkedStale,
    DistributionMarkedUnreachable,
    DistributionRegistered,
    DistributionRemoved,
    DistributionVerified,
)
from beamkeep.contexts.data.edition import (
    EditionDatasetAdded,
    EditionDatasetRemoved,
    EditionExternalIdAssigned,
    EditionExternalIdHidden,
    EditionExternalIdRefused,
    EditionExternalIdRequested,
    EditionKind,
    EditionPublished,
    EditionRegistered,
    EditionSealed,
    EditionWithdrawn,
)
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, Encoding
from beamkeep.contexts.decision.decision import (
    ConfidenceSource,
    DecisionPromoted,
    DecisionRated,
    DecisionRegistered,
    OverrideKind,
    Rating,
)
from beamkeep.contexts.enclosure.enclosure import (
    EnclosureDecommissioned,
    EnclosurePermitObserved,
    EnclosureRegistered,
    PermitStatus,
)
from beamkeep.contexts.federation.credential import (
    CredentialPurpose,
    CredentialRegistered,
    CredentialRevoked,
    CredentialRotationAborted,
    CredentialRotationCompleted,
    CredentialRotationStarted,
)
from beamkeep.contexts.federation.facility import (
    FacilityDecommissioned,
    FacilityKind,
    FacilityRegistered,
)
from beamkeep.contexts.federation.permit import (
    PermitActivated,
    PermitDefined,
    PermitDirection,
    PermitResumed,
    PermitRevoked,
    PermitSuspended,
)
from beamkeep.contexts.federation.seal import (
    SealInitialized,
    SealOnlineKeyRotated,
    SealPointerSigned,
)
from beamkeep.contexts.federation.signatures import key_fingerprint
from beamkeep.contexts.operation.conducted import (
    ActuationKind,
    ConductKind,
    ConductOutcome,
    Failure,
    FailureSource,
    Phase,
)
from beamkeep.contexts.operation.procedure import (
    ProcedureConductCancelRequested,
    ProcedureConductEnded,
    ProcedureConductRequested,
    ProcedureConductWalked,
    ProcedureHeld,
    ProcedureRegistered,
    ProcedureStarted,
)
from beamkeep.contexts.proposal.proposal import ProposalRegistered, ProposalRejected
from beamkeep.contexts.recipe.steps import RecipeCaptureStep
from beamkeep.contexts.run.run import (
    AcknowledgedCaution,
    CautionTarget,
    DecisionDebriefRequested,
    DeclarationVersions,
    RunAddedToCampaign,
    RunAdjusted,
    RunHeld,
    RunRemovedFromCampaign,
    RunResumed,
    RunStarted,
    RunTruncated,
    StartAdvisory,
)
from beamkeep.contexts.safety.clearance import (
    AssetBinding,
    ClearanceActivated,
    ClearanceApproved,
    ClearanceRegistered,
    ClearanceReviewStarted,
    ClearanceReviewStepAppended,
    ClearanceSubmitted,
    ClearanceSuperseded,
    ExternalBinding,
    Hazard,
    ReviewDecision,
    RiskBand,
    SubjectBinding,
)
from beamkeep.contexts.seams.custody_rules import ChecksumStrength, VerifiedBy
from beamkeep.contexts.trust.conduit import ConduitDefined
from beamkeep.contexts.trust.policy import PolicyDefined, PolicyGrantAdded, PolicyGrantRevoked
from beamkeep.contexts.trust.surface import SurfaceDefined
from beamkeep.contexts.trust.team import (
    MemberRole,
    Membership,
    TeamClosed,
    TeamMemberAdded,
    TeamMemberChanged,
    TeamMemberRemoved,
    TeamRegistered,
)
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.contexts.trust.visit import (
    VisitAborted,
    VisitArrived,
    VisitCompleted,
    VisitHeld,
    VisitRegistered,
    VisitResumed,
    VisitStarted,
    VisitSurfaceControlTaken,
    VisitType,
)
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.feed.lists.rows import Row, RowFold
from beamkeep.kernel import ActorKind, Event, ObjectScope, SurfaceKind, WrittenStream
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import StoredEvent
from beamkeep.schemas import JsonObject
from beamkeep.testing.signing import public_key

ID, OWNER, STRANGER = UUID(int=1), UUID(int=9), UUID(int=8)
A, B, C = UUID(int=10), UUID(int=11), UUID(int=12)
T, V = UUID(int=13), UUID(int=14)
START = datetime(2030, 1, 1, tzinfo=UTC)
CODEC = Codec(CATALOGUE.aggregates.values())
VIEWS = {view.name: view for view in CATALOGUE.views}


def at(hours: int) -> datetime:
    return START + timedelta(hours=hours)


UNKNOWN = PermitStatus.UNKNOWN
VISIT = VisitRegistered(
    at(0), ID, A, B, VisitType.STAFF, at(24), at(48), C, {"proposal": "P1", "cycle": "2"}
)
OVERRIDE: JsonObject = {"gap": None}
EFFECTIVE: JsonObject = {"energy": 25.0, "modes": ["fly", None]}
INPUTS: JsonObject = {"run_id": str(C), "n": [1, 0.5]}
BOUND = (AssetBinding(A), SubjectBinding(B), ExternalBinding("proposal", "P é"))
FAILURE = Failure(
    phase=Phase.STEPS,
    source_kind=FailureSource.CAPTURE,
    error_class="CaptureFailedError",
    message="no value",
    target="bl:x",
    step_index=0,
)
CHECKSUM = Checksum(ChecksumAlgorithm.SHA256, "ab" * 32)
ENCODING = Encoding("application/x-hdf5", ("urn:nexus:NXtomo",))
MINTED = DatasetExternalIdRequested(
    occurred_at=at(10),
    dataset_id=ID,
    external_id="10.5072/é",
    creator_ids=(B, A),
    contributors=(Contributor(A, ContributorRole.DATA_CURATOR),),
    publisher_facility_code="hall-2",
    publication_year=2031,
    license="CC-BY-4.0",
)
STREAMS: dict[str, Sequence[Event]] = {
    "agent": [
        AgentDefined(
            occurred_at=at(0),
            agent_id=ID,
            kind="Scheduler",
            name="Night é",
            version="2.1",
            description="Plans the night",
            model_ref=ModelRef("local", "model-a", "model-a-20300131"),
            prompt_template_id=None,
            capabilities=("plans", "é"),
            tools=("get_run", "list_runs"),
            budget=None,
        ),
        AgentVersioned(at(1), ID, "2.1"),
        AgentSuspended(at(2), ID, "it repeats"),
        AgentResumed(at(3), ID),
        AgentToolGranted(at(4), ID, "get_zone"),
        AgentToolRevoked(at(5), ID, "list_runs"),
        AgentBudgetUpdated(at(6), ID, AgentBudget(None, 5000)),
        AgentDeprecated(at(7), ID, "replaced"),
    ],
    "proposal": [
        ProposalRegistered(
            occurred_at=at(0),
            proposal_id=ID,
            command_name="hold_run",
            arguments={"run_id": str(A), "reason": "beam é"},
            digest="d" * 64,
            target=WrittenStream("Run", A, 4),
            required_version=4,
            basis="b" * 64,
            would_write=("RunHeld",),
            note="Please",
            proposed_by=B,
            decision_id=C,
            decision_by_proposer=True,
            expires_at=at(24),
        ),
        ProposalRejected(at(1), ID, A, "not tonight"),
    ],
    "actor": [
        ActorRegistered(at(0), ID, ActorKind.HUMAN),
        ActorIdentityBound(at(1), ID, "https://idp"),
        ActorDeactivated(at(2), ID),
        ActorProfileForgotten(at(3), ID),
    ],
    "edition": [
        EditionRegistered(
            occurred_at=at(0),
            edition_id=ID,
            title="Fossils é",
            description=None,
            kind=EditionKind.RO_CRATE,
            dataset_ids=(A, B),
            creator_ids=(B, A),
            contributors=(Contributor(A, ContributorRole.DATA_CURATOR),),
            publisher_facility_code=None,
            publication_year=None,
            license=None,
            available_from=None,
        ),
        EditionDatasetAdded(at(1), ID, C),
        EditionDatasetRemoved(at(2), ID, B),
        EditionSealed(
            occurred_at=at(3),
            edition_id=ID,
            dataset_ids=(A, C),
            publisher_facility_code="hall-2",
            publication_year=2031,
            license="CC-BY-4.0",
            available_from=date(2031, 1, 31),
            content_hash="ab" * 32,
        ),
        EditionPublished(at(4), ID),
        EditionExternalIdRequested(at(5), ID, "10.5072/é"),
        EditionExternalIdRefused(at(6), ID, "10.5072/é", status=422),
        EditionExternalIdRequested(at(7), ID, "10.5072/é"),
        EditionExternalIdAssigned(at(8), ID, "10.5072/é"),
        EditionWithdrawn(at(9), ID, "wrong sample"),
        EditionExternalIdHidden(at(10), ID, "wrong sample"),
    ],
    "zone": [ZoneDefined(at(0), ID, "Hutch é")],
    "conduit": [ConduitDefined(at(0), ID, "Entry", A, B)],
    "surface": [SurfaceDefined(at(0), ID, "Console", SurfaceKind.HTTP, A)],
    "policy": [
        PolicyDefined(at(0), ID, "Team", A, None, (A, C), ("get_zone", "*"), ObjectScope.OWN),
        PolicyGrantAdded(at(1), ID, B),
        PolicyGrantRevoked(at(2), ID, A, "left"),
    ],
    "team": [
        TeamRegistered(
            occurred_at=at(0),
            team_id=ID,
            title="Fossils é",
            external_refs={"proposal": "P1", "cycle": "2"},
            members=(Membership(A, MemberRole.LEADER), Membership(B, until=at(48))),
        ),
        TeamMemberAdded(at(1), ID, C, MemberRole.LOCAL_CONTACT, since=at(2), until=None),
        TeamMemberChanged(at(3), ID, B, MemberRole.LEADER, since=None, until=at(24)),
        TeamMemberRemoved(at(4), ID, A, "left"),
        TeamClosed(at(5), ID),
    ],
    "visit": [
        VISIT,
        VisitArrived(at(1), ID),
        VisitSurfaceControlTaken(at(2), ID, B),
        VisitStarted(at(3), ID),
        VisitHeld(at(4), ID, "beam lost"),
        VisitResumed(at(5), ID),
        VisitCompleted(at(6), ID),
    ],
    "facility": [
        FacilityRegistered(at(0), ID, "hall-2", "Hall 2", FacilityKind.AREA, A),
        FacilityDecommissioned(at(1), ID, "closed"),
    ],
    "credential": [
        CredentialRegistered(
            occurred_at=at(0),
            credential_id=ID,
            facility_id=A,
            audience="imaging",
            purpose=CredentialPurpose.DATASET_EXCHANGE,
            public_key=public_key("a"),
            key_check_signature="s",
            expires_at=at(9),
        ),
        CredentialRotationStarted(at(1), ID, public_key("b"), "t", None),
        CredentialRotationCompleted(at(2), ID, public_key("b"), 2),
        CredentialRotationStarted(at(3), ID, public_key("c"), "u", None),
        CredentialRotationAborted(at(4), ID, "late"),
        CredentialRevoked(at(5), ID, "lost"),
    ],
    "permit": [
        PermitDefined(
            occurred_at=at(0),
            permit_id=ID,
            direction=PermitDirection.INBOUND,
            peer_facility_id=A,
            audience="imaging",
            purpose=CredentialPurpose.DATASET_EXCHANGE,
            allowed_credential_ids=(B,),
            expires_at=at(9),
        ),
        PermitActivated(at(1), ID),
        PermitSuspended(at(2), ID, "audit"),
        PermitResumed(at(3), ID),
        PermitRevoked(at(4), ID, "over"),
    ],
    "seal": [
        SealInitialized(at(0), ID, A, B),
        SealPointerSigned(
            occurred_at=at(1),
            facility_id=ID,
            head_hash="ab",
            sequence_number=7,
            signed_at=at(1),
            credential_id=A,
            key_fingerprint="cd",
            signature="s",
        ),
        SealOnlineKeyRotated(
            occurred_at=at(2),
            facility_id=ID,
            previous_online_credential_id=A,
            new_online_credential_id=C,
            signed_by_offline_root=False,
            offline_root_signature=None,
            previous_key_fingerprint="cd",
            new_key_fingerprint="ef",
            new_public_key="k",
            sequence_number=7,
        ),
    ],
    "enclosure": [
        EnclosureRegistered(at(0), ID, "Hutch", "hall-2"),
        EnclosurePermitObserved(
            at(1), ID, UNKNOWN, PermitStatus.PERMITTED, TriggerSource.MONITOR, "pss", "searched"
        ),
        EnclosureDecommissioned(at(2), ID, "rebuilt"),
    ],
    "campaign": [
        CampaignRegistered(
            *(at(0), ID, "Ageing é", CampaignIntent.SERIES, A, B, "once a week"),
            *(("battery", "weekly"), {"proposal": "P1", "cycle": "2"}),
            team_id=T,
        ),
        CampaignRunAdded(at(1), ID, C),
        CampaignStarted(at(2), ID),
        CampaignRunAdded(at(3), ID, B),
        CampaignHeld(at(4), ID, "no beam"),
        CampaignRunRemoved(at(5), ID, C, "wrong cell"),
        CampaignResumed(at(6), ID),
        CampaignClosed(at(7), ID),
    ],
    "decision": [
        DecisionRegistered(
            *(at(0), ID, A, "RunHold", "Hold", B, OverrideKind.APPEAL, "rule 7", "it drifts"),
            *(1.0, ConfidenceSource.HUMAN, ("Wait", "Stop"), INPUTS, (B, C)),
        ),
        DecisionRated(at(1), ID, C, Rating.USEFUL, "é", 1.0),
        DecisionRated(at(2), ID, B, Rating.IGNORED, None, 1.0),
        DecisionRated(at(3), ID, C, Rating.MISLEADING, None, 1.0),
        DecisionPromoted(at(4), ID, C),
    ],
    "clearance": [
        ClearanceRegistered(
            at(0),
            ID,
            "radiation",
            "hall-2",
            "Salts é",
            BOUND,
            (Hazard("ghs", "H301", "gloves"), Hazard("local", "alpha")),
            RiskBand.RED,
            at(1),
            None,
            C,
            team_id=T,
        ),
        ClearanceSubmitted(at(1), ID),
        ClearanceReviewStarted(at(2), ID),
        ClearanceReviewStepAppended(at(3), ID, 0, "safety", ReviewDecision.APPROVED, None, A),
        ClearanceApproved(at(4), ID, None, at(48)),
        ClearanceActivated(at(5), ID),
        ClearanceSuperseded(at(6), ID, B),
    ],
    "caution": [
        CautionRegistered(
            at(0),
            ID,
            Target(TargetKind.ASSET, A),
            CautionCategory.WEAR,
            CautionSeverity.CAUTION,
            "it sticks é",
            "tap it",
            ("slow", "é"),
            at(48),
            True,
            B,
            C,
            None,
        ),
        CautionRetired(at(1), ID, RetireReason.RESOLVED),
    ],
    "run": [
        RunStarted(
            *(at(0), ID, "Night é", A, "2", B, (B, C), C, "10.25.10/7"),
            *(OVERRIDE, EFFECTIVE, (A, B)),
            *((AcknowledgedCaution(C, CautionTarget("Asset", B), "Thermal", "Warning"),), A),
            *(DeclarationVersions(4, 3, 2, 1), (A, C)),
            (StartAdvisory("Clearance", C, "Active", at(5), at(0), True),),
            campaign_id=A,
            team_id=T,
            visit_id=V,
        ),
        RunAddedToCampaign(at(0), ID, A),
        RunHeld(at(1), ID, None, A),
        RunResumed(at(2), ID, None),
        RunAdjusted(at(3), ID, {"energy": 5}, {"energy": 5}, "peak moved", None),
        RunRemovedFromCampaign(at(4), ID, A, "by mistake"),
        RunTruncated(at(5), ID, "power cut", at(4), None),
        DecisionDebriefRequested(at(6), ID, A, "RunDebriefer", B),
    ],
    "procedure": [
        ProcedureRegistered(
            at(0),
            ID,
            name="Home é",
            kind="homing",
            target_asset_ids=(A, B),
            parent_run_id=C,
            capability_id=None,
            capability_version_tag=None,
            max_consecutive_unconverged_iterations=3,
            recipe_id=None,
            recipe_version_number=None,
            bindings={},
            steps=None,
            closing_steps=None,
        ),
        ProcedureStarted(at(1), ID, ()),
        ProcedureConductRequested(
            at(2),
            ID,
            conduct_id=A,
            conduct_kind=ConductKind.OR_HOLD,
            root_kind=ConductKind.OR_HOLD,
            continues_conduct_id=None,
            steps=(RecipeCaptureStep("bl:x", "home_x"),),
            closing_steps=(),
            from_step_index=None,
            redo_step_indexes=(),
            skip_step_indexes=(),
            abandon=False,
            loop=None,
            acknowledged_cautions=(),
            decided_by_decision_id=None,
            moved_asset_ids=(C,),
        ),
        ProcedureConductCancelRequested(at(3), ID, A, "wrong axis"),
        ProcedureConductWalked(at(4), ID, A, ConductOutcome.ABORTED, FAILURE),
        ProcedureConductEnded(
            at(5),
            ID,
            conduct_id=A,
            outcome=ConductOutcome.HELD,
            succeeded=False,
            completed_count=0,
            failure=FAILURE,
            closing_failures=(FAILURE,),
            actuation_kind=ActuationKind.SIMULATED,
            claim_count=2,
            undecided_step_indexes=(0,),
        ),
        ProcedureHeld(at(6), ID, "read error", None),
    ],
    "dataset": [
        DatasetRegistered(
            at(0),
            ID,
            name="Fossil é",
            checksum=CHECKSUM,
            byte_size=2**53 - 1,
            encoding=ENCODING,
            digests={"md5": "0" * 32},
            file_count=1,
            of_parts=False,
            producing_run_id=A,
            subject_id=B,
            derived_from=(B, C),
            used_calibration_ids=(C,),
            retain_until=None,
            available_from=date(2031, 1, 31),
            team_id=T,
            visit_id=V,
        ),
        DatasetPromoted(at(1), ID, "seen by two"),
        DatasetRetentionUpdated(at(2), ID, date(2040, 1, 31), None, "by the policy"),
        DatasetArchived(at(3), ID),
        DatasetSealedIntoEdition(at(4), ID, A),
        DatasetSealedIntoEdition(at(5), ID, B),
        DatasetReleasedFromEdition(at(6), ID, A),
        DatasetDemoted(at(7), ID, "wrong center"),
        DatasetReleasedFromEdition(at(8), ID, B),
        DatasetDiscarded(at(9), ID, "no use"),
        MINTED,
        DatasetExternalIdRefused(at(11), ID, "10.5072/é", status=422),
        MINTED,
        DatasetExternalIdAssigned(at(13), ID, "10.5072/é"),
        DatasetExternalIdHidden(at(14), ID, "wrong center"),
        DatasetDigestsConfirmed(at(15), ID, ("md5",), A),
    ],
    "distribution": [
        DistributionRegistered(
            at(0),
            ID,
            dataset_id=A,
            supply_id=B,
            uri="file:///data/fossil%20%C3%A9.h5",
            checksum=CHECKSUM,
            byte_size=2**53 - 1,
            encoding=ENCODING,
            access_protocol=AccessProtocol.NFS,
            of_parts=False,
            team_id=T,
            visit_id=V,
        ),
        DistributionMarkedUnreachable(at(1), ID, TriggerSource.MONITOR, C, "Timeout", at(1)),
        DistributionVerified(at(2), ID, C, VerifiedBy.TRANSFER, ChecksumStrength.INTEGRITY, at(2)),
        DistributionVerified(
            at(3), ID, C, VerifiedBy.SERVICE, ChecksumStrength.CRYPTOGRAPHIC, at(2)
        ),
        DistributionMarkedStale(at(4), ID, TriggerSource.OPERATOR, "overwritten", None),
        DistributionVerified(
            at(5), ID, C, VerifiedBy.CLIENT, ChecksumStrength.CRYPTOGRAPHIC, at(5)
        ),
        DistributionMarkedUnreachable(at(6), ID, TriggerSource.AUTO, C, "NotFound", at(6)),
        DistributionDiscarded(at(7), ID, "no use"),
        DistributionRemoved(at(8), ID, at(8)),
    ],
    "acquisition": [
        AcquisitionRecorded(
            at(0),
            ID,
            dataset_id=A,
            producing_asset_id=B,
            producing_run_id=C,
            captured_at=at(-1),
            settings=EFFECTIVE,
            evidence={"é": None},
            corrects_acquisition_id=A,
        )
    ],
    "attestation": [
        AttestationRecorded(
            at(0),
            ID,
            dataset_id=A,
            distribution_id=B,
            kind=AttestationKind.CHECKSUM_VERIFIED,
            verified_by=VerifiedBy.CLIENT,
            outcome=AttestationOutcome.MATCH,
            strength=ChecksumStrength.CRYPTOGRAPHIC,
            checked_at=at(-1),
            evidence={"algorithm": "sha256", "failure": None},
        )
    ],
}


ON_RECORD = {
    f"{view.name} {number}": (view.name, [line.recorded for line in stream])
    for view in CATALOGUE.views
    for number, stream in enumerate(read(FOLDER, view.aggregate), 1)
}
"""Every stream of the corpus, with the list it has a row in."""
WANTED = {
    title: (name, stream)
    for title, (name, stream) in ON_RECORD.items()
    if is_wanted(VIEWS[name].aggregate.begin.__module__)
}
"""The streams of the aggregates that a run covers."""


def recorded(events: Sequence[Event]) -> list[StoredEvent]:
    stored = [CODEC.encode(event, n, UUID(int=n)) for n, event in enumerate(events, 1)]
    return [StoredEvent(e.version, e.event_type, e.schema_version, e.payload) for e in stored]


def rows(name: str, stream: Sequence[StoredEvent]) -> list[Row]:
    """The row after each event."""
    fold, row, found = RowFold(VIEWS[name], CODEC), None, list[Row]()
    for event in stream:
        row = fold.after(row, [event], OWNER if event.version == 1 else STRANGER)
        found.append(row)
    return found


def dumped(name: str, events: Sequence[Event]) -> dict[str, Any]:
    return json.loads(RowFold(VIEWS[name], CODEC).dump(rows(name, recorded(events))[-1]))


def test_every_list_has_a_stream_on_record():
    assert {name for name, _ in ON_RECORD.values()} == VIEWS.keys()


def test_a_row_is_loaded_as_it_was_dumped_after_every_event(subtests: pytest.Subtests):
    for title, (name, stream) in WANTED.items():
        with subtests.test(title):
            fold = RowFold(VIEWS[name], CODEC)
            for row in rows(name, stream):
                stored = fold.dump(row)
                assert fold.load(row.version, stored) == row
                assert fold.dump(fold.load(row.version, stored)) == stored


def test_a_row_follows_on_from_one_that_was_loaded(subtests: pytest.Subtests):
    for title, (name, stream) in WANTED.items():
        with subtests.test(title):
            fold = RowFold(VIEWS[name], CODEC)
            row: Row | None = None
            for event in stream:
                row = fold.after(row, [event], OWNER)
                row = fold.load(row.version, fold.dump(row))
            assert row == rows(name, stream)[-1]


def test_the_owner_is_the_writer_of_the_first_event(subtests: pytest.Subtests):
    for title, (name, stream) in WANTED.items():
        with subtests.test(title):
            assert {row.owner_id for row in rows(name, stream)} == {OWNER}


SHOWN_BYTES = {
    "checksum": {"algorithm": "sha256", "value": "ab" * 32},
    "byte_size": 2**53 - 1,
    "encoding": {"media_type": "application/x-hdf5", "conforms_to": ["urn:nexus:NXtomo"]},
}
SHOWN: dict[str, dict[str, Any]] = {
    "agent": {
        "agent_id": str(ID),
        "kind": "Scheduler",
        "name": "Night é",
        "version": "2.1",
        "description": "Plans the night",
        "model_ref": {"provider": "local", "model": "model-a", "snapshot_pin": "model-a-20300131"},
        "prompt_template_id": None,
        "capabilities": ["plans", "é"],
        "tools": ["get_run", "get_zone"],
        "budget": {"monthly_usd_cap": None, "daily_token_cap": 5000, "daily_action_cap": None},
        "status": "Deprecated",
        "versioned_at": "2030-01-01T01:00:00Z",
        "suspended_at": "2030-01-01T02:00:00Z",
        "deprecated_at": "2030-01-01T07:00:00Z",
    },
    "proposal": {
        "proposal_id": str(ID),
        "command_name": "hold_run",
        "digest": "d" * 64,
        "target": {"stream_type": "Run", "stream_id": str(A), "version": 4},
        "required_version": 4,
        "basis": "b" * 64,
        "would_write": ["RunHeld"],
        "proposed_by": str(B),
        "decision_id": str(C),
        "decision_by_proposer": True,
        "expires_at": "2030-01-02T00:00:00Z",
        "status": "Rejected",
        "closed_by": str(A),
        "closed_reason": "not tonight",
        "written": [],
        "team_id": None,
        "visit_id": None,
        "closed_at": "2030-01-01T01:00:00Z",
    },
    "dataset": {
        **SHOWN_BYTES,
        "dataset_id": str(ID),
        "name": "Fossil é",
        "digests": {"md5": "0" * 32},
        "file_count": 1,
        "of_parts": False,
        "was_ingested": False,
        "producing_run_id": str(A),
        "subject_id": str(B),
        "derived_from": [str(B), str(C)],
        "used_calibration_ids": [str(C)],
        "retain_until": "2040-01-31",
        "available_from": None,
        "status": "Discarded",
        "intent": "Retracted",
        "sealed_edition_ids": [],
        "external_id": "10.5072/é",
        "external_id_namespace": "doi",
        "external_id_state": "Hidden",
        "pending_external_id": None,
        "confirmed_digests": ["md5"],
        "released_by": None,
        "team_id": str(T),
        "visit_id": str(V),
        "archived_at": "2030-01-01T03:00:00Z",
        "discarded_at": "2030-01-01T09:00:00Z",
        "promoted_at": "2030-01-01T01:00:00Z",
        "demoted_at": "2030-01-01T07:00:00Z",
    },
    "distribution": {
        **SHOWN_BYTES,
        "distribution_id": str(ID),
        "dataset_id": str(A),
        "supply_id": str(B),
        "uri": "file:///data/fossil%20%C3%A9.h5",
        "access_protocol": "NFS",
        "of_parts": False,
        "status": "Removed",
        "good_checks": [
            {
                "verified_by": "Client",
                "strength": "Cryptographic",
                "checked_at": "2030-01-01T05:00:00Z",
                "file": None,
            }
        ],
        "verified_by": "Client",
        "verified_strength": "Cryptographic",
        "verified_at": "2030-01-01T05:00:00Z",
        "marked_stale_at": "2030-01-01T04:00:00Z",
        "unreachable_since": "2030-01-01T06:00:00Z",
        "file": None,
        "checks_count_from": None,
        "keeps_place": False,
        "restored_at": None,
        "overwritten_at": None,
        "team_id": str(T),
        "visit_id": str(V),
        "discarded_at": "2030-01-01T07:00:00Z",
        "removed_at": "2030-01-01T08:00:00Z",
    },
    "edition": {
        "edition_id": str(ID),
        "title": "Fossils é",
        "description": None,
        "kind": "ROCrate",
        "dataset_ids": [str(A), str(C)],
        "creator_ids": [str(B), str(A)],
        "contributors": [{"actor_id": str(A), "role": "DataCurator"}],
        "publisher_facility_code": "hall-2",
        "publication_year": 2031,
        "license": "CC-BY-4.0",
        "available_from": "2031-01-31",
        "content_hash": "ab" * 32,
        "status": "Withdrawn",
        "external_id": "10.5072/é",
        "external_id_namespace": "doi",
        "external_id_state": "Hidden",
        "pending_external_id": None,
        "team_id": None,
        "visit_id": None,
        "sealed_at": "2030-01-01T03:00:00Z",
        "published_at": "2030-01-01T04:00:00Z",
        "withdrawn_at": "2030-01-01T09:00:00Z",
        "withdrawn_reason": "wrong sample",
    },
    "actor": {
        "actor_id": str(ID),
        "kind": "human",
        "active": False,
        "unconfirmed_logins": [],
        "deactivated_at": "2030-01-01T02:00:00Z",
    },
    "policy": {
        "policy_id": str(ID),
        "name": "Team",
        "conduit_id": str(A),
        "surface_id": None,
        "permitted_principal_ids": [str(B), str(C)],
        "permitted_commands": ["*", "get_zone"],
        "proposable_commands": [],
        "object_scope": "Own",
        "updated_at": "2030-01-01T02:00:00Z",
    },
    "team": {
        "team_id": str(ID),
        "title": "Fossils é",
        "external_refs": {"cycle": "2", "proposal": "P1"},
        "members": [
            {
                "principal_id": str(B),
                "role": "Leader",
                "since": None,
                "until": "2030-01-02T00:00:00Z",
            },
            {
                "principal_id": str(C),
                "role": "LocalContact",
                "since": "2030-01-01T02:00:00Z",
                "until": None,
            },
        ],
        "closed": True,
    },
    "visit": {
        "visit_id": str(ID),
        "policy_id": str(A),
        "parent_surface_id": str(B),
        "type": "staff",
        "planned_start_at": "2030-01-02T00:00:00Z",
        "planned_end_at": "2030-01-03T00:00:00Z",
        "parent_id": str(C),
        "external_refs": {"cycle": "2", "proposal": "P1"},
        "status": "Completed",
        "controlling": True,
        "last_status_reason": "beam lost",
        "team_id": None,
        "arrived_at": "2030-01-01T01:00:00Z",
        "started_at": "2030-01-01T03:00:00Z",
        "ended_at": "2030-01-01T06:00:00Z",
    },
    "campaign": {
        "campaign_id": str(ID),
        "name": "Ageing é",
        "intent": "Series",
        "lead_actor_id": str(A),
        "subject_id": str(B),
        "description": "once a week",
        "tags": ["battery", "weekly"],
        "external_refs": {"cycle": "2", "proposal": "P1"},
        "run_ids": [str(B)],
        "run_count": 1,
        "status": "Closed",
        "last_status_reason": "no beam",
        "team_id": str(T),
        "visit_id": None,
        "started_at": "2030-01-01T02:00:00Z",
        "last_status_changed_at": "2030-01-01T07:00:00Z",
    },
    "decision": {
        "decision_id": str(ID),
        "actor_id": str(A),
        "context": "RunHold",
        "choice": "Hold",
        "parent_id": str(B),
        "override_kind": "appeal",
        "rule": "rule 7",
        "reasoning": "it drifts",
        "confidence": 1.0,
        "confidence_source": "human",
        "alternatives": ["Wait", "Stop"],
        "inputs": {"run_id": str(C), "n": [1, 0.5]},
        "determining_policy_ids": [str(B), str(C)],
        "confidence_band": "Certain",
        "ratings": {
            str(B): {"rating": "ignored", "comment": None},
            str(C): {"rating": "misleading", "comment": None},
        },
        "promoted_caution_id": str(C),
        "team_id": None,
        "visit_id": None,
    },
    "run": {
        "run_id": str(ID),
        "name": "Night é",
        "plan_id": str(A),
        "progress": None,
        "method_id": str(B),
        "asset_ids": [str(B), str(C)],
        "subject_id": str(C),
        "raid": "10.25.10/7",
        "external_refs": {},
        "override_parameters": {"gap": None},
        "effective_parameters": {"energy": 5},
        "pinned_calibration_ids": [str(A), str(B)],
        "acknowledged_cautions": [
            {
                "caution_id": str(C),
                "target": {"kind": "Asset", "id": str(B)},
                "category": "Thermal",
                "severity": "Warning",
            }
        ],
        "campaign_id": None,
        "status": "Truncated",
        "adjustment_count": 1,
        "last_status_reason": "power cut",
        "interrupted_at": "2030-01-01T04:00:00Z",
        "declaration_versions": {"plan": 4, "practice": 3, "method": 2, "capability": 1},
        "clearance_ids": [str(A), str(C)],
        "advisories": [
            {
                "kind": "Clearance",
                "id": str(C),
                "state": "Active",
                "until": "2030-01-01T05:00:00Z",
                "valid_from": "2030-01-01T00:00:00Z",
                "in_force": True,
            }
        ],
        "team_id": str(T),
        "visit_id": str(V),
        "ended_at": "2030-01-01T05:00:00Z",
    },
    "facility": {
        "facility_id": str(ID),
        "code": "hall-2",
        "name": "Hall 2",
        "kind": "Area",
        "parent_id": str(A),
        "status": "Decommissioned",
        "trust_anchor_credential_ids": [],
        "decommissioned_at": "2030-01-01T01:00:00Z",
    },
    "credential": {
        "credential_id": str(ID),
        "facility_id": str(A),
        "audience": "imaging",
        "purpose": "DatasetExchange",
        "public_key": public_key("b"),
        "fingerprint": key_fingerprint(public_key("b")),
        "key_check_signature": "t",
        "expires_at": None,
        "key_version": 2,
        "status": "Revoked",
        "pending_public_key": None,
        "pending_fingerprint": None,
        "pending_key_check_signature": None,
        "pending_expires_at": None,
        "rotation_started_at": "2030-01-01T03:00:00Z",
        "revoked_at": "2030-01-01T05:00:00Z",
    },
    "permit": {
        "permit_id": str(ID),
        "direction": "Inbound",
        "peer_facility_id": str(A),
        "audience": "imaging",
        "purpose": "DatasetExchange",
        "allowed_credential_ids": [str(B)],
        "expires_at": "2030-01-01T09:00:00Z",
        "status": "Revoked",
        "activated_at": "2030-01-01T01:00:00Z",
        "suspended_at": "2030-01-01T02:00:00Z",
        "revoked_at": "2030-01-01T04:00:00Z",
    },
    "seal": {
        "facility_id": str(ID),
        "online_credential_id": str(C),
        "offline_credential_id": str(B),
        "head_hash": "ab",
        "sequence_number": 7,
        "signed_at": "2030-01-01T01:00:00Z",
        "key_fingerprint": "cd",
        "signature": "s",
        "last_rotation": {
            "previous_key_fingerprint": "cd",
            "new_key_fingerprint": "ef",
            "new_public_key": "k",
            "sequence_number": 7,
            "offline_root_signature": None,
        },
        "rotated_at": "2030-01-01T02:00:00Z",
    },
    "enclosure": {
        "enclosure_id": str(ID),
        "name": "Hutch",
        "facility_code": "hall-2",
        "permit_status": "Permitted",
        "lifecycle": "Decommissioned",
        "last_observed_reason": "searched",
        "last_monitor_ref": "pss",
        "last_observed_at": "2030-01-01T01:00:00Z",
        "decommissioned_at": "2030-01-01T02:00:00Z",
        "monitor_ids": [],
    },
    "clearance": {
        "clearance_id": str(ID),
        "kind": "radiation",
        "facility_code": "hall-2",
        "title": "Salts é",
        "bindings": [
            {"kind": "Asset", "id": str(A)},
            {"kind": "Subject", "id": str(B)},
            {"kind": "External", "scheme": "proposal", "value": "P é"},
        ],
        "hazards": [
            {"scheme": "ghs", "code": "H301", "mitigation": "gloves"},
            {"scheme": "local", "code": "alpha", "mitigation": None},
        ],
        "risk_band": "Red",
        "valid_from": None,
        "valid_until": "2030-01-03T00:00:00Z",
        "parent_id": str(C),
        "status": "Superseded",
        "review_steps": [
            {
                "step_index": 0,
                "role": "safety",
                "decision": "Approved",
                "notes": None,
                "decided_by": str(A),
            }
        ],
        "superseded_by_clearance_id": str(B),
        "last_status_reason": None,
        "team_id": str(T),
        "visit_id": None,
        "last_status_changed_at": "2030-01-01T06:00:00Z",
    },
    "caution": {
        "caution_id": str(ID),
        "target": {"kind": "Asset", "id": str(A)},
        "category": "Wear",
        "severity": "Caution",
        "text": "it sticks é",
        "workaround": "tap it",
        "tags": ["slow", "é"],
        "expires_at": "2030-01-03T00:00:00Z",
        "propagate_to_children": True,
        "authored_by": str(B),
        "parent_id": str(C),
        "promoted_from_decision_id": None,
        "superseded_by_caution_id": None,
        "status": "Retired",
        "retire_reason": "Resolved",
        "last_status_changed_at": "2030-01-01T01:00:00Z",
    },
}


def test_a_row_as_its_list_shows_it(subtests: pytest.Subtests):
    begun = {"owner_id": str(OWNER), "created_at": "2030-01-01T00:00:00Z"}
    for name, shown in SHOWN.items():
        with subtests.test(name):
            assert dumped(name, STREAMS[name]) == shown | begun


def test_a_milestone_ahead_is_null():
    found = dumped("visit", [VISIT])
    times = {name: found[name] for name in ("created_at", "arrived_at", "started_at", "ended_at")}
    assert times == {
        "created_at": "2030-01-01T00:00:00Z",
        "arrived_at": None,
        "started_at": None,
        "ended_at": None,
    }


def test_a_visit_is_over_whichever_way_it_ends():
    aborted = [*STREAMS["visit"][:-1], VisitAborted(at(7), ID, "leak")]
    assert dumped("visit", aborted)["ended_at"] == "2030-01-01T07:00:00Z"


def test_a_policy_just_defined_was_updated_then():
    assert dumped("policy", STREAMS["policy"][:1])["updated_at"] == "2030-01-01T00:00:00Z"


FACETS: dict[str, set[str]] = {
    "agent": {"name=night e", "kind=Scheduler", "status=Deprecated"},
    "proposal": {
        *("name=hold_run", "status=Rejected", "command_name=hold_run", f"target_id={A}"),
        *(f"proposed_by={B}", f"decision_id={C}"),
    },
    "edition": {
        *("name=fossils e", "status=Withdrawn", "kind=ROCrate", "publisher_facility_code=hall-2"),
        *(f"dataset_id={A}", f"dataset_id={C}", "external_id=10.5072/é"),
    },
    "procedure": {
        *("status=Held", "kind=homing", f"parent_run_id={C}", "conducting=false"),
        *(f"target_asset_id={A}", f"target_asset_id={B}", "last_outcome=Held", "name=home e"),
        *(f"asset_id={A}", f"asset_id={B}", f"asset_id={C}"),
    },
    "actor": {"kind=human", "active=false"},
    "zone": {"name=hutch e"},
    "conduit": {"name=entry", f"source_zone_id={A}", f"target_zone_id={B}"},
    "surface": {"name=console", "kind=HTTP", f"conduit_id={A}"},
    "policy": {
        *("name=team", f"conduit_id={A}"),
        *(f"permitted_principal_id={B}", f"permitted_principal_id={C}"),
    },
    "team": {"name=fossils e", "closed=true", f"member_id={B}", f"member_id={C}"},
    "visit": {
        "name=staff 2030-01-02",
        "status=Completed",
        f"parent_surface_id={B}",
        "type=staff",
        f"parent_id={C}",
        f"policy_id={A}",
    },
    "facility": {
        *("name=hall 2", "code=hall-2", "kind=Area", "status=Decommissioned", f"parent_id={A}"),
    },
    "credential": {
        *("audience=imaging", "purpose=DatasetExchange", "status=Revoked", f"facility_id={A}"),
    },
    "permit": {
        *("audience=imaging", "purpose=DatasetExchange", "status=Revoked"),
        *("direction=Inbound", f"peer_facility_id={A}"),
    },
    "seal": set(),
    "clearance": {
        "name=salts e",
        "status=Superseded",
        "kind=radiation",
        "facility_code=hall-2",
        "risk_band=Red",
        f"parent_id={C}",
        "binding_kind=Asset",
        "binding_kind=Subject",
        "binding_kind=External",
        f"binding_id={A}",
        f"binding_id={B}",
        f"covering_asset_id={A}",
        f"team_id={T}",
    },
    "caution": {
        "name=it sticks e",
        "status=Retired",
        "target_kind=Asset",
        f"target_id={A}",
        f"covering_asset_id={A}",
        f"covering_asset_id=below {A}",
        "category=Wear",
        "min_severity=Notice",
        "min_severity=Caution",
        "tag=slow",
        "tag=é",
        f"authored_by={B}",
    },
    "enclosure": {
        *("name=hutch", "facility_code=hall-2", "permit_status=Permitted"),
        "lifecycle=Decommissioned",
    },
    "dataset": {
        *("name=fossil e", "status=Discarded", "intent=Retracted", f"producing_run_id={A}"),
        *(f"subject_id={B}", f"used_calibration_id={C}", f"derived_from={B}", f"derived_from={C}"),
        *(f"checksum_value={'ab' * 32}", "media_type=application/x-hdf5"),
        *("external_id=10.5072/é", f"team_id={T}", f"visit_id={V}"),
    },
    "distribution": {
        *("name=fossil%20%c3%a9.h5", f"dataset_id={A}", f"supply_id={B}", "status=Removed"),
        *("access_protocol=NFS", "unreachable=true", f"team_id={T}", f"visit_id={V}"),
    },
}


def test_what_a_filter_finds_a_row_by(subtests: pytest.Subtests):
    for name, facets in FACETS.items():
        with subtests.test(name):
            state = rows(name, recorded(STREAMS[name]))[-1].state
            assert set(VIEWS[name].facets_of(state)) == facets
