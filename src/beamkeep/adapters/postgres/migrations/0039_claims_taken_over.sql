-- A row takes the place of another whole, its key included: a new proposal takes over the claim of
-- the one that has expired. The service may insert and delete claims, so it can do nothing new.

SET ROLE bk_owner;

GRANT UPDATE ON bk.claims TO bk_app;

RESET ROLE;
