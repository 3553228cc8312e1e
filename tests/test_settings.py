"""Settings: what they say of the deployment itself."""

from typing import Any

import pytest
from pydantic import ValidationError

from beamkeep.app import installation
from beamkeep.kernel import Installation
from beamkeep.settings import Settings

OPEN: dict[str, Any] = {"require_authenticated_principal": False, "development": True}


def set_to(**values: Any) -> Settings:
    return Settings.model_validate({"base_url": "https://lab.test", **OPEN, **values})


def test_a_deployment_is_local_and_shows_its_assets_itself_unless_told():
    assert installation(set_to()) == Installation("local", "https://lab.test/assets/{asset_id}")


def test_the_own_site_and_the_page_of_an_asset_are_set():
    for template, page in (
        ("https://pid.test/{asset_id}", "https://pid.test/{asset_id}"),
        ("{base_url}/i/{asset_id}.html", "https://lab.test/i/{asset_id}.html"),
    ):
        told = set_to(self_facility_code="synchrotron-2", asset_landing_page_template=template)
        assert installation(told) == Installation("synchrotron-2", page)


@pytest.mark.parametrize("code", ["", "Synchrotron", "beam line", "x" * 33, "a\n", "é"])
def test_an_own_code_that_no_facility_could_have_is_refused_at_the_start(code: str):
    with pytest.raises(ValidationError, match="self_facility_code"):
        set_to(self_facility_code=code)


def test_an_address_that_is_the_same_for_every_asset_is_refused_at_the_start():
    with pytest.raises(ValidationError, match="asset_landing_page_template"):
        set_to(asset_landing_page_template="https://pid.test")
