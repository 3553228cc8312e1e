"""Rows beside the streams, and the canonical text of a claim."""

from hashlib import sha256
from uuid import UUID

from beamkeep.kernel import (
    CLAIMS,
    Cannot,
    Claim,
    Delete,
    Insert,
    Record,
    Replace,
    Table,
    claim,
    claim_key,
    free,
)

HOLDER = UUID(int=1)


class TakenError(Cannot):
    """It is taken."""


class Peg(Record):
    wall: str
    number: int


PEGS = Table("pegs", Peg, key=("wall", "number"))


def test_a_row_is_inserted_replaced_and_deleted():
    peg = Peg("north", 1)
    assert PEGS.insert(peg) == Insert(PEGS, peg, None)
    assert PEGS.insert(peg, loser=TakenError) == Insert(PEGS, peg, TakenError)
    assert PEGS.replace(peg) == Replace(PEGS, peg)
    assert PEGS.delete("north") == Delete(PEGS, ("north",))


def test_a_claim_is_a_row_and_its_freeing_removes_that_row():
    taken = claim("supply", "DESY", None, "power", holder=HOLDER, loser=TakenError)
    assert taken == Insert(CLAIMS, Claim("supply", '["DESY",null,"power"]', HOLDER), TakenError)
    assert free("supply", "DESY", None, "power") == Delete(
        CLAIMS, ("supply", '["DESY",null,"power"]')
    )


def test_a_key_is_the_parts_as_a_json_list_without_blanks():
    assert claim_key("a", "b") == '["a","b"]'
    assert claim_key("Größe", HOLDER) == '["Größe","00000000-0000-0000-0000-000000000001"]'
    assert claim_key() == "[]"


def test_parts_are_never_confused():
    keys = [
        claim_key("a", "b"),
        claim_key("a,b"),
        claim_key('a","b'),
        claim_key("b", "a"),
        claim_key("a", None),
        claim_key("a", "null"),
        claim_key("a"),
        claim_key("a", ""),
    ]
    assert len(set(keys)) == len(keys)


def test_a_part_of_more_than_200_characters_stands_as_its_hash():
    assert claim_key("x" * 200) == f'["{"x" * 200}"]'
    assert claim_key("x" * 201, "a") == f'["{sha256(b"x" * 201).hexdigest()}","a"]'
    assert claim_key("ß" * 201) == f'["{sha256("ß".encode() * 201).hexdigest()}"]'
