"""What a deployment of the tests is configured with."""

import msgspec

from beamkeep.contexts.seams.installation import ActionEntry, Facts, JobEntry, Readers
from beamkeep.contexts.seams.receivers import ReceiverHosts
from beamkeep.contexts.seams.routes import ControlRoute
from beamkeep.parts.subscriptions.sealing import AesSecretKeeper

ISSUER = "https://idp.test"
FACILITY_CODE = "synchrotron"
"""The code of the Site that every deployment here is at."""
CONTROL_ROUTE = {
    "prefix": "bl:",
    "substrate": "in_memory",
    "simulated": True,
    "writable": True,
    "inline": True,
}
"""The route of all addresses that tests conduct."""
RECEIVER_HOST = "hooks.lab.test"
"""The host that subscriptions may send to; no name server knows it."""
DOI_PREFIX = "10.5072"
SIMULATED = msgspec.convert(CONTROL_ROUTE, ControlRoute)
FACTS = Facts(
    FACILITY_CODE,
    "https://lab.test/assets/{asset_id}",
    issuers=frozenset({ISSUER}),
    login_key=b"k" * 32,
    routes=(SIMULATED,),
    actions=(ActionEntry("home", writes=("bl:axis",), inline=True),),
    jobs=(JobEntry("fit", inline=True),),
    receivers=ReceiverHosts((RECEIVER_HOST,)),
    dataset_page="https://lab.test/pages/datasets/{dataset_id}",
    edition_page="https://lab.test/pages/editions/{edition_id}",
    doi_prefix=DOI_PREFIX,
)
READERS = Readers(secrets=AesSecretKeeper(b"s" * 32))
