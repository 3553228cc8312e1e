-- The rows beside datasets and their copies, the edges of provenance, and the custody of datasets.

SET ROLE bk_owner;

-- Of a dataset, what decides on its copies.
CREATE TABLE bk.dataset_standing (
  dataset_id       uuid PRIMARY KEY,
  producing_run_id uuid,
  byte_size        bigint NOT NULL,
  retain_until     date,
  is_sealed        boolean NOT NULL,
  intent           text COLLATE "C" NOT NULL,
  status           text COLLATE "C" NOT NULL
) WITH (fillfactor = 85);

-- The files of a dataset of several files. Paths may contain personal data, so no event has them.
CREATE TABLE bk.dataset_part (
  dataset_id uuid NOT NULL,
  byte_size  bigint NOT NULL,
  path       text COLLATE "C" NOT NULL,
  sha256     text COLLATE "C" NOT NULL,
  PRIMARY KEY (dataset_id, path)
);

-- The copies of datasets, until their bytes are deleted.
CREATE TABLE bk.dataset_copy (
  distribution_id   uuid PRIMARY KEY,
  dataset_id        uuid NOT NULL,
  supply_id         uuid,
  byte_size         bigint NOT NULL,
  unreachable_since timestamptz,
  status            text COLLATE "C" NOT NULL,
  access_protocol   text COLLATE "C" NOT NULL,
  uri               text COLLATE "C" NOT NULL,
  good_checks       json NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX dataset_copy_dataset ON bk.dataset_copy (dataset_id);
CREATE INDEX dataset_copy_supply ON bk.dataset_copy (supply_id, dataset_id, distribution_id);
CREATE INDEX dataset_copy_uri ON bk.dataset_copy (uri, distribution_id);

-- Which object came of which. The source is the stream whose event says so.
CREATE TABLE bk.provenance_edge (
  from_id   uuid NOT NULL,
  to_id     uuid NOT NULL,
  source_id uuid NOT NULL,
  relation  text COLLATE "C" NOT NULL,
  PRIMARY KEY (from_id, relation, to_id, source_id)
);
CREATE INDEX provenance_edge_to ON bk.provenance_edge (to_id, from_id, relation);

INSERT INTO bk.provenance_edge (from_id, to_id, source_id, relation)
SELECT DISTINCT e.stream_id, p.id::uuid, e.stream_id, 'pinned'
  FROM bk.events e CROSS JOIN json_array_elements_text(e.payload->'pinned_calibration_ids') p (id)
 WHERE e.stream_type = 'Run' AND e.event_type = 'RunStarted';

-- A walk along edges, level by level, of which each returns at most as many as are still wanted.
-- Indexes have the order of every level: a sort reads all edges of an object that has very many.
CREATE FUNCTION bk.walk_provenance(
  starts uuid[], upstream boolean, relations text[], levels integer, most integer
) RETURNS TABLE (depth integer, from_id uuid, relation text, to_id uuid)
LANGUAGE plpgsql STABLE SET search_path = '' SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  frontier uuid[] := starts;
  met      uuid[] := starts;
  further  uuid[];
  found    integer := 0;
BEGIN
  FOR level IN 1..levels LOOP
    further := '{}';
    FOR depth, from_id, relation, to_id IN
      SELECT level, e.from_id, e.relation, e.to_id
        FROM unnest(frontier) AS f (id) CROSS JOIN LATERAL (
          SELECT DISTINCT u.from_id, u.relation, u.to_id FROM bk.provenance_edge u
           WHERE upstream AND u.from_id = f.id AND u.relation = ANY (relations)
           LIMIT most - found) AS e
       UNION ALL
      SELECT level, e.from_id, e.relation, e.to_id
        FROM unnest(frontier) AS f (id) CROSS JOIN LATERAL (
          SELECT DISTINCT ON (d.to_id, d.from_id, d.relation) d.from_id, d.relation, d.to_id
            FROM bk.provenance_edge d
           WHERE NOT upstream AND d.to_id = f.id AND d.relation = ANY (relations)
           ORDER BY d.to_id, d.from_id, d.relation LIMIT most - found) AS e
       LIMIT most - found
    LOOP
      found := found + 1;
      further := further || CASE WHEN upstream THEN to_id ELSE from_id END;
      RETURN NEXT;
    END LOOP;
    frontier := ARRAY(SELECT DISTINCT n.id FROM unnest(further) AS n (id)
                       WHERE n.id <> ALL (met));
    EXIT WHEN found >= most OR frontier = '{}';
    met := met || frontier;
  END LOOP;
END $$;

-- How well each dataset is kept, as of its last event: written by a worker, only read.
CREATE TABLE bk.custody (
  dataset_id        uuid PRIMARY KEY,
  owner_id          uuid NOT NULL,
  producing_run_id  uuid,
  sole_supply_id    uuid, -- the storage of all copies that count
  byte_size         bigint NOT NULL,
  discardable_bytes bigint NOT NULL,
  intent            text COLLATE "C" NOT NULL,
  verdict           text COLLATE "C", -- none of a discarded dataset
  counted           json NOT NULL -- what this dataset adds to bk.custody_total
) WITH (fillfactor = 85);
CREATE INDEX custody_verdict ON bk.custody (verdict, dataset_id);
CREATE INDEX custody_intent ON bk.custody (intent, verdict, dataset_id);
CREATE INDEX custody_owner ON bk.custody (owner_id, dataset_id);
CREATE INDEX custody_sole_supply ON bk.custody (sole_supply_id, dataset_id);
CREATE INDEX custody_run ON bk.custody (producing_run_id, dataset_id);

-- Sums over datasets and copies, of one storage or of all.
CREATE TABLE bk.custody_total (
  supply_id uuid,
  number    bigint NOT NULL,
  bytes     bigint NOT NULL,
  kind      text COLLATE "C" NOT NULL,
  CONSTRAINT custody_total_of UNIQUE NULLS NOT DISTINCT (supply_id, kind)
) WITH (fillfactor = 50);

GRANT SELECT, INSERT ON bk.dataset_part TO bk_app;
GRANT SELECT, INSERT, UPDATE ON bk.dataset_standing, bk.custody_total TO bk_app;
GRANT SELECT, INSERT, UPDATE, DELETE
  ON bk.dataset_copy, bk.provenance_edge, bk.custody TO bk_app;
GRANT EXECUTE ON FUNCTION bk.walk_provenance TO bk_app;

RESET ROLE;
