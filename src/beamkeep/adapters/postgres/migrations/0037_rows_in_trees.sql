-- Rows that decisions, proofs and reports rest on, and that no event repeats, come into the tree of
-- rows. Rows that expire leave their hash, so that every root can still be computed. Of a profile,
-- the tree has a salted hash only, which says nothing once the profile is erased.

-- A witness that runs has listed the tables of the tree, and would pass over the new ones.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_stat_activity
              WHERE datname = current_database() AND usename = 'bk_witness') THEN
    RAISE EXCEPTION 'The witness is connected. Stop `beamkeep work`, migrate, and start it again.';
  END IF;
END $$;

SET ROLE bk_owner;

-- Answers to agents on which a decision was made: they are never dropped.
CREATE TABLE bk.decided_evidence (evidence_id uuid PRIMARY KEY);
INSERT INTO bk.decided_evidence SELECT evidence_id FROM bk.evidence WHERE kept;

-- The salted hash of each version of a profile.
CREATE TABLE bk.profile_digest (
  digest_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  actor_id  uuid NOT NULL,
  hash      bytea NOT NULL CHECK (length(hash) = 32)
);
CREATE INDEX profile_digest_actor ON bk.profile_digest (actor_id);
ALTER TABLE bk.actor_profile ADD COLUMN salt uuid NOT NULL DEFAULT gen_random_uuid();

-- The last version of a profile has another salt, so that nobody can try names against the hash.
CREATE OR REPLACE FUNCTION bk.blank_profile() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  IF OLD.name = '' THEN
    RETURN OLD;
  END IF;
  UPDATE bk.actor_profile
     SET name = '', email = NULL, phone = NULL, affiliation = NULL,
         external_id = NULL, external_id_namespace = NULL, salt = gen_random_uuid()
   WHERE actor_id = OLD.actor_id;
  DELETE FROM bk.actor_profile WHERE actor_id = OLD.actor_id;
  RETURN NULL;
END $$;

