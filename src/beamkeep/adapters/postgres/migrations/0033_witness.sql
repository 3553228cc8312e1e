-- The witness of the log: trees over the events and over the rows beside them, checkpoints of the
-- trees, and what was redacted. The role of the witness reads the record and writes these tables.
--
-- A table is in the tree of rows if it has a column `transaction_id` of type bigint that is not
-- null. A later table whose rows are only ever inserted gets the same column, default and index
-- when it is created.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'bk_witness') THEN
    CREATE ROLE bk_witness LOGIN;
  END IF;
END $$;

SET ROLE bk_owner;

-- Rows that were removed by hand: their hashes stay, so that every root can still be computed.
CREATE TABLE bk.redactions (
  table_name         text COLLATE "C" NOT NULL,
  key                text COLLATE "C" NOT NULL,
  row_transaction_id bigint NOT NULL,
  hash               bytea NOT NULL CHECK (length(hash) = 32),
  reason             text NOT NULL,
  redacted_at        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (table_name, key)
);

DO $$
DECLARE
  each text;
  columns text;
BEGIN
  FOREACH each IN ARRAY ARRAY['run_observation', 'run_logbook_entry', 'decision_inference',
                              'decision_logbook_entry', 'procedure_steps', 'procedure_activity',
                              'refused_start', 'redactions'] LOOP
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
      FROM pg_attribute
     WHERE attrelid = format('bk.%I', each)::regclass AND attnum > 0 AND NOT attisdropped
       AND attidentity = '';
    -- Rows that exist count as those of transaction 1, in which PostgreSQL itself was set up.
    EXECUTE format('ALTER TABLE bk.%I ADD COLUMN transaction_id bigint NOT NULL DEFAULT 1', each);
    -- The same number as pg_current_xact_id(), which is no bigint: a cast by way of its text would
    -- cost a bulk insert more than the column does.
    EXECUTE format('ALTER TABLE bk.%I ALTER COLUMN transaction_id SET DEFAULT txid_current()', each);
    -- Rows come in this order: a block range says enough and costs an insert nothing.
    EXECUTE format('CREATE INDEX %I ON bk.%I USING brin (transaction_id)
                      WITH (autosummarize = on)', each || '_transaction', each);
    IF each <> 'redactions' THEN
      -- Nobody says in which transaction a row was written but the database itself.
      EXECUTE format('REVOKE INSERT ON bk.%I FROM bk_app', each);
      EXECUTE format('GRANT INSERT (%s) ON bk.%I TO bk_app', columns, each);
    END IF;
    EXECUTE format('GRANT SELECT ON bk.%I TO bk_witness, bk_reader', each);
  END LOOP;
END $$;

-- How far each tree has come: one row each.
CREATE TABLE bk.witness_tree (
  tree     text COLLATE "C" PRIMARY KEY CHECK (tree IN ('events', 'rows')),
  number   int    NOT NULL CHECK (number >= 1),
  size     bigint NOT NULL CHECK (size >= 0),
  tx       bigint NOT NULL,
  frontier bytea  NOT NULL
) WITH (fillfactor = 50);

-- Full tiles of 256 hashes, and where the last leaf of a tile of leaves stands.
CREATE TABLE bk.witness_tile (
  tree    text COLLATE "C" NOT NULL,
  number  int      NOT NULL,
  level   smallint NOT NULL,
  index   bigint   NOT NULL,
  last_tx  bigint,
  last_pos bigint,
  hashes  bytea    NOT NULL CHECK (length(hashes) = 8192),
  PRIMARY KEY (tree, number, level, index)
);
-- Hashes cannot be compressed.
ALTER TABLE bk.witness_tile ALTER COLUMN hashes SET STORAGE EXTERNAL;
CREATE INDEX witness_tile_place ON bk.witness_tile (tree, number, last_tx, last_pos)
  WHERE level = 0;

CREATE TABLE bk.witness_checkpoint (
  tree   text COLLATE "C" NOT NULL,
  number int    NOT NULL,
  size   bigint NOT NULL,
  root   bytea  NOT NULL CHECK (length(root) = 32),
  note   text   NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tree, number, size)
);
CREATE INDEX witness_checkpoint_age ON bk.witness_checkpoint (at, tree, number, size);

-- The signatures of other witnesses under a checkpoint, one line each.
CREATE TABLE bk.witness_cosignature (
  tree   text COLLATE "C" NOT NULL,
  number int    NOT NULL,
  size   bigint NOT NULL,
  line   text COLLATE "C" NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tree, number, size, line)
);

-- What an operator said after a restore. `leaf` is the first leaf of a new tree, if one began;
-- `floor` is the transaction below which no row has the xmin that it was written with.
CREATE TABLE bk.witness_anchor (
  tree   text COLLATE "C" NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  number int    NOT NULL,
  floor  bigint NOT NULL,
  reason text   NOT NULL,
  leaf   text,
  PRIMARY KEY (tree, at)
);

-- Keys that have signed checkpoints. A key is never removed.
CREATE TABLE bk.witness_key (
  key        text COLLATE "C" PRIMARY KEY,
  from_at    timestamptz NOT NULL DEFAULT now(),
  until_at   timestamptz,
  revoked_at timestamptz
);

-- The newest tree of each other log that this deployment co-signs.
CREATE TABLE bk.witness_origin (
  origin text COLLATE "C" PRIMARY KEY,
  size   bigint NOT NULL,
  root   bytea  NOT NULL
);

GRANT USAGE ON SCHEMA bk TO bk_witness;
GRANT SELECT ON bk.events TO bk_witness, bk_reader;
GRANT SELECT (one, system_identifier) ON bk.deployment TO bk_witness, bk_reader;
GRANT SELECT ON bk.bookmarks, bk.projections TO bk_witness, bk_reader;
GRANT SELECT ON bk.policy_grant, bk.principal_standing, bk.claims TO bk_reader;
GRANT SELECT ON bk.witness_tree, bk.witness_tile, bk.witness_checkpoint, bk.witness_cosignature,
                bk.witness_anchor, bk.witness_key TO bk_app, bk_reader;
GRANT SELECT, INSERT, UPDATE ON bk.witness_tree, bk.witness_origin TO bk_witness;
GRANT SELECT, INSERT ON bk.witness_tile, bk.witness_checkpoint, bk.witness_cosignature,
                        bk.witness_anchor, bk.witness_key TO bk_witness;

RESET ROLE;
