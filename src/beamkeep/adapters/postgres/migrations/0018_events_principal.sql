-- The index of the whole log, to which PostgreSQL attaches those of the partitions.

SET ROLE bk_owner;

CREATE INDEX events_principal ON bk.events (principal_id, transaction_id, position);

RESET ROLE;
