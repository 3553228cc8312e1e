"""Tests of the client use no login of the person who runs them."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("BEAMKEEP_URL", "BEAMKEEP_TOKEN", "BEAMKEEP_PROFILE"):
        monkeypatch.delenv(name, raising=False)
