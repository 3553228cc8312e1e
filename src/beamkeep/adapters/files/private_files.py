"""Files with keys, which only the user of the service can read."""

import os
import stat
from pathlib import Path

MOST_BYTES = 4096
ALONE = "The key must be in a regular file of the service's own user with mode 0600 or 0400."


class OpenKeyFileError(ValueError):
    """A file with a key that others could have read or replaced."""


def read_private(path: Path, follows_links: bool = True) -> bytes:
    """Return what a key file holds. Raise OpenKeyFileError when others can read or write it."""
    # Opened first and judged by its descriptor: the file cannot be exchanged in between.
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follows_links else os.O_NOFOLLOW)
    with os.fdopen(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        is_own = found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o177 == 0
        if not stat.S_ISREG(found.st_mode) or not is_own:
            raise OpenKeyFileError(ALONE)
        return file.read(MOST_BYTES)
