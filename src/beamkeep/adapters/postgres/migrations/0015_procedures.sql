-- The rows written beside the events of procedures.

SET ROLE bk_owner;

CREATE TABLE bk.procedure_steps (
  procedure_id  uuid PRIMARY KEY,
  steps         json NOT NULL,
  closing_steps json NOT NULL
);

CREATE TABLE bk.procedure_iteration (
  procedure_id    uuid NOT NULL,
  iteration_index integer NOT NULL,
  started_at      timestamptz NOT NULL,
  coordinate      json,
  ended_at        timestamptz,
  converged       boolean,
  value           json,
  reason          text,
  advised_stop    boolean,
  advice          json,
  PRIMARY KEY (procedure_id, iteration_index)
);

CREATE TABLE bk.procedure_activity (
  activity_id     uuid PRIMARY KEY,
  procedure_id    uuid NOT NULL,
  sequence        bigint GENERATED ALWAYS AS IDENTITY,
  source          text NOT NULL COLLATE "C",
  conduct_id      uuid,
  claim           bigint,
  phase           text COLLATE "C",
  iteration_index integer,
  step_index      integer,
  attempt         integer,
  step_kind       text NOT NULL COLLATE "C",
  stage           text NOT NULL COLLATE "C",
  detail          json NOT NULL,
  sampled_at      timestamptz NOT NULL,
  recorded_at     timestamptz NOT NULL,
  principal_id    uuid NOT NULL,
  surface_id      uuid,
  correlation_id  uuid
);
CREATE INDEX procedure_activity_procedure ON bk.procedure_activity (procedure_id, sequence);
-- An attempt has one outcome.
CREATE UNIQUE INDEX procedure_activity_outcome
  ON bk.procedure_activity (procedure_id, phase, iteration_index, step_index, attempt)
  NULLS NOT DISTINCT
  WHERE conduct_id IS NOT NULL AND stage IN ('Succeeded', 'Failed', 'Skipped');

GRANT SELECT, INSERT ON bk.procedure_steps, bk.procedure_activity TO bk_app;
GRANT SELECT, INSERT, UPDATE ON bk.procedure_iteration TO bk_app;

RESET ROLE;
