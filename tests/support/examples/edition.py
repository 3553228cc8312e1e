"""Examples of editions, and of the external ids of datasets and editions."""

from typing import Any
from uuid import uuid4

from beamkeep.testing.examples import CallExample, Do, Make, changed, given, made
from tests.support.examples.data import a_dataset, a_production_dataset, check_of
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.trust import an_actor


def some_doi() -> str:
    """A DOI that no other object has."""
    return f"10.1234/{uuid4()}"


async def a_citable_dataset(do: Do) -> str:
    """Production data with a verified copy."""
    dataset_id = await a_production_dataset(do)
    dataset = await do("get_dataset", {"dataset_id": dataset_id})
    copy = {
        "dataset_id": dataset_id,
        "uri": f"https://data.lab.test/{dataset_id}.h5",
        "checksum": dataset["checksum"],
        "byte_size": dataset["byte_size"],
        "access_protocol": "HTTPS",
    }
    copy_id = (await do("register_distribution", copy))["distribution_id"]
    await do("record_attestation", await check_of(do, copy_id))
    return dataset_id


def new_edition_of(a_member: Make) -> CallExample:
    async def register(do: Do) -> dict[str, Any]:
        return {
            "title": "Fossils of the Solnhofen limestone",
            "description": "Tomograms of twelve fossils at 12.4 keV.",
            "kind": "ROCrate",
            "dataset_ids": [await a_member(do)],
            "creator_ids": [await an_actor(do)],
            "contributors": [{"actor_id": await an_actor(do), "role": "DataCurator"}],
            "publisher_facility_code": OWN_SITE,
            "license": "CC-BY-4.0",
        }

    return register


register_edition = new_edition_of(a_citable_dataset)
an_edition = made("register_edition", register_edition, "edition_id")
a_sealed_edition = changed("seal_edition", given(edition_id=an_edition), "edition_id")
a_published_edition = changed("publish_edition", given(edition_id=a_sealed_edition), "edition_id")


async def add_edition_dataset(do: Do) -> dict[str, Any]:
    return {"edition_id": await an_edition(do), "dataset_id": await a_dataset(do)}


async def remove_edition_dataset(do: Do) -> dict[str, Any]:
    added = await add_edition_dataset(do)
    await do("add_edition_dataset", added)
    return added


async def assign_dataset_external_id(do: Do) -> dict[str, Any]:
    return {"dataset_id": await a_production_dataset(do), "external_id": some_doi()}


async def assign_edition_external_id(do: Do) -> dict[str, Any]:
    return {"edition_id": await a_published_edition(do), "external_id": some_doi()}


a_named_dataset = changed("assign_dataset_external_id", assign_dataset_external_id, "dataset_id")
a_named_edition = changed("assign_edition_external_id", assign_edition_external_id, "edition_id")


async def list_datasets(do: Do) -> dict[str, Any]:
    dataset = await do("get_dataset", {"dataset_id": await a_named_dataset(do)})
    found = {"media_type": "application/x-hdf5", "status": ["Registered"]}
    return {"intent": "Production", "external_id": dataset["external_id"], **found}


async def list_editions(do: Do) -> dict[str, Any]:
    edition = await do("get_edition", {"edition_id": await a_named_edition(do)})
    return {"status": ["Published"], "kind": "ROCrate", "external_id": edition["external_id"]}


async def mint_dataset_external_id(do: Do) -> dict[str, Any]:
    return {
        "dataset_id": await a_production_dataset(do),
        "creator_ids": [await an_actor(do)],
        "publisher_facility_code": OWN_SITE,
        "license": "CC-BY-4.0",
    }


async def hide_dataset_external_id(do: Do) -> dict[str, Any]:
    hidden = {"dataset_id": await a_named_dataset(do), "reason": "Wrong center"}
    await do("demote_dataset", hidden)
    return hidden


async def hide_edition_external_id(do: Do) -> dict[str, Any]:
    hidden = {"edition_id": await a_named_edition(do), "reason": "Wrong sample"}
    await do("withdraw_edition", hidden)
    return hidden


EXAMPLES: dict[str, CallExample] = {
    "register_edition": register_edition,
    "add_edition_dataset": add_edition_dataset,
    "remove_edition_dataset": remove_edition_dataset,
    "seal_edition": given(edition_id=an_edition),
    "publish_edition": given(edition_id=a_sealed_edition),
    "withdraw_edition": given(edition_id=a_published_edition, reason="Wrong sample"),
    "assign_edition_external_id": assign_edition_external_id,
    "mint_edition_external_id": given(edition_id=a_published_edition),
    "hide_edition_external_id": hide_edition_external_id,
    "get_edition": given(edition_id=a_named_edition),
    "get_edition_history": given(edition_id=a_sealed_edition),
    "list_editions": list_editions,
    "list_datasets": list_datasets,
    "get_edition_manifest": given(edition_id=a_published_edition),
    "assign_dataset_external_id": assign_dataset_external_id,
    "mint_dataset_external_id": mint_dataset_external_id,
    "hide_dataset_external_id": hide_dataset_external_id,
    "export_dataset_datacite": given(dataset_id=a_named_dataset),
}
