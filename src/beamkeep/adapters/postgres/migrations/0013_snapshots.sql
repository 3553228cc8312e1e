-- The states of long streams at a version: derived from the events, and discardable at any time.

SET ROLE bk_owner;

CREATE TABLE bk.snapshots (
  fold        uuid   NOT NULL,
  stream_id   uuid   NOT NULL,
  owner_id    uuid   NOT NULL,
  version     bigint NOT NULL,
  kept_at     timestamptz NOT NULL DEFAULT now(),
  stream_type text COLLATE "C" NOT NULL,
  state       text   NOT NULL,
  PRIMARY KEY (fold, stream_type, stream_id)
) WITH (fillfactor = 70);

GRANT SELECT, INSERT, UPDATE, DELETE ON bk.snapshots TO bk_app;

RESET ROLE;
