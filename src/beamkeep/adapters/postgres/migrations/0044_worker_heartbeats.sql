-- Workers forget the heartbeats of workers that the settings switched off.

SET ROLE bk_owner;

GRANT DELETE ON bk.heartbeat TO bk_app;

RESET ROLE;
