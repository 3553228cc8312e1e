-- Logbook entries that an outside logbook has. Texts stay in the tables of the entries.

SET ROLE bk_owner;

CREATE TABLE bk.logbook_mirror (
  work_id     uuid PRIMARY KEY,
  subject_id  uuid NOT NULL, -- the run or the decision
  entry_id    uuid NOT NULL,
  mirrored_at timestamptz NOT NULL,
  outside_id  text COLLATE "C" NOT NULL
);
CREATE INDEX logbook_mirror_subject ON bk.logbook_mirror (subject_id);

GRANT SELECT, INSERT ON bk.logbook_mirror TO bk_app;

RESET ROLE;
