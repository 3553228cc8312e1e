"""The loop that sends the events of subscriptions."""

from collections.abc import Sequence

from beamkeep.contexts.feed.subscription import DELIVERING, MOST
from beamkeep.parts.wiring import Core
from beamkeep.runtime.clock import now
from beamkeep.workers.supervision import Loop

from .deliveries import Deliverer
from .settings import SubscriptionSettings
from .webhooks import HttpWebhooks


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
