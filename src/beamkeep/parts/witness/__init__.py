"""The witness: trees over the record, signed checkpoints, proofs and verification."""

from beamkeep.parts.part import Part

from .verbs import VERBS


def _wiring():
    from .wiring import WIRING

    return WIRING


PART = Part("witness", _wiring, VERBS)
