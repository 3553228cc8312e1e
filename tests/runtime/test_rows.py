"""A list row is a fold of one stream, and survives being stored as JSON."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.access.actor import (
    ActorDeactivated,
    ActorIdentityBound,
    ActorProfileForgotten,
    ActorRegistered,
)
from beamkeep.contexts.calibration.calibration import (
    AssertedSource,
    CalibrationDefined,
    CalibrationDescriptionUpdated,
    CalibrationRevisionAppended,
    MeasuredSource,
    RevisionStatus,
)
from beamkeep.contexts.calibration.quantity import Quantity
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
from beamkeep.contexts.caution.caution import (
    CautionCategory,
    CautionRegistered,
    CautionRetired,
    CautionSeverity,
    RetireReason,
    Target,
    TargetKind,
)
from beamkeep.contexts.decision.decision import (
    ConfidenceSource,
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
from beamkeep.contexts.equipment.asset import (
    AlternateIdentifier,
    AlternateIdentifierKind,
    AssetDecommissioned,
    AssetDegraded,
    AssetExternalIdAssigned,
    AssetInstalledInMount,
    AssetRegistered,
    AssetRelocated,
    AssetSettingsUpdated,
    AssetTier,
    AssetUninstalledFromMount,
    ExternalIdNamespace,
)
from beamkeep.contexts.equipment.family import (
    Affordance,
    FamilyDefined,
    FamilyDeprecated,
    FamilyVersioned,
)
from beamkeep.contexts.equipment.frame import (
    FrameDecommissioned,
    FramePlacementUpdated,
    FrameRegistered,
)
from beamkeep.contexts.equipment.model import (
    IdentifierScheme,
    Manufacturer,
    ModelDefined,
    ModelDeprecated,
    ModelVersioned,
)
from beamkeep.contexts.equipment.mount import (
    MountAssetInstalled,
    MountDecommissioned,
    MountRegistered,
)
from beamkeep.contexts.equipment.placement import Placement
from beamkeep.contexts.federation.facility import (
    FacilityDecommissioned,
    FacilityKind,
    FacilityRegistered,
)
from beamkeep.contexts.recipe.capability import (
    CapabilityDefined,
    CapabilityDeprecated,
    CapabilityVersioned,
    ExecutorShape,
)
from beamkeep.contexts.recipe.method import MethodDefined, MethodDeprecated, MethodVersioned
from beamkeep.contexts.recipe.plan import (
    PlanDefaultParametersUpdated,
    PlanDefined,
    PlanDeprecated,
    PlanVersioned,
    Window,
)
from beamkeep.contexts.recipe.practice import (
    PracticeDefined,
    PracticeDeprecated,
    PracticeVersioned,
)
from beamkeep.contexts.recipe.recipe import RecipeDefined, RecipeDeprecated, RecipeVersioned
from beamkeep.contexts.recipe.steps import (
    Equals,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeComputeStep,
    RecipeSetpointStep,
)
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
from beamkeep.contexts.subject.subject import (
    SubjectExternalIdAssigned,
    SubjectExternalIdNamespace,
    SubjectMeasured,
    SubjectMounted,
    SubjectRegistered,
    SubjectRemoved,
)
from beamkeep.contexts.supply.supply import (
    SupplyMarkedAvailable,
    SupplyMarkedUnavailable,
    SupplyRegistered,
    SupplyStatus,
)
from beamkeep.contexts.trust.conduit import ConduitDefined
from beamkeep.contexts.trust.policy import PolicyDefined, PolicyGrantAdded, PolicyGrantRevoked
from beamkeep.contexts.trust.surface import SurfaceDefined
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
from beamkeep.kernel import ActorKind, Event, ObjectScope, SurfaceKind
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.rows import Row, RowFold
from beamkeep.runtime.store import StoredEvent
from beamkeep.schemas import JsonObject

ID, OWNER, STRANGER = UUID(int=1), UUID(int=9), UUID(int=8)
A, B, C = UUID(int=10), UUID(int=11), UUID(int=12)
START = datetime(2030, 1, 1, tzinfo=UTC)
CODEC = Codec(CATALOGUE.aggregates.values())
VIEWS = {view.name: view for view in CATALOGUE.views}


def at(hours: int) -> datetime:
    return START + timedelta(hours=hours)


UNKNOWN = PermitStatus.UNKNOWN
VISIT = VisitRegistered(
    at(0), ID, A, B, VisitType.STAFF, at(24), at(48), C, {"proposal": "P1", "cycle": "2"}
)
CALLED = (
    AlternateIdentifier(AlternateIdentifierKind.EPICS_PV, "BL01:X"),
    AlternateIdentifier(AlternateIdentifierKind.OTHER, "x"),
    AlternateIdentifier(AlternateIdentifierKind.OTHER, "é"),
)
OVERRIDE: JsonObject = {"gap": None}
EFFECTIVE: JsonObject = {"energy": 25.0, "modes": ["fly", None]}
INPUTS: JsonObject = {"run_id": str(C), "n": [1, 0.5]}
BOUND = (AssetBinding(A), SubjectBinding(B), ExternalBinding("proposal", "P é"))
HERE = Placement(A, 1.0, -2.5, 1e-9, 0.0, 0.5, -0.5)
SHAPES = (ExecutorShape.METHOD, ExecutorShape.PROCEDURE)
SETPOINT = RecipeSetpointStep("bl:x", {"$binding": "x"}, verify=True, timeout=0.5)
OTHER_STEPS = (
    RecipeCaptureStep("bl:x", "home"),
    RecipeCheckStep("bl:x", Equals([1, 1.5, "é", True]), wait=3.0),
    RecipeComputeStep("fit", {"p": {"q": []}}, ("raw.h5", {"$output": "a"}), "fit.h5"),
)
STREAMS: dict[str, Sequence[Event]] = {
    "actor": [
        ActorRegistered(at(0), ID, ActorKind.HUMAN),
        ActorIdentityBound(at(1), ID, "https://idp"),
        ActorDeactivated(at(2), ID),
        ActorProfileForgotten(at(3), ID),
    ],
    "zone": [ZoneDefined(at(0), ID, "Hutch é")],
    "conduit": [ConduitDefined(at(0), ID, "Entry", A, B)],
    "surface": [SurfaceDefined(at(0), ID, "Console", SurfaceKind.HTTP, A)],
    "policy": [
        PolicyDefined(at(0), ID, "Team", A, None, (A, C), ("get_zone", "*"), ObjectScope.OWN),
        PolicyGrantAdded(at(1), ID, B),
        PolicyGrantRevoked(at(2), ID, A, "left"),
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
    "enclosure": [
        EnclosureRegistered(at(0), ID, "Hutch", "hall-2"),
        EnclosurePermitObserved(
            at(1), ID, UNKNOWN, PermitStatus.PERMITTED, TriggerSource.MONITOR, "pss", "searched"
        ),
        EnclosureDecommissioned(at(2), ID, "rebuilt"),
    ],
    "family": [
        FamilyDefined(
            at(0),
            ID,
            name="Stages",
            affordances=(Affordance.HOMEABLE, Affordance.LIMITABLE),
            settings_schema=None,
        ),
        FamilyVersioned(
            at(1),
            ID,
            version_tag="2",
            affordances=(),
            settings_schema={"properties": {"gap": {"maximum": 1.0}}},
        ),
        FamilyDeprecated(at(2), ID),
    ],
    "model": [
        ModelDefined(
            at(0),
            ID,
            name="Stage",
            manufacturer=Manufacturer("Acme", "1", IdentifierScheme.ROR),
            part_number="PS",
            declared_family_ids=(A, B),
        ),
        ModelVersioned(
            at(1),
            ID,
            version_tag="B",
            name="Stage",
            manufacturer=Manufacturer("Acme"),
            part_number="PS-2",
            declared_family_ids=(C,),
        ),
        ModelDeprecated(at(2), ID, "no longer made"),
    ],
    "supply": [
        SupplyRegistered(at(0), ID, "photon_beam", "Ring beam", "hall-2", B),
        SupplyMarkedAvailable(
            at(1), ID, SupplyStatus.UNKNOWN, TriggerSource.OPERATOR, None, "checked"
        ),
        SupplyMarkedUnavailable(
            at(2), ID, SupplyStatus.AVAILABLE, TriggerSource.MONITOR, "SR:DCCT", "beam dump"
        ),
    ],
    "subject": [
        SubjectRegistered(at(0), ID, "Fossil é"),
        SubjectMounted(at(1), ID, A, "next in line"),
        SubjectExternalIdAssigned(at(2), ID, SubjectExternalIdNamespace.IGSN, "10.58052/7"),
        SubjectMeasured(at(3), ID),
        SubjectRemoved(at(4), ID, A),
    ],
    "campaign": [
        CampaignRegistered(
            *(at(0), ID, "Ageing é", CampaignIntent.SERIES, A, B, "once a week"),
            *(("battery", "weekly"), {"proposal": "P1", "cycle": "2"}),
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
    ],
    "calibration": [
        CalibrationDefined(
            at(0), ID, A, Quantity.MAGNIFICATION, {"objective": "5x é", "energy": 25.0}, None
        ),
        CalibrationRevisionAppended(
            at(1),
            ID,
            B,
            {"magnification": 4.9},
            RevisionStatus.PROVISIONAL,
            MeasuredSource(A),
            at(-1),
            None,
            None,
        ),
        CalibrationRevisionAppended(
            at(2),
            ID,
            C,
            {"magnification": 5},
            RevisionStatus.VERIFIED,
            AssertedSource(A),
            at(1),
            B,
            A,
        ),
        CalibrationDescriptionUpdated(at(3), ID, "by a grid"),
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
        ),
        RunAddedToCampaign(at(0), ID, A),
        RunHeld(at(1), ID, None, A),
        RunResumed(at(2), ID, None),
        RunAdjusted(at(3), ID, {"energy": 5}, {"energy": 5}, "peak moved", None),
        RunRemovedFromCampaign(at(4), ID, A, "by mistake"),
        RunTruncated(at(5), ID, "power cut", at(4), None),
        DecisionDebriefRequested(at(6), ID, A, "RunDebriefer", B),
    ],
    "asset": [
        AssetRegistered(at(0), ID, "Camera", AssetTier.DEVICE, A, None, (B, C), A, None, CALLED),
        AssetDegraded(at(1), ID, "it drifts"),
        AssetRelocated(at(2), ID, A, B, "rebuilt"),
        AssetSettingsUpdated(at(3), ID, {"gain": 2, "rows": [1.5, None, {"a": True}]}),
        AssetInstalledInMount(at(4), ID, C),
        AssetUninstalledFromMount(at(5), ID, C, "repair"),
        AssetExternalIdAssigned(at(6), ID, ExternalIdNamespace.DOI, "10.5281/42"),
        AssetDecommissioned(at(7), ID),
    ],
    "mount": [
        MountRegistered(at(0), ID, "Slot 1", None, HERE),
        MountAssetInstalled(at(1), ID, A),
        MountDecommissioned(at(2), ID, "rebuilt"),
    ],
    "frame": [
        FrameRegistered(at(0), ID, "Table", A, HERE),
        FramePlacementUpdated(at(1), ID, HERE),
        FrameDecommissioned(at(2), ID, "rebuilt"),
    ],
    "capability": [
        CapabilityDefined(
            at(0),
            ID,
            code="beamkeep.capability.x",
            name="X",
            description="y",
            required_affordances=(Affordance.HOMEABLE,),
            executor_shapes=SHAPES,
            parameters_schema={},
        ),
        CapabilityVersioned(
            at(1),
            ID,
            version_tag="2",
            name="X",
            description=None,
            required_affordances=(),
            executor_shapes=SHAPES[:1],
            parameters_schema=None,
        ),
        CapabilityDeprecated(at(2), ID, A),
    ],
    "method": [
        MethodDefined(
            at(0),
            ID,
            name="Scan",
            capability_id=A,
            needed_family_ids=(B, C),
            needed_supplies=("photon_beam",),
            parameters_schema={},
        ),
        MethodVersioned(
            at(1),
            ID,
            version_tag="2",
            name="Scan",
            needed_family_ids=(),
            needed_supplies=("cryogen", "photon_beam"),
            parameters_schema=None,
        ),
        MethodDeprecated(at(2), ID),
    ],
    "practice": [
        PracticeDefined(
            at(0), ID, name="Scan here", method_id=A, facility_code="hall-2", family_ids=(B, C)
        ),
        PracticeVersioned(
            at(1), ID, version_tag="2", name="Scan", facility_code=None, family_ids=(B,)
        ),
        PracticeDeprecated(at(2), ID),
    ],
    "plan": [
        PlanDefined(
            at(0),
            ID,
            name="Monday",
            practice_id=A,
            method_id=B,
            asset_ids=(B, C),
            window=Window(at(24), None),
            default_parameters={"energy": 25.0},
            method_version=1,
        ),
        PlanDefaultParametersUpdated(
            at(1), ID, default_parameters={"energy": 5, "modes": ["fly", None]}, method_version=2
        ),
        PlanVersioned(
            at(2),
            ID,
            version_tag="2",
            name="Tuesday",
            asset_ids=(C,),
            window=Window(at(24), at(48)),
            default_parameters={},
            method_version=3,
        ),
        PlanDeprecated(at(3), ID),
    ],
    "recipe": [
        RecipeDefined(
            at(0),
            ID,
            name="Align",
            capability_id=A,
            steps=(SETPOINT, RecipeActionStep("x", {"a": None})),
            closing_steps=(),
            version_number=1,
        ),
        RecipeVersioned(
            at(1),
            ID,
            version_tag="2",
            version_number=2,
            steps=OTHER_STEPS,
            closing_steps=(SETPOINT,),
        ),
        RecipeDeprecated(at(2), ID, B),
    ],
}


def rows(name: str, events: Sequence[Event]) -> list[Row]:
    """The row after each event."""
    fold, row, found = RowFold(VIEWS[name], CODEC), None, list[Row]()
    for version, event in enumerate(events, 1):
        stored = CODEC.encode(event, version, UUID(int=version))
        recorded = StoredEvent(version, stored.event_type, stored.schema_version, stored.payload)
        row = fold.after(row, [recorded], OWNER if version == 1 else STRANGER)
        found.append(row)
    return found


def dumped(name: str, events: Sequence[Event]) -> dict[str, Any]:
    return json.loads(RowFold(VIEWS[name], CODEC).dump(rows(name, events)[-1]))


def test_every_view_has_a_stream_here():
    assert VIEWS.keys() == STREAMS.keys()


@pytest.mark.parametrize("name", STREAMS)
def test_a_row_is_loaded_as_it_was_dumped_after_every_event(name: str):
    fold = RowFold(VIEWS[name], CODEC)
    for row in rows(name, STREAMS[name]):
        stored = fold.dump(row)
        assert fold.load(row.version, stored) == row
        assert fold.dump(fold.load(row.version, stored)) == stored


@pytest.mark.parametrize("name", STREAMS)
def test_a_row_follows_on_from_one_that_was_loaded(name: str):
    fold, events = RowFold(VIEWS[name], CODEC), STREAMS[name]
    row: Row | None = None
    for version, event in enumerate(events, 1):
        stored = CODEC.encode(event, version, UUID(int=version))
        recorded = StoredEvent(version, stored.event_type, stored.schema_version, stored.payload)
        row = fold.after(row, [recorded], OWNER)
        row = fold.load(row.version, fold.dump(row))
    assert row == rows(name, events)[-1]


@pytest.mark.parametrize("name", STREAMS)
def test_the_owner_is_whoever_wrote_the_first_event(name: str):
    assert {row.owner_id for row in rows(name, STREAMS[name])} == {OWNER}


def test_an_actor_as_its_list_shows_it():
    assert dumped("actor", STREAMS["actor"]) == {
        "actor_id": str(ID),
        "kind": "human",
        "active": False,
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "deactivated_at": "2030-01-01T02:00:00Z",
    }


def test_a_policy_as_its_list_shows_it():
    assert dumped("policy", STREAMS["policy"]) == {
        "policy_id": str(ID),
        "name": "Team",
        "conduit_id": str(A),
        "surface_id": None,
        "permitted_principal_ids": [str(B), str(C)],
        "permitted_commands": ["*", "get_zone"],
        "object_scope": "Own",
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "updated_at": "2030-01-01T02:00:00Z",
    }


def test_a_visit_as_its_list_shows_it():
    assert dumped("visit", STREAMS["visit"]) == {
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
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "arrived_at": "2030-01-01T01:00:00Z",
        "started_at": "2030-01-01T03:00:00Z",
        "ended_at": "2030-01-01T06:00:00Z",
    }


def test_a_campaign_as_its_list_shows_it():
    assert dumped("campaign", STREAMS["campaign"]) == {
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
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "started_at": "2030-01-01T02:00:00Z",
        "last_status_changed_at": "2030-01-01T07:00:00Z",
    }


def test_a_decision_as_its_list_shows_it():
    assert dumped("decision", STREAMS["decision"]) == {
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
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
    }


def test_a_run_as_its_list_shows_it():
    assert dumped("run", STREAMS["run"]) == {
        "run_id": str(ID),
        "name": "Night é",
        "plan_id": str(A),
        "method_id": str(B),
        "asset_ids": [str(B), str(C)],
        "subject_id": str(C),
        "raid": "10.25.10/7",
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
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "ended_at": "2030-01-01T05:00:00Z",
    }


def test_a_facility_as_its_list_shows_it():
    assert dumped("facility", STREAMS["facility"]) == {
        "facility_id": str(ID),
        "code": "hall-2",
        "name": "Hall 2",
        "kind": "Area",
        "parent_id": str(A),
        "status": "Decommissioned",
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "decommissioned_at": "2030-01-01T01:00:00Z",
    }


def test_an_enclosure_as_its_list_shows_it():
    assert dumped("enclosure", STREAMS["enclosure"]) == {
        "enclosure_id": str(ID),
        "name": "Hutch",
        "facility_code": "hall-2",
        "permit_status": "Permitted",
        "lifecycle": "Decommissioned",
        "last_observed_reason": "searched",
        "last_monitor_ref": "pss",
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "last_observed_at": "2030-01-01T01:00:00Z",
        "decommissioned_at": "2030-01-01T02:00:00Z",
    }


def test_a_clearance_as_its_list_shows_it():
    assert dumped("clearance", STREAMS["clearance"]) == {
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
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "last_status_changed_at": "2030-01-01T06:00:00Z",
    }


def test_a_caution_as_its_list_shows_it():
    assert dumped("caution", STREAMS["caution"]) == {
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
        "owner_id": str(OWNER),
        "created_at": "2030-01-01T00:00:00Z",
        "last_status_changed_at": "2030-01-01T01:00:00Z",
    }


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


FACETS = {
    "actor": {"kind=human", "active=false"},
    "zone": set[str](),
    "conduit": {f"source_zone_id={A}", f"target_zone_id={B}"},
    "surface": {"kind=HTTP", f"conduit_id={A}"},
    "policy": {
        f"conduit_id={A}",
        f"permitted_principal_id={B}",
        f"permitted_principal_id={C}",
    },
    "visit": {
        "status=Completed",
        f"parent_surface_id={B}",
        "type=staff",
        f"parent_id={C}",
        f"policy_id={A}",
    },
    "facility": {"code=hall-2", "kind=Area", "status=Decommissioned", f"parent_id={A}"},
    "clearance": {
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
    },
    "caution": {
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
    "enclosure": {"facility_code=hall-2", "permit_status=Permitted", "lifecycle=Decommissioned"},
}


@pytest.mark.parametrize("name", FACETS)
def test_what_a_filter_finds_a_row_by(name: str):
    state = rows(name, STREAMS[name])[-1].state
    assert set(VIEWS[name].facets_of(state)) == FACETS[name]
