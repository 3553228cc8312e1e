-- What decides in which facility an object is: a code, or the objects in whose facility it is.

SET ROLE bk_owner;

ALTER TABLE bk.directory
  ADD COLUMN scope  text COLLATE "C",
  ADD COLUMN within uuid[]; -- empty: in no facility in particular, and so in the own Site

CREATE INDEX directory_within ON bk.directory USING gin (within) WHERE within IS NOT NULL;

-- A search among the objects of one owner finds a name, or its beginning, in this order.
DROP INDEX bk.directory_owner;
CREATE INDEX directory_owner ON bk.directory (owner_id, folded, id);

-- The service reads in each partition how far the lists have followed it.
DO $$
BEGIN
  FOR i IN 0..15 LOOP
    EXECUTE format('GRANT SELECT ON bk.events_p%s TO bk_app', i);
  END LOOP;
END $$;

RESET ROLE;
