-- The members of teams, and the team of each object that has one. Both are written with the events
-- of which they follow.

SET ROLE bk_owner;

CREATE TABLE bk.team_member (
  team_id      uuid NOT NULL,
  principal_id uuid NOT NULL,
  role         text COLLATE "C" NOT NULL,
  since_at     timestamptz,
  until_at     timestamptz,
  PRIMARY KEY (team_id, principal_id)
);
CREATE INDEX team_member_principal ON bk.team_member (principal_id, team_id);

CREATE TABLE bk.object_team (
  object_id   uuid PRIMARY KEY,
  stream_type text COLLATE "C" NOT NULL,
  team_id     uuid,
  visit_id    uuid
);
CREATE INDEX object_team_team ON bk.object_team (team_id, stream_type, object_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON bk.team_member TO bk_app;
-- An object keeps its team.
GRANT SELECT, INSERT ON bk.object_team TO bk_app;
GRANT SELECT ON bk.team_member, bk.object_team TO bk_projector, bk_reader;

RESET ROLE;
