"""What rules and reads may know of the deployment they run in."""

from datetime import timedelta

from beamkeep.kernel import Reader, Record


class Installation(Record):
    """What a rule or a read may need to know of its deployment."""

    facility_code: str = "local"
    """The code of the deployment's own Site."""
    asset_page: str = "urn:uuid:{asset_id}"
    """The address of an asset's page, as it is published."""
    require_run_clearance: bool = False
    """Whether a run starts only under a clearance that is in force."""
    store_inference_messages: bool = False
    """Whether prompts and answers of language models are kept."""
    stale_after: timedelta = timedelta(seconds=60)
    """How old the last report of a monitor may be before it counts no more."""
    issuers: frozenset[str] = frozenset()
    """The identity providers whose logins the deployment accepts."""
    open_for_development: bool = False
    """Whether a call without a token is made as Developer."""
    login_key: bytes = b""
    """The secret that logins are digested with before an event names them."""


def installation(read: Reader) -> Installation:
    """Return what is known of the deployment; raise `TypeError` if the reader has another type."""
    known = read.deployment
    if not isinstance(known, Installation):
        raise TypeError(f"A reader of contexts has an Installation, not a {type(known).__name__}.")
    return known
