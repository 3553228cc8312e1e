-- The rows kept beside decisions: the calls of models and tools, and the logbook. Insert only.

SET ROLE bk_owner;

CREATE TABLE bk.decision_inference (
  inference_id        uuid PRIMARY KEY,
  decision_id         uuid NOT NULL,
  agent_id            uuid,
  principal_id        uuid NOT NULL,
  surface_id          uuid,
  correlation_id      uuid NOT NULL,
  occurred_at         timestamptz NOT NULL,
  recorded_at         timestamptz NOT NULL,
  duration_ms         bigint CHECK (duration_ms >= 0),
  input_tokens        bigint CHECK (input_tokens >= 0),
  output_tokens       bigint CHECK (output_tokens >= 0),
  request_max_tokens  bigint,
  cost_usd            double precision CHECK (cost_usd >= 0),
  request_temperature double precision,
  operation_name      text COLLATE "C" NOT NULL,
  provider_name       text COLLATE "C" NOT NULL,
  request_model       text COLLATE "C" NOT NULL,
  response_model      text COLLATE "C",
  response_id         text COLLATE "C",
  finish_reasons      text[] COLLATE "C" NOT NULL,
  conversation_id     text COLLATE "C",
  tool_name           text COLLATE "C",
  tool_call_id        text COLLATE "C",
  error               text COLLATE "C",
  messages            json
);
CREATE INDEX decision_inference_decision
  ON bk.decision_inference (decision_id, occurred_at, inference_id);

CREATE TABLE bk.decision_logbook_entry (
  entry_id       uuid PRIMARY KEY,
  decision_id    uuid NOT NULL,
  author_id      uuid NOT NULL,
  surface_id     uuid,
  correlation_id uuid NOT NULL,
  recorded_at    timestamptz NOT NULL,
  text           text NOT NULL
);
CREATE INDEX decision_logbook_entry_decision
  ON bk.decision_logbook_entry (decision_id, recorded_at, entry_id);

GRANT SELECT, INSERT ON bk.decision_inference, bk.decision_logbook_entry TO bk_app;

RESET ROLE;
