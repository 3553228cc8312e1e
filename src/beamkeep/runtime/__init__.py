"""The one path every call takes, and the seams it needs."""

from beamkeep.kernel import Catalogue, Record

from .admission import Admission
from .asking import Asker
from .dispatch import Dispatcher


class Service(Record):
    """Everything a surface needs to answer calls."""

    catalogue: Catalogue
    admission: Admission
    dispatcher: Dispatcher
    asker: Asker
