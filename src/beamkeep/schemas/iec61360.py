"""Units of the IEC common data dictionary (IEC 61360-4 and IEC 62720), by identifier.

The dictionary is not free to copy. A full identifier, `0112/2///62720#UAA726` with or without a
version `#001`, is accepted by its form; a bare code only if it is one of the codes below.
"""

import re

BARE_CODES = frozenset(
    {
        "UAA033",  # degree Celsius
        "UAA101",  # ampere
        "UAA258",  # pascal
        "UAA296",  # volt
        "UAA726",  # metre
        "UAA862",  # millimetre
    }
)
_IDENTIFIER = re.compile(r"0112/2///(?:62720|61360_4)#[A-Z]{3}[0-9]{3}(?:#[0-9]{3})?")


def is_iec61360(code: str) -> bool:
    """Return whether the code has the form of a unit identifier of the dictionary."""
    return code in BARE_CODES or _IDENTIFIER.fullmatch(code) is not None
