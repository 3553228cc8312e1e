-- The event log, the rows written with it, and the roles that may touch them.
-- Run by a role that may create roles and schemas; nothing here belongs to a role that logs in.

DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['bk_app', 'bk_projector', 'bk_reader', 'bk_monitor'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', wanted);
    END IF;
  END LOOP;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'bk_owner') THEN
    CREATE ROLE bk_owner NOLOGIN;
  END IF;
END $$;
GRANT bk_owner TO CURRENT_USER;
GRANT pg_read_all_stats TO bk_monitor, bk_projector;

CREATE SCHEMA bk AUTHORIZATION bk_owner;
CREATE SCHEMA proj AUTHORIZATION bk_owner;
SET ROLE bk_owner;

-- ===== the log =====

CREATE SEQUENCE bk.event_position CACHE 1;

-- Fixed-width columns first: no alignment padding.
CREATE TABLE bk.events (
  position       bigint      NOT NULL DEFAULT nextval('bk.event_position'),
  transaction_id xid8        NOT NULL DEFAULT pg_current_xact_id(),
  version        bigint      NOT NULL CHECK (version >= 1),
  stream_id      uuid        NOT NULL,
  event_id       uuid        NOT NULL,
  principal_id   uuid        NOT NULL,
  surface_id     uuid,
  correlation_id uuid        NOT NULL,
  causation_id   uuid,
  occurred_at    timestamptz NOT NULL,
  recorded_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  schema_version smallint    NOT NULL,
  stream_type    text COLLATE "C" NOT NULL,
  event_type     text COLLATE "C" NOT NULL,
  command_name   text COLLATE "C" NOT NULL,
  payload        json        NOT NULL,
  CONSTRAINT events_stream_version UNIQUE (stream_type, stream_id, version),
  CONSTRAINT events_event_id       UNIQUE (stream_id, event_id)
) PARTITION BY HASH (stream_id);

CREATE FUNCTION bk.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  RAISE EXCEPTION 'bk.events is append-only' USING ERRCODE = 'BK405';
END $$;

CREATE INDEX events_tail ON bk.events (transaction_id, position) WITH (fillfactor = 100);
CREATE TRIGGER events_no_change BEFORE UPDATE OR DELETE ON bk.events
  FOR EACH ROW EXECUTE FUNCTION bk.refuse_change();

DO $$
BEGIN
  FOR i IN 0..15 LOOP
    EXECUTE format(
      'CREATE TABLE bk.events_p%1$s PARTITION OF bk.events
         FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)
         WITH (fillfactor = 100,
               autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000,
               autovacuum_freeze_min_age = 0,
               autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000)', i);
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON bk.events_p%s
                      FOR EACH STATEMENT EXECUTE FUNCTION bk.refuse_change()', i);
    -- ALWAYS: session_replication_role does not switch these off.
    EXECUTE format('ALTER TABLE bk.events_p%s ENABLE ALWAYS TRIGGER events_no_change', i);
    EXECUTE format('ALTER TABLE bk.events_p%s ENABLE ALWAYS TRIGGER no_truncate', i);
  END LOOP;
END $$;

-- ===== rows written with the events =====

CREATE TABLE bk.claims (
  scope  text COLLATE "C" NOT NULL,
  key    text COLLATE "C" NOT NULL,
  holder uuid,
  PRIMARY KEY (scope, key)
);

CREATE TABLE bk.idempotency (
  principal_id uuid     NOT NULL,
  surface_id   uuid     NOT NULL,
  key          text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  fingerprint  bytea    NOT NULL CHECK (length(fingerprint) = 32),
  status       smallint NOT NULL,
  result       text     NOT NULL,
  recorded_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (principal_id, surface_id, key)
);
-- Entries come in the order of their age: a block range says enough and costs an insert nothing.
CREATE INDEX idempotency_age ON bk.idempotency USING brin (recorded_at) WITH (autosummarize = on);

CREATE TABLE bk.principal_standing (
  principal_id uuid PRIMARY KEY,
  kind         text COLLATE "C" NOT NULL,
  barred       text COLLATE "C"
);

CREATE TABLE bk.actor_profile (
  actor_id              uuid PRIMARY KEY,
  name                  text NOT NULL,
  email                 text,
  phone                 text,
  affiliation           text,
  external_id           text,
  external_id_namespace text,
  created_at            timestamptz NOT NULL,
  updated_at            timestamptz NOT NULL
);

-- Whoever deletes a profile blanks it first, so that no deletion leaves a readable last version.
CREATE FUNCTION bk.blank_profile() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  IF OLD.name = '' THEN
    RETURN OLD;
  END IF;
  UPDATE bk.actor_profile
     SET name = '', email = NULL, phone = NULL, affiliation = NULL,
         external_id = NULL, external_id_namespace = NULL
   WHERE actor_id = OLD.actor_id;
  DELETE FROM bk.actor_profile WHERE actor_id = OLD.actor_id;
  RETURN NULL;
END $$;
CREATE TRIGGER blank_before_delete BEFORE DELETE ON bk.actor_profile
  FOR EACH ROW EXECUTE FUNCTION bk.blank_profile();

