"""Settings: what they say of the deployment itself."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx2
import pytest
from pydantic import ValidationError

from beamkeep.contexts.seams.installation import Facts, JobEntry
from beamkeep.contexts.seams.receivers import ReceiverHosts
from beamkeep.deployment.settings import Settings, facts_of, settings_of
from beamkeep.deployment.web import edge_options, verifier
from beamkeep.parts.agents.models.budget import Price
from beamkeep.parts.conducting.registered import PAUSE, registered_advisors
from beamkeep.parts.witness.keys import make_key

OPEN: dict[str, Any] = {"require_authenticated_principal": False, "development": True}


VERIFIER = verifier(Settings.model_validate(OPEN), httpx2.AsyncClient())


def set_to(**values: Any) -> Any:
    return Settings.model_validate({"base_url": "https://lab.test", **OPEN, **values})


PAGES: dict[str, Any] = {
    "dataset_page": "https://lab.test/pages/datasets/{dataset_id}",
    "edition_page": "https://lab.test/pages/editions/{edition_id}",
    "agent_runtimes": {
        "RunDebriefer": True,
        "CautionDrafter": True,
        "RunSupervisor": False,
        "CautionPromoter": False,
        "ClearanceExpirer": True,
    },
    "actions": (PAUSE.entry,),
    "advisors": frozenset(registered_advisors()),
}


def test_a_deployment_is_local_and_shows_its_assets_itself_by_default():
    page, lab = "https://lab.test/pages/assets/{asset_id}", "https://lab.test"
    here = Facts("local", page, open_for_development=True, service_url=lab, **PAGES)
    assert facts_of(set_to()) == here


def test_the_own_site_and_the_page_of_an_asset_are_set():
    for template, page in (
        ("https://pid.test/{asset_id}", "https://pid.test/{asset_id}"),
        ("{base_url}/i/{asset_id}.html", "https://lab.test/i/{asset_id}.html"),
    ):
        told = set_to(self_facility_code="synchrotron-2", asset_landing_page_template=template)
        lab = "https://lab.test"
        own = "synchrotron-2"
        here = Facts(own, page, open_for_development=True, service_url=lab, **PAGES)
        assert facts_of(told) == here


def test_a_custody_rule_that_no_check_meets_is_refused():
    rules: tuple[dict[str, Any], ...] = ({"verified_by": []}, {"verified_copies": 0})
    for rule in rules:
        with pytest.raises(ValidationError):
            set_to(custody_rules={"Production": rule})


def test_the_registry_of_dois_is_named_whole_or_not_at_all():
    whole = {
        "datacite_url": "https://api.test.datacite.org",
        "datacite_prefix": "10.5072",
        "datacite_repository_id": "LAB.DATA",
        "datacite_password": "secret",
    }
    told = set_to(**whole)
    assert told.datacite
    assert told.datacite.repository_id == "LAB.DATA"
    assert facts_of(told).doi_prefix == "10.5072"
    assert "secret" not in repr(told)
    assert set_to().datacite is None
    for name in whole:
        with pytest.raises(ValidationError, match=f"Set {name.upper()} too"):
            set_to(**{key: each for key, each in whole.items() if key != name})
    with pytest.raises(ValidationError, match="unencrypted"):
        set_to(**{**whole, "datacite_url": "http://api.datacite.org"})


def test_a_language_model_is_named_whole_and_reached_safely():
    named = {"language_model_provider": "anthropic", "language_model_name": "model-x"}
    told = set_to(**named, language_model_api_key="s3cret")
    assert told.provider_account
    assert told.provider_account.base_url == "https://api.anthropic.com"
    assert "s3cret" not in repr(told) + repr(told.provider_account)
    assert set_to().provider_account is None
    for name in named:
        lacking = {key: each for key, each in named.items() if key != name}
        with pytest.raises(ValidationError, match=f"Set {name.upper()} too"):
            set_to(**lacking, language_model_api_key="s3cret")
    with pytest.raises(ValidationError, match="Set LANGUAGE_MODEL_API_KEY too"):
        set_to(**named)
    local = {**named, "language_model_provider": "openai_compatible"}
    with pytest.raises(ValidationError, match="Set LANGUAGE_MODEL_BASE_URL too"):
        set_to(**local)
    with pytest.raises(ValidationError, match="unencrypted"):
        set_to(**local, language_model_base_url="http://models.lab.test/v1")
    assert set_to(**local, language_model_base_url="http://127.0.0.1:11434/v1").provider_account
    with pytest.raises(ValidationError):
        set_to(**{**named, "language_model_provider": "elsewhere"}, language_model_api_key="k")


def test_prices_of_models_are_read_and_never_negative(monkeypatch: pytest.MonkeyPatch):
    price = {"input_usd_per_million": 3, "output_usd_per_million": 15.5}
    monkeypatch.setenv("LANGUAGE_MODEL_PRICES", json.dumps({"openai/model-x": price}))
    assert set_to().language_model_prices == {"openai/model-x": Price(3.0, 15.5)}
    with pytest.raises(ValidationError):
        set_to(language_model_prices={"openai/model-x": {**price, "input_usd_per_million": -1}})


def test_the_templates_of_the_release_are_those_that_agents_are_seeded_with():
    assert facts_of(set_to()).prompt_templates == Facts().prompt_templates


def test_the_outside_logbook_is_named_whole_or_not_at_all():
    whole = {
        "logbook_mirror_url": "https://olog.test/Olog",
        "logbook_mirror_logbook": "Operations",
        "logbook_mirror_user": "beamkeep",
        "logbook_mirror_password": "secret",
    }
    told = set_to(**whole)
    assert told.logbook_mirror
    assert (told.logbook_mirror.logbook, told.logbook_mirror.user) == ("Operations", "beamkeep")
    assert facts_of(told).mirrors_logbooks
    assert "secret" not in repr(told)
    assert set_to().logbook_mirror is None
    assert not facts_of(set_to()).mirrors_logbooks
    for name in whole:
        with pytest.raises(ValidationError, match=f"Set {name.upper()} too"):
            set_to(**{key: each for key, each in whole.items() if key != name})
    with pytest.raises(ValidationError, match="unencrypted"):
        set_to(**{**whole, "logbook_mirror_url": "http://olog.test/Olog"})
    with pytest.raises(ValidationError, match="must be like"):
        set_to(**{**whole, "logbook_mirror_url": "https://ada:pw@olog.test/Olog"})


def test_routes_are_read_and_their_faults_are_named():
    route: dict[str, Any] = {"prefix": "bl:", "substrate": "in_memory", "simulated": True}
    here = facts_of(set_to(control_routes=[{**route, "writable": True}]))
    assert [(each.prefix, each.writable) for each in here.routes] == [("bl:", True)]
    physical = {"prefix": "BL:", "substrate": "in_memory", "writable": True}
    with pytest.raises(ValidationError) as error:
        set_to(control_routes=[route, physical])
    told = str(error.value)
    assert "CONTROL_ROUTES: The prefixes 'bl:' and 'BL:' differ in case only." in told
    assert "The route 'BL:' is writable and physical; name the asset it moves." in told


PROVIDER = {
    "kind": "jwt",
    "issuer": "https://idp.test",
    "audiences": ["https://lab.test"],
    "jwks_file": "keys.json",
}


def test_rules_know_whose_logins_the_deployment_accepts():
    settings = set_to(identity_providers=[PROVIDER], require_authenticated_principal=True)
    here = facts_of(settings)
    assert here.issuers == {"https://idp.test"}
    assert not here.open_for_development


def test_a_first_administrator_who_could_not_log_in_is_refused_at_the_start():
    asking = {"identity_providers": [PROVIDER], "require_authenticated_principal": True}
    named = {"bootstrap_admin_subject": "ada", "bootstrap_admin_name": "Ada"}
    set_to(**asking, **named, bootstrap_admin_issuer="https://idp.test")
    with pytest.raises(ValidationError, match="the administrator could not log in"):
        set_to(**asking, **named, bootstrap_admin_issuer="https://idp.test/")
    # Where no call needs a token, nobody has to log in.
    set_to(**named, identity_providers=[], bootstrap_admin_issuer="https://idp.test/")


@pytest.mark.parametrize("part", ["issuer", "subject", "name"])
def test_a_first_administrator_who_is_named_in_part_is_refused_at_the_start(part: str):
    parts = {"issuer": "https://idp.test", "subject": "ada", "name": "Ada"}
    named = {f"bootstrap_admin_{name}": text for name, text in parts.items() if name != part}
    with pytest.raises(ValidationError, match=f"Set BOOTSTRAP_ADMIN_{part.upper()} too"):
        set_to(**named)


def test_reports_that_would_be_stale_before_the_next_are_refused_at_the_start():
    signal = {
        "signal": "HUTCH:A",
        "enclosure_id": str(UUID(int=1)),
        "permitted": ["1"],
        "not_permitted": ["0"],
    }
    set_to(observed_enclosures=[signal])
    set_to(observer_repeat_seconds=60)
    with pytest.raises(ValidationError, match="stale before the next"):
        set_to(observed_enclosures=[signal], observer_repeat_seconds=60)


def test_a_signal_that_is_observed_through_two_control_systems_is_refused_at_the_start():
    hall = {"signal": "HALL:OPEN", "supply_id": str(UUID(int=1)), "recovering": ["1"]}
    ring = hall | {"supply_id": str(UUID(int=2))}
    set_to(observed_supplies=[hall, ring])
    with pytest.raises(ValidationError, match="substrates epics_ca and epics_pva"):
        set_to(observed_supplies=[hall, ring | {"substrate": "epics_pva"}])


@pytest.mark.parametrize("code", ["", "Synchrotron", "beam line", "x" * 33, "a\n", "é"])
def test_an_own_code_that_no_facility_could_have_is_refused_at_the_start(code: str):
    with pytest.raises(ValidationError, match="self_facility_code"):
        set_to(self_facility_code=code)


def test_the_time_zone_of_the_facility_is_known_to_reads():
    assert facts_of(set_to()).timezone == "UTC"
    assert facts_of(set_to(facility_timezone="Europe/Zurich")).timezone == "Europe/Zurich"


@pytest.mark.parametrize("zone", ["", "Zurich", "Europe", "../UTC", "CEST+2"])
def test_a_time_zone_that_nobody_knows_is_refused_at_the_start(zone: str):
    with pytest.raises(ValidationError, match="is not an IANA time zone"):
        set_to(facility_timezone=zone)


def test_an_address_that_is_the_same_for_every_asset_is_refused_at_the_start():
    with pytest.raises(ValidationError, match="asset_landing_page_template"):
        set_to(asset_landing_page_template="https://pid.test")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.9.10"])
def test_a_service_that_needs_no_tokens_listens_on_loopback(host: str):
    assert set_to(host=host).host == host


@pytest.mark.parametrize("host", ["*", "::", "", "10.0.0.5", "localhost.evil.test"])
def test_a_service_that_needs_no_tokens_listens_nowhere_else(host: str):
    with pytest.raises(ValidationError, match="or require tokens"):
        set_to(host=host)
    asked = {"issuer": "https://idp.test", "audiences": ["a"], "jwks_file": "k", "kind": "jwt"}
    required = {"require_authenticated_principal": True, "identity_providers": [asked]}
    assert set_to(host=host, **required).host == host


@pytest.mark.parametrize("mark", ["#", "/", "?", "[", "]"])
@pytest.mark.parametrize(
    "name", ["database_url", "projector_database_url", "migration_database_url"]
)
def test_a_password_that_is_not_escaped_is_refused_with_the_remedy(name: str, mark: str):
    secret = f"hush{mark}hush"
    with pytest.raises(ValidationError, match="Write # as %23") as refused:
        set_to(**{name: f"postgresql://bk_app:{secret}@127.0.0.1:5432/beamkeep"})
    assert "hush" not in str(refused.value)
    escaped = f"postgresql://bk_app:{quote(secret, safe='')}@127.0.0.1:5432/beamkeep"
    assert getattr(set_to(**{name: escaped}), name).get_secret_value() == escaped


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///beamkeep?host=/run/postgresql",
        "postgresql://bk_app@[::1]:5432/beamkeep?sslmode=verify-full",
        "postgresql://bk_app:p%40ss@db.test/beamkeep?sslmode=verify-full",
    ],
)
def test_the_address_of_a_database_is_taken_as_it_is(url: str):
    assert set_to(database_url=url).database_url.get_secret_value() == url


def test_hosts_are_allowed_under_the_name_the_setting_had_before(monkeypatch: pytest.MonkeyPatch):
    for name, value in OPEN.items():
        monkeypatch.setenv(name.upper(), str(value))
    for name in ("MCP_ALLOWED_HOSTS", "ALLOWED_HOSTS"):
        monkeypatch.setenv(name, f'["{name.lower()}.test"]')
        assert settings_of().allowed_hosts == (f"{name.lower()}.test",)


@pytest.mark.parametrize("proxy", ["10.0.0.5", "10.0.0.0/24", "2001:db8::1", "fd00::/8"])
def test_a_proxy_is_an_address_or_a_network(proxy: str):
    assert set_to(trusted_proxies=[proxy]).trusted_proxies == (proxy,)


@pytest.mark.parametrize("proxy", ["*", "", "proxy.test", "0.0.0.0/0", "::/0", "10.0.0.5/24"])
def test_not_everybody_is_a_proxy(proxy: str):
    with pytest.raises(ValidationError, match="trusted_proxies"):
        set_to(trusted_proxies=[proxy])


@pytest.mark.parametrize(
    "origin", ["https://console.test", "http://127.0.0.1:5173", "https://[::1]:8443"]
)
def test_a_page_of_a_named_origin_may_call(origin: str):
    told = set_to(cors_allowed_origins=[origin])
    assert edge_options(told, VERIFIER).cors_origins == (origin,)


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "null",
        "",
        "console.test",
        "https://*.test",
        "https://console.test/",
        "https://console.test/app",
        "https://console.test?a",
        "https://CONSOLE.test",
        "HTTPS://console.test",
        "https://ada@console.test",
        "https://",
        "file:///etc/passwd",
        "ftp://console.test",
    ],
)
def test_what_is_not_exactly_one_origin_is_refused_at_the_start(origin: str):
    with pytest.raises(ValidationError, match="cors_allowed_origins"):
        set_to(cors_allowed_origins=[origin])


def test_the_resource_has_no_slash_at_its_end():
    told = set_to(base_url="http://localhost:8000/")
    assert edge_options(told, VERIFIER).resource_url == "http://localhost:8000"


JOBS = [{"name": "find_center", "command": ["/opt/find-center", "--job", "{job}"], "inline": True}]


def test_rules_know_the_jobs_that_the_settings_name():
    settings = set_to(compute_jobs=JOBS, compute_directory="/var/lib/beamkeep/jobs")
    assert facts_of(settings).jobs == (JobEntry("find_center", inline=True),)


def test_jobs_need_a_directory_and_names_of_their_own():
    with pytest.raises(ValidationError, match="Set COMPUTE_DIRECTORY"):
        set_to(compute_jobs=JOBS)
    with pytest.raises(ValidationError, match="two jobs named 'find_center'"):
        set_to(compute_jobs=JOBS * 2, compute_directory="/var/lib/beamkeep/jobs")


@pytest.mark.parametrize(
    "fault", [{"command": []}, {"comand": ["x"]}, {"timeout": 0}, {"name": ""}]
)
def test_a_job_that_could_not_run_is_refused_at_the_start(fault: dict[str, Any]):
    with pytest.raises(ValidationError):
        set_to(compute_jobs=[JOBS[0] | fault], compute_directory="/var/lib/beamkeep/jobs")


def test_the_hosts_and_the_key_of_subscriptions_are_known_to_rules(tmp_path: Path):
    key = tmp_path / "key"
    key.write_text(b64encode(b"k" * 32).decode())
    key.chmod(0o400)
    hosts = ["chat.lab.test", "*.lab.test:8443", "[::1]:8080"]
    settings = set_to(
        subscription_hosts=hosts, subscription_plain_hosts=hosts[2:], subscription_key_file=key
    )
    here = facts_of(settings)
    assert here.receivers == ReceiverHosts(tuple(hosts), ("[::1]:8080",))
    assert settings.secret_keeper() is not None
    assert set_to().secret_keeper() is None


@pytest.mark.parametrize("host", ["", "*", "https://a.test", "a.test/x", "a b", "a:b"])
def test_what_is_no_host_is_refused(host: str):
    with pytest.raises(ValidationError, match="subscription_hosts"):
        set_to(subscription_hosts=[host])


def test_a_key_file_that_cannot_be_used_is_refused(tmp_path: Path):
    whole = b64encode(b"k" * 32).decode()
    for name, text, mode in (("absent", None, 0), ("short", "aGk=", 0o600), ("open", whole, 0o640)):
        if text:
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(mode)
        with pytest.raises(ValidationError, match=r"SUBSCRIPTION_KEY_FILE .* cannot be used"):
            set_to(subscription_key_file=tmp_path / name)


def test_data_roots_are_absolute_directories_and_never_everything():
    assert set_to(data_roots=["/data/one"]).data_roots == (Path("/data/one"),)
    for root in ("data", "/", "/data/..", "/data/../etc"):
        with pytest.raises(ValidationError, match="absolute directory"):
            set_to(data_roots=[root])


def test_directories_with_owners_lie_in_a_data_root_and_not_in_each_other():
    vera = uuid4()
    owners = {"/data/one/vera": [str(vera)], "/data/one/otto": []}
    places = set_to(data_roots=["/data/one"], data_owners=owners).data_places
    assert places.open_to(vera).own == ("/data/one/vera",)
    assert places.open_to(uuid4()).own == ()
    assert places.open_to(None).own is None
    with pytest.raises(ValidationError, match="/data/two is not beneath one of DATA_ROOTS"):
        set_to(data_roots=["/data/one"], data_owners={"/data/two": []})
    with pytest.raises(ValidationError, match="/data/one/vera lies in /data/one"):
        set_to(data_roots=["/data/one"], data_owners={"/data/one": [], "/data/one/vera": []})


def test_a_witness_needs_the_role_that_may_write_its_trees(tmp_path: Path):
    make_key("lab.test/witness", tmp_path / "key")
    with pytest.raises(ValidationError, match=r"Set WITNESS_DATABASE_URL .* role bk_witness"):
        set_to(witness_key_file=tmp_path / "key")
    url = "postgresql://bk_witness@localhost/beamkeep"
    assert set_to(witness_key_file=tmp_path / "key", witness_database_url=url).witness_keys()
    with pytest.raises(ValidationError, match="Set WITNESS_KEY_FILE too"):
        set_to(witness_origins={"lab.test/north/events-1": []})
