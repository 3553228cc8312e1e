"""Procedures that other contexts name."""

from uuid import UUID

from beamkeep.contexts.operation.procedure import ProcedureRegistered
from beamkeep.testing.past import NOW

PROCEDURE = UUID(int=900)


def a_procedure(id: UUID = PROCEDURE) -> ProcedureRegistered:
    """A procedure by hand that was only registered."""
    return ProcedureRegistered(
        NOW,
        id,
        name="Align",
        kind="center_alignment",
        target_asset_ids=(),
        parent_run_id=None,
        capability_id=None,
        capability_version_tag=None,
        max_consecutive_unconverged_iterations=None,
        recipe_id=None,
        recipe_version_number=None,
        bindings={},
        steps=None,
        closing_steps=None,
    )
