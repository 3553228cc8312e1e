-- Calls of language models by agents. A row is written before each call; while it is not settled,
-- its reserve counts in the budget of the agent.

SET ROLE bk_owner;

CREATE TABLE bk.model_call (
  agent_id        uuid NOT NULL,
  attempt         smallint NOT NULL CHECK (attempt BETWEEN 1 AND 3),
  settled         boolean NOT NULL,
  started_at      timestamptz NOT NULL,
  reserved_tokens bigint NOT NULL CHECK (reserved_tokens >= 0),
  reserved_usd    double precision CHECK (reserved_usd >= 0),
  key             text COLLATE "C" NOT NULL,
  PRIMARY KEY (agent_id, key, attempt)
);
CREATE INDEX model_call_unsettled ON bk.model_call (agent_id, started_at) WHERE NOT settled;

GRANT SELECT, INSERT, UPDATE ON bk.model_call TO bk_app;

RESET ROLE;
