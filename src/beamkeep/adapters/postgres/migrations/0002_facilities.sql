-- The rows written beside the events of equipment and enclosures.

SET ROLE bk_owner;

-- The tree of assets, so that what stands above or below one is found in one statement.
CREATE TABLE bk.asset_place (
  asset_id      uuid PRIMARY KEY,
  parent_id     uuid,
  facility_code text COLLATE "C"
);
CREATE INDEX asset_place_parent ON bk.asset_place (parent_id);

-- When each enclosure's monitor was last heard of: overwritten often, never part of the record.
CREATE TABLE bk.enclosure_freshness (
  enclosure_id     uuid PRIMARY KEY,
  last_reported_at timestamptz
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE ON bk.asset_place, bk.enclosure_freshness TO bk_app;

RESET ROLE;
