"""The slow worker, but each page is applied wherever the bookmark stands."""

from beamkeep.adapters.postgres import projections
from beamkeep.adapters.postgres.statements import Statement
from tests.faults.slow_worker import run

COMPARED = "(b.tx, b.pos) = (:from_tx::text::xid8, :from_position::bigint)"

if __name__ == "__main__":
    named = projections.MOVE.named
    assert COMPARED in named
    given = "(:from_tx::text::xid8, :from_position::bigint) IS NOT NULL"
    projections.MOVE = Statement(named.replace(COMPARED, given))
    run()
