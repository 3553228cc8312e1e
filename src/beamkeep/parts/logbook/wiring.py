"""How the mirror of logbooks is wired into a deployment."""

from collections.abc import Sequence

from beamkeep.contexts.decision.logbook import MIRRORING
from beamkeep.contexts.seams.installation import Facts
from beamkeep.kernel import replace
from beamkeep.parts.wiring import Core, Wiring
from beamkeep.runtime.clock import now
from beamkeep.workers.supervision import Loop

from .mirroring import Mirrorer
from .olog import OlogMirror
from .settings import LogbookSettings


def facts(own: LogbookSettings, here: Facts) -> Facts:
    """Let rules know whether entries are copied."""
    return replace(here, mirrors_logbooks=own.logbook_mirror is not None)


def loops(core: Core, own: LogbookSettings) -> Sequence[Loop]:
    """Return the loop that copies logbook entries to an outside logbook, if there is one."""
    if (account := own.logbook_mirror) is None:
        return []
    times = own.lease_times(slots=1)
    # No request of this process is under way when another process may take over.
    mirror = OlogMirror(account, times.lease - times.self_fence)
    mirrorer = Mirrorer(core.service, core.store, core.queue, mirror=mirror, clock=now)
    return [core.holder(MIRRORING, mirrorer.walk, times).loop("logbook mirror")]


WIRING = Wiring(LogbookSettings, facts=facts, loops=loops)
