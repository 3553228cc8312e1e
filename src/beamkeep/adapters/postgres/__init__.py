"""PostgreSQL: the event log, the rows beside it, and the lists projected from it."""
