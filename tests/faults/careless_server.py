"""`beamkeep serve`, but the feed does not wait for transactions that are still under way."""

from beamkeep.adapters.postgres import event_log
from beamkeep.deployment.verbs import main

XMIN_RULE = "e.transaction_id < pg_snapshot_xmin(pg_current_snapshot()){indexed}"

if __name__ == "__main__":
    assert XMIN_RULE in event_log.PAGE
    event_log.PAGE = event_log.PAGE.replace(XMIN_RULE, "true{indexed}")
    main()
