-- The rows written beside the events of runs: never changed, never folded.

SET ROLE bk_owner;

CREATE TABLE bk.run_observation (
  observation_id     uuid PRIMARY KEY,
  run_id             uuid NOT NULL,
  channel_name       text NOT NULL COLLATE "C",
  value              double precision NOT NULL,
  unit               json,
  sampling_procedure text NOT NULL COLLATE "C",
  sampled_at         timestamptz NOT NULL,
  simulated          boolean NOT NULL,
  recorded_at        timestamptz NOT NULL,
  principal_id       uuid NOT NULL,
  surface_id         uuid,
  correlation_id     uuid
);
CREATE INDEX run_observation_run ON bk.run_observation (run_id, sampled_at, observation_id);

CREATE TABLE bk.run_logbook_entry (
  entry_id       uuid PRIMARY KEY,
  run_id         uuid NOT NULL,
  author_id      uuid NOT NULL,
  kind           text NOT NULL COLLATE "C",
  text           text NOT NULL,
  decision_id    uuid,
  recorded_at    timestamptz NOT NULL,
  surface_id     uuid,
  correlation_id uuid
);
CREATE INDEX run_logbook_entry_run ON bk.run_logbook_entry (run_id, recorded_at, entry_id);

GRANT SELECT, INSERT ON bk.run_observation, bk.run_logbook_entry TO bk_app;

RESET ROLE;
