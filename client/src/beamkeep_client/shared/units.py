"""Units of the UDUNITS-2 library."""

from functools import lru_cache


@lru_cache(maxsize=4096)
def is_udunits(code: str) -> bool:
    """Return whether a text of at most 100 characters is a unit of UDUNITS-2."""
    import cf_units  # noqa: PLC0415  # takes 0.3 s to import, and few processes declare units

    # A control character ends the text early in the C library; blanks around a code would make
    # two codes for one unit.
    if not code.isprintable() or code != code.strip():
        return False
    try:
        with cf_units.suppress_errors():
            unit = cf_units.Unit(code)
    except ValueError:
        return False
    # The library also accepts "unknown", and rewrites some texts before it parses them.
    return unit.is_udunits() and unit.origin == code
