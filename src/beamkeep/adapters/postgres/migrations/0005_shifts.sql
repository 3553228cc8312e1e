-- When events were recorded, so that what happened in one shift is found without reading the log.

SET ROLE bk_owner;

CREATE INDEX events_recorded ON bk.events USING brin (recorded_at) WITH (autosummarize = on);

RESET ROLE;
