"""How conducts and observers are wired into a deployment."""

from collections.abc import Sequence

from beamkeep.contexts.seams.installation import Facts
from beamkeep.kernel import replace
from beamkeep.parts.wiring import Core, Wiring
from beamkeep.workers.supervision import Loop

from .registered import registered_actions, registered_advisors
from .settings import ConductingSettings


def facts(own: ConductingSettings, here: Facts) -> Facts:
    """Let rules know the routes and jobs of the deployment, and what is installed for them."""
    return replace(
        here,
        routes=own.control_routes,
        jobs=tuple(job.entry for job in own.compute_jobs),
        actions=tuple(each.entry for each in registered_actions().values()),
        advisors=frozenset(registered_advisors()),
    )


def loops(core: Core, own: ConductingSettings) -> Sequence[Loop]:
    """Return the loops that observe the control system and carry out conducts."""
    from .loops import loops as found

    return found(core, own)


WIRING = Wiring(ConductingSettings, facts=facts, loops=loops)
