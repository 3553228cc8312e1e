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
    here = Installation("local", "https://lab.test/assets/{asset_id}", open_for_development=True)
    assert installation(set_to()) == here


def test_the_own_site_and_the_page_of_an_asset_are_set():
    for template, page in (
        ("https://pid.test/{asset_id}", "https://pid.test/{asset_id}"),
        ("{base_url}/i/{asset_id}.html", "https://lab.test/i/{asset_id}.html"),
    ):
        told = set_to(self_facility_code="synchrotron-2", asset_landing_page_template=template)
        here = Installation("synchrotron-2", page, open_for_development=True)
        assert installation(told) == here


PROVIDER = {
    "kind": "jwt",
    "issuer": "https://idp.test",
    "audiences": ["https://lab.test"],
    "jwks_file": "keys.json",
}


def test_rules_know_whose_logins_the_deployment_accepts():
    here = installation(set_to(identity_providers=[PROVIDER], require_authenticated_principal=True))
    assert here.issuers == {"https://idp.test"}
    assert not here.open_for_development


def test_a_first_administrator_who_could_not_log_in_is_refused_at_the_start():
    set_to(identity_providers=[PROVIDER], bootstrap_admin_issuer="https://idp.test")
    for providers in ([], [PROVIDER]):
        with pytest.raises(ValidationError, match="the administrator could not log in"):
            set_to(identity_providers=providers, bootstrap_admin_issuer="https://idp.test/")


@pytest.mark.parametrize("code", ["", "Synchrotron", "beam line", "x" * 33, "a\n", "é"])
def test_an_own_code_that_no_facility_could_have_is_refused_at_the_start(code: str):
    with pytest.raises(ValidationError, match="self_facility_code"):
        set_to(self_facility_code=code)


def test_an_address_that_is_the_same_for_every_asset_is_refused_at_the_start():
    with pytest.raises(ValidationError, match="asset_landing_page_template"):
        set_to(asset_landing_page_template="https://pid.test")
