"""How publishing is wired into a deployment."""

from collections.abc import Sequence

from beamkeep.contexts.data.external_id import MINTING
from beamkeep.contexts.seams.installation import Facts
from beamkeep.kernel import replace
from beamkeep.parts.wiring import Core, Wiring
from beamkeep.runtime.clock import now
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.workers.supervision import Loop

from .datacite import DataciteMinter
from .landing import landing_routes
from .minting import Minter
from .settings import PublishingSettings

MINTED_AT_ONCE = 4


def facts(own: PublishingSettings, here: Facts) -> Facts:
    """Let rules know the addresses of pages and the prefix of DOIs."""
    return replace(
        here,
        asset_page=own.page(own.asset_landing_page_template, "asset"),
        dataset_page=own.page(own.dataset_page, "dataset"),
        edition_page=own.page(own.edition_page, "edition"),
        doi_prefix=own.datacite_prefix,
    )


def loops(core: Core, own: PublishingSettings) -> Sequence[Loop]:
    """Return the loop that registers DOIs of datasets and editions, if there is an account."""
    if (account := own.datacite) is None:
        return []
    registry = DataciteMinter(account)
    minter = Minter(core.service, core.store, core.queue, registry=registry, clock=now)
    return [core.holder(MINTING, minter.walk, own.lease_times(MINTED_AT_ONCE)).loop("minting")]


def routes(core: Core, own: PublishingSettings) -> Sequence[HttpRoute]:
    """Return the routes of the public pages."""
    return [*landing_routes(core.service)]


WIRING = Wiring(PublishingSettings, facts=facts, loops=loops, routes=routes)
