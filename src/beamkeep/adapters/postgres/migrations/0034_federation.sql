-- How the signer knows the private keys of the own site, and the exchanges with other facilities.

SET ROLE bk_owner;

CREATE TABLE bk.credential_secret_ref (
  credential_id      uuid PRIMARY KEY,
  secret_ref         text COLLATE "C" NOT NULL,
  pending_secret_ref text COLLATE "C"
);
GRANT SELECT, INSERT, UPDATE ON bk.credential_secret_ref TO bk_app;

CREATE TABLE bk.federation_exchanges (
  signature            text COLLATE "C" PRIMARY KEY,
  exchange_id          uuid NOT NULL UNIQUE,
  permit_id            uuid NOT NULL,
  peer_facility_id     uuid NOT NULL,
  direction            text COLLATE "C" NOT NULL,
  credential_id        uuid NOT NULL,
  key_fingerprint      text COLLATE "C" NOT NULL,
  artifact_kind        text COLLATE "C" NOT NULL,
  artifact_id          uuid NOT NULL, -- as the publisher has given it
  content_hash         text COLLATE "C" NOT NULL,
  seal_sequence_number bigint,
  seal_head_hash       text COLLATE "C",
  exported_at          timestamptz NOT NULL,
  principal_id         uuid NOT NULL,
  recorded_at          timestamptz NOT NULL,
  transaction_id       bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX federation_exchanges_permit
  ON bk.federation_exchanges (permit_id, recorded_at, exchange_id);
CREATE INDEX federation_exchanges_artifact
  ON bk.federation_exchanges (peer_facility_id, artifact_id, exported_at);
-- The witness follows exchanges in its tree of rows, by the transaction that the database gives.
CREATE INDEX federation_exchanges_transaction
  ON bk.federation_exchanges USING brin (transaction_id) WITH (autosummarize = on);
GRANT INSERT (signature, exchange_id, permit_id, peer_facility_id, direction, credential_id,
              key_fingerprint, artifact_kind, artifact_id, content_hash, seal_sequence_number,
              seal_head_hash, exported_at, principal_id, recorded_at)
  ON bk.federation_exchanges TO bk_app;
GRANT SELECT ON bk.federation_exchanges TO bk_app, bk_witness, bk_reader;

CREATE TABLE bk.federation_envelope (
  exchange_id uuid PRIMARY KEY,
  envelope    text NOT NULL
);

-- The heads that the seals of peers pointed to, as each was first accepted.
CREATE TABLE bk.federation_peer_pointer (
  peer_facility_id uuid NOT NULL,
  sequence_number  bigint NOT NULL,
  head_hash        text COLLATE "C" NOT NULL,
  PRIMARY KEY (peer_facility_id, sequence_number)
);

GRANT SELECT, INSERT ON bk.federation_envelope, bk.federation_peer_pointer TO bk_app;

RESET ROLE;
