"""A described beamline: what its file may say, checked as far as it can be without a service."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from beamkeep.contexts.equipment.asset import AlternateIdentifierKind, AssetTier
from beamkeep.contexts.equipment.family import Affordance
from beamkeep.contexts.equipment.model import IdentifierScheme
from beamkeep.kernel import Invalid, Record
from beamkeep.kernel.values import Name
from beamkeep.schemas import Schema, carry_settings, declare

from .lines import Fault, FaultyFileError, Located, Path


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
    """What this asset is known by in the file, from one import to the next."""
    name: Name
    tier: AssetTier = AssetTier.DEVICE
    families: tuple[Name, ...] = ()
    model: Name | None = None
    enclosure: Name | None = None
    settings: dict[str, object] = Field(default_factory=dict)
    alternate_identifiers: tuple[DescribedIdentifier, ...] = ()
    children: tuple["DescribedAsset", ...] = ()


class Beamline(Described):
    """The whole file."""

    facility: Annotated[str, MinLen(1), MaxLen(32)]
    """The code of the facility that the outermost assets belong to."""
    families: tuple[DescribedFamily, ...] = ()
    models: tuple[DescribedModel, ...] = ()
    enclosures: tuple[DescribedEnclosure, ...] = ()
    assets: tuple[DescribedAsset, ...] = ()


class Placed(Record):
    """One asset of the file, with the one it stands under and where it is written."""

    asset: DescribedAsset
    parent: str | None
    path: Path


def read(found: Located) -> Beamline:
    """The beamline a file describes, or everything that is wrong with it."""
    try:
        beamline = Beamline.model_validate(found.data)
    except ValidationError as error:
        faults = [found.fault(e["loc"], e["msg"]) for e in error.errors()]
        raise FaultyFileError(*faults) from None
    if faults := list(_faults(beamline, found)):
        raise FaultyFileError(*faults)
    return beamline


def placed(beamline: Beamline) -> Iterator[Placed]:
    """Every asset, each after the one it stands under."""
    ahead = [Placed(a, None, ("assets", n)) for n, a in enumerate(beamline.assets)]
    while ahead:
        each = ahead.pop(0)
        yield each
        ahead[:0] = [
            Placed(child, each.asset.id, (*each.path, "children", n))
            for n, child in enumerate(each.asset.children)
        ]


class _Refused(Invalid):
    """It does not fit the schema."""


def _faults(beamline: Beamline, found: Located) -> Iterator[Fault]:
    for kind in ("families", "models", "enclosures"):
        named = [(each.name, (kind, n)) for n, each in enumerate(getattr(beamline, kind))]
        yield from _repeated(named, found)
    assets = list(placed(beamline))
    yield from _repeated([(each.asset.id, each.path) for each in assets], found)
    schemas: dict[str, Schema | None] = {}
    for n, family in enumerate(beamline.families):
        try:
            schemas[family.name] = declare(family.settings_schema, _Refused)
        except _Refused as refused:
            yield found.fault(("families", n, "settings_schema"), str(refused))
    for each in assets:
        yield from _misfit(each, schemas, found)


def _repeated(named: list[tuple[str, Path]], found: Located) -> Iterator[Fault]:
    seen: set[str] = set()
    for name, path in named:
        if name in seen:
            yield found.fault(path, f"{name} is described twice")
        seen.add(name)


def _misfit(each: Placed, schemas: Mapping[str, Schema | None], found: Located) -> Iterator[Fault]:
    """Settings that the families in this file do not allow; others are the service's to judge."""
    asset = each.asset
    if not asset.settings or not all(name in schemas for name in asset.families):
        return
    try:
        carry_settings(asset.settings, {name: schemas[name] for name in asset.families}, _Refused)
    except _Refused as refused:
        yield found.fault((*each.path, "settings"), str(refused))
