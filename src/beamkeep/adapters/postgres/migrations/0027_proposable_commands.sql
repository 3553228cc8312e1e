-- Commands that a policy lets its principals propose, so that somebody else approves them.

SET ROLE bk_owner;

ALTER TABLE bk.policy_grant
  ADD COLUMN proposable_commands text[] COLLATE "C" NOT NULL DEFAULT '{}';

RESET ROLE;
