"""Starting a procedure: the gates, in their order, and the cautions that are shown."""

from uuid import UUID

from tests.unit.contexts.operation.procedures import a_procedure
from tests.unit.contexts.starting.fair import (
    BEAMLINE,
    CAPABILITY,
    DUST,
    FAIR,
    HALL,
    HUTCH,
    LEAK,
    METHOD,
    PLAN,
    STAGE,
    Part,
    caution,
    kept,
    moved,
    observed,
)

from beamkeep.contexts.caution.caution import CautionSeverity, Target, TargetKind
from beamkeep.contexts.enclosure.enclosure import PermitStatus
from beamkeep.contexts.equipment.asset import AssetDecommissioned
from beamkeep.contexts.operation.procedure import (
    ProcedureBoundCapabilityDeprecatedError,
    ProcedureCannotStartError,
    ProcedureCapabilityExecutorMismatchError,
    ProcedureParentRunNotRunningError,
    ProcedureStarted,
)
from beamkeep.contexts.recipe.capability import (
    CapabilityDeprecated,
    CapabilityVersioned,
    ExecutorShape,
)
from beamkeep.contexts.run.run import AcknowledgedCaution, CautionTarget, RunHeld, RunStarted
from beamkeep.contexts.starting.procedure import (
    OPERATIONS,
    ProcedureAssetDecommissionedError,
    ProcedureEnclosureCoverageMismatchError,
    ProcedureRequiresAvailableSupplyError,
    ProcedureRequiresPermittedEnclosureError,
    StartedProcedure,
    StartProcedure,
)
from beamkeep.contexts.supply.supply import SupplyMarkedUnavailable
from beamkeep.kernel import Event, Refusal, replace
from beamkeep.schemas import JsonObject
from beamkeep.testing.past import NEW, NOW
from beamkeep.testing.scenario import Scenario

ID, RUN = NEW, UUID(int=95)
NONE: JsonObject = {}
START = StartProcedure(procedure_id=ID)
run = RunStarted(
    *(NOW, RUN, "Night 1", PLAN, None, METHOD, (), None, None, NONE, NONE, (), (), None)
)
for_procedures = CapabilityVersioned.of(
    FAIR["capability"][0],
    capability_id=CAPABILITY,
    version_tag="2",
    executor_shapes=(ExecutorShape.PROCEDURE,),
)
part = replace(
    a_procedure(ID), target_asset_ids=(STAGE,), parent_run_id=RUN, capability_id=CAPABILITY
)
shown = (
    kept(LEAK, BEAMLINE, CautionSeverity.WARNING),
    kept(DUST, STAGE, CautionSeverity.CAUTION),
)
AROUND: tuple[Part, ...] = tuple(each for several in FAIR.values() for each in several)


def given(*history: Part) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, run, for_procedures, *history))


def test_a_procedure_starts_when_every_gate_is_open():
    given(part).when(START).then(ProcedureStarted(NOW, ID, shown), StartedProcedure())


def test_a_procedure_about_nothing_in_particular_needs_nothing():
    given(a_procedure(ID)).when(START).then(ProcedureStarted(NOW, ID, ()), StartedProcedure())


def test_a_caution_about_the_procedure_itself_is_shown():
    own = UUID(int=96)
    about = Target(TargetKind.PROCEDURE, ID)
    warned = replace(caution(own, STAGE, CautionSeverity.WARNING), target=about)
    acknowledged = AcknowledgedCaution(own, CautionTarget("Procedure", ID), "Wear", "Warning")
    given(a_procedure(ID), warned).when(START).then(
        ProcedureStarted(NOW, ID, (acknowledged,)), StartedProcedure()
    )


def test_only_a_defined_procedure_is_started():
    started = ProcedureStarted(NOW, ID, ())
    given(part, started).when(START).refused(ProcedureCannotStartError, saying="Running")


CLOSED: list[tuple[Event, type[Refusal], str]] = [
    (AssetDecommissioned(NOW, STAGE), ProcedureAssetDecommissionedError, "Stage"),
    (AssetDecommissioned(NOW, BEAMLINE), ProcedureAssetDecommissionedError, "Beamline"),
    (
        replace(for_procedures, version_tag="3", executor_shapes=(ExecutorShape.METHOD,)),
        ProcedureCapabilityExecutorMismatchError,
        "METHOD",
    ),
    (
        CapabilityDeprecated(NOW, CAPABILITY, None),
        ProcedureBoundCapabilityDeprecatedError,
        "beamkeep.capability.scan",
    ),
    (RunHeld(NOW, RUN, None, None), ProcedureParentRunNotRunningError, "Night 1"),
    (moved(SupplyMarkedUnavailable), ProcedureRequiresAvailableSupplyError, "Ring beam"),
    (
        observed(HUTCH, PermitStatus.NOT_PERMITTED),
        ProcedureEnclosureCoverageMismatchError,
        "Hutch",
    ),
]


def test_each_gate_refuses_by_itself_and_names_what_is_wrong():
    for closed, refusal, saying in CLOSED:
        given(part, closed).when(START).refused(refusal, saying=saying)
    both = [observed(id, PermitStatus.NOT_PERMITTED) for id in (HALL, HUTCH)]
    given(part, *both).when(START).refused(ProcedureRequiresPermittedEnclosureError)


def test_the_gates_refuse_in_their_order():
    for number, (_, refusal, _) in enumerate(CLOSED):
        still_closed = [closed for closed, *_ in CLOSED[number:]]
        given(part, *still_closed).when(START).refused(refusal)


def test_without_a_parent_run_no_supply_is_needed():
    alone = replace(part, parent_run_id=None)
    outcome = given(alone, moved(SupplyMarkedUnavailable)).when(START).decided()
    assert outcome[0] == ProcedureStarted(NOW, ID, shown)
