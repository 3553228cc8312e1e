"""The slow worker, but each page is applied wherever the bookmark stands."""

from beamkeep.adapters.postgres import projections
from tests.faults.slow_worker import run

COMPARED = "(b.tx, b.pos) = ($4::text::xid8, $7::bigint)"

if __name__ == "__main__":
    assert COMPARED in projections.MOVE
    given = "($4::text::xid8, $7::bigint) IS NOT NULL"
    projections.MOVE = projections.MOVE.replace(COMPARED, given)
    run()
