-- Old denials are dropped. The service may ask for that, and cannot drop a young one: whoever
-- breaks into the service must not be able to remove the traces of the attempts before.

SET ROLE bk_owner;

CREATE FUNCTION bk.forget_denials(days int, most int) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  -- The ids are made in order of time, so the oldest are the first of the primary key.
  WITH kept AS MATERIALIZED (
    SELECT now() - make_interval(days => greatest(days, 30)) AS since),
  gone AS (
    DELETE FROM bk.authorization_denials WHERE denial_id = ANY(ARRAY(
      SELECT d.denial_id FROM bk.authorization_denials d
       WHERE d.denial_id < (SELECT (lpad(to_hex((extract(epoch FROM since) * 1000)::bigint), 12, '0')
                                    || repeat('0', 20))::uuid FROM kept)
         AND d.occurred_at < (SELECT since FROM kept)
       ORDER BY d.denial_id LIMIT most))
    RETURNING 1)
  SELECT count(*) FROM gone
$$;
REVOKE EXECUTE ON FUNCTION bk.forget_denials(int, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bk.forget_denials(int, int) TO bk_app;

RESET ROLE;
