-- Names of stored booleans have no prefix.

SET ROLE bk_owner;

ALTER TABLE bk.dataset_standing RENAME COLUMN is_sealed TO sealed;
ALTER TABLE bk.relay_place RENAME COLUMN is_break TO decided;

RESET ROLE;