CREATE TABLE bk.actor_identity (
  issuer   text COLLATE "C" NOT NULL,
  subject  text COLLATE "C" NOT NULL,
  actor_id uuid NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX actor_identity_actor ON bk.actor_identity (actor_id);

CREATE TABLE bk.policy_grant (
  policy_id          uuid   NOT NULL,
  principal_id       uuid   NOT NULL,
  conduit_id         uuid   NOT NULL,
  surface_id         uuid,
  permitted_commands text[] COLLATE "C" NOT NULL,
  object_scope       text COLLATE "C" NOT NULL,
  PRIMARY KEY (policy_id, principal_id)
);
CREATE INDEX policy_grant_principal ON bk.policy_grant (principal_id, conduit_id, surface_id);
CREATE INDEX policy_grant_surface ON bk.policy_grant (surface_id);

CREATE TABLE bk.surface_control (
  surface_id uuid PRIMARY KEY,
  visit_id   uuid NOT NULL,
  since_at   timestamptz NOT NULL
);

CREATE TABLE bk.authorization_denials (
  denial_id      uuid PRIMARY KEY,
  conduit_id     uuid NOT NULL,
  surface_id     uuid,
  principal_id   uuid NOT NULL,
  command_name   text COLLATE "C" NOT NULL,
  reason_code    text COLLATE "C" NOT NULL,
  correlation_id uuid NOT NULL,
  occurred_at    timestamptz NOT NULL
);
CREATE INDEX authorization_denials_conduit ON bk.authorization_denials (conduit_id, denial_id);

-- ===== projections =====

CREATE TABLE bk.projections (
  name       text COLLATE "C" NOT NULL,
  generation int     NOT NULL,
  declared   int     NOT NULL,
  live       boolean NOT NULL,
  PRIMARY KEY (name, generation)
);
CREATE UNIQUE INDEX projections_live ON bk.projections (name) WHERE live;

CREATE TABLE bk.bookmarks (
  projection text COLLATE "C" NOT NULL,
  generation int      NOT NULL,
  shard      smallint NOT NULL,
  tx         xid8     NOT NULL DEFAULT '0',
  pos        bigint   NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (projection, generation, shard)
) WITH (fillfactor = 50);

-- ===== the deployment itself =====

CREATE TABLE bk.deployment (
  one               boolean PRIMARY KEY DEFAULT true CHECK (one),
  system_identifier bigint NOT NULL,
  cursor_key        bytea  NOT NULL
);

-- ===== who may do what =====

GRANT USAGE ON SCHEMA bk TO bk_app, bk_projector, bk_reader, bk_monitor;
GRANT USAGE ON SCHEMA proj TO bk_app, bk_reader, bk_monitor;
GRANT USAGE, CREATE ON SCHEMA proj TO bk_projector;

-- Nobody says where or when an event was recorded but the database itself.
GRANT SELECT ON bk.events TO bk_app;
GRANT INSERT (version, stream_id, event_id, principal_id, surface_id, correlation_id, causation_id,
              occurred_at, schema_version, stream_type, event_type, command_name, payload)
  ON bk.events TO bk_app;
GRANT USAGE ON SEQUENCE bk.event_position TO bk_app;
GRANT SELECT, INSERT, DELETE ON bk.claims TO bk_app;
GRANT SELECT, INSERT, DELETE ON bk.idempotency TO bk_app;
GRANT SELECT, INSERT, UPDATE ON bk.principal_standing TO bk_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON bk.actor_profile TO bk_app;
GRANT SELECT, INSERT, DELETE ON bk.actor_identity TO bk_app;
GRANT SELECT, INSERT, DELETE ON bk.policy_grant TO bk_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON bk.surface_control TO bk_app;
GRANT SELECT, INSERT ON bk.authorization_denials TO bk_app;
GRANT SELECT ON bk.bookmarks, bk.projections TO bk_app, bk_monitor;
GRANT SELECT ON bk.deployment TO bk_app;
GRANT SELECT (one, system_identifier) ON bk.deployment TO bk_monitor;

GRANT SELECT ON bk.events TO bk_projector;
GRANT SELECT ON ALL TABLES IN SCHEMA bk TO bk_projector;
REVOKE SELECT ON bk.actor_profile, bk.actor_identity, bk.idempotency, bk.deployment
  FROM bk_projector;
GRANT SELECT (one, system_identifier) ON bk.deployment TO bk_projector;
GRANT SELECT, INSERT, UPDATE, DELETE ON bk.bookmarks, bk.projections TO bk_projector;
DO $$
BEGIN
  FOR i IN 0..15 LOOP
    EXECUTE format('GRANT SELECT ON bk.events_p%s TO bk_projector', i);
  END LOOP;
END $$;

RESET ROLE;
ALTER DEFAULT PRIVILEGES FOR ROLE bk_projector IN SCHEMA proj
  GRANT SELECT ON TABLES TO bk_app, bk_reader;
INSERT INTO bk.deployment (system_identifier, cursor_key)
  SELECT system_identifier,
         sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    FROM pg_control_system();
