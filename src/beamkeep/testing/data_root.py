"""The data root of the services that tests start."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path


@cache
def data_root() -> Path:
    """Return a folder beneath which these services may read files; it ends with the process."""
    made = Path(tempfile.mkdtemp(prefix="beamkeep-data-")).resolve()
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
