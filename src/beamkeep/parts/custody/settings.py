"""The settings of custody and of checks of copies."""

from typing import Annotated
from uuid import UUID

from annotated_types import Ge, Le
from pydantic import (
    BeforeValidator,
)

from beamkeep.contexts.seams.custody_rules import CustodyRules
from beamkeep.parts.settings import CoreSettings, HostEntry, from_json


class CustodySettings(CoreSettings):
    """The settings of custody and of checks of copies."""

    custody_rules: Annotated[CustodyRules | None, BeforeValidator(from_json)] = None
    """How many verified copies of a dataset must stay, as a JSON object by intent (`Trial`,
    `Production`, `Retracted`), each with `verified_copies`, `distinct_supplies`, `outside`,
    `online`, `verified_by`, `strength`, `verified_within_days`, `relied_within_hours` and
    `file_systems_differ`. Default: one copy verified within 365 days."""
    discard_needs_two: bool = False
    """Whether who removes or advances a date of a production dataset cannot discard it or its
    copies."""
    transfer_accounts: frozenset[UUID] = frozenset()
    """Ids of the service accounts that may report what a transfer service compared, as a JSON list.
    Default: none."""
    data_https_hosts: tuple[HostEntry, ...] = ()
    """Hosts from which copies of data may be read by HTTPS, as a JSON list of `host`, `host:port`
    or `*.suffix`; without a port, port 443 applies. Default: none."""
    check_slots: Annotated[int, Ge(0), Le(64)] = 1
    """Maximum number of copies of data that one process reads at the same time to check them; 0 for
    none."""
    check_bytes_per_second: Annotated[int, Ge(1_000_000)] = 250_000_000
    """Maximum number of bytes that one process reads in a second to check copies of data; at least
    1000000."""
