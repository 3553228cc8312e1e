"""Every operation succeeds in some test, and every refusal it declares is met in one."""

import pkgutil

import pytest
from tests.contexts.access import test_actor
from tests.contexts.agent import test_agent
from tests.contexts.calibration import test_calibration
from tests.contexts.campaign import test_campaign
from tests.contexts.caution import test_caution, test_promotion
from tests.contexts.data import (
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
from tests.contexts.decision import test_decision
from tests.contexts.enclosure import test_enclosure
from tests.contexts.equipment import test_asset, test_family, test_frame, test_model, test_mount
from tests.contexts.exchange import test_exchange
from tests.contexts.federation import test_credential, test_facility, test_permit, test_seal
from tests.contexts.feed import test_subscription
from tests.contexts.operation import test_activity, test_advancing, test_conducts, test_procedure
from tests.contexts.proposal import test_proposal
from tests.contexts.recipe import (
    test_capability,
    test_declarations,
    test_method,
    test_plan,
    test_practice,
    test_recipe,
)
from tests.contexts.run import test_logbook, test_observation, test_run
from tests.contexts.safety import test_clearance
from tests.contexts.starting import test_conducting, test_procedure_start, test_start
from tests.contexts.subject import test_subject
from tests.contexts.supply import test_supply
from tests.contexts.trust import (
    test_administrators,
    test_conduit,
    test_policy,
    test_surface,
    test_visit,
    test_zone,
)

from beamkeep import contexts
from beamkeep.kernel import Operation
from beamkeep.kernel.values import declared_refusals
from beamkeep.testing.scenario import REACHED, run_sentences

SENTENCES = (
    test_actor,
    test_zone,
    test_conduit,
    test_surface,
    *(test_policy, test_administrators),
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
    *(test_run, test_observation, test_logbook, test_start),
    *(test_procedure, test_activity, test_procedure_start),
    *(test_conducts, test_advancing, test_conducting),
    test_subscription,
    test_check,
    test_scan,
    *(test_edition, test_dataset_identifier),
)


@pytest.fixture(scope="module")
def reached() -> set[tuple[str, str]]:
    """What the sentences reach, whichever of them were selected to run."""
    for module in SENTENCES:
        run_sentences(module)
    return REACHED


@pytest.mark.parametrize("operation", contexts.OPERATIONS, ids=lambda operation: operation.name)
def test_every_outcome_of_an_operation_has_a_test(
    operation: Operation, reached: set[tuple[str, str]]
):
    of_fields = declared_refusals(operation.command)
    declared = {"then"} | {r.__name__ for r in operation.refusals if r not in of_fields}
    assert declared <= {outcome for name, outcome in reached if name == operation.name}


def test_every_context_is_listed():
    found = {each.name for each in pkgutil.iter_modules(contexts.__path__) if each.ispkg}
    assert found == {
        *("access", "trust", "federation", "enclosure", "equipment", "supply", "subject"),
        *("decision", "recipe", "run", "calibration", "campaign", "safety", "caution", "starting"),
        *("shift", "operation", "feed", "directory", "board", "data", "provenance"),
        *("agent", "proposal", "exchange"),
    }
