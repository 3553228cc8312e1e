"""Imports are made from the command line: the service has nothing of them."""

from beamkeep.parts.settings import CoreSettings
from beamkeep.parts.wiring import Wiring

WIRING = Wiring(CoreSettings)
