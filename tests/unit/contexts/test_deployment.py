"""What contexts know of the deployment comes with the reader."""

import pytest

from beamkeep.contexts.seams.installation import present
from beamkeep.testing.installation import READERS


def test_a_reader_that_the_deployment_has_is_asked():
    assert present(READERS.secrets) is READERS.secrets


def test_a_reader_that_the_deployment_does_not_have_is_an_error():
    with pytest.raises(TypeError, match="no such reader"):
        present(READERS.witness)
