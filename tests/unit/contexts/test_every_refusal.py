"""Every operation succeeds in some test, and every refusal it declares is met in one."""

import pkgutil

import pytest
from tests.support.rows import selected
from tests.unit.contexts.access import test_actor
from tests.unit.contexts.agent import test_agent
from tests.unit.contexts.calibration import test_calibration
from tests.unit.contexts.campaign import test_campaign
from tests.unit.contexts.caution import test_caution, test_promotion
from tests.unit.contexts.data import (
    test_acquisition,
    test_attestation,
    test_check,
    test_custody,
    test_dataset,
    test_dataset_identifier,
    test_distribution,
    test_edition,
    test_scan,
)
from tests.unit.contexts.decision import test_decision
from tests.unit.contexts.enclosure import test_enclosure
from tests.unit.contexts.equipment import (
    test_asset,
    test_family,
    test_frame,
    test_model,
    test_mount,
)
from tests.unit.contexts.exchange import test_exchange
from tests.unit.contexts.federation import test_credential, test_facility, test_permit, test_seal
from tests.unit.contexts.feed import test_subscription
from tests.unit.contexts.operation import (
    test_activity,
    test_advancing,
    test_conducts,
    test_procedure,
)
from tests.unit.contexts.proposal import test_proposal
from tests.unit.contexts.recipe import (
    test_capability,
    test_declarations,
    test_method,
    test_plan,
    test_practice,
    test_recipe,
)
from tests.unit.contexts.run import test_logbook, test_observation, test_run
from tests.unit.contexts.safety import test_clearance
from tests.unit.contexts.starting import (
    test_conducting,
    test_procedure_start,
    test_resume,
    test_start,
)
from tests.unit.contexts.subject import test_subject
from tests.unit.contexts.supply import test_supply
from tests.unit.contexts.trust import (
    test_administrators,
    test_conduit,
    test_monitors,
    test_policy,
    test_surface,
    test_team,
    test_visit,
    test_zone,
)

from beamkeep import contexts
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust.belonging import OF_TEAM
from beamkeep.kernel import Operation
from beamkeep.kernel.values import declared_refusals
from beamkeep.testing.scenario import REACHED, run_sentences

SENTENCES = (
    test_actor,
    test_zone,
    test_conduit,
    test_surface,
    test_team,
    *(test_policy, test_administrators, test_monitors),
    test_visit,
    *(test_facility, test_credential, test_permit, test_seal, test_exchange),
    test_enclosure,
    test_supply,
    test_subject,
    test_decision,
    *(test_agent, test_proposal),
    *(test_clearance, test_caution, test_promotion),
    *(test_dataset, test_distribution, test_custody, test_acquisition, test_attestation),
    test_calibration,
    test_campaign,
    *(test_family, test_model, test_asset, test_frame, test_mount),
    *(test_capability, test_method, test_practice, test_plan, test_recipe, test_declarations),
    *(test_run, test_observation, test_logbook, test_start, test_resume),
    *(test_procedure, test_activity, test_procedure_start),
    *(test_conducts, test_advancing, test_conducting),
    test_subscription,
    test_check,
    test_scan,
    *(test_edition, test_dataset_identifier),
)


def unmet(operation: Operation) -> set[str]:
    """Return the outcomes of an operation that no sentence has met yet."""
    elsewhere = {*declared_refusals(operation.command)}
    if {*OF_TEAM} <= {*operation.refusals}:
        # No rule raises these: tests/unit/runtime/test_belonging.py meets them.
        elsewhere |= {*OF_TEAM}
    declared = {"then"} | {r.__name__ for r in operation.refusals if r not in elsewhere}
    return declared - {outcome for name, outcome in REACHED if name == operation.name}


def test_every_outcome_of_an_operation_has_a_test(subtests: pytest.Subtests):
    operations = selected(CATALOGUE.by_command.values())
    # Sentences that were not selected to run are run here.
    if any(unmet(operation) for operation in operations):
        for module in SENTENCES:
            run_sentences(module)
    for operation in operations:
        with subtests.test(operation.name):
            assert unmet(operation) == set()


def test_every_context_is_listed():
    found = {each.name for each in pkgutil.iter_modules(contexts.__path__) if each.ispkg}
    assert found == {
        *("access", "trust", "federation", "enclosure", "equipment", "supply", "subject"),
        *("decision", "recipe", "run", "calibration", "campaign", "safety", "caution", "starting"),
        *("shift", "operation", "feed", "directory", "board", "data", "provenance"),
        *("agent", "proposal", "exchange", "seams"),
    }
