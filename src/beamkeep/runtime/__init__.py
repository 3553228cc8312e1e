"""The one path every call takes, and the seams it needs."""

from collections.abc import Callable

from beamkeep.kernel import Catalogue, Record

from .admission import Admission
from .dispatch import Dispatcher
from .evidence import EvidenceKeeper
from .queries import QueryRunner
from .sending import CommandSender
from .session import Session


class Service(Record):
    """Everything a surface needs to answer calls."""

    catalogue: Catalogue
    admission: Admission
    sessions: Callable[[], Session]
    dispatcher: Dispatcher
    queries: QueryRunner
    sender: CommandSender
    evidence: EvidenceKeeper
