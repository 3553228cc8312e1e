-- Durable work: a row is written with the event that asks for it, and one worker at a time holds it.

SET ROLE bk_owner;

CREATE TABLE bk.work (
  work_id     uuid PRIMARY KEY,
  kind        text COLLATE "C" NOT NULL,
  subject_id  uuid NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at      timestamptz NOT NULL DEFAULT clock_timestamp(), -- of a claimed row: its lease's end
  claim       bigint NOT NULL DEFAULT 0,
  owner       uuid,
  beat_at     timestamptz,
  idle_claims smallint NOT NULL DEFAULT 0,                    -- since the work last got on
  stop        text COLLATE "C",
  last_error  text,
  ended_at    timestamptz
) WITH (fillfactor = 70);

CREATE INDEX work_due ON bk.work (kind, due_at) WHERE ended_at IS NULL AND idle_claims < 5;

GRANT SELECT, INSERT, UPDATE ON bk.work TO bk_app;
GRANT SELECT ON bk.work TO bk_reader;

RESET ROLE;
