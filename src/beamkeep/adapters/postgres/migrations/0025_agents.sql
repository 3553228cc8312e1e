-- Agents: what the call path knows of them, and their decisions for those who look at them again.

SET ROLE bk_owner;

ALTER TABLE bk.principal_standing
  ADD COLUMN agent_barred text COLLATE "C",
  ADD COLUMN agent_kind   text COLLATE "C",
  ADD COLUMN tools        text[] COLLATE "C" NOT NULL DEFAULT '{}';

-- The time is that of the database.
CREATE TABLE bk.agent_decision (
  decision_id      uuid PRIMARY KEY,
  agent_id         uuid NOT NULL,
  correlation_id   uuid,
  decided_at       timestamptz NOT NULL,
  rated_misleading boolean NOT NULL,
  overridden       boolean NOT NULL
);
CREATE INDEX agent_decision_agent ON bk.agent_decision (agent_id, decided_at, decision_id);
CREATE INDEX agent_decision_misleading ON bk.agent_decision (agent_id, decision_id)
  WHERE rated_misleading;
CREATE INDEX agent_decision_overridden ON bk.agent_decision (agent_id, decision_id)
  WHERE overridden;
GRANT SELECT, INSERT, UPDATE ON bk.agent_decision TO bk_app;

-- Agents could not decide before, so the calls of agents on record are few or none.
CREATE INDEX decision_inference_answered
  ON bk.decision_inference (agent_id, response_model, decision_id) WHERE agent_id IS NOT NULL;
CREATE INDEX decision_inference_requested
  ON bk.decision_inference (agent_id, request_model, decision_id) WHERE agent_id IS NOT NULL;
CREATE INDEX decision_inference_cost
  ON bk.decision_inference (agent_id, recorded_at)
  INCLUDE (input_tokens, output_tokens, cost_usd, duration_ms, error)
  WHERE agent_id IS NOT NULL;

RESET ROLE;
