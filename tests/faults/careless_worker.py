"""The slow worker, but each page is applied wherever the bookmark stands."""

from beamkeep.adapters.postgres import tail
from beamkeep.adapters.postgres.statements import Statement
from tests.faults.slow_worker import run

COMPARED = "AND (b.tx, b.pos) = (f.tx::xid8, f.pos)"

if __name__ == "__main__":
    assert COMPARED in tail.MOVE.named
    tail.MOVE = Statement(tail.MOVE.named.replace(COMPARED, ""))
    run()
