"""One asset per mount and one mount per asset, however many try at once."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator

import pytest
from tests.support.examples.federation import OWN_SITE

from beamkeep.kernel import Refusal
from beamkeep.runtime import Service
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import call

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

MANY = 6


@pytest.fixture
async def service(database: Database) -> AsyncGenerator[Service]:
    async with postgres_service(database) as deployed:
        yield deployed.service


async def an_asset(service: Service) -> str:
    cameras = await call(service, "define_family", {"name": "Camera", "affordances": ["Capturing"]})
    camera = {
        "name": "Camera",
        "tier": "Device",
        "facility_code": OWN_SITE,
        "family_ids": [str(cameras.id)],
    }
    return str((await call(service, "register_asset", camera)).id)


async def a_mount(service: Service) -> str:
    return str((await call(service, "register_mount", {"slot_code": "Slot 1"})).id)


async def install_at_once(service: Service, pairs: list[tuple[str, str]]) -> Counter[str]:
    async def install(mount_id: str, asset_id: str) -> str:
        try:
            await call(service, "install_asset", {"mount_id": mount_id, "asset_id": asset_id})
        except Refusal as refusal:
            return type(refusal).__name__
        return "installed"

    return Counter(await asyncio.gather(*(install(*pair) for pair in pairs)))


async def test_one_asset_goes_into_one_of_many_mounts(service: Service):
    asset_id = await an_asset(service)
    mount_ids = [await a_mount(service) for _ in range(MANY)]
    ends = await install_at_once(service, [(mount_id, asset_id) for mount_id in mount_ids])
    assert ends["installed"] == 1
    assert ends.keys() <= {"installed", "AssetAlreadyInstalledError", "ConcurrencyError"}
    asset = json.loads((await call(service, "get_asset", {"asset_id": asset_id})).body)
    mounts = [
        json.loads((await call(service, "get_mount", {"mount_id": id})).body) for id in mount_ids
    ]
    held = [mount["mount_id"] for mount in mounts if mount["installed_asset_id"] == asset_id]
    assert held == [asset["mount_id"]]


async def test_one_of_many_assets_goes_into_one_mount(service: Service):
    mount_id = await a_mount(service)
    asset_ids = [await an_asset(service) for _ in range(MANY)]
    ends = await install_at_once(service, [(mount_id, asset_id) for asset_id in asset_ids])
    assert ends["installed"] == 1
    assert ends.keys() <= {"installed", "MountAlreadyOccupiedError", "ConcurrencyError"}


async def test_an_installation_and_a_removal_are_in_both_histories(service: Service):
    mount_id, asset_id = await a_mount(service), await an_asset(service)
    await call(service, "install_asset", {"mount_id": mount_id, "asset_id": asset_id})
    await call(service, "uninstall_asset", {"mount_id": mount_id, "reason": "Repair"})
    told = [
        [(event["event_type"], event["command_name"]) for event in json.loads(page.body)["items"]]
        for page in (
            await call(service, "get_mount_history", {"mount_id": mount_id}),
            await call(service, "get_asset_history", {"asset_id": asset_id}),
        )
    ]
    assert told == [
        [
            ("MountRegistered", "register_mount"),
            ("MountAssetInstalled", "install_asset"),
            ("MountAssetUninstalled", "uninstall_asset"),
        ],
        [
            ("AssetRegistered", "register_asset"),
            ("AssetInstalledInMount", "install_asset"),
            ("AssetUninstalledFromMount", "uninstall_asset"),
        ],
    ]
