"""Builds the web console into the package."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = "/src/beamkeep/surfaces/http/console/built/"
"""Git ignores it, so a build has to be informed that it belongs to the package."""


class ConsoleBuildHook(BuildHookInterface[Any]):
    """Runs the build of `console/`, which a source distribution does not contain any more."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the console, unless the install is editable or BEAMKEEP_CONSOLE is `skip`."""
        if version == "editable" or os.environ.get("BEAMKEEP_CONSOLE") == "skip":
            return
        build_data["artifacts"].append(BUILT)
        sources = Path(self.root, "console")
        if not sources.is_dir():
            return
        npm = shutil.which("npm")
        if npm is None:
            message = (
                "The console is built with npm, which was not found. Install Node.js 20 or newer,"
                " or set BEAMKEEP_CONSOLE=skip to build the service without its console."
            )
            raise RuntimeError(message)
        if not _is_installed(sources):
            subprocess.run([npm, "ci", "--ignore-scripts"], cwd=sources, check=True)  # noqa: S603
        subprocess.run([npm, "run", "build"], cwd=sources, check=True)  # noqa: S603


def _is_installed(sources: Path) -> bool:
    """Return whether the dependencies are those of the lock file."""
    lock, installed = sources / "package-lock.json", sources / "node_modules/.package-lock.json"
    return installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime
