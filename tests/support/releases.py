"""A service of another release on a store that is there."""

from typing import Any

from beamkeep.deployment.service import compose
from beamkeep.runtime import Service
from beamkeep.runtime.session import Session
from beamkeep.testing.installation import FACTS, READERS
from beamkeep.testing.service import with_evidence


def of_release(release: str, store: Any, lists: Any, cursor_key: bytes = b"k" * 32) -> Service:
    """Return a service of this release, which reads the evidence of agents as well."""

    def sessions() -> Session:
        return service.sessions()

    readers = with_evidence(READERS, store, sessions, release)
    service = compose(store, lists, cursor_key, facts=FACTS, readers=readers, release=release)
    return service
