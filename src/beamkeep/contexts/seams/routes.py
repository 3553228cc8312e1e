"""Routes: which addresses of the control system may be read and written, and with which values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from sys import float_info
from typing import TypeGuard
from uuid import UUID

from beamkeep.kernel import Record
from beamkeep.schemas import Json


class Substrate(StrEnum):
    EPICS_CA = "epics_ca"
    EPICS_PVA = "epics_pva"
    TANGO = "tango"
    IN_MEMORY = "in_memory"


class AddressBounds(Record):
    """The smallest and the largest number that one address takes."""

    address: str
    minimum: float
    maximum: float


class ControlRoute(Record):
    """How the addresses under one prefix are reached, and whether they may be written."""

    prefix: str
    substrate: Substrate
    simulated: bool = False
    writable: bool = False
    inline: bool = False
    """Whether steps that are not of a recipe may write, too."""
    asset_id: UUID | None = None
    """The asset that a write moves."""
    bounds: tuple[AddressBounds, ...] = ()


class RouteFinding(Record):
    """Why an address cannot be used as asked: the error that a step records, and the reason."""

    error_class: str
    message: str


# Other spellings of an address would evade its route, its bounds and its channel.
_EPICS = re.compile(r"(?!.*\.VAL$)[^\s{}$\[\]]+(?<!\.)")
_TANGO = re.compile(r"[^/\s:#>A-Z]+(/[^/\s:#>A-Z]+){3}")
CANONICAL: Mapping[Substrate, tuple[re.Pattern[str], str]] = {
    Substrate.EPICS_CA: (_EPICS, "a record or field without .VAL, filters, $ and spaces"),
    Substrate.EPICS_PVA: (_EPICS, "a record or field without .VAL, filters, $ and spaces"),
    Substrate.TANGO: (_TANGO, "domain/family/member/attribute in lower case"),
    Substrate.IN_MEMORY: (_EPICS, "a record or field without .VAL, filters, $ and spaces"),
}


def is_number(value: Json) -> TypeGuard[float]:
    """Return whether a value is a finite number; a boolean is none."""
    # Comparing does not convert, so that an integer of any size gets an answer.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= float_info.max


def route_of(routes: Sequence[ControlRoute], address: str) -> ControlRoute | None:
    """Return the route with the longest prefix of the address; None if no prefix fits."""
    fitting = (route for route in routes if address.startswith(route.prefix))
    return max(fitting, key=lambda route: len(route.prefix), default=None)


def address_findings(routes: Sequence[ControlRoute], address: str) -> Iterator[RouteFinding]:
    """Yield why an address cannot be read."""
    route = route_of(routes, address)
    if route is None:
        yield RouteFinding("ControlAddressNotRoutedError", f"No route leads to {address!r}.")
        return
    form, words = CANONICAL[route.substrate]
    if not form.fullmatch(address) or (route.substrate is Substrate.TANGO and not _lower(address)):
        why = f"{address!r} is not in the canonical form of {route.substrate}: {words}."
        yield RouteFinding("ControlAddressNotRoutedError", why)


def write_findings(
    routes: Sequence[ControlRoute], address: str, *, inline: bool
) -> Iterator[RouteFinding]:
    """Yield why an address cannot be written; `inline` steps are not those of a recipe."""
    yield from address_findings(routes, address)
    if (route := route_of(routes, address)) is None:
        return
    refused = None
    if not route.writable:
        refused = f"The route {route.prefix!r} of {address!r} is not writable."
    elif inline and not route.inline:
        refused = f"The route {route.prefix!r} of {address!r} is open to steps of recipes only."
    elif route.substrate is not Substrate.TANGO and "." in address and "." not in route.prefix:
        refused = f"A field such as {address!r} needs a route whose prefix contains its dot."
    if refused:
        yield RouteFinding("ControlAddressNotWritableError", refused)


def value_findings(
    routes: Sequence[ControlRoute], address: str, value: Json
) -> Iterator[RouteFinding]:
    """Yield why a value is outside the bounds of an address."""
    for bounds in (each for route in routes for each in route.bounds if each.address == address):
        items = value if isinstance(value, list) else [value]
        # A list without numbers says nothing about where the address goes.
        if not items or not all(_inside(item, bounds) for item in items):
            why = f"{address!r} takes numbers from {bounds.minimum} to {bounds.maximum}."
            yield RouteFinding("ControlLimitExceededError", why)


def table_findings(routes: Sequence[ControlRoute]) -> Iterator[str]:
    """Yield every fault of a route table."""
    seen = dict[tuple[Substrate, str], str]()
    prefixes = set[str]()
    for route in routes:
        other = seen.setdefault((route.substrate, route.prefix.casefold()), route.prefix)
        if route.prefix in prefixes:
            yield f"The prefix {route.prefix!r} has two routes."
        elif other != route.prefix:
            yield f"The prefixes {other!r} and {route.prefix!r} differ in case only."
        prefixes.add(route.prefix)
        if route.writable and not route.simulated and route.asset_id is None:
            yield f"The route {route.prefix!r} is writable and physical; name the asset it moves."
        for bounds in route.bounds:
            if not bounds.minimum <= bounds.maximum:
                yield f"The bounds of {bounds.address!r} are empty."
            if route_of(routes, bounds.address) is not route:
                yield f"The bounds of {bounds.address!r} belong to another route."


def _inside(item: Json, bounds: AddressBounds) -> bool:
    return is_number(item) and bounds.minimum <= item <= bounds.maximum


def _lower(address: str) -> bool:
    return address == address.lower()
