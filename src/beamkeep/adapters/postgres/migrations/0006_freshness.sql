-- When supplies were last reported of, and when workers last did their round.

SET ROLE bk_owner;

-- When each observed supply was last reported of: overwritten often, never part of the record.
-- A supply that nobody observes has no row.
CREATE TABLE bk.supply_freshness (
  supply_id        uuid PRIMARY KEY,
  last_reported_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- When each kind of worker last did its round, whichever process it runs in.
CREATE TABLE bk.heartbeat (
  worker  text COLLATE "C" PRIMARY KEY,
  beat_at timestamptz NOT NULL
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE, DELETE ON bk.supply_freshness TO bk_app;
GRANT SELECT, INSERT, UPDATE ON bk.heartbeat TO bk_app;

RESET ROLE;
