-- The events of one principal in the order of the log, partition by partition, while appends go on.
-- Each statement is its own transaction. If one fails, all of them are run again: an index that was
-- left unfinished is dropped first.

SET ROLE bk_owner;

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p0_principal;
CREATE INDEX CONCURRENTLY events_p0_principal
  ON bk.events_p0 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p1_principal;
CREATE INDEX CONCURRENTLY events_p1_principal
  ON bk.events_p1 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p2_principal;
CREATE INDEX CONCURRENTLY events_p2_principal
  ON bk.events_p2 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p3_principal;
CREATE INDEX CONCURRENTLY events_p3_principal
  ON bk.events_p3 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p4_principal;
CREATE INDEX CONCURRENTLY events_p4_principal
  ON bk.events_p4 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p5_principal;
CREATE INDEX CONCURRENTLY events_p5_principal
  ON bk.events_p5 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p6_principal;
CREATE INDEX CONCURRENTLY events_p6_principal
  ON bk.events_p6 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p7_principal;
CREATE INDEX CONCURRENTLY events_p7_principal
  ON bk.events_p7 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p8_principal;
CREATE INDEX CONCURRENTLY events_p8_principal
  ON bk.events_p8 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p9_principal;
CREATE INDEX CONCURRENTLY events_p9_principal
  ON bk.events_p9 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p10_principal;
CREATE INDEX CONCURRENTLY events_p10_principal
  ON bk.events_p10 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p11_principal;
CREATE INDEX CONCURRENTLY events_p11_principal
  ON bk.events_p11 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p12_principal;
CREATE INDEX CONCURRENTLY events_p12_principal
  ON bk.events_p12 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p13_principal;
CREATE INDEX CONCURRENTLY events_p13_principal
  ON bk.events_p13 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p14_principal;
CREATE INDEX CONCURRENTLY events_p14_principal
  ON bk.events_p14 (principal_id, transaction_id, position);

DROP INDEX CONCURRENTLY IF EXISTS bk.events_p15_principal;
CREATE INDEX CONCURRENTLY events_p15_principal
  ON bk.events_p15 (principal_id, transaction_id, position);

RESET ROLE;
