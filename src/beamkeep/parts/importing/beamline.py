"""The description of a beamline in a file, checked as far as possible without the service."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from beamkeep.contexts.equipment.asset import AlternateIdentifierKind, AssetTier
from beamkeep.contexts.equipment.family import Affordance
from beamkeep.contexts.equipment.model import IdentifierScheme
from beamkeep.kernel import Invalid, Record
from beamkeep.kernel.values import Name
from beamkeep.schemas import JsonSchema, carry_settings, declare

from .parsing import FaultyFileError, FileFault, KeyPath, ParsedFile


class Described(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DescribedFamily(Described):
    name: Name
    affordances: tuple[Affordance, ...]
    settings_schema: dict[str, object] | None = None


class DescribedManufacturer(Described):
    name: Name
    identifier: Name | None = None
    identifier_scheme: IdentifierScheme | None = None


class DescribedModel(Described):
    name: Name
    manufacturer: DescribedManufacturer
    part_number: Annotated[str, MinLen(1), MaxLen(100)]
    families: Annotated[tuple[Name, ...], MinLen(1)]


class DescribedEnclosure(Described):
    name: Name


class DescribedIdentifier(Described):
    kind: AlternateIdentifierKind
    value: Annotated[str, MinLen(1), MaxLen(200)]


class DescribedAsset(Described):
    id: Annotated[str, MinLen(1), MaxLen(150)]
    """Identifies the asset in the file and in later imports of it."""
    name: Name
    tier: AssetTier = AssetTier.DEVICE
    families: Annotated[tuple[Name, ...], MinLen(1)]
    model: Name | None = None
    enclosure: Name | None = None
    settings: dict[str, object] = Field(default_factory=dict)
    alternate_identifiers: tuple[DescribedIdentifier, ...] = ()
    children: tuple["DescribedAsset", ...] = ()


class Beamline(Described):
    """The whole file."""

    facility: Annotated[str, MinLen(1), MaxLen(32)]
    """Code of the facility that the root assets belong to."""
    families: tuple[DescribedFamily, ...] = ()
    models: tuple[DescribedModel, ...] = ()
    enclosures: tuple[DescribedEnclosure, ...] = ()
    assets: tuple[DescribedAsset, ...] = ()


class PlacedAsset(Record):
    """An asset of the file, with its parent and its path in the file."""

    asset: DescribedAsset
    parent: str | None
    path: KeyPath


def read(found: ParsedFile) -> Beamline:
    """Return the beamline that a file describes; raise FaultyFileError with all its faults."""
    try:
        beamline = Beamline.model_validate(found.data)
    except ValidationError as error:
        faults = [found.fault(e["loc"], e["msg"]) for e in error.errors()]
        raise FaultyFileError(*faults) from None
    if faults := list(_faults(beamline, found)):
        raise FaultyFileError(*faults)
    return beamline


def placed(beamline: Beamline) -> Iterator[PlacedAsset]:
    """Yield every asset, each after its parent."""
    ahead = [PlacedAsset(a, None, ("assets", n)) for n, a in enumerate(beamline.assets)]
    while ahead:
        each = ahead.pop(0)
        yield each
        ahead[:0] = [
            PlacedAsset(child, each.asset.id, (*each.path, "children", n))
            for n, child in enumerate(each.asset.children)
        ]


class _Refused(Invalid):
    """The value does not match the schema."""


def _faults(beamline: Beamline, found: ParsedFile) -> Iterator[FileFault]:
    for kind in ("families", "models", "enclosures"):
        named = [(each.name, (kind, n)) for n, each in enumerate(getattr(beamline, kind))]
        yield from _repeated(named, found)
    assets = list(placed(beamline))
    yield from _repeated([(each.asset.id, each.path) for each in assets], found)
    schemas: dict[str, JsonSchema | None] = {}
    for n, family in enumerate(beamline.families):
        try:
            schemas[family.name] = declare(family.settings_schema, _Refused)
        except _Refused as refused:
            yield found.fault(("families", n, "settings_schema"), str(refused))
    for each in assets:
        yield from _setting_faults(each, schemas, found)


def _repeated(named: list[tuple[str, KeyPath]], found: ParsedFile) -> Iterator[FileFault]:
    seen: set[str] = set()
    for name, path in named:
        if name in seen:
            yield found.fault(path, f"{name} is described twice.")
        seen.add(name)


def _setting_faults(
    each: PlacedAsset, schemas: Mapping[str, JsonSchema | None], found: ParsedFile
) -> Iterator[FileFault]:
    """Yield settings that the families in the file refuse; the service checks other families."""
    asset = each.asset
    if not asset.settings or not all(name in schemas for name in asset.families):
        return
    try:
        carry_settings(asset.settings, {name: schemas[name] for name in asset.families}, _Refused)
    except _Refused as refused:
        yield found.fault((*each.path, "settings"), str(refused))