-- The text of a profile that is hashed, for the trigger and for those who compare.
CREATE FUNCTION bk.profile_hashes(only_id uuid DEFAULT NULL) RETURNS TABLE (actor_id uuid, hash bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT p.actor_id, sha256(convert_to(jsonb_strip_nulls(jsonb_build_object(
           'actor_id', p.actor_id::text, 'name', p.name, 'email', p.email, 'phone', p.phone,
           'affiliation', p.affiliation, 'external_id', p.external_id,
           'external_id_namespace', p.external_id_namespace,
           'created_at', trunc(extract(epoch FROM p.created_at) * 1000000)::text,
           'updated_at', trunc(extract(epoch FROM p.updated_at) * 1000000)::text,
           'salt', p.salt::text))::text, 'UTF8'))
    FROM bk.actor_profile p WHERE only_id IS NULL OR p.actor_id = only_id
$$;
INSERT INTO bk.profile_digest (actor_id, hash) SELECT * FROM bk.profile_hashes();

CREATE FUNCTION bk.keep_profile_digest() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO bk.profile_digest (actor_id, hash)
  SELECT h.actor_id, h.hash FROM bk.profile_hashes(NEW.actor_id) h;
  RETURN NULL;
END $$;
-- A profile without a name is about to be deleted.
CREATE TRIGGER digest_after_write AFTER INSERT OR UPDATE ON bk.actor_profile
  FOR EACH ROW WHEN (NEW.name <> '') EXECUTE FUNCTION bk.keep_profile_digest();

-- The digest of every login, by which events name it: HMAC-SHA-256 of a JSON text, whose other
-- characters than ASCII are escaped.
CREATE FUNCTION bk.login_digests() RETURNS TABLE (actor_id uuid, issuer text, subject_digest text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  WITH pads AS MATERIALIZED (
    SELECT string_agg(set_byte('\x00', 0, get_byte(k.key, n) # 54), '' ORDER BY n) AS inner_pad,
           string_agg(set_byte('\x00', 0, get_byte(k.key, n) # 92), '' ORDER BY n) AS outer_pad
      FROM (SELECT cursor_key || decode(repeat('00', 64 - length(cursor_key)), 'hex') AS key
              FROM bk.deployment) k, generate_series(0, 63) AS n),
  texts AS MATERIALIZED (
    SELECT i.actor_id, i.issuer, concat('["', i.actor_id, '", ', (
             SELECT string_agg(CASE
                      WHEN ascii(c) < 127 THEN c
                      WHEN ascii(c) < 65536 THEN '\u' || lpad(to_hex(ascii(c)), 4, '0')
                      ELSE '\u' || to_hex(55296 + (ascii(c) - 65536) / 1024)
                           || '\u' || to_hex(56320 + (ascii(c) - 65536) % 1024) END, '' ORDER BY n)
               FROM regexp_split_to_table(concat(to_json(i.issuer), ', ', to_json(i.subject)), '')
                    WITH ORDINALITY AS s (c, n)), ']') AS text
      FROM bk.actor_identity i)
  SELECT t.actor_id, t.issuer, encode(sha256(p.outer_pad || sha256(p.inner_pad
           || convert_to(t.text, 'UTF8'))), 'hex')
    FROM texts t, pads p
$$;

DO $$
DECLARE
  each text;
  columns text;
BEGIN
  FOREACH each IN ARRAY ARRAY['evidence', 'authorization_denials', 'federation_envelope',
                              'federation_peer_pointer', 'logbook_mirror', 'dataset_part',
                              'decided_evidence', 'profile_digest'] LOOP
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
      FROM pg_attribute
     WHERE attrelid = format('bk.%I', each)::regclass AND attnum > 0 AND NOT attisdropped;
    -- Rows that exist count as those of this transaction, which no witness has passed.
    EXECUTE format('ALTER TABLE bk.%I ADD COLUMN transaction_id bigint NOT NULL DEFAULT %s',
                   each, txid_current());
    EXECUTE format('ALTER TABLE bk.%I ALTER COLUMN transaction_id SET DEFAULT txid_current()', each);
    EXECUTE format('CREATE INDEX %I ON bk.%I USING brin (transaction_id)
                      WITH (autosummarize = on)', each || '_transaction', each);
    IF each NOT IN ('authorization_denials', 'decided_evidence', 'profile_digest') THEN
      EXECUTE format('REVOKE INSERT ON bk.%I FROM bk_app', each);
      EXECUTE format('GRANT INSERT (%s) ON bk.%I TO bk_app', columns, each);
    END IF;
    EXECUTE format('GRANT SELECT ON bk.%I TO bk_witness, bk_reader', each);
  END LOOP;
END $$;

-- A denial is inserted as a whole row, so that a default would not count.
CREATE FUNCTION bk.number_denial() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  NEW.transaction_id := txid_current();
  RETURN NEW;
END $$;
CREATE TRIGGER number_before_insert BEFORE INSERT ON bk.authorization_denials
  FOR EACH ROW EXECUTE FUNCTION bk.number_denial();

-- Rows of this transaction are older than it.
ALTER TABLE bk.deployment ADD COLUMN rows_since bigint NOT NULL DEFAULT 0;
UPDATE bk.deployment SET rows_since = txid_current();
GRANT SELECT (rows_since) ON bk.deployment TO bk_reader;

-- What expired rows leave. Whatever is done to it, a leaf of the tree differs.
CREATE TABLE bk.expired_rows (
  row_transaction_id bigint NOT NULL,
  table_name         text COLLATE "C" NOT NULL,
  key                text COLLATE "C" NOT NULL,
  hash               bytea NOT NULL CHECK (length(hash) = 32)
);
CREATE INDEX expired_rows_transaction
  ON bk.expired_rows USING brin (row_transaction_id) WITH (autosummarize = on);

CREATE OR REPLACE FUNCTION bk.forget_denials(days int, most int) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  -- The ids are made in order of time, so the oldest are the first of the primary key.
  WITH kept AS MATERIALIZED (
    SELECT now() - make_interval(days => greatest(days, 30)) AS since),
  gone AS (
    DELETE FROM bk.authorization_denials WHERE denial_id = ANY(ARRAY(
      SELECT d.denial_id FROM bk.authorization_denials d
       WHERE d.denial_id < (SELECT (lpad(to_hex((extract(epoch FROM since) * 1000)::bigint), 12, '0')
                                    || repeat('0', 20))::uuid FROM kept)
         AND d.occurred_at < (SELECT since FROM kept)
       ORDER BY d.denial_id LIMIT most))
    RETURNING *),
  left_behind AS (
    INSERT INTO bk.expired_rows (row_transaction_id, table_name, key, hash)
    SELECT g.transaction_id, 'authorization_denials', g.denial_id::text,
           sha256(convert_to(jsonb_strip_nulls(jsonb_build_object(
             'denial_id', g.denial_id::text, 'conduit_id', g.conduit_id::text,
             'surface_id', g.surface_id::text, 'principal_id', g.principal_id::text,
             'command_name', g.command_name, 'reason_code', g.reason_code,
             'correlation_id', g.correlation_id::text,
             'occurred_at', trunc(extract(epoch FROM g.occurred_at) * 1000000)::text))::text,
             'UTF8'))
      FROM gone g)
  SELECT count(*) FROM gone
$$;

CREATE OR REPLACE FUNCTION bk.forget_evidence(days int, minutes int, most int) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  WITH old AS MATERIALIZED (
    SELECT e.evidence_id, EXISTS (
             SELECT FROM bk.agent_decision d
              WHERE d.agent_id = e.agent_id AND d.decided_at >= e.asked_at
                AND d.decided_at <= e.asked_at + make_interval(days => greatest(days, 7))
                AND (d.decided_at <= e.asked_at + make_interval(mins => minutes)
                     OR d.correlation_id = e.correlation_id)) AS followed
      FROM bk.evidence e
     WHERE NOT e.kept AND e.asked_at < now() - make_interval(days => greatest(days, 7))
     ORDER BY e.asked_at LIMIT most FOR UPDATE SKIP LOCKED),
  marked AS (
    UPDATE bk.evidence e SET kept = true FROM old WHERE old.followed
       AND e.evidence_id = old.evidence_id),
  decided AS (
    INSERT INTO bk.decided_evidence (evidence_id)
    SELECT old.evidence_id FROM old WHERE old.followed ON CONFLICT DO NOTHING),
  gone AS (
    DELETE FROM bk.evidence e USING old WHERE NOT old.followed
       AND e.evidence_id = old.evidence_id
    RETURNING e.*),
  left_behind AS (
    INSERT INTO bk.expired_rows (row_transaction_id, table_name, key, hash)
    SELECT g.transaction_id, 'evidence', g.evidence_id::text,
           sha256(convert_to(jsonb_strip_nulls(jsonb_build_object(
             'evidence_id', g.evidence_id::text, 'agent_id', g.agent_id::text,
             'surface_id', g.surface_id::text, 'correlation_id', g.correlation_id::text,
             'asked_at', trunc(extract(epoch FROM g.asked_at) * 1000000)::text,
             'more', g.more::text, 'question', g.question, 'digest', g.digest,
             'release', g.release, 'arguments', g.arguments::text,
             'seen', g.seen::text))::text, 'UTF8'))
      FROM gone g)
  SELECT count(*) FROM old
$$;

-- What `beamkeep verify` compares with the events, without personal data and secrets.
GRANT SELECT ON bk.surface_control, bk.asset_place, bk.asset_former_place, bk.enclosure_freshness,
                bk.supply_freshness, bk.agent_decision, bk.dataset_standing, bk.dataset_copy,
                bk.provenance_edge, bk.expired_rows TO bk_reader;
GRANT SELECT (actor_id, created_at, updated_at) ON bk.actor_profile TO bk_reader;
GRANT SELECT (subscription_id, owner_id) ON bk.subscription_place TO bk_reader;
GRANT SELECT (subscription_id) ON bk.subscription_secret, bk.delivery TO bk_reader;
GRANT SELECT ON bk.expired_rows TO bk_witness;
GRANT SELECT ON bk.redactions, bk.expired_rows, bk.decided_evidence, bk.profile_digest TO bk_app;
REVOKE EXECUTE ON FUNCTION bk.profile_hashes(uuid), bk.login_digests() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bk.profile_hashes(uuid), bk.login_digests() TO bk_app, bk_reader;

RESET ROLE;
