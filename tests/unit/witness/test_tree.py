"""The trees of the witness, against the recursive definitions of RFC 6962."""

from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamkeep.parts.witness.trees.tree import (
    EMPTY_ROOT,
    TILE,
    Frontier,
    InvalidProofError,
    TileKey,
    consistency,
    inclusion,
    leaf_hash,
    proof,
    require_consistency,
    root_by_inclusion,
    root_of,
    split,
    subtrees,
)

LEAVES = [leaf_hash(str(number).encode()) for number in range(TILE * 3 + 7)]


def rfc_root(hashes: Sequence[bytes]) -> bytes:
    """The definition in section 2.1 of RFC 6962, over hashes of leaves."""
    if not hashes:
        return sha256().digest()
    if len(hashes) == 1:
        return hashes[0]
    middle = 1
    while middle * 2 < len(hashes):
        middle *= 2
    left, right = rfc_root(hashes[:middle]), rfc_root(hashes[middle:])
    return sha256(b"\x01" + left + right).digest()


def rfc_path(index: int, hashes: Sequence[bytes]) -> list[bytes]:
    """The definition in section 2.1.1."""
    if len(hashes) == 1:
        return []
    middle = 1
    while middle * 2 < len(hashes):
        middle *= 2
    if index < middle:
        return [*rfc_path(index, hashes[:middle]), rfc_root(hashes[middle:])]
    return [*rfc_path(index - middle, hashes[middle:]), rfc_root(hashes[:middle])]


def rfc_subproof(before: int, hashes: Sequence[bytes], is_whole: bool) -> list[bytes]:
    """The definition in section 2.1.2."""
    if before == len(hashes):
        return [] if is_whole else [rfc_root(hashes)]
    middle = 1
    while middle * 2 < len(hashes):
        middle *= 2
    if before <= middle:
        return [*rfc_subproof(before, hashes[:middle], is_whole), rfc_root(hashes[middle:])]
    left = rfc_root(hashes[:middle])
    return [*rfc_subproof(before - middle, hashes[middle:], is_whole=False), left]


def grown(size: int) -> tuple[Frontier, dict[TileKey, Sequence[bytes]]]:
    frontier = Frontier()
    full = {key: split(hashes) for key, hashes in frontier.add(LEAVES[:size])}
    return frontier, {**full, **frontier.tiles}


def test_the_hashes_are_those_of_rfc_6962():
    assert EMPTY_ROOT.hex().startswith("e3b0c44298fc1c149afbf4c8996fb924")
    assert leaf_hash(b"").hex().startswith("6e340b9cffb37a989ca544e6bb780a2c")


@given(st.integers(0, len(LEAVES)))
def test_a_root_is_the_one_of_the_definition_however_the_tree_was_grown(size: int):
    frontier, _ = grown(size)
    assert frontier.root == root_of(LEAVES[:size]) == rfc_root(LEAVES[:size])


@given(st.integers(0, len(LEAVES)), st.integers(0, len(LEAVES)))
def test_a_frontier_that_was_stored_continues_as_the_one_that_was_not(first: int, second: int):
    before, after = sorted((first, second))
    frontier, _ = grown(before)
    stored = Frontier(frontier.size, frontier.hashes)
    told = stored.add(LEAVES[before:after])
    assert told == frontier.add(LEAVES[before:after])
    assert (stored.size, stored.root, stored.hashes) == (after, frontier.root, frontier.hashes)


def test_a_frontier_with_hashes_left_over_is_refused():
    with pytest.raises(ValueError, match="another number"):
        Frontier(1, LEAVES[0] + LEAVES[1])


def test_a_tile_is_full_with_256_hashes_and_the_level_above_has_its_root():
    frontier = Frontier()
    full = frontier.add(LEAVES[: TILE * 2])
    assert [key for key, _ in full] == [(0, 0), (0, 1)]
    assert frontier.levels == [[], [rfc_root(LEAVES[:TILE]), rfc_root(LEAVES[TILE : TILE * 2])]]


@given(st.integers(1, len(LEAVES)), st.data())
def test_an_inclusion_proof_is_the_one_of_the_definition_and_leads_to_the_root(
    size: int, data: st.DataObject
):
    index = data.draw(st.integers(0, size - 1))
    frontier, tiles = grown(size)
    path = proof(inclusion(index, size), tiles)
    assert path == rfc_path(index, LEAVES[:size])
    assert root_by_inclusion(LEAVES[index], index, size, path) == frontier.root


@given(st.integers(1, len(LEAVES)), st.data())
def test_a_proof_for_a_smaller_tree_can_be_made_later(size: int, data: st.DataObject):
    past = data.draw(st.integers(1, size))
    index = data.draw(st.integers(0, past - 1))
    _, tiles = grown(size)
    path = proof(inclusion(index, past), tiles)
    assert path == rfc_path(index, LEAVES[:past])


@given(st.integers(1, len(LEAVES)), st.data())
def test_a_consistency_proof_is_the_one_of_the_definition_and_holds(size: int, data: st.DataObject):
    before = data.draw(st.integers(0, size))
    frontier, tiles = grown(size)
    path = proof(consistency(before, size), tiles)
    if before:
        assert path == rfc_subproof(before, LEAVES[:size], is_whole=True)
    small = before, rfc_root(LEAVES[:before])
    require_consistency(small, (size, frontier.root), path)


@given(st.integers(2, 200), st.data())
def test_a_changed_proof_or_root_is_refused(size: int, data: st.DataObject):
    before = data.draw(st.integers(1, size - 1))
    frontier, tiles = grown(size)
    path = proof(consistency(before, size), tiles)
    old, new = (before, rfc_root(LEAVES[:before])), (size, frontier.root)
    at = data.draw(st.integers(0, len(path) - 1))
    changed = [*path[:at], leaf_hash(path[at]), *path[at + 1 :]]
    for broken in (changed, path[:-1], [*path, path[0]]):
        with pytest.raises(InvalidProofError):
            require_consistency(old, new, broken)
    for one, other in (((before, LEAVES[-1]), new), (old, (size, LEAVES[-1])), (new, old)):
        with pytest.raises(InvalidProofError):
            require_consistency(one, other, path)


@given(st.integers(1, 300), st.data())
def test_a_proof_of_another_leaf_place_or_length_does_not_lead_to_the_root(
    size: int, data: st.DataObject
):
    index = data.draw(st.integers(0, size - 1))
    frontier, tiles = grown(size)
    path = proof(inclusion(index, size), tiles)
    assert root_by_inclusion(LEAVES[size], index, size, path) != frontier.root
    for wrong in (-1, size):
        with pytest.raises(InvalidProofError):
            root_by_inclusion(LEAVES[index], wrong, size, path)
    with pytest.raises(InvalidProofError):
        root_by_inclusion(LEAVES[index], index, size, [*path, LEAVES[0]])


@given(st.integers(0, 2000), st.integers(0, 3000))
def test_a_range_is_its_complete_subtrees(start: int, count: int):
    ranges = [each for each in inclusion(start, start + count + 1) if each.start != each.end]
    for each in ranges:
        sizes = [(end - first) << 8 * tile.level for tile, first, end in subtrees(each)]
        assert sum(sizes) == each.end - each.start
        assert all(size.bit_count() == 1 for size in sizes)
        tile, first, _ = subtrees(each)[0]
        assert (tile.number * TILE + first) << 8 * tile.level == each.start
