"""Everything the service can do: the contexts of the house, and those that a site installed."""

from collections.abc import Mapping
from importlib.metadata import entry_points

from beamkeep.kernel import Catalogue, Context

from . import (
    access,
    agent,
    board,
    calibration,
    campaign,
    caution,
    data,
    decision,
    directory,
    enclosure,
    equipment,
    exchange,
    federation,
    feed,
    operation,
    proposal,
    provenance,
    recipe,
    run,
    safety,
    shift,
    starting,
    subject,
    supply,
    trust,
)
from .declarations import FaultyDeclarationsError, faults

CONTEXTS = "beamkeep.contexts"
"""The entry points by which packages of a site add contexts."""
# fmt: off
HOUSE = (
    access, trust, federation, enclosure, equipment, supply, subject, decision, recipe, run,
    operation, data, calibration, provenance, campaign, safety, caution, starting, shift, feed,
    agent, directory, board, exchange, proposal,
)
# fmt: on
NEVER_PROPOSED = (
    *access.OPERATIONS,
    *trust.OPERATIONS,
    *federation.GIVES_KEYS,
    *exchange.OPERATIONS,
    *feed.OPERATIONS,
    *agent.OPERATIONS,
    *proposal.OPERATIONS,
)
"""Operations that give rights, keys or channels: none of them can be proposed."""


def of_the_house() -> dict[str, Context]:
    """Return the contexts of the service itself by name."""
    return {
        each.__name__.rpartition(".")[2]: Context(each.OPERATIONS, each.QUESTIONS) for each in HOUSE
    }


def installed() -> dict[str, Context]:
    """Return the contexts that packages of a site add, by the names of their entry points.

    Raise FaultyDeclarationsError when one cannot be loaded.
    """
    found = dict[str, Context]()
    for point in sorted(entry_points(group=CONTEXTS)):
        try:
            loaded = point.load()
        except Exception as error:
            detail = f"{point.name}: {point.value} cannot be loaded: {error}"
            raise FaultyDeclarationsError([detail]) from error
        if not isinstance(loaded, Context):
            raise FaultyDeclarationsError([f"{point.name}: {point.value} is not a Context."])
        found[point.name] = loaded
    return found


def catalogue_of(site: Mapping[str, Context]) -> Catalogue:
    """Return the catalogue with the contexts of a site.

    Raise FaultyDeclarationsError when one of them is declared wrongly.
    """
    house = of_the_house()
    if found := list(faults(house, site)):
        raise FaultyDeclarationsError(found)
    contexts = [*house.values(), *site.values()]
    return Catalogue(
        [row for context in contexts for row in context.operations],
        [row for context in contexts for row in context.questions],
        NEVER_PROPOSED,
    )


SITE = installed()
CATALOGUE = catalogue_of(SITE)
