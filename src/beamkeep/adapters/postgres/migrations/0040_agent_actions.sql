-- How many calls of an agent have changed something on its last day with calls, one row for each
-- agent. Two calls at once try to insert the same number.

SET ROLE bk_owner;

CREATE TABLE bk.agent_action (
  agent_id uuid NOT NULL,
  day      date NOT NULL,
  number   int NOT NULL CHECK (number > 0),
  PRIMARY KEY (agent_id, day, number)
);

GRANT SELECT, INSERT, DELETE ON bk.agent_action TO bk_app;

RESET ROLE;
