"""Tree: an asset and everything below it, now or at an earlier time."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import FORMER_PLACES, PLACES
from beamkeep.kernel import Query, Record, answers
from beamkeep.kernel.values import Timestamp

from .asset import Asset, AssetNotFoundError, assets

MOST_NODES, MOST_WALKED = 2_000, 10_000


class GetAssetTree(Query):
    """Show an asset and everything below it, with all fields of each asset."""

    asset_id: UUID
    as_of: Timestamp | None = None
    """Return the tree as it was at this time."""


class AssetTree(Record):
    asset_id: UUID
    as_of: datetime
    """The time that the tree shows."""
    nodes: tuple[Asset, ...]
    """The asset itself, then level by level what is below it, by name."""
    truncated: bool
    """Whether there is more than is shown."""


async def asset_tree(query: GetAssetTree, read: Reader) -> AssetTree:
    """Return the assets of the tree that the caller may see."""
    root, time = query.asset_id, query.as_of
    level = await _states([root], time, read)
    if not level:
        raise AssetNotFoundError(f"There is no asset {root} as of {time}.")
    met, nodes = {root}, [*level.values()]
    while level and len(nodes) <= MOST_NODES and len(met) <= MOST_WALKED:
        parents = frozenset(level)
        ids = sorted(await _placed_below(parents, time, read) - met)[: MOST_WALKED + 1]
        states = await _states(ids, time, read)
        level = {id: each for id, each in states.items() if each.parent_id in parents}
        met |= level.keys()
        seen = await read.visible(assets, level)
        nodes += sorted((level[id] for id in seen), key=lambda it: (it.name.casefold(), it.id))
    return AssetTree(
        root,
        time or read.now,
        nodes=tuple(nodes[:MOST_NODES]),
        truncated=len(nodes) > MOST_NODES or len(met) > MOST_WALKED,
    )


async def _states(ids: Sequence[UUID], time: datetime | None, read: Reader) -> Mapping[UUID, Asset]:
    return await read.past(assets, ids, time) if time else await read.many(assets, ids)


async def _placed_below(
    parent_ids: frozenset[UUID], time: datetime | None, read: Reader
) -> Set[UUID]:
    """Return the assets that are below some parents, or that have left them since a time."""
    found = {each.asset_id for each in await read.rows(PLACES, parent_id=parent_ids)}
    if time is None:
        return found
    former = await read.rows(FORMER_PLACES, parent_id=parent_ids)
    return found | {each.asset_id for each in former if each.left_at > time}


# fmt: off
QUESTIONS = (
    answers("GET /assets/{asset_id}/tree", GetAssetTree, asset_tree, AssetTree, of=assets,
        about="asset_id", title="Show the tree below an asset", composed_of=("Mount",)),
)
# fmt: on
