-- Grants that permit everything, so that the administrators are found without reading all grants.

SET ROLE bk_owner;

ALTER TABLE bk.policy_grant ADD COLUMN unrestricted boolean NOT NULL
  GENERATED ALWAYS AS (permitted_commands = ARRAY['*']::text[] AND object_scope = 'All') STORED;
CREATE INDEX policy_grant_unrestricted ON bk.policy_grant (unrestricted, surface_id);
-- Nothing else looked for grants by their surface alone.
DROP INDEX bk.policy_grant_surface;

RESET ROLE;
