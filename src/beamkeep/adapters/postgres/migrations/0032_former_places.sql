-- Where assets were before they were moved, so that a tree can be shown as it was.

SET ROLE bk_owner;

CREATE TABLE bk.asset_former_place (
  parent_id uuid NOT NULL,
  asset_id  uuid NOT NULL,
  left_at   timestamptz NOT NULL,
  PRIMARY KEY (parent_id, asset_id)
);
GRANT SELECT, INSERT, UPDATE ON bk.asset_former_place TO bk_app;

INSERT INTO bk.asset_former_place (parent_id, asset_id, left_at)
SELECT (payload ->> 'from_parent_id')::uuid, stream_id, max(occurred_at)
  FROM bk.events
 WHERE stream_type = 'Asset' AND event_type = 'AssetRelocated'
 GROUP BY 1, 2;

RESET ROLE;
