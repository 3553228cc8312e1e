"""Finding the objects that references mean."""

from collections.abc import Mapping, Sequence
from typing import Any

from beamkeep_client.asynchronous.http import AsyncHttpClient
from beamkeep_client.catalogue import catalogue, request_of
from beamkeep_client.http import ServiceError
from beamkeep_client.references import (
    UNAUTHORIZED,
    Reference,
    assets_to_read,
    chosen,
    not_found,
    not_searchable,
    search_for,
    with_identifiers,
)


async def found(
    client: AsyncHttpClient, reference: Reference, attempts: int = 1
) -> Mapping[str, Any]:
    """Return the object that a reference means.

    Raise AmbiguousNameError when no object or several fit, ServiceError when the caller may not see
    objects of this kind.
    """

    async def ask(name: str, **arguments: Any) -> Any:
        method, path, content = request_of(catalogue()[name], arguments)
        return (await client.request(method, path, **content, attempts=attempts)).json()

    try:
        hits: Sequence[Mapping[str, Any]] = (await ask("search", **search_for(reference)))["items"]
    except ServiceError as error:
        raise not_searchable(reference, error) from None
    if not hits:
        try:
            caller = await ask("get_self")
        except ServiceError as error:
            if error.code != UNAUTHORIZED:
                raise
            caller = None
        raise not_found(reference, caller)
    assets = [await ask("get_asset", asset_id=id) for id in assets_to_read(reference, hits)]
    return chosen(reference, with_identifiers(hits, assets))
