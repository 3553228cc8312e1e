"""How imports are wired into a deployment: they have a verb and nothing else."""

from beamkeep.parts.settings import CoreSettings
from beamkeep.parts.wiring import Wiring

WIRING = Wiring(CoreSettings)
