"""The changes of an import: the file compared with what the service has."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from beamkeep.kernel import Record

from .beamline import Beamline, PlacedAsset, placed
from .parsing import FaultyFileError, FileFault, KeyPath, ParsedFile

IMPORTED = "import:"
"""Prefix of the identifier by which a later import finds an asset."""

type ListItem = Mapping[str, Any]
type FetchAll = Callable[..., list[ListItem]]
"""Returns all items of a list, by the name of its question and filters."""


class PendingId(Record):
    """The id that an earlier step creates, unknown until that step is done."""

    kind: str
    key: str


class Step(Record):
    """One call."""

    operation: str
    arguments: dict[str, Any]
    """An argument may be a `PendingId` or a list of them."""
    subject: str
    creates: PendingId | None = None


class ChangeSet(Record):
    """The steps of an import, the differences it leaves alone, and the count of equal objects."""

    steps: list[Step]
    skipped: list[str]
    unchanged: int


type Existing = Mapping[str, Mapping[str, ListItem]]
"""What the service has: by kind, then by the name or id that the file uses."""


def existing(beamline: Beamline, fetch_all: FetchAll) -> Existing:
    """Fetch from the service everything the file may refer to."""
    code = beamline.facility
    return {
        "family": _by_name(fetch_all("list_families")),
        "model": _by_name(fetch_all("list_models")),
        "enclosure": _by_name(fetch_all("list_enclosures", facility_code=code, lifecycle="Active")),
        "asset": {
            identifier["value"].removeprefix(f"{IMPORTED}{code}:"): item
            for item in fetch_all("list_assets")
            if item["lifecycle"] != "Decommissioned"
            for identifier in item["alternate_identifiers"]
            if identifier["value"].startswith(f"{IMPORTED}{code}:")
        },
    }


def _by_name(items: list[ListItem]) -> dict[str, ListItem]:
    """Return the items in use by name, the oldest where several have one name."""
    used = [item for item in items if item.get("status") != "Deprecated"]
    return {item["name"]: item for item in reversed(used)}


def changes_of(beamline: Beamline, found: ParsedFile, known: Existing) -> ChangeSet:
    """Return everything to create or change, in an order in which each step finds what it needs.

    Raise FaultyFileError when the file names something that neither it nor the service has.
    """
    comparison = _Comparison(beamline, known)
    if faults := list(comparison.unresolved(found)):
        raise FaultyFileError(*faults)
    comparison.families()
    comparison.models()
    comparison.enclosures()
    for each in placed(beamline):
        comparison.asset(each)
    return ChangeSet(comparison.steps, comparison.skipped, comparison.unchanged)


class _Comparison:
    def __init__(self, beamline: Beamline, known: Existing) -> None:
        self._beamline, self._known = beamline, known
        self.steps: list[Step] = []
        self.skipped: list[str] = []
        self.unchanged = 0

    def unresolved(self, found: ParsedFile) -> Iterator[FileFault]:
        """Yield a fault for each name that neither the file nor the service has."""
        described = {
            "family": {each.name for each in self._beamline.families},
            "model": {each.name for each in self._beamline.models},
            "enclosure": {each.name for each in self._beamline.enclosures},
        }
        for path, kind, name in _references(self._beamline):
            if name not in described[kind] and name not in self._known[kind]:
                yield found.fault(path, f"There is no {kind} {name} in the file or the service.")

    def families(self) -> None:
        for family in self._beamline.families:
            wanted = family.model_dump(mode="json")
            wanted["affordances"].sort()
            self._template("family", family.name, wanted)

    def models(self) -> None:
        for model in self._beamline.models:
            wanted = model.model_dump(mode="json", exclude={"families"})
            wanted["declared_family_ids"] = [self._ref("family", name) for name in model.families]
            self._template("model", model.name, wanted)

    def enclosures(self) -> None:
        for enclosure in self._beamline.enclosures:
            if enclosure.name in self._known["enclosure"]:
                self.unchanged += 1
                continue
            arguments = enclosure.model_dump() | {"facility_code": self._beamline.facility}
            self._create("register_enclosure", "enclosure", enclosure.name, arguments)

    def asset(self, each: PlacedAsset) -> None:
        asset, row = each.asset, self._known["asset"].get(each.asset.id)
        if row is None:
            self._register(each)
            return
        changes = list(self._changes(each, row))
        fixed = {"tier": asset.tier, "model_id": asset.model and self._ref("model", asset.model)}
        self.skipped += [
            f"asset {asset.id}: {name} cannot change after registration"
            for name, wanted in fixed.items()
            if row[name] != wanted
        ]
        self.steps += changes
        self.unchanged += not changes

    def _register(self, each: PlacedAsset) -> None:
        asset = each.asset
        identifiers = [i.model_dump(mode="json") for i in asset.alternate_identifiers]
        mark = {"kind": "Other", "value": f"{IMPORTED}{self._beamline.facility}:{asset.id}"}
        arguments: dict[str, Any] = {
            "name": asset.name,
            "tier": asset.tier.value,
            "family_ids": [self._ref("family", name) for name in asset.families],
            "alternate_identifiers": [*identifiers, mark],
        }
        if each.parent is None:
            arguments["facility_code"] = self._beamline.facility
        else:
            arguments["parent_id"] = self._ref("asset", each.parent)
        if asset.model:
            arguments["model_id"] = self._ref("model", asset.model)
        if asset.enclosure:
            arguments["located_in_enclosure_id"] = self._ref("enclosure", asset.enclosure)
        self._create("register_asset", "asset", asset.id, arguments)
        if asset.settings:
            step = self._step(each, "update_asset_settings", settings_patch=asset.settings)
            self.steps.append(step)

    def _changes(self, each: PlacedAsset, row: ListItem) -> Iterator[Step]:
        asset = each.asset
        if row["name"] != asset.name:
            yield self._step(each, "rename_asset", name=asset.name)
        parent = each.parent and self._ref("asset", each.parent)
        if row["parent_id"] != parent and parent:
            yield self._step(each, "relocate_asset", to_parent_id=parent, reason="Imported")
        for name in asset.families:
            if (family_id := self._ref("family", name)) not in row["family_ids"]:
                yield self._step(each, "add_asset_family", family_id=family_id)
        enclosure = asset.enclosure and self._ref("enclosure", asset.enclosure)
        if enclosure and row["located_in_enclosure_id"] != enclosure:
            yield self._step(each, "locate_asset", located_in_enclosure_id=enclosure)
        for identifier in asset.alternate_identifiers:
            if (wanted := identifier.model_dump(mode="json")) not in row["alternate_identifiers"]:
                yield self._step(each, "add_asset_alternate_identifier", **wanted)
        patch = {k: v for k, v in asset.settings.items() if row["settings"].get(k) != v}
        if patch:
            yield self._step(each, "update_asset_settings", settings_patch=patch)

    def _step(self, each: PlacedAsset, operation: str, **arguments: object) -> Step:
        asset_id = self._ref("asset", each.asset.id)
        return Step(operation, {"asset_id": asset_id, **arguments}, f"asset {each.asset.id}")

    def _template(self, kind: str, name: str, wanted: dict[str, Any]) -> None:
        """Create a family or model that is missing; a person decides about new versions."""
        row = self._known[kind].get(name)
        if row is None:
            self._create(f"define_{kind}", kind, name, wanted)
        elif any(_unordered(row[field]) != _unordered(value) for field, value in wanted.items()):
            self.skipped.append(f"{kind} {name} differs; version-{kind} gives it a new version")
        else:
            self.unchanged += 1

    def _create(self, operation: str, kind: str, key: str, arguments: dict[str, Any]) -> None:
        creates = PendingId(kind, key)
        self.steps.append(Step(operation, arguments, subject=f"{kind} {key}", creates=creates))

    def _ref(self, kind: str, key: str) -> str | PendingId:
        """Return the id for a name in the file, pending until the step that creates it is done."""
        row = self._known[kind].get(key)
        return row[f"{kind}_id"] if row else PendingId(kind, key)


def _references(beamline: Beamline) -> Iterator[tuple[KeyPath, str, str]]:
    """Yield every name that refers to something else: its path, the kind it names, the name."""
    for n, model in enumerate(beamline.models):
        for i, name in enumerate(model.families):
            yield ("models", n, "families", i), "family", name
    for each in placed(beamline):
        for i, name in enumerate(each.asset.families):
            yield (*each.path, "families", i), "family", name
        if each.asset.model:
            yield (*each.path, "model"), "model", each.asset.model
        if each.asset.enclosure:
            yield (*each.path, "enclosure"), "enclosure", each.asset.enclosure


def _unordered(value: Any) -> Any:
    """Return the value, sorted if it is a list, so that order does not count."""
    return sorted(cast("list[Any]", value), key=str) if isinstance(value, list) else value
