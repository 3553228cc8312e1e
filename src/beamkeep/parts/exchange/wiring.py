"""How the signatures of exchanged records are wired into a deployment."""

from collections.abc import Mapping
from datetime import timedelta

from beamkeep.contexts.federation.signatures import SignMessage
from beamkeep.contexts.seams.installation import Facts
from beamkeep.kernel import Record, replace
from beamkeep.parts.wiring import Grounds, Wiring
from beamkeep.runtime.dispatch import OutsideStep

from .settings import ExchangeSettings
from .signers.signing import SigningStep, signer_of


def facts(own: ExchangeSettings, here: Facts) -> Facts:
    """Let rules know how old a record of a peer may be."""
    return replace(here, import_max_age=timedelta(days=own.import_max_age_days))


def outside(grounds: Grounds, own: ExchangeSettings) -> Mapping[type[Record], OutsideStep]:
    """Return what signs for the own site."""
    return {SignMessage: SigningStep(signer_of(own.signing_key_directory, own.signing_token))}


WIRING = Wiring(ExchangeSettings, facts=facts, outside=outside)
