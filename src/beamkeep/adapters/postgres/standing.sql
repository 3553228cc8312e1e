-- Privileges and time limits of the database, which a dump does not contain.
-- Every `beamkeep migrate` ends with this script; it can be repeated.

DO $$
DECLARE
  here text := current_database();
  wanted record;
BEGIN
  -- A temporary table takes a transaction id, which holds back all lists until the transaction ends.
  EXECUTE format(
    'REVOKE TEMPORARY ON DATABASE %I
       FROM PUBLIC, bk_app, bk_projector, bk_reader, bk_witness, bk_monitor', here);
  REVOKE CREATE ON SCHEMA public
    FROM PUBLIC, bk_app, bk_projector, bk_reader, bk_witness, bk_monitor;

  -- The service sets shorter timeouts where it can. These apply to all other sessions: a forgotten
  -- terminal, a report, a program that crashed. The longest statement of the projector reads a whole
  -- list, and a worker that creates tables waits up to a minute for other workers.
  FOR wanted IN
    SELECT * FROM (VALUES
      ('bk_app',       'statement_timeout',                   '60s'),
      ('bk_app',       'lock_timeout',                        '10s'),
      ('bk_app',       'idle_in_transaction_session_timeout', '10s'),
      ('bk_projector', 'statement_timeout',                   '1h'),
      ('bk_projector', 'lock_timeout',                        '1min'),
      ('bk_projector', 'idle_in_transaction_session_timeout', '10s'),
      ('bk_reader',    'statement_timeout',                   '5min'),
      ('bk_reader',    'lock_timeout',                        '10s'),
      ('bk_reader',    'idle_in_transaction_session_timeout', '1min'),
      ('bk_reader',    'default_transaction_read_only',       'on'),
      ('bk_witness',   'statement_timeout',                   '1h'),
      ('bk_witness',   'lock_timeout',                        '10s'),
      ('bk_witness',   'idle_in_transaction_session_timeout', '10s'),
      ('bk_monitor',   'statement_timeout',                   '10s'),
      ('bk_monitor',   'lock_timeout',                        '2s'),
      ('bk_monitor',   'idle_in_transaction_session_timeout', '10s'),
      ('bk_monitor',   'default_transaction_read_only',       'on')
    ) AS limits (role, setting, value)
  LOOP
    EXECUTE format('ALTER ROLE %I IN DATABASE %I SET %I = %L',
                   wanted.role, here, wanted.setting, wanted.value);
  END LOOP;
END $$;
