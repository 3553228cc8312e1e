"""How custody and the checks of copies are wired into a deployment."""

from collections.abc import AsyncGenerator, Sequence

from beamkeep.adapters.files.data_roots import root_faults
from beamkeep.contexts.data.check import CHECKING, FindLayout
from beamkeep.contexts.seams.custody_rules import CustodyRules
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.kernel import replace
from beamkeep.parts.wiring import Core, Grounds, Wiring
from beamkeep.runtime.clock import now
from beamkeep.workers.supervision import Loop

from .checks import Checker
from .copies import ChildCopyReader
from .postgres import PostgresCustody
from .settings import CustodySettings
from .watching import CustodyWatch


def facts(own: CustodySettings, here: Facts) -> Facts:
    """Let rules know how many copies of data must stay."""
    return replace(
        here,
        custody_rules=own.custody_rules or CustodyRules(),
        discard_needs_two=own.discard_needs_two,
        transfer_accounts=own.transfer_accounts,
    )


def readers(grounds: Grounds, own: CustodySettings, here: Readers) -> Readers:
    """Let reads find datasets by how they are kept."""
    return replace(here, custody=PostgresCustody(grounds.commands))


def loops(core: Core, own: CustodySettings) -> Sequence[Loop]:
    """Return the loops that judge how well datasets are kept and that check copies."""
    index = PostgresCustody(core.following)
    watch = Loop("custody", CustodyWatch(core.tail, index, core.service.sessions).turn)
    return [watch, *([_checker(core, own)] if own.check_slots else [])]


def _checker(core: Core, own: CustodySettings) -> Loop:
    reader = ChildCopyReader(
        own.data_roots,
        own.data_https_hosts,
        own.check_bytes_per_second / own.check_slots,
        owned=tuple(own.data_owners),
    )
    checker = Checker(core.service, core.store, reader, layouts=core.outside[FindLayout], clock=now)
    return core.holder(CHECKING, checker.walk, own.lease_times(own.check_slots)).loop("checks")


async def checks(own: CustodySettings) -> AsyncGenerator[str]:
    """Yield what keeps data from being read."""
    for each in root_faults(own.data_roots):
        yield f"DATA_ROOTS: {each}"


WIRING = Wiring(CustodySettings, facts=facts, readers=readers, loops=loops, checks=checks)
