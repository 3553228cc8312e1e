-- Starts that a check refused, and the logbook by time: both are read for the handover of a shift.

SET ROLE bk_owner;

CREATE TABLE bk.refused_start (
  plan_id        uuid NOT NULL,
  principal_id   uuid NOT NULL,
  error_code     text NOT NULL COLLATE "C",
  minute         timestamptz NOT NULL,
  refused_at     timestamptz NOT NULL,
  surface_id     uuid,
  correlation_id uuid,
  PRIMARY KEY (plan_id, principal_id, error_code, minute)
);
CREATE INDEX refused_start_time
  ON bk.refused_start (refused_at, plan_id, principal_id, error_code, minute);
CREATE INDEX run_logbook_entry_time ON bk.run_logbook_entry (recorded_at, entry_id);

GRANT SELECT, INSERT ON bk.refused_start TO bk_app;

RESET ROLE;
