-- The rows beside subscriptions: secrets, bookmarks and deliveries.

SET ROLE bk_owner;

-- The address and the signing secrets, encrypted by the service.
CREATE TABLE bk.subscription_secret (
  subscription_id uuid PRIMARY KEY,
  url             text NOT NULL,
  secret          text NOT NULL,
  previous        text,
  rotated_at      timestamptz
);

-- One row for each subscription that is not retired.
CREATE TABLE bk.subscription_place (
  subscription_id uuid PRIMARY KEY,
  owner_id        uuid NOT NULL,
  cursor          text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE bk.delivery (
  subscription_id uuid NOT NULL,
  event_id        uuid NOT NULL,
  event_type      text COLLATE "C" NOT NULL,
  stream_type     text COLLATE "C" NOT NULL,
  stream_id       uuid NOT NULL,
  cursor          text COLLATE "C" NOT NULL,
  status          text COLLATE "C" NOT NULL,
  attempt         integer NOT NULL,
  first_at        timestamptz NOT NULL,
  at              timestamptz NOT NULL,
  due_at          timestamptz,
  http_status     smallint,
  error           text,
  answer          text,
  outside_id      text,
  PRIMARY KEY (subscription_id, event_id)
) WITH (fillfactor = 80);
CREATE INDEX delivery_in_order ON bk.delivery (subscription_id, first_at, event_id);
CREATE INDEX delivery_open ON bk.delivery (subscription_id, status, first_at, event_id)
  WHERE status IN ('Sending', 'Refused');
CREATE INDEX delivery_settled ON bk.delivery (at) WHERE status <> 'Sending';

GRANT SELECT, INSERT, UPDATE, DELETE
  ON bk.subscription_secret, bk.subscription_place, bk.delivery TO bk_app;

RESET ROLE;
