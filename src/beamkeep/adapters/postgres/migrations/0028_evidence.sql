-- What agents were answered. The service inserts and reads it; old evidence on which nothing was
-- decided is dropped by a function that drops nothing else.

SET ROLE bk_owner;

CREATE TABLE bk.evidence (
  evidence_id    uuid PRIMARY KEY,
  agent_id       uuid NOT NULL,
  surface_id     uuid,
  correlation_id uuid NOT NULL,
  asked_at       timestamptz NOT NULL,
  more           boolean NOT NULL,
  kept           boolean NOT NULL DEFAULT false, -- whether a decision followed
  question       text COLLATE "C" NOT NULL,
  digest         text COLLATE "C" NOT NULL,
  release        text COLLATE "C" NOT NULL,
  arguments      json NOT NULL,                  -- may contain personal data
  seen           json NOT NULL
);
CREATE INDEX evidence_agent ON bk.evidence (agent_id, asked_at, evidence_id);
CREATE INDEX evidence_correlation ON bk.evidence (correlation_id);
CREATE INDEX evidence_age ON bk.evidence (asked_at) WHERE NOT kept;

GRANT SELECT, INSERT ON bk.evidence TO bk_app;

-- Of the oldest rows that were not looked at yet, those are dropped that no decision followed within
-- the window or under the same correlation id; the others stay. Returns how many were looked at.
CREATE FUNCTION bk.forget_evidence(days int, minutes int, most int) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  WITH old AS MATERIALIZED (
    SELECT e.evidence_id, EXISTS (
             SELECT FROM bk.agent_decision d
              WHERE d.agent_id = e.agent_id AND d.decided_at >= e.asked_at
                AND d.decided_at <= e.asked_at + make_interval(days => greatest(days, 7))
                AND (d.decided_at <= e.asked_at + make_interval(mins => minutes)
                     OR d.correlation_id = e.correlation_id)) AS followed
      FROM bk.evidence e
     WHERE NOT e.kept AND e.asked_at < now() - make_interval(days => greatest(days, 7))
     ORDER BY e.asked_at LIMIT most FOR UPDATE SKIP LOCKED),
  marked AS (
    UPDATE bk.evidence e SET kept = true FROM old WHERE old.followed
       AND e.evidence_id = old.evidence_id),
  gone AS (
    DELETE FROM bk.evidence e USING old WHERE NOT old.followed
       AND e.evidence_id = old.evidence_id)
  SELECT count(*) FROM old
$$;
REVOKE EXECUTE ON FUNCTION bk.forget_evidence(int, int, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bk.forget_evidence(int, int, int) TO bk_app;

RESET ROLE;
