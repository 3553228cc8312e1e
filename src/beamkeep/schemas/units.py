"""Units: whether a code is a unit of its system. Nothing is converted."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from beamkeep_client.shared.units import is_udunits


@lru_cache(maxsize=4096)
def is_code(system: str, code: str) -> bool:
    """Return whether the system has the code, which has at most 100 characters."""
    # A control character ends the text early in the C library; blanks around a code would make
    # two codes for one unit.
    return code.isprintable() and code == code.strip() and SYSTEMS[system](code)


def _ucum(code: str) -> bool:
    from .ucum import is_ucum  # noqa: PLC0415

    return is_ucum(code)


def _qudt(code: str) -> bool:
    from .qudt import UNITS  # noqa: PLC0415

    return code in UNITS


def _iec61360(code: str) -> bool:
    from .iec61360 import is_iec61360  # noqa: PLC0415

    return is_iec61360(code)


SYSTEMS: Mapping[str, Callable[[str], bool]] = {
    "udunits": is_udunits,
    "ucum": _ucum,
    "qudt": _qudt,
    "iec61360": _iec61360,
}
