"""What an import would do: the file held against what the service has."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from beamkeep.kernel import Record

from .described import Beamline, Placed, placed
from .lines import Fault, FaultyFileError, Located

IMPORTED = "import:"
"""What the identifiers begin with by which an imported asset is found again."""

type Row = Mapping[str, Any]
type Ask = Callable[..., list[Row]]
"""Every row of a list, by the name of the question and its filters."""


class Made(Record):
    """The id of what an earlier step makes."""

    kind: str
    key: str


type Ref = str | Made


class Step(Record):
    """One call."""

    operation: str
    arguments: dict[str, Any]
    """An argument may be a `Made`, or a list of them."""
    about: str
    makes: Made | None = None


class Proposal(Record):
    """What would be done, what differs and is left alone, and how much is as described."""

    steps: list[Step]
    left: list[str]
    same: int


class Existing(Record):
    """What the service has, by what the file calls it."""

    families: Mapping[str, Row]
    models: Mapping[str, Row]
    enclosures: Mapping[str, Row]
    assets: Mapping[str, Row]


def existing(beamline: Beamline, ask: Ask) -> Existing:
    """Read from the service whatever the file may speak of."""
    code = beamline.facility
    enclosures = ask("list_enclosures", facility_code=code, lifecycle="Active")
    return Existing(
        _by_name(row for row in ask("list_families") if row["status"] != "Deprecated"),
        _by_name(row for row in ask("list_models") if row["status"] != "Deprecated"),
        _by_name(enclosures),
        {
            identifier["value"].removeprefix(IMPORTED): row
            for row in ask("list_assets")
            if row["lifecycle"] != "Decommissioned"
            for identifier in row["alternate_identifiers"]
            if identifier["value"].startswith(IMPORTED)
        },
    )


def _by_name(rows: Iterable[Row]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row["name"], row)
    return found


def propose(beamline: Beamline, found: Located, known: Existing) -> Proposal:
    """Everything that is to be made or changed, in an order that works."""
    proposing = _Proposing(beamline, known)
    if faults := list(proposing.unresolved(found)):
        raise FaultyFileError(*faults)
    proposing.families()
    proposing.models()
    proposing.enclosures()
    for each in placed(beamline):
        proposing.asset(each)
    return Proposal(proposing.steps, proposing.left, proposing.same)


class _Proposing:
    def __init__(self, beamline: Beamline, known: Existing) -> None:
        self._beamline, self._known = beamline, known
        self.steps: list[Step] = []
        self.left: list[str] = []
        self.same = 0

    def unresolved(self, found: Located) -> Iterator[Fault]:
        """Names that neither the file nor the service knows."""
        families = {f.name for f in self._beamline.families} | self._known.families.keys()
        models = {m.name for m in self._beamline.models} | self._known.models.keys()
        enclosures = {e.name for e in self._beamline.enclosures} | self._known.enclosures.keys()
        for n, model in enumerate(self._beamline.models):
            for i, name in enumerate(model.families):
                if name not in families:
                    yield found.fault(("models", n, "families", i), f"no family {name}")
        for each in placed(self._beamline):
            asset = each.asset
            for i, name in enumerate(asset.families):
                if name not in families:
                    yield found.fault((*each.path, "families", i), f"no family {name}")
            if asset.model and asset.model not in models:
                yield found.fault((*each.path, "model"), f"no model {asset.model}")
            if asset.enclosure and asset.enclosure not in enclosures:
                yield found.fault((*each.path, "enclosure"), f"no enclosure {asset.enclosure}")

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
            if self._row("enclosure", enclosure.name):
                self.same += 1
                continue
            about, arguments = f"enclosure {enclosure.name}", enclosure.model_dump()
            arguments["facility_code"] = self._beamline.facility
            self._make("register_enclosure", "enclosure", enclosure.name, arguments, about)

    def asset(self, each: Placed) -> None:
        asset, row = each.asset, self._row("asset", each.asset.id)
        if row is None:
            self._register(each)
            return
        changes = list(self._changes(each, row))
        fixed = {"tier": asset.tier, "model_id": asset.model and self._ref("model", asset.model)}
        self.left += [
            f"asset {asset.id}: {name} is fixed when it is registered"
            for name, wanted in fixed.items()
            if row[name] != wanted
        ]
        self.steps += changes
        self.same += not changes

    def _register(self, each: Placed) -> None:
        asset = each.asset
        identifiers = [i.model_dump(mode="json") for i in asset.alternate_identifiers]
        mark = {"kind": "Other", "value": f"{IMPORTED}{self._key(asset.id)}"}
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
        self._make("register_asset", "asset", asset.id, arguments, f"asset {asset.id}")
        if asset.settings:
            step = self._step(each, "update_asset_settings", settings_patch=asset.settings)
            self.steps.append(step)

    def _changes(self, each: Placed, row: Row) -> Iterator[Step]:
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

    def _step(self, each: Placed, operation: str, **arguments: object) -> Step:
        asset_id = self._ref("asset", each.asset.id)
        return Step(operation, {"asset_id": asset_id, **arguments}, f"asset {each.asset.id}")

    def _template(self, kind: str, name: str, wanted: dict[str, Any]) -> None:
        """A family or a model: made if it is missing; a new version is a person's to make."""
        row = self._row(kind, name)
        if row is None:
            self._make(f"define_{kind}", kind, name, wanted, f"{kind} {name}")
        elif any(_plain(row[field]) != _plain(value) for field, value in wanted.items()):
            self.left.append(f"{kind} {name}: it differs; give it a new version by hand")
        else:
            self.same += 1

    def _make(self, operation: str, kind: str, key: str, arguments: Any, about: str) -> None:
        self.steps.append(Step(operation, arguments, about, Made(kind, key)))

    def _ref(self, kind: str, key: str) -> Ref:
        """The id of what the file calls so: known already, or made by an earlier step."""
        row = self._row(kind, key)
        return row[f"{kind}_id"] if row else Made(kind, key)

    def _row(self, kind: str, key: str) -> Row | None:
        """What the service has of what the file calls so."""
        rows: Mapping[str, Row] = {
            "family": self._known.families,
            "model": self._known.models,
            "enclosure": self._known.enclosures,
            "asset": self._known.assets,
        }[kind]
        return rows.get(self._key(key) if kind == "asset" else key)

    def _key(self, id: str) -> str:
        """What an asset of the file is known by among those of every file."""
        return f"{self._beamline.facility}:{id}"


def _plain(value: Any) -> Any:
    """A value whose order does not matter where it is a list."""
    return sorted(cast("list[Any]", value), key=str) if isinstance(value, list) else value
