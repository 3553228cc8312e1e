-- The version and the position that an answer was given with, so that a replayed answer names them
-- too. Answers kept before this migration have neither.

SET ROLE bk_owner;

ALTER TABLE bk.idempotency
  ADD COLUMN version bigint, ADD COLUMN transaction_id xid8, ADD COLUMN position bigint;

RESET ROLE;
