"""The names of beamkeep.testing that tests of the contexts still import from here."""

from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW, Past
from beamkeep.testing.scenario import REACHED, Example, Scenario, matrix, misshapen, run_sentences
from beamkeep.testing.service import INSTALLATION, enrol

__all__ = [
    "ABSENT",
    "CALL",
    "INSTALLATION",
    "LATER",
    "ME",
    "NEW",
    "NOW",
    "REACHED",
    "Example",
    "Past",
    "Scenario",
    "enrol",
    "matrix",
    "misshapen",
    "run_sentences",
]
