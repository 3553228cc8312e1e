-- Commands that a policy lets its principals propose, so that somebody else approves them.

SET ROLE bk_owner;

ALTER TABLE bk.policy_grant
  ADD COLUMN proposable_commands text[] COLLATE "C" NOT NULL DEFAULT '{}';
-- A new proposal takes over the claim of the one that has expired.
GRANT UPDATE (holder) ON bk.claims TO bk_app;

RESET ROLE;
