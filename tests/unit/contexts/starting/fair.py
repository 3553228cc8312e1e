"""A past in which a run starts: everything it needs is there and permits it."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.unit.contexts.recipe.test_practice import facility

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.calibration.calibration import (
    AssertedSource,
    CalibrationDefined,
    CalibrationRevisionAppended,
    RevisionStatus,
)
from beamkeep.contexts.calibration.quantity import Quantity
from beamkeep.contexts.campaign.campaign import CampaignIntent, CampaignRegistered
from beamkeep.contexts.caution.caution import (
    CautionCategory,
    CautionRegistered,
    CautionSeverity,
    Target,
    TargetKind,
)
from beamkeep.contexts.decision.decision import DecisionRegistered
from beamkeep.contexts.enclosure import enclosure
from beamkeep.contexts.equipment.asset import AssetRegistered, AssetTier
from beamkeep.contexts.federation.facility import FacilityRegistered
from beamkeep.contexts.recipe.capability import CapabilityDefined, ExecutorShape
from beamkeep.contexts.recipe.method import MethodDefined
from beamkeep.contexts.recipe.plan import PlanDefined, Window
from beamkeep.contexts.recipe.practice import PracticeDefined
from beamkeep.contexts.run.run import AcknowledgedCaution, CautionTarget
from beamkeep.contexts.safety.clearance import (
    AssetBinding,
    Binding,
    ClearanceActivated,
    ClearanceRegistered,
)
from beamkeep.contexts.seams.installation import Facts
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.contexts.starting.start import StartRun
from beamkeep.contexts.subject.subject import SubjectMounted, SubjectRegistered
from beamkeep.contexts.supply.supply import (
    SUPPLY_FRESHNESS,
    SupplyFreshness,
    SupplyMarkedAvailable,
    SupplyMoved,
    SupplyRegistered,
    SupplyStatus,
)
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.deployment.service import compose
from beamkeep.kernel import CLAIMS, Claim, Event, Insert, SideWrite, claim_key, replace
from beamkeep.runtime import Service
from beamkeep.runtime.store import NewEvent
from beamkeep.schemas import JsonObject
from beamkeep.testing.appends import CODEC, append, at
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import LATER, ME, NOW
from beamkeep.testing.service import memory_service

type Part = Event | SideWrite

SITE, STAGES, CAMERAS = UUID(int=20), UUID(int=21), UUID(int=22)
METHOD, PRACTICE, PLAN = UUID(int=23), UUID(int=24), UUID(int=25)
CAPABILITY = UUID(int=28)
BEAMLINE, STAGE, CAMERA, SHED = (UUID(int=n) for n in range(30, 34))
HALL, HUTCH = UUID(int=40), UUID(int=41)
BEAM, OTHER_BEAM, HELIUM = UUID(int=50), UUID(int=51), UUID(int=52)
PAPER, OTHER_PAPER = UUID(int=60), UUID(int=61)
SUBJECT, CAMPAIGN, DECISION = UUID(int=70), UUID(int=71), UUID(int=72)
CALIBRATION, REVISION, OTHER_REVISION = UUID(int=73), UUID(int=74), UUID(int=75)
DUST, LEAK, HUM = UUID(int=80), UUID(int=81), UUID(int=82)

CENTER: JsonObject = {"center": 1.5}
REQUIRING = replace(FACTS, require_run_clearance=True)


def energy_in(code: str) -> dict[str, Any]:
    """A schema of parameters in which the energy has this unit."""
    unit = {"system": "udunits", "code": code}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "energy": {"type": "number", "maximum": 35, "unit": unit},
            "exposure": {"type": "number"},
            "gap": {"type": "number"},
        },
        "additionalProperties": False,
    }


SCHEMA, IN_EV = energy_in("keV"), energy_in("eV")


def asset(
    id: UUID, name: str, parent_id: UUID | None, *family_ids: UUID, enclosure_id: UUID | None = None
) -> tuple[Part, ...]:
    tier, code = AssetTier.DEVICE, None
    if parent_id is None:
        tier, code = AssetTier.UNIT, FACTS.facility_code
    return (
        AssetRegistered(NOW, id, name, tier, parent_id, code, family_ids, None, enclosure_id, ()),
        PLACES.insert(AssetPlace(id, parent_id, code)),
    )


def observed(id: UUID, after: enclosure.PermitStatus) -> enclosure.EnclosurePermitObserved:
    before, monitor = enclosure.PermitStatus.UNKNOWN, TriggerSource.MONITOR
    return enclosure.EnclosurePermitObserved(NOW, id, before, after, monitor, "pss", "Seen")


def heard(id: UUID, age: timedelta = timedelta(0)) -> Insert:
    """The monitor of an enclosure was last heard of so long ago."""
    return enclosure.FRESHNESS.insert(enclosure.Freshness(id, NOW - age, age))


def followed(id: UUID = BEAM, age: timedelta = timedelta(0)) -> Insert:
    """The observer of a supply was last heard of so long ago."""
    return SUPPLY_FRESHNESS.insert(SupplyFreshness(id, NOW - age, age))


def supply(id: UUID, name: str, kind: str = "photon_beam") -> SupplyRegistered:
    return SupplyRegistered(NOW, id, kind, name, FACTS.facility_code, None)


def moved(event: type[SupplyMoved], id: UUID = BEAM) -> SupplyMoved:
    return event(NOW, id, SupplyStatus.UNKNOWN, TriggerSource.OPERATOR, None, "Seen")


def clearance(
    id: UUID, title: str, *bindings: Binding, valid_until: datetime | None = LATER
) -> ClearanceRegistered:
    code = FACTS.facility_code
    return ClearanceRegistered(
        NOW, id, "radiation", code, title, bindings, (), None, None, valid_until, None
    )


def caution(
    id: UUID, asset_id: UUID, severity: CautionSeverity, *, below: bool = False
) -> CautionRegistered:
    about, kind = Target(TargetKind.ASSET, asset_id), CautionCategory.WEAR
    texts = f"Text {id.int}", f"Workaround {id.int}"
    return CautionRegistered(
        NOW, id, about, kind, severity, *texts, (), None, below, ME, None, None
    )


def kept(id: UUID, asset_id: UUID, severity: CautionSeverity) -> AcknowledgedCaution:
    """What a run keeps of such a caution."""
    return AcknowledgedCaution(id, CautionTarget("Asset", asset_id), "Wear", severity)


def revision(id: UUID, supersedes: UUID | None = None) -> tuple[Part, ...]:
    return (
        CalibrationRevisionAppended(
            *(NOW, CALIBRATION, id, CENTER, RevisionStatus.VERIFIED, AssertedSource(ME)),
            *(NOW, supersedes, None),
        ),
        CLAIMS.insert(Claim("calibration-revision", claim_key(id), CALIBRATION)),
    )


# A stage and a camera stand on a beamline, the stage in a hutch, the beamline in a hall.
FAIR: dict[str, tuple[Part, ...]] = {
    "site": facility(SITE, FACTS.facility_code),
    "capability": (
        CapabilityDefined(
            NOW,
            CAPABILITY,
            name="Scan",
            description=None,
            required_affordances=(),
            executor_shapes=(ExecutorShape.METHOD,),
            parameters_schema=SCHEMA,
            code="beamkeep.capability.scan",
        ),
    ),
    "method": (
        MethodDefined(
            NOW,
            METHOD,
            name="Fly scan",
            capability_id=CAPABILITY,
            needed_family_ids=(STAGES,),
            needed_supplies=("photon_beam",),
            parameters_schema=SCHEMA,
        ),
    ),
    "practice": (
        PracticeDefined(
            NOW, PRACTICE, name="Here", method_id=METHOD, facility_code=None, family_ids=(CAMERAS,)
        ),
    ),
    "plan": (
        PlanDefined(
            NOW,
            PLAN,
            name="Monday",
            asset_ids=(STAGE, CAMERA),
            window=Window(NOW, LATER),
            default_parameters={"energy": 25, "exposure": 0.1, "gap": 12},
            method_version=1,
            practice_id=PRACTICE,
            method_id=METHOD,
        ),
    ),
    "assets": (
        *asset(BEAMLINE, "Beamline", None, enclosure_id=HALL),
        *asset(STAGE, "Stage", BEAMLINE, STAGES, enclosure_id=HUTCH),
        *asset(CAMERA, "Camera", BEAMLINE, CAMERAS),
        *asset(SHED, "Shed", None),
    ),
    "enclosures": (
        enclosure.EnclosureRegistered(NOW, HALL, "Hall", FACTS.facility_code),
        observed(HALL, enclosure.PermitStatus.PERMITTED),
        heard(HALL),
        enclosure.EnclosureRegistered(NOW, HUTCH, "Hutch", FACTS.facility_code),
        observed(HUTCH, enclosure.PermitStatus.PERMITTED),
        heard(HUTCH),
    ),
    "supply": (supply(BEAM, "Ring beam"), moved(SupplyMarkedAvailable)),
    "clearance": (
        clearance(PAPER, "Salts", AssetBinding(BEAMLINE)),
        ClearanceActivated(NOW, PAPER),
    ),
    "subject": (
        SubjectRegistered(NOW, SUBJECT, "Fossil 7"),
        SubjectMounted(NOW, SUBJECT, STAGE, "Next in line"),
    ),
    "cautions": (
        caution(DUST, STAGE, CautionSeverity.CAUTION),
        caution(LEAK, BEAMLINE, CautionSeverity.WARNING, below=True),
    ),
    "campaign": (
        CampaignRegistered(NOW, CAMPAIGN, "Ageing", CampaignIntent.SERIES, ME, None, None, (), {}),
    ),
    "decision": (
        DecisionRegistered(
            *(NOW, DECISION, ME, "RunStart", "Start", None, None, None, None),
            *(None, None, (), None, ()),
        ),
    ),
    "calibration": (
        CalibrationDefined(NOW, CALIBRATION, STAGE, Quantity.ROTATION_CENTER, {}, None),
        *revision(REVISION),
        *revision(OTHER_REVISION),
    ),
}
START = StartRun(
    name=" Night 1 ",
    plan_id=PLAN,
    subject_id=SUBJECT,
    raid="10.12345/abc",
    override_parameters={"exposure": 0.2, "gap": None},
    pinned_calibration_ids=(OTHER_REVISION, REVISION),
    campaign_id=CAMPAIGN,
    decided_by_decision_id=DECISION,
)


async def service_after(
    parts: Iterable[Part], facts: Facts = REQUIRING
) -> tuple[Service, MemoryStore]:
    """A service in memory that has such a past, at the time when it ends."""
    _, store = await memory_service()
    events, versions = list[NewEvent](), Counter[tuple[str, UUID]]()
    for event in parts:
        if isinstance(event, Event) and not isinstance(event, FacilityRegistered):
            stream = CODEC.stream(event)
            versions[stream] += 1
            events.append(at(versions[stream], event))
    beside = [part for part in parts if not isinstance(part, Event) and part not in FAIR["site"]]
    await store.append(append(*events, side_writes=beside))
    for part in beside:
        # What the store stamped by its own clock is as old as the past says.
        if isinstance(part, Insert) and isinstance(part.row, enclosure.Freshness | SupplyFreshness):
            reported_at = store.clock() - (part.row.age or timedelta(0))
            key = getattr(part.row, part.table.key[0])
            store.tables[part.table.name][key,] = replace(part.row, last_reported_at=reported_at)
    return compose(store, store, b"k" * 32, facts=facts, clock=lambda: NOW), store


def past(*more: Part, without: Iterable[str] = ()) -> list[Part]:
    """The fair past without some of its parts, and what happened since."""
    left = [part for name, parts in FAIR.items() if name not in {*without} for part in parts]
    return [*left, *more]
