"""PostgreSQL: the event log, the tables beside it, and the lists projected from it."""
