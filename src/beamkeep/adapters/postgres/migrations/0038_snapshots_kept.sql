-- The service stores and drops snapshots of streams, and cannot change one: what a decision rests on
-- is either folded from the events or was written whole. `beamkeep verify` folds the streams again
-- and compares the snapshots, as the role that only reads.

SET ROLE bk_owner;

REVOKE UPDATE ON bk.snapshots FROM bk_app;
GRANT SELECT ON bk.snapshots TO bk_reader;

RESET ROLE;
