"""Everything a surface needs to answer calls."""

from beamkeep.kernel import Catalogue, record

from .admission import Admission
from .asking import Asker
from .dispatch import Dispatcher


@record
class Service:
    """The one path, ready to be walked."""

    catalogue: Catalogue
    admission: Admission
    dispatcher: Dispatcher
    asker: Asker
