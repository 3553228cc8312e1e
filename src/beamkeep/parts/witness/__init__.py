"""The witness: trees over the record, signed checkpoints, proofs and verification."""

from typing import TYPE_CHECKING

from beamkeep.parts.part import Part

from .verbs import VERBS

if TYPE_CHECKING:
    from beamkeep.parts.wiring import Wiring

    from .settings import WitnessSettings


def _wiring() -> "Wiring[WitnessSettings]":
    from .wiring import WIRING

    return WIRING


PART = Part("witness", _wiring, VERBS)
