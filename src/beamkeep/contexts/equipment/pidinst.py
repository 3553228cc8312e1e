"""Pidinst: the publication record of an asset by the PIDINST metadata schema 1.0."""

from collections.abc import Iterable
from datetime import date
from uuid import UUID

from beamkeep.contexts.federation.facility import Facility, FacilityNotFoundError, facility_by_code
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import PLACES, facility_scopes
from beamkeep.kernel import Cannot, Query, Record, answers

from .asset import AlternateIdentifierKind, Asset, ExternalIdNamespace, assets
from .family import families
from .model import models

TYPES = {ExternalIdNamespace.DOI: "DOI", ExternalIdNamespace.HANDLE: "Handle"}


class AssetPidinstIncompleteError(Cannot):
    """The publication record of an asset needs a model and a facility."""


class PidinstIdentifier(Record):
    value: str
    type: str


class PidinstOwner(Record):
    name: str


class PidinstTerm(PidinstOwner):
    """A name with an optional identifier."""

    identifier: str | None
    identifier_type: str | None


class PidinstDate(Record):
    value: date
    type: str


class PidinstRelatedIdentifier(PidinstIdentifier):
    relation: str


class PidinstAlternateIdentifier(PidinstIdentifier):
    name: str | None


class Pidinst(Record):
    identifier: PidinstIdentifier
    schema_version: str
    landing_page: str
    name: str
    owners: tuple[PidinstOwner, ...]
    manufacturers: tuple[PidinstTerm, ...]
    model: PidinstTerm
    instrument_types: tuple[PidinstTerm, ...]
    dates: tuple[PidinstDate, ...]
    related_identifiers: tuple[PidinstRelatedIdentifier, ...]
    alternate_identifiers: tuple[PidinstAlternateIdentifier, ...]


class GetAssetPidinst(Query):
    """Show the publication record of one asset as an instrument; it is built for each call."""

    asset_id: UUID


async def pidinst(query: GetAssetPidinst, read: Reader) -> Pidinst:
    asset = await read.one(assets, query.asset_id)
    owner = await _owner(asset, read)
    # Objects that the caller may not see are left out; a mandatory one then counts as missing.
    modelled = await read.visible(models, [asset.model_id] if asset.model_id else [])
    model = next(iter((await read.many(models, modelled)).values()), None)
    if model is None or owner is None:
        lacking = {"model": model, "facility": owner}
        missing = tuple(part for part, found in lacking.items() if found is None)
        raise AssetPidinstIncompleteError(f"Missing: {', '.join(missing)}.", missing=missing)
    maker = model.manufacturer
    shown = await read.visible(families, asset.family_ids)
    kinds = sorted((it.name, it.id) for it in (await read.many(families, sorted(shown))).values())
    children = {row.asset_id for row in await read.rows(PLACES, parent_id=asset.id)}
    parents = {asset.parent_id} if asset.parent_id else set[UUID]()
    near = await read.many(assets, sorted(await read.visible(assets, parents | children)))
    return Pidinst(
        identifier=_published(asset) or PidinstIdentifier(f"urn:uuid:{asset.id}", "URN"),
        schema_version="1.0",
        landing_page=read.facts.asset_page.replace("{asset_id}", str(asset.id)),
        name=asset.name,
        owners=(PidinstOwner(owner.name),),
        manufacturers=(PidinstTerm(maker.name, maker.identifier, maker.identifier_scheme),),
        model=PidinstTerm(model.name, model.part_number, "PartNumber"),
        instrument_types=tuple(PidinstTerm(name, f"urn:uuid:{id}", "URN") for name, id in kinds),
        dates=_dates(asset),
        related_identifiers=(
            *_related("IsComponentOf", (near[id] for id in near if id in parents)),
            *_related("HasComponent", (near[id] for id in near if id in children)),
        ),
        alternate_identifiers=_alternates(asset),
    )


async def _owner(asset: Asset, read: Reader) -> Facility | None:
    """Return the facility at the root above the asset; None if there is none."""
    code = (await facility_scopes([asset.id], read))[asset.id].facility_scope
    try:
        return await facility_by_code(code, read) if code else None
    except FacilityNotFoundError:
        return None


def _published(asset: Asset) -> PidinstIdentifier | None:
    namespace = asset.external_id_namespace
    if asset.external_id is None or namespace is None:
        return None
    return PidinstIdentifier(asset.external_id, TYPES[namespace])


def _dates(asset: Asset) -> tuple[PidinstDate, ...]:
    times = {"Commissioned": asset.commissioned_at, "DeCommissioned": asset.decommissioned_at}
    return tuple(PidinstDate(time.date(), type) for type, time in times.items() if time)


def _related(relation: str, others: Iterable[Asset]) -> list[PidinstRelatedIdentifier]:
    found = [(one.value, one.type) for asset in others if (one := _published(asset))]
    return [PidinstRelatedIdentifier(*one, relation) for one in sorted(found)]


def _alternates(asset: Asset) -> tuple[PidinstAlternateIdentifier, ...]:
    own, alternate = AlternateIdentifierKind.INVENTORY_NUMBER, PidinstAlternateIdentifier
    found = [
        alternate(one.value, own, None)
        if one.kind is own
        else alternate(one.value, "Other", one.kind)
        for one in sorted(asset.alternate_identifiers)
    ]
    if (serial := asset.settings.get("serial_number")) is not None:
        found.append(PidinstAlternateIdentifier(str(serial), "SerialNumber", None))
    return tuple(sorted(found, key=lambda one: (one.type, one.value)))


# fmt: off
QUESTIONS = (
    answers("GET /assets/{asset_id}/pidinst", GetAssetPidinst, pidinst, Pidinst,
        AssetPidinstIncompleteError, of=assets, about="asset_id",
        composed_of=("Facility", "Family", "Model")),
)
