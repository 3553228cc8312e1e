-- The file that a copy is, so that one file with several addresses counts once.

SET ROLE bk_owner;

ALTER TABLE bk.dataset_copy ADD COLUMN of_parts boolean NOT NULL DEFAULT false;
ALTER TABLE bk.dataset_copy ADD COLUMN file_key text COLLATE "C";
ALTER TABLE bk.dataset_copy ADD COLUMN checks_count_from timestamptz;

UPDATE bk.dataset_copy c SET of_parts = (e.payload->>'of_parts')::boolean
  FROM bk.events e
 WHERE e.stream_type = 'Distribution' AND e.stream_id = c.distribution_id AND e.version = 1
   AND (e.payload->>'of_parts')::boolean;

ALTER TABLE bk.dataset_copy ALTER COLUMN of_parts DROP DEFAULT;
CREATE INDEX dataset_copy_file ON bk.dataset_copy (file_key) WHERE file_key IS NOT NULL;

RESET ROLE;
