-- What the server written by hand keeps: the columns of the service, under the same keys and indexes.

CREATE TABLE api_key (
    digest     BLOB    NOT NULL PRIMARY KEY,
    team_id    BLOB    NOT NULL,
    mode       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE TABLE product (
    team_id         BLOB    NOT NULL,
    mode            TEXT    NOT NULL,
    id              BLOB    NOT NULL,
    name            TEXT    NOT NULL,
    unit_price      TEXT    NOT NULL,
    currency        TEXT    NOT NULL,
    description     TEXT,
    sku             TEXT,
    tax_rate        TEXT,
    type            TEXT,
    unit_of_measure TEXT,
    status          TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    PRIMARY KEY (team_id, mode, id)
) STRICT;

CREATE INDEX product_status ON product (team_id, mode, status, id);
CREATE UNIQUE INDEX product_sku ON product (team_id, mode, sku)
    WHERE status = 'active' AND sku IS NOT NULL;

CREATE TABLE idempotency (
    team_id    BLOB    NOT NULL,
    mode       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    request    BLOB    NOT NULL,
    answer     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, mode, key)
) STRICT;

CREATE INDEX idempotency_created_at ON idempotency (created_at);
