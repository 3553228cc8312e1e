"""Landing pages in a real browser: wide and narrow, light and dark, without scripts."""

import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation
from beamkeep.testing.installation import FACILITY_CODE
from beamkeep.testing.server import Server

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed"),
]

PICTURES = Path(__file__).parents[2] / "build"
SIZES = {"desktop": (1280, 800), "phone": (375, 740)}
CHECKSUM = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"


class Caller:
    """Calls by name, as the administrator."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http

    def __call__(self, name: str, /, **arguments: Any) -> Any:
        row = CATALOGUE.named[name]
        assert isinstance(row, Operation)
        rest = {key: each for key, each in arguments.items() if key not in row.route.fields}
        answer = self._http.post(row.route.path.format(**arguments), json=rest)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


@pytest.fixture(scope="module")
def edition_id(server: Server) -> str:
    """A published edition of two datasets."""
    head = {"authorization": f"Bearer {server.admin}"}
    with httpx2.Client(base_url=server.url, headers=head) as http:
        return publish(Caller(http))


def publish(do: Caller) -> str:
    members: list[str] = []
    for number in (1, 2):
        checksum = {"algorithm": "sha256", "value": CHECKSUM[:-1] + str(number)}
        size = 3_221_225_472
        encoding = {"media_type": "application/x-hdf5"}
        made = do(
            "register_dataset",
            name=f"Archaeopteryx, slab {number}",
            checksum=checksum,
            byte_size=size,
            encoding=encoding,
        )
        id = made["dataset_id"]
        place = f"https://data.facility.example/fossils/2030/slab-{number}.h5"
        copy = do(
            "register_distribution",
            dataset_id=id,
            uri=place,
            checksum=checksum,
            byte_size=size,
            access_protocol="HTTPS",
        )
        do(
            "record_attestation",
            distribution_id=copy["distribution_id"],
            kind="ChecksumVerified",
            checked_at="2026-01-31T07:30:00Z",
            checker="sha256sum 9.1",
            found={**checksum, "byte_size": size},
        )
        do("promote_dataset", dataset_id=id, reason="Looked at by two")
        members.append(id)
    orcid = {"external_id": "0000-0002-1825-0097", "external_id_namespace": "orcid"}
    ada = do("register_actor", name="Josiah Carberry", **orcid)["actor_id"]
    otto = do("register_actor", name="Otto Hahn")["actor_id"]
    edition = do(
        "register_edition",
        title="Phase-contrast tomograms of two slabs of Archaeopteryx",
        description="Two slabs, 1 500 projections each.\nReconstructed with gridrec.",
        kind="ROCrate",
        dataset_ids=members,
        creator_ids=[ada, otto],
        publisher_facility_code=FACILITY_CODE,
        license="CC-BY-4.0",
    )
    id = edition["edition_id"]
    do("seal_edition", edition_id=id)
    do("publish_edition", edition_id=id)
    do("assign_edition_external_id", edition_id=id, external_id=f"10.1234/{id}")
    return id


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture(
    params=[(size, scheme) for size in SIZES for scheme in ("light", "dark")], ids="-".join
)
def page(
    request: pytest.FixtureRequest, chromium: Browser, server: Server, edition_id: str
) -> Iterator[Page]:
    size, scheme = request.param
    width, height = SIZES[size]
    context = chromium.new_context(
        color_scheme=scheme,
        viewport={"width": width, "height": height},
        # With scripts, the browser reports what the policy would block.
        java_script_enabled=scheme == "dark",
    )
    opened, complaints, hosts = context.new_page(), list[str](), set[str]()
    opened.on("console", lambda told: complaints.append(told.text))
    opened.on("request", lambda asked: hosts.add(urlsplit(asked.url).netloc))
    opened.goto(f"{server.url}/pages/editions/{edition_id}")
    yield opened
    PICTURES.mkdir(exist_ok=True)
    opened.screenshot(path=PICTURES / f"edition-{size}-{scheme}.png", full_page=True)
    context.close()
    assert complaints == []
    assert hosts == {urlsplit(server.url).netloc}


def test_the_page_is_read_without_scripts_and_fits_its_width(page: Page, edition_id: str):
    expect(page.locator("h1")).to_have_text(
        "Phase-contrast tomograms of two slabs of Archaeopteryx"
    )
    expect(page.locator(".citation")).to_contain_text("Josiah Carberry; Otto Hahn")
    expect(page.get_by_role("link", name="Josiah Carberry")).to_have_attribute(
        "href", "https://orcid.org/0000-0002-1825-0097"
    )
    slab = page.get_by_role("link", name="Archaeopteryx, slab 1")
    expect(slab).to_be_visible()
    size = page.viewport_size
    assert size
    right = [
        box["x"] + box["width"]
        for each in page.locator("main *").all()
        if (box := each.bounding_box())
    ]
    assert max(right) <= size["width"]
