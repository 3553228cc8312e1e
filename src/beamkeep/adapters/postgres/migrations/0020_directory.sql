-- The directory: one row for each object, by which people find it. It follows from the lists, so it
-- is written by the projector and can be made anew from them. It holds no personal data.

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA bk;

SET ROLE bk_owner;

CREATE TABLE bk.directory (
  id            uuid PRIMARY KEY,
  version       bigint NOT NULL,
  owner_id      uuid NOT NULL,
  kind          text COLLATE "C" NOT NULL,
  facility_code text COLLATE "C",
  status        text COLLATE "C",
  name          text COLLATE "C" NOT NULL,
  folded        text COLLATE "C" NOT NULL, -- the name as names are compared
  words         text COLLATE "C" NOT NULL, -- name and keywords, folded, one in each line
  tail          text COLLATE "C" NOT NULL  -- the last eight digits of the id, backwards
) WITH (fillfactor = 85);

CREATE INDEX directory_folded ON bk.directory (folded, id);
CREATE INDEX directory_kind ON bk.directory (kind, folded);
CREATE INDEX directory_owner ON bk.directory (owner_id, id DESC);
CREATE INDEX directory_tail ON bk.directory (tail);
CREATE INDEX directory_words ON bk.directory USING gin (words bk.gin_trgm_ops);

-- From which generation of a list, and by which declaration, the rows of a kind were made.
CREATE TABLE bk.directory_kinds (
  name       text COLLATE "C" PRIMARY KEY,
  generation int NOT NULL,
  declared   int NOT NULL
);

GRANT SELECT ON bk.directory TO bk_app, bk_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON bk.directory, bk.directory_kinds TO bk_projector;

RESET ROLE;
