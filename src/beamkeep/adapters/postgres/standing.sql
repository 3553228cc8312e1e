-- What a dump of the database does not bring back: who may do what in it as a whole, and how long.
-- Run at the end of every `beamkeep migrate`; it may be run any number of times.

DO $$
DECLARE
  here text := current_database();
  wanted record;
BEGIN
  -- A temporary table takes a transaction id, and with it holds all lists back until the end.
  EXECUTE format(
    'REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC, bk_app, bk_projector, bk_reader, bk_monitor', here);
  REVOKE CREATE ON SCHEMA public FROM PUBLIC, bk_app, bk_projector, bk_reader, bk_monitor;

  -- The service asks for less where it can. These hold where nothing was asked for: a forgotten
  -- terminal, a report, a program that went away. The longest statement of the projector reads a
  -- whole list, and whoever makes tables waits a minute for others who do.
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
