"""Landing pages: open to everybody for what is published, and 404 for everything else."""

import json
import re
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import pytest
from tests.support.examples.assets import EXAMPLES as ASSETS
from tests.support.examples.data import a_dataset
from tests.support.examples.edition import (
    a_citable_dataset,
    a_named_dataset,
    a_named_edition,
    a_published_edition,
    a_sealed_edition,
    an_edition,
    some_doi,
)
from tests.support.examples.federation import OWN_SITE
from tests.support.rest_client import RestClient, rest_client

from beamkeep.parts.publishing.landing.html import LandingPage, Linked, Section, html_of
from beamkeep.parts.publishing.landing.routes import BURST

pytestmark = pytest.mark.anyio

POLICY = (
    "default-src 'none'; style-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@pytest.fixture
async def rest() -> AsyncGenerator[RestClient]:
    async with rest_client() as client:
        yield client


async def page(rest: RestClient, noun: str, id: str) -> str:
    answer = await rest.http.get(f"/pages/{noun}s/{id}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["referrer-policy"] == "no-referrer"
    return answer.text


def json_ld(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


async def test_a_published_edition_has_a_page_with_its_description_for_machines(rest: RestClient):
    id = await a_named_edition(rest)
    told = await rest("get_edition", {"edition_id": id})
    text = await page(rest, "edition", id)
    doi = f"https://doi.org/{told['external_id']}"
    assert "<h1>Fossils of the Solnhofen limestone</h1>" in text
    assert f'<a href="{doi}">{doi}</a>' in text
    assert told["content_hash"] in text
    data = json_ld(text)
    assert (data["@context"], data["@type"], data["@id"]) == ("https://schema.org", "Dataset", doi)
    assert data["creator"] == [{"@type": "Person", "name": "Grace"}]
    assert data["license"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert [each["name"] for each in data["hasPart"]] == ["Fossil 7, overview"]
    head = await rest.http.head(f"/pages/editions/{id}")
    assert head.headers["link"] == f'<{doi}>; rel="cite-as"'


async def test_what_is_not_published_is_not_found(rest: RestClient):
    hidden = {
        "edition": [await an_edition(rest), await a_sealed_edition(rest)],
        "dataset": [await a_dataset(rest), await a_citable_dataset(rest)],
        "asset": [(await ASSETS["assign_asset_external_id"](rest))["asset_id"]],
    }
    bodies: set[str] = set()
    for noun, ids in hidden.items():
        for id in [*ids, str(uuid4()), "no-uuid"]:
            answer = await rest.http.get(f"/pages/{noun}s/{id}")
            assert answer.status_code == 404
            bodies.add(answer.text)
    assert len(bodies) == 1, "an answer must not tell whether the object exists"


async def test_a_withdrawn_edition_keeps_a_tombstone_without_its_reason(rest: RestClient):
    id = await a_published_edition(rest)
    await rest("withdraw_edition", {"edition_id": id, "reason": "Ada mixed up the samples"})
    text = await page(rest, "edition", id)
    assert "This edition was withdrawn on" in text
    assert "mixed up" not in text
    assert "Fossil 7" not in text
    assert json_ld(text)["creativeWorkStatus"] == "Withdrawn"
    unsealed = await an_edition(rest)
    await rest("withdraw_edition", {"edition_id": unsealed, "reason": "No"})
    assert (await rest.http.get(f"/pages/editions/{unsealed}")).status_code == 404


async def test_the_page_of_a_dataset_says_what_became_of_it(rest: RestClient):
    id = await a_citable_dataset(rest)
    await rest("assign_dataset_external_id", {"dataset_id": id, "external_id": some_doi()})
    text = await page(rest, "dataset", id)
    assert f'<a href="https://data.lab.test/{id}.h5">' in text
    await rest(
        "update_dataset_retention",
        {"dataset_id": id, "available_from": "2990-01-01", "reason": "x"},
    )
    text = await page(rest, "dataset", id)
    assert "under embargo until 2990-01-01" in text
    assert "data.lab.test" not in text
    await rest("demote_dataset", {"dataset_id": id, "reason": "Ada erred"})
    text = await page(rest, "dataset", id)
    assert "This dataset was retracted" in text
    await rest("discard_dataset", {"dataset_id": id, "reason": "Ada erred"})
    text = await page(rest, "dataset", id)
    assert "only its description is left" in text
    assert "erred" not in text


async def test_an_instrument_with_an_identifier_has_a_page(rest: RestClient):
    named = await ASSETS["assign_asset_external_id"](rest)
    await rest("assign_asset_external_id", named)
    text = await page(rest, "asset", named["asset_id"])
    assert json_ld(text)["@type"] == "IndividualProduct"
    assert named["external_id"] in text


async def test_only_creators_are_named_and_nothing_else_of_their_profiles(rest: RestClient):
    private = {"email": "grace@lab.test", "phone": "+1 555", "affiliation": "Institute of Secrets"}
    orcid = {"external_id": "0000-0002-1825-0097", "external_id_namespace": "orcid"}
    creator = (await rest("register_actor", {"name": "Grace H.", **private, **orcid}))["actor_id"]
    helper = (await rest("register_actor", {"name": "Quiet Q."}))["actor_id"]
    edition = {
        "title": "Fossils",
        "kind": "ROCrate",
        "dataset_ids": [await a_citable_dataset(rest)],
        "creator_ids": [creator],
        "contributors": [{"actor_id": helper, "role": "DataManager"}],
        "publisher_facility_code": OWN_SITE,
        "license": "CC0-1.0",
    }
    id = (await rest("register_edition", edition))["edition_id"]
    for name in ("seal_edition", "publish_edition"):
        await rest(name, {"edition_id": id})
    text = await page(rest, "edition", id)
    assert '<a href="https://orcid.org/0000-0002-1825-0097">Grace H.</a>' in text
    assert not re.search("lab.test/grace|grace@|555|Secrets|Quiet", text)
    await rest("forget_actor", {"actor_id": creator})
    assert "Grace" not in await page(rest, "edition", id)


async def test_one_address_reads_only_so_many_pages(rest: RestClient):
    id = await a_named_dataset(rest)
    statuses = [(await rest.http.get(f"/pages/datasets/{id}")).status_code for _ in range(60)]
    assert statuses == [200] * int(BURST) + [429] * (60 - int(BURST))


async def test_the_style_is_served_and_loads_nothing(rest: RestClient):
    answer = await rest.http.get("/pages/page.css")
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert not re.findall(r"https?:|@import|url\(", answer.text)


def test_hostile_texts_stay_texts():
    hostile = '</script><script>alert("1")</script> & <img src=x onerror=alert(1)>'
    shown = LandingPage(
        kind="Dataset",
        title=hostile,
        notice=hostile,
        cited_as=hostile,
        cite_address="javascript:alert(1)",
        description=hostile,
        sections=(
            Section(hostile, ((hostile, (hostile, Linked(hostile, "javascript:alert(1)"))),)),
            Section(hostile, titles=('"x',), rows=((Linked(hostile, 'https://a.test/?"><b>'),),)),
        ),
        json_ld={"name": hostile},
    )
    text = html_of(shown).decode()
    assert text.count("<script") == text.count("</script>") == 1
    assert "<img" not in text
    assert "<b>" not in text
    assert 'href="javascript' not in text
    assert json_ld(text) == {"name": hostile}
