-- When events were recorded, so that what happened in one shift is found without reading the log.

SET ROLE bk_owner;

CREATE INDEX events_recorded ON bk.events USING brin (recorded_at) WITH (autosummarize = on);

-- The range an index is made with would be summed up anew with every event; left out of it, it is
-- summed up once, when it is full, as every later one.
SELECT brin_desummarize_range(inhrelid, 0)
  FROM pg_inherits WHERE inhparent = 'bk.events_recorded'::regclass;

RESET ROLE;
