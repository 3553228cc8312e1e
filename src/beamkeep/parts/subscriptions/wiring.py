"""How subscriptions are wired into a deployment."""

from collections.abc import Sequence

from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.kernel import replace
from beamkeep.parts.wiring import Core, Grounds, Wiring
from beamkeep.workers.supervision import Loop

from .settings import SubscriptionSettings


def facts(own: SubscriptionSettings, here: Facts) -> Facts:
    """Let rules know where subscriptions may send."""
    return replace(here, receivers=own.receivers)


def readers(grounds: Grounds, own: SubscriptionSettings, here: Readers) -> Readers:
    """Let rules keep the secrets of subscriptions."""
    return replace(here, secrets=own.secret_keeper())


def loops(core: Core, own: SubscriptionSettings) -> Sequence[Loop]:
    """Return the loop that sends the events of subscriptions, if their secrets can be read."""
    from .loops import loops as found

    return found(core, own)


WIRING = Wiring(SubscriptionSettings, facts=facts, readers=readers, loops=loops)
