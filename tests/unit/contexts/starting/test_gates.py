"""The start gates serve any kind of execution, each with its own error classes."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.contexts.starting.fair import CAMERA, REQUIRING, STAGE, SUBJECT, Part, past
from tests.unit.contexts.starting.test_start import FAILING, FAILING_OTHERWISE, Wrong

from beamkeep.contexts.starting.gates import (
    GateResult,
    asset_gate,
    clearance_gate,
    covering_clearances,
    enclosure_gate,
    preconditions,
    require_passed,
    subject_gate,
    supply_gate,
)
from beamkeep.contexts.subject.subject import subjects
from beamkeep.kernel import Cannot, Refusal
from beamkeep.testing.past import NOW, Past

pytestmark = pytest.mark.anyio


# A kind of execution that exists only here: it has no plan, and its refusals are its own.
class BakeoutAssetDecommissionedError(Cannot):
    """An asset of the bakeout is decommissioned."""


class BakeoutSubjectNotMountedError(Cannot):
    """The subject of the bakeout is not mounted."""


class BakeoutRequiresActiveClearanceError(Cannot):
    """No clearance covers the bakeout."""


class BakeoutClearanceCoverageMismatchError(Cannot):
    """No clearance of the bakeout is in force."""


class BakeoutRequiresAvailableSupplyError(Cannot):
    """A supply of the bakeout is not available."""


class BakeoutRequiresPermittedEnclosureError(Cannot):
    """No enclosure of the bakeout is permitted."""


class BakeoutEnclosureCoverageMismatchError(Cannot):
    """Not every enclosure of the bakeout is permitted."""


async def bakeout_checks(*more: Part, without: tuple[str, ...] = ()) -> Mapping[str, GateResult]:
    read = Past(past(*more, without=without), REQUIRING)
    work = await preconditions([STAGE, CAMERA], ["photon_beam"], read)
    return {
        "assets": asset_gate(work.assets, BakeoutAssetDecommissionedError),
        "subject": subject_gate(await read.one(subjects, SUBJECT), BakeoutSubjectNotMountedError),
        "clearance": clearance_gate(
            await covering_clearances(SUBJECT, work.ancestry, read),
            NOW,
            missing=BakeoutRequiresActiveClearanceError,
            not_in_force=BakeoutClearanceCoverageMismatchError,
        ),
        "supply": supply_gate(work.supplies, BakeoutRequiresAvailableSupplyError),
        "enclosure": enclosure_gate(
            work.enclosures,
            none_permitted=BakeoutRequiresPermittedEnclosureError,
            some_not_permitted=BakeoutEnclosureCoverageMismatchError,
        ),
    }


async def refused(wrong: Wrong) -> Refusal:
    """The refusal of a bakeout."""
    results = await bakeout_checks(*wrong.past, without=wrong.without)
    with pytest.raises(Refusal) as raised:
        require_passed(results)
    return raised.value


def detail(refusal: Refusal) -> str:
    """The text of a refusal after the sentence of its class."""
    return str(refusal).removeprefix(type(refusal).__doc__ or "").strip()


def without_remedies(refusal: Refusal) -> dict[str, Any]:
    return {name: told for name, told in refusal.facts.items() if name != "cleared_by"}


SHARED = ("assets", "subject", "clearance", "supply", "enclosure")
CASES = [*((name, FAILING[name]) for name in SHARED), *FAILING_OTHERWISE]


async def test_an_execution_passes_when_every_gate_does():
    require_passed(await bakeout_checks())


@pytest.mark.parametrize(
    ("name", "wrong"), CASES, ids=[wrong.refusal.__name__ for _, wrong in CASES]
)
async def test_each_gate_refuses_with_the_class_of_its_caller_and_the_same_facts(
    name: str, wrong: Wrong
):
    of_run, of_bakeout = wrong.when(), await refused(wrong)
    expected = type(of_run).__name__.replace("Run", "Bakeout", 1)
    assert type(of_bakeout).__name__ == expected
    assert (without_remedies(of_bakeout), detail(of_bakeout)) == (
        without_remedies(of_run),
        detail(of_run),
    )
    assert of_bakeout.facts["check"] == name


async def test_the_remedy_of_a_plan_is_not_shown_to_an_execution_without_a_plan():
    assert (await refused(FAILING["assets"])).facts["cleared_by"] == ()
    for name in ("subject", "clearance", "supply"):
        cleared_by = (await refused(FAILING[name])).facts["cleared_by"]
        assert cleared_by == [*FAILING[name].cleared_by]


async def test_no_refusal_shows_a_reason_that_somebody_wrote():
    told = await refused(FAILING["supply"])
    assert "Seen" not in f"{told} {told.facts}"
