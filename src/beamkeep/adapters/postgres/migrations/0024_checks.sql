-- Checks of copies that wait or run, and the files that they have read.

SET ROLE bk_owner;

CREATE TABLE bk.distribution_check (
  distribution_id  uuid NOT NULL,
  check_id         uuid NOT NULL,
  requested_at     timestamptz NOT NULL,
  started_at       timestamptz,
  updated_at       timestamptz,
  byte_size        bigint NOT NULL,
  bytes_read       bigint NOT NULL,
  bytes_per_second bigint NOT NULL,
  percent          smallint NOT NULL,
  kind             text COLLATE "C" NOT NULL,
  PRIMARY KEY (distribution_id, kind)
) WITH (fillfactor = 50);

-- Paths may contain personal data; the rows are deleted when the check ends.
CREATE TABLE bk.distribution_check_file (
  check_id uuid NOT NULL,
  path     text COLLATE "C" NOT NULL,
  sha256   text COLLATE "C" NOT NULL,
  mark     text COLLATE "C" NOT NULL,
  PRIMARY KEY (check_id, path)
);

GRANT SELECT, INSERT, UPDATE, DELETE
  ON bk.distribution_check, bk.distribution_check_file TO bk_app;

RESET ROLE;
