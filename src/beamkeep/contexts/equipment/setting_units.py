"""The units of settings: a family may declare another unit after a setting was written."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Record
from beamkeep.schemas import JsonObject, UnitChange, changed_units

from .family import Family, families

MOST_NAMED = 100


class FamilyVersion(Record):
    """A version of the stream of a family."""

    family_id: UUID
    version: int


class SettingFamilies(Record):
    """The families of an asset, now and when the asset's settings were written."""

    families: Mapping[UUID, Family]
    versions: tuple[FamilyVersion, ...]
    before: Mapping[UUID, Family]
    """The families that have changed since."""


async def setting_families(
    family_ids: Iterable[UUID],
    settings: JsonObject,
    written_for: Iterable[FamilyVersion] | None,
    read: Reader,
) -> SettingFamilies:
    """Return the families by which settings are read, and those by which they were written."""
    found = await read.many(families, sorted(family_ids))
    versions = tuple(FamilyVersion(id, read.version(families, id)) for id in found)
    # Settings of earlier builds name no version; version 1 is the safe assumption.
    then = {each.family_id: each.version for each in written_for or ()}
    written = {each.family_id: then.get(each.family_id, 1) for each in versions}
    older = [each.family_id for each in versions if each.version != written[each.family_id]]
    before = {id: await read.as_of(families, id, written[id]) for id in older if settings}
    return SettingFamilies(found, versions, before)


def setting_units_changed(settings: JsonObject, given: SettingFamilies) -> list[UnitChange]:
    """Return the first settings whose unit a family has changed since they were written."""
    changes = [
        change
        for id, before in given.before.items()
        for change in changed_units(
            settings, before.settings_schema, given.families[id].settings_schema
        )
    ]
    return [*dict.fromkeys(changes)][:MOST_NAMED]
