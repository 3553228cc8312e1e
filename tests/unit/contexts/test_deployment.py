"""What contexts know of the deployment comes with the reader."""

import pytest

from beamkeep.contexts.seams.installation import installation
from beamkeep.testing.installation import INSTALLATION
from beamkeep.testing.past import Past


def test_a_loader_finds_the_installation_of_its_reader():
    assert installation(Past(())) == INSTALLATION


def test_a_reader_of_another_deployment_is_an_error(monkeypatch: pytest.MonkeyPatch):
    read = Past(())
    monkeypatch.setattr(read, "deployment", "a text")
    with pytest.raises(TypeError, match="has an Installation, not a str"):
        installation(read)
