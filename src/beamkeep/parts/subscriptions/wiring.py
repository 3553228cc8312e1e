"""How subscriptions are wired into a deployment."""

from collections.abc import Sequence

from beamkeep.contexts.feed.subscription import DELIVERING, MOST
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.kernel import replace
from beamkeep.parts.wiring import Core, Grounds, Wiring
from beamkeep.runtime.clock import now
from beamkeep.workers.supervision import Loop

from .deliveries import Deliverer
from .settings import SubscriptionSettings
from .webhooks import HttpWebhooks


def facts(own: SubscriptionSettings, here: Facts) -> Facts:
    """Let rules know where subscriptions may send."""
    return replace(here, receivers=own.receivers)


def readers(grounds: Grounds, own: SubscriptionSettings, here: Readers) -> Readers:
    """Let rules keep the secrets of subscriptions."""
    return replace(here, secrets=own.secret_keeper())


def loops(core: Core, own: SubscriptionSettings) -> Sequence[Loop]:
    """Return the loop that sends the events of subscriptions, if their secrets can be read."""
    if (keeper := own.secret_keeper()) is None:
        return []
    deliverer = Deliverer(
        service=core.service,
        store=core.store,
        reader=core.reader,
        follower=core.follower,
        webhooks=HttpWebhooks(own.receivers, now),
        keeper=keeper,
        telemetry=core.telemetry,
        clock=now,
    )
    return [core.holder(DELIVERING, deliverer.walk, own.lease_times(MOST)).loop("deliveries")]


WIRING = Wiring(SubscriptionSettings, facts=facts, readers=readers, loops=loops)
