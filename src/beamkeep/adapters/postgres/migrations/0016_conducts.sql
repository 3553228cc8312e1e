-- The rows written beside the events of conducts.

SET ROLE bk_owner;

CREATE TABLE bk.conduct (
  conduct_id             uuid PRIMARY KEY,
  procedure_id           uuid NOT NULL,
  conduct_kind           text NOT NULL COLLATE "C",
  root_kind              text NOT NULL COLLATE "C",
  continues_conduct_id   uuid,
  requested_by           uuid NOT NULL,
  requested_at           timestamptz NOT NULL,
  from_step_index        integer NOT NULL,
  redo_step_indexes      integer[] NOT NULL,
  loop                   json,
  first_iteration_index  integer,
  cancel_requested       boolean NOT NULL,
  outcome                text COLLATE "C",
  succeeded              boolean,
  completed_count        integer NOT NULL,
  failure                json,
  closing_failures       json NOT NULL,
  actuation_kind         text COLLATE "C",
  claim_count            bigint NOT NULL,
  undecided_step_indexes integer[] NOT NULL,
  ended_at               timestamptz
);
CREATE INDEX conduct_procedure ON bk.conduct (procedure_id);

-- An address that only one active conduct writes.
CREATE TABLE bk.conduct_channel (
  address    text COLLATE "C" PRIMARY KEY,
  conduct_id uuid NOT NULL
);

-- The rows of one pass, or of the closing steps, of a procedure that may have thousands of passes.
CREATE INDEX procedure_activity_pass
  ON bk.procedure_activity (procedure_id, phase, iteration_index);

CREATE INDEX work_owner ON bk.work (owner) WHERE ended_at IS NULL;

GRANT SELECT, INSERT, UPDATE ON bk.conduct TO bk_app;
GRANT SELECT, INSERT, DELETE ON bk.conduct_channel TO bk_app;

RESET ROLE;
