# Written from `asynchronous`; `make reference` writes it again.
"""Finding the objects that references mean."""

from collections.abc import Mapping, Sequence
from typing import Any

from beamkeep_client.synchronous.http import HttpClient
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


def found(
    client: HttpClient, reference: Reference, attempts: int = 1
) -> Mapping[str, Any]:
    """Return the object that a reference means.

    Raise AmbiguousNameError when no object or several fit, ServiceError when the caller may not see
    objects of this kind.
    """

    def ask(name: str, **arguments: Any) -> Any:
        method, path, content = request_of(catalogue()[name], arguments)
        return (client.request(method, path, **content, attempts=attempts)).json()

    try:
        hits: Sequence[Mapping[str, Any]] = (ask("search", **search_for(reference)))["items"]
    except ServiceError as error:
        raise not_searchable(reference, error) from None
    if not hits:
        try:
            caller = ask("get_self")
        except ServiceError as error:
            if error.code != UNAUTHORIZED:
                raise
            caller = None
        raise not_found(reference, caller)
    assets = [ask("get_asset", asset_id=id) for id in assets_to_read(reference, hits)]
    return chosen(reference, with_identifiers(hits, assets))
