"""How a part is wired into a deployment: its settings, and what it adds to the service."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from uuid import uuid4

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.adapters.postgres.log_notices import PostgresLogNotices
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.adapters.postgres.work import PostgresWorkQueue
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.contexts.trust.bootstrap import CallFor
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.reading import LogReader
from beamkeep.kernel import Outcome, Record
from beamkeep.runtime import Service
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.dispatch import OutsideStep
from beamkeep.runtime.session import Session
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.telemetry import Telemetry
from beamkeep.workers.leases import CarryOut, LeaseHolder, LeaseTimes
from beamkeep.workers.supervision import Loop

from .settings import CoreSettings

IDLE = {"idle_in_transaction_session_timeout": "5000"}
"""What every connection of the service is opened with."""


class Grounds(Record):
    """What a deployment stands on before its service is composed."""

    url: str
    """The address of the database."""
    store: PostgresEventStore
    lists: PostgresLists
    codec: Codec
    tail: PostgresTail
    queue: PostgresWorkQueue
    notices: PostgresLogNotices
    telemetry: Telemetry
    commands: Connections
    """The connections of commands."""
    following: Connections
    """The connections of what follows the log."""
    sessions: Callable[[], Session]
    """Begins to read, once the service is composed."""


class Core(Grounds):
    """The service of a deployment and what it stands on, for the loops and routes of a part."""

    service: Service
    reader: LogReader
    follower: LogFollower
    outside: Mapping[type[Record], OutsideStep]
    """What steps outside the service answer, by the type of the request."""
    closing: list[Callable[[], Awaitable[None]]]
    """What is called when the deployment ends."""

    def holder(self, kind: str, walk: CarryOut, times: LeaseTimes) -> LeaseHolder:
        """Return what claims durable work of a kind and has it carried out."""
        return LeaseHolder(
            queue=self.queue,
            owner=uuid4(),
            walk=walk,
            times=times,
            telemetry=self.telemetry,
            kind=kind,
        )


type Seeded = tuple[str, Outcome]
"""The key of the claim that remembers something seeded, and what is written."""


class Wiring[S: CoreSettings](Record):
    """Everything that a part adds. Each member gets the settings of the part as `own`."""

    settings: type[S]
    facts: Callable[[S, Facts], Facts] | None = None
    """Adds what the rules and reads of the contexts may know."""
    readers: Callable[[Grounds, S, Readers], Readers] | None = None
    """Adds what the rules and reads of the contexts may ask."""
    seeds: Callable[[S, CallFor], Iterable[Seeded]] | None = None
    """What a new deployment begins with."""
    outside: Callable[[Grounds, S], Mapping[type[Record], OutsideStep]] | None = None
    """The steps outside the service that rules can ask for."""
    loops: Callable[[Core, S], Sequence[Loop]] | None = None
    """The loops of `beamkeep work`."""
    routes: Callable[[Core, S], Sequence[HttpRoute]] | None = None
    checks: Callable[[S], AsyncGenerator[str]] | None = None
    """What keeps the part from its work, in sentences, for `beamkeep check`."""
    record_checks: Callable[[S], AsyncGenerator[str]] | None = None
    """What is wrong with the record, in sentences; asked once the database can be read."""
