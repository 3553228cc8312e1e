-- How far the relay has published the log to a stream of a message bus, and where it must continue
-- by decision of an operator.

SET ROLE bk_owner;

CREATE TABLE bk.relay_place (
  stream         text COLLATE "C" PRIMARY KEY,
  transaction_id xid8   NOT NULL,
  position       bigint NOT NULL,
  event_id       uuid   NOT NULL,
  is_break       boolean NOT NULL DEFAULT false,
  break_sequence bigint,
  updated_at     timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE ON bk.relay_place TO bk_app;

RESET ROLE;
