"""Start gates: what must hold before an execution starts, with the error classes of its kind."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from beamkeep.contexts.caution.caution import Caution
from beamkeep.contexts.caution.coverage import cautions_covering
from beamkeep.contexts.enclosure.gate import EnclosurePermit, permits
from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle, with_all_above
from beamkeep.contexts.safety.clearance import IN_FORCE, Clearance, ClearanceStatus, clearances
from beamkeep.contexts.safety.coverage import clearances_covering
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.subject.subject import Subject, SubjectStatus
from beamkeep.contexts.supply.gate import Coverage, SupplyInScope, coverage
from beamkeep.contexts.supply.supply import SupplyStatus
from beamkeep.kernel import NOT_SHOWN, Cannot, Record, Refusal, replace

from .acknowledging import shown


class StartFact(Record):
    """An object behind a check or an advisory, and its state."""

    kind: str
    id: UUID
    name: str
    state: str
    until: datetime | None = None
    valid_from: datetime | None = None
    in_force: bool | None = None
    """Whether a clearance is in force; null for other kinds."""

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}' ({self.id}) is {self.state}"


class Named(Protocol):
    @property
    def id(self) -> UUID: ...
    @property
    def name(self) -> str: ...


def fact(kind: str, of: Named, state: str) -> StartFact:
    """Return a fact about an object."""
    return StartFact(kind, of.id, name=of.name, state=state)


class GateResult(Record):
    """The facts that a gate found, and the refusal if it does not let the execution pass."""

    facts: Sequence[StartFact] = ()
    refusal: Refusal | None = None
    cleared_by: Sequence[str] = ()
    """The commands that could clear the gate."""


def require_passed(results: Mapping[str, GateResult]) -> None:
    """Raise the refusal of the first gate that was not passed, with its facts."""
    for name, result in results.items():
        if result.refusal:
            facts = {"check": name, "facts": result.facts, "cleared_by": result.cleared_by}
            result.refusal.facts |= facts
            raise result.refusal


class Preconditions(Record):
    """The assets of an execution, with what the gates check around them."""

    assets: Sequence[Asset]
    """The assets of the execution itself, without their ancestors."""
    ancestry: Mapping[UUID, Asset]
    """The assets and their ancestors."""
    supplies: Coverage
    enclosures: Mapping[UUID, EnclosurePermit]
    cautions: Sequence[Caution]
    """The cautions to show at the start."""


async def preconditions(
    asset_ids: Collection[UUID],
    supply_kinds: Iterable[str],
    read: Reader,
    procedure_id: UUID | None = None,
    *,
    shows_cautions: bool = True,
) -> Preconditions:
    """Return the current preconditions of work on these assets that needs these supplies."""
    ancestry = await with_all_above(asset_ids, read) if asset_ids else dict[UUID, Asset]()
    enclosure_ids = {asset.located_in_enclosure_id for asset in ancestry.values()}
    return Preconditions(
        [ancestry[id] for id in sorted(asset_ids)],
        ancestry,
        supplies=await coverage(supply_kinds, ancestry, read),
        enclosures=await permits(sorted(id for id in enclosure_ids if id), read),
        cautions=shown(await cautions_covering(asset_ids, read, procedure_id))
        if shows_cautions
        else (),
    )


async def covering_clearances(
    subject_id: UUID | None, asset_ids: Iterable[UUID], read: Reader
) -> Mapping[UUID, Clearance]:
    """Return the clearances for this work, without the titles that the caller may not see."""
    found = await clearances_covering(subject_id, asset_ids, read)
    visible = await read.visible(clearances, found)
    return {
        id: each if id in visible else replace(each, title=NOT_SHOWN) for id, each in found.items()
    }


def asset_gate(
    assets: Iterable[Asset], decommissioned: type[Cannot], cleared_by: Sequence[str] = ()
) -> GateResult:
    """Pass when none of the assets is Decommissioned."""
    facts = [fact("Asset", asset, asset.lifecycle) for asset in assets]
    failing = [each for each in facts if each.state == AssetLifecycle.DECOMMISSIONED]
    if not failing:
        return GateResult(facts)
    return GateResult(facts, decommissioned(_listed(failing)), cleared_by)


def subject_gate(subject: Subject | None, not_mounted: type[Cannot]) -> GateResult:
    """Pass when there is no subject, or when the subject is Mounted or Measured."""
    if subject is None:
        return GateResult()
    found = fact("Subject", subject, subject.status)
    if subject.status in {SubjectStatus.MOUNTED, SubjectStatus.MEASURED}:
        return GateResult([found])
    detail = f"{found}; it must be Mounted or Measured."
    if subject.status is not SubjectStatus.RECEIVED:
        return GateResult([found], not_mounted(detail))
    return GateResult([found], not_mounted(f"{detail} Mount the subject first."), ["mount_subject"])


TOWARDS_FORCE: Mapping[ClearanceStatus, Sequence[str]] = {
    ClearanceStatus.DEFINED: ["submit_clearance"],
    ClearanceStatus.SUBMITTED: ["start_clearance_review"],
    ClearanceStatus.UNDER_REVIEW: ["append_clearance_review_step", "approve_clearance"],
    ClearanceStatus.APPROVED: ["activate_clearance"],
    ClearanceStatus.ACTIVE: ["amend_clearance"],
}
"""The next commands on the way into force; an ended clearance needs a new one instead."""


def clearance_fact(clearance: Clearance, now: datetime) -> StartFact:
    """Return a clearance with its validity, and whether it is in force."""
    return StartFact.of(
        clearance,
        kind="Clearance",
        name=clearance.title,
        state=clearance.status,
        until=clearance.valid_until,
        in_force=IN_FORCE.holds_of(clearance, now),
    )


def clearance_gate(
    found: Mapping[UUID, Clearance] | None,
    now: datetime,
    *,
    missing: type[Cannot],
    not_in_force: type[Cannot],
) -> GateResult:
    """Pass when no clearance is required (None), or when one of those found is in force."""
    facts = [clearance_fact(each, now) for each in (found or {}).values()]
    if found is None or any(each.in_force for each in facts):
        return GateResult(facts)
    if not facts:
        remedy = "Register a clearance for the subject, for an asset or for one of its ancestors."
        return GateResult(facts, missing(remedy), ["register_clearance"])
    statuses = {each.status for each in found.values()}
    ways = [way for status, ways in TOWARDS_FORCE.items() if status in statuses for way in ways]
    text = f"{'; '.join(map(_with_validity, facts))}. Put one of them in force or register another."
    return GateResult(facts, not_in_force(text), ways or ["register_clearance"])


def _with_validity(clearance: StartFact) -> str:
    since, until = clearance.valid_from or "none", clearance.until or "none"
    return f"{clearance} (valid_from: {since}, valid_until: {until})"


RESTORE = "mark_supply_recovering", "restore_supply"
TOWARDS_AVAILABLE: Mapping[SupplyStatus, tuple[str, Sequence[str]]] = {
    SupplyStatus.UNKNOWN: ("Mark it available", ["mark_supply_available"]),
    SupplyStatus.DEGRADED: (
        "Mark it unavailable, mark it recovering, then restore it",
        ["mark_supply_unavailable", *RESTORE],
    ),
    SupplyStatus.UNAVAILABLE: ("Mark it recovering, then restore it", RESTORE),
    SupplyStatus.RECOVERING: ("Restore it", ["restore_supply"]),
}
"""How a supply becomes available, for a person and as commands."""
NO_SUPPLY = "No supply of this kind serves these assets. Register one."


def supply_gate(supplies: Coverage, unavailable: type[Cannot]) -> GateResult:
    """Pass when every needed kind of supply has one that is Available."""
    facts = [_supply_fact(each) for found in supplies.found.values() for each in found]
    uncovered = supplies.uncovered
    if not uncovered:
        return GateResult(facts)
    lacking = [each for found in uncovered.values() for each in found]
    statuses = {each.status for each in lacking}
    ways = [way for at, (_, ways) in TOWARDS_AVAILABLE.items() if at in statuses for way in ways]
    ways += [] if all(uncovered.values()) else ["register_supply"]
    ways += ["observe_supply_status"] if any(each.stale for each in lacking) else []
    remedies = {kind: " ".join(map(_remedy, found)) for kind, found in uncovered.items()}
    detail = " ".join(f"{kind}: {remedy or NO_SUPPLY}" for kind, remedy in remedies.items())
    return GateResult(facts, unavailable(detail, kinds=[*uncovered]), [*dict.fromkeys(ways)])


def _supply_fact(found: SupplyInScope) -> StartFact:
    return fact("Supply", found.supply, found.state)


def _remedy(found: SupplyInScope) -> str:
    remedy, _ = TOWARDS_AVAILABLE[found.status]
    otherwise = ", or let its observer report again" if found.stale else ""
    return f"{_supply_fact(found)}. {remedy}{otherwise}."


def enclosure_gate(
    enclosures: Mapping[UUID, EnclosurePermit],
    *,
    none_permitted: type[Cannot],
    some_not_permitted: type[Cannot],
) -> GateResult:
    """Pass when every enclosure is Active and Permitted by a report that is not stale."""
    facts = [fact("Enclosure", each.enclosure, each.state) for each in enclosures.values()]
    failing = [each for each in facts if not enclosures[each.id].holds]
    if not failing:
        return GateResult(facts)
    refusal = none_permitted if len(failing) == len(facts) else some_not_permitted
    detail = f"{_listed(failing)} The interlock of each enclosure must report Permitted."
    if not any(enclosures[each.id].stale for each in failing):
        return GateResult(facts, refusal(detail))
    detail += " A stale permit counts again after the next report of its monitor."
    return GateResult(facts, refusal(detail), ["observe_enclosure_status"])


def _listed(facts: Iterable[StartFact]) -> str:
    return "; ".join(map(str, facts)) + "."
