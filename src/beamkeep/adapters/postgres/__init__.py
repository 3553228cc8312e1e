"""PostgreSQL: the event log, the tables next to it, and the lists projected from it."""
