"""Situations in which a run may or may not start, drawn by lot, with what each must lead to."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

from tests.unit.contexts.starting.fair import (
    BEAMLINE,
    CAMERA,
    CAMERAS,
    FAIR,
    HALL,
    HUTCH,
    IN_EV,
    PLAN,
    SCHEMA,
    SHED,
    STAGE,
    STAGES,
    SUBJECT,
    Part,
    asset,
    clearance,
    followed,
    heard,
    moved,
    observed,
    supply,
)

from beamkeep.contexts.enclosure.enclosure import (
    EnclosureDecommissioned,
    EnclosureRegistered,
    PermitStatus,
)
from beamkeep.contexts.equipment.asset import (
    AssetActivated,
    AssetDecommissioned,
    AssetDegraded,
    AssetMaintenanceEntered,
)
from beamkeep.contexts.recipe.method import MethodVersioned
from beamkeep.contexts.recipe.plan import (
    PlanDefaultParametersUpdated,
    PlanDeprecated,
    PlanVersioned,
    Window,
)
from beamkeep.contexts.recipe.practice import PracticeVersioned
from beamkeep.contexts.safety.clearance import (
    AssetBinding,
    Binding,
    ClearanceActivated,
    ClearanceApproved,
    ClearanceExpired,
    ClearanceRejected,
    ClearanceReviewStarted,
    ClearanceSubmitted,
    ClearanceSuperseded,
    SubjectBinding,
)
from beamkeep.contexts.subject import subject
from beamkeep.contexts.supply.supply import (
    SupplyDegraded,
    SupplyDeregistered,
    SupplyMarkedAvailable,
    SupplyMarkedRecovering,
    SupplyMarkedUnavailable,
    SupplyMoved,
    SupplyRegistered,
)
from beamkeep.kernel import Event, Record, replace
from beamkeep.schemas import JsonObject
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import LATER, NOW

FAIRNESS = 0.85
EARLIER = NOW.replace(year=2029)
LIMIT = FACTS.stale_after
AGES = timedelta(0), LIMIT / 2, 2 * LIMIT, timedelta(days=3)
DEFAULTS: Sequence[JsonObject] = {"energy": 25}, {}, {"energy": 99}
SUPPLY_MOVES: Sequence[type[SupplyMoved] | None] = (
    None,
    SupplyDegraded,
    SupplyMarkedUnavailable,
    SupplyMarkedRecovering,
    SupplyDeregistered,
)


class Situation(Record):
    """A past, and the first thing that is wrong in it for a start; none if it starts."""

    past: list[Part]
    subject_id: UUID | None
    requires_clearance: bool
    first_wrong: str | None


class Drawing:
    """Draws one situation; what is fair is drawn more often than what is not."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._past: list[Part] = []
        self._wrong: list[str | None] = []

    def situation(self) -> Situation:
        """All parts, in the order in which a start asks for them."""
        kinds = self._mostly(("photon_beam",), (), ("helium", "photon_beam"))
        needed, practised = self._mostly((STAGES,), ()), self._mostly((CAMERAS,), (CAMERAS, STAGES))
        members = {STAGE: self._mostly((STAGES,), ()), CAMERA: self._mostly((CAMERAS,), ())}
        schema = self._mostly(IN_EV, SCHEMA, None)
        self._past += [
            *(*FAIR["site"], *FAIR["capability"], *FAIR["method"]),
            *(*FAIR["practice"], *FAIR["plan"]),
            MethodVersioned.of(
                FAIR["method"][0],
                version_tag="2",
                needed_family_ids=needed,
                needed_supplies=kinds,
                parameters_schema=schema,
            ),
            PracticeVersioned.of(FAIR["practice"][0], version_tag="2", family_ids=practised),
        ]
        self._plan(schema)
        subject_id = self._subject()
        located = {BEAMLINE: self._mostly(HALL, None), STAGE: self._mostly(HUTCH, HALL, None)}
        self._assets(members, located)
        lacking = {*needed, *practised} - {id for ids in members.values() for id in ids}
        self._note("RunFamiliesNotSatisfiedError", bool(lacking))
        requires_clearance = self._mostly(True, False)
        self._clearances(subject_id, requires_clearance)
        self._supplies(kinds)
        self._enclosures({id for id in located.values() if id})
        first = next((name for name in self._wrong if name), None)
        return Situation(self._past, subject_id, requires_clearance, first)

    def _plan(self, schema: dict[str, Any] | None) -> None:
        defaults = self._mostly(*DEFAULTS)
        bad = bool(defaults) if schema is None else defaults == DEFAULTS[2]
        self._note("InvalidRunParametersError", bad)
        written: int | None = self._mostly(2, 1, None)
        unread = schema is IN_EV and written != 2 and "energy" in defaults
        self._note("RunParameterUnitsChangedError", unread)
        window = self._mostly(
            Window(NOW, LATER), Window(), Window(LATER), Window(EARLIER, NOW), Window(EARLIER)
        )
        versioned = PlanVersioned.of(FAIR["plan"][0], version_tag="2", window=window)
        self._past += [versioned, PlanDefaultParametersUpdated(NOW, PLAN, defaults, written)]
        deprecated = self._mostly(False, True)
        self._past += [PlanDeprecated(NOW, PLAN)] if deprecated else []
        self._note("RunBoundPlanDeprecatedError", deprecated)
        outside = window in (Window(LATER), Window(EARLIER, NOW))
        self._note("RunOutsidePlanWindowError", outside)

    def _subject(self) -> UUID | None:
        mounted = subject.SubjectMounted(NOW, SUBJECT, STAGE, "Next")
        moves: Sequence[Event] = self._mostly(
            (mounted,),
            (mounted, subject.SubjectMeasured(NOW, SUBJECT)),
            (),
            (subject.SubjectRemoved(NOW, SUBJECT, None),),
            (subject.SubjectReturned(NOW, SUBJECT),),
            (subject.SubjectStored(NOW, SUBJECT),),
            (subject.SubjectDiscarded(NOW, SUBJECT, "Broken"),),
        )
        self._past += [subject.SubjectRegistered(NOW, SUBJECT, "Fossil 7"), *moves]
        subject_id = self._mostly(SUBJECT, None)
        on_asset = bool(moves) and moves[0] is mounted
        self._note("RunSubjectNotMountedError", subject_id is not None and not on_asset)
        return subject_id

    def _assets(
        self, members: dict[UUID, tuple[UUID, ...]], located: dict[UUID, UUID | None]
    ) -> None:
        self._past += asset(SHED, "Shed", None)
        self._past += asset(BEAMLINE, "Beamline", None, enclosure_id=located[BEAMLINE])
        gone = False
        for id, family_ids in members.items():
            self._past += asset(id, "Part", BEAMLINE, *family_ids, enclosure_id=located.get(id))
            match self._mostly("in use", "in maintenance", "degraded", "decommissioned"):
                case "in maintenance":
                    self._past += [AssetActivated(NOW, id), AssetMaintenanceEntered(NOW, id)]
                case "degraded":
                    self._past += [AssetDegraded(NOW, id, "It drifts")]
                case "decommissioned":
                    self._past += [AssetDecommissioned(NOW, id)]
                    gone = True
                case _:
                    pass
        self._past += [AssetDecommissioned(NOW, BEAMLINE)] if self._mostly(False, True) else []
        self._note("RunAssetDecommissionedError", gone)

    def _clearances(self, subject_id: UUID | None, required: bool) -> None:
        naming, in_force = 0, 0
        for number in range(self._mostly(1, 0, 2)):
            id = UUID(int=60 + number)
            binding: Binding = self._mostly(
                AssetBinding(BEAMLINE),
                AssetBinding(STAGE),
                AssetBinding(SHED),
                SubjectBinding(SUBJECT),
            )
            since, until = self._mostly(None, NOW, LATER), self._mostly(LATER, None, NOW)
            move: Event | None = self._mostly(
                ClearanceActivated(NOW, id),
                None,
                ClearanceSubmitted(NOW, id),
                ClearanceReviewStarted(NOW, id),
                ClearanceApproved(NOW, id, since, until),
                ClearanceRejected(NOW, id, "No"),
                ClearanceExpired(NOW, id, "Over"),
                ClearanceSuperseded(NOW, id, UUID(int=69)),
            )
            paper = clearance(id, "Salts", binding, valid_until=until)
            self._past += [replace(paper, valid_from=since), *([move] if move else [])]
            theirs = binding != AssetBinding(SHED)
            names = theirs if isinstance(binding, AssetBinding) else subject_id is not None
            active = isinstance(move, ClearanceActivated)
            naming += names
            in_force += names and active and since is not LATER and until is not NOW
        self._note("RunRequiresActiveClearanceError", required and not naming)
        mismatch = required and bool(naming) and not in_force
        self._note("RunClearanceCoverageMismatchError", mismatch)

    def _supplies(self, kinds: Sequence[str]) -> None:
        covered: set[str] = set()
        for number in range(self._mostly(2, 0, 1, 3)):
            id, kind = UUID(int=50 + number), self._mostly("photon_beam", "helium")
            serving: UUID | None = self._mostly(None, BEAMLINE, SHED)
            move = self._mostly(SupplyMarkedAvailable, *SUPPLY_MOVES)
            registered: SupplyRegistered = supply(id, f"Supply {number}", kind)
            self._past += [replace(registered, containing_asset_id=serving)]
            self._past += [moved(move, id)] if move else []
            age = self._mostly(None, *AGES)
            self._past += [] if age is None else [followed(id, age)]
            fresh = age is None or age <= LIMIT
            if move is SupplyMarkedAvailable and serving != SHED and fresh:
                covered.add(kind)
        self._note("RunRequiresAvailableSupplyError", not {*kinds} <= covered)

    def _enclosures(self, around: set[UUID]) -> None:
        failing: set[UUID] = set()
        for id, name in ((HALL, "Hall"), (HUTCH, "Hutch")):
            permit = self._mostly(*PermitStatus)
            gone = self._mostly(False, False, True)
            self._past += [EnclosureRegistered(NOW, id, name, "synchrotron"), observed(id, permit)]
            self._past += [EnclosureDecommissioned(NOW, id, "Rebuilt")] if gone else []
            age = self._mostly(*AGES)
            self._past += [heard(id, age)]
            stale = age > LIMIT
            failing |= {id} if gone or stale or permit is not PermitStatus.PERMITTED else set()
        failing &= around
        self._note("RunRequiresPermittedEnclosureError", bool(failing) and failing == around)
        self._note("RunEnclosureCoverageMismatchError", bool(failing) and failing < around)

    def _mostly[T](self, fair: T, *others: T) -> T:
        return fair if self._dice.random() < FAIRNESS else self._dice.choice(others)

    def _note(self, refusal: str, wrong: bool) -> None:
        self._wrong.append(refusal if wrong else None)


def drawn(seed: int, count: int) -> Iterator[Situation]:
    """So many situations, the same for the same seed."""
    dice = Random(seed)  # noqa: S311
    for _ in range(count):
        yield Drawing(dice).situation()
