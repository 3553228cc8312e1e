"""The page at /docs: its files, its examples and its search."""

import re
from collections.abc import AsyncGenerator
from importlib.resources import files

import pytest
from tests.support.example_data import FILE, examples, text_of
from tests.support.rest_client import RestClient, rest_client

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.surfaces.http import reference_page
from beamkeep_client.catalogue import catalogue
from beamkeep_client.finding import found
from beamkeep_client.shared.words import NOUNS

pytestmark = pytest.mark.anyio

NAMES = sorted(file.name for file in files(reference_page).joinpath("files").iterdir())
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'"
)


@pytest.fixture
async def rest() -> AsyncGenerator[RestClient]:
    async with rest_client() as client:
        yield client


@pytest.mark.parametrize("name", NAMES)
async def test_every_file_is_served_to_anyone_under_one_policy(name: str, rest: RestClient):
    answer = await rest.http.get("/docs" if name == "index.html" else f"/docs/{name}")
    assert answer.is_success
    assert answer.content == files(reference_page).joinpath("files", name).read_bytes()
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith((".json", ".svg"))])
def test_no_file_refers_to_another_host_or_has_code_inline(name: str):
    text = files(reference_page).joinpath("files", name).read_text()
    assert not re.findall(r"""https?:|["'(]//|@import|url\(""", text)
    links = re.findall(r"""\b(?:src|href)="([^"]*)""", text)
    assert {link for link in links if link.startswith(("/", "data:"))} == set()
    assert not re.findall(
        r"<style|<script(?! type=\"module\" src=)|\bon\w+=|style=|innerHTML", text
    )


async def test_the_examples_are_fresh():
    made = await examples()
    assert made.keys() == CATALOGUE.named.keys()
    assert FILE.read_text() == text_of(made), "run `make reference`"


FIRST = {
    "hutch": "list_enclosures",
    "beam": "list_supplies",
    "note": "append_run_logbook_entry",
    "ready": "get_plan_readiness",
    "start a run": "start_run",
    "pause the scan": "hold_run",
    "sample": "list_subjects",
    "chat": "list_subscriptions",
}


@pytest.mark.parametrize(("words", "name"), FIRST.items())
async def test_page_and_command_line_find_the_same_operation_first(
    words: str, name: str, rest: RestClient
):
    answer = await rest.http.get("/docs/search", params={"words": words})
    assert answer.json()["operations"][0] == name
    assert found(words.split())[0].name == name


@pytest.mark.parametrize("words", ["", "qwertz", "%ff%00", "a " * 5000])
async def test_words_that_mean_nothing_find_nothing(words: str, rest: RestClient):
    answer = await rest.http.get("/docs/search", params={"words": words})
    assert answer.json() == {"operations": []}
    assert (await rest.http.get("/docs/search")).json() == {"operations": []}


def test_every_noun_of_the_catalogue_is_in_the_glossary():
    assert {entry.noun for entry in catalogue().values()} - {""} == NOUNS.keys()
