-- Teams, API keys, products, idempotency. Times are milliseconds since 1970 in UTC.
--
-- What belongs to a team has the team first in its primary key, in every unique index and in every foreign key between
-- two such tables (a test says so), so that it can be spread over machines by `team_id`: `../distribution.md`. An index
-- that begins with something else (the digest of a key, the id that the command line knows) is never unique.

-- Keys that every process on this database shares, such as the one that authenticates cursors.
CREATE TABLE secret (
    name  TEXT  NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL CHECK (octet_length(value) = 32)
);

CREATE TABLE team (
    id         UUID   NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE api_key (
    team_id      UUID   NOT NULL REFERENCES team (id),
    id           UUID   NOT NULL,
    digest       BYTEA  NOT NULL CHECK (octet_length(digest) = 32),
    mode         TEXT   NOT NULL CHECK (mode IN ('live', 'test')),
    scope        TEXT   NOT NULL CHECK (scope IN ('read-only', 'read-write')),
    name         TEXT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (team_id, id),
    UNIQUE (team_id, digest)
);

-- A request brings the key alone, and the command line its id alone.
CREATE INDEX api_key_digest ON api_key (digest);
CREATE INDEX api_key_id ON api_key (id);

-- `numeric` keeps every digit, zeros at the end included. Nothing computes with prices in SQL.
CREATE TABLE product (
    team_id         UUID    NOT NULL REFERENCES team (id),
    mode            TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    id              UUID    NOT NULL,
    name            TEXT    NOT NULL,
    unit_price      NUMERIC NOT NULL,
    currency        TEXT    NOT NULL,
    description     TEXT,
    sku             TEXT,
    tax_rate        NUMERIC,
    type            TEXT,
    unit_of_measure TEXT,
    status          TEXT    NOT NULL CHECK (status IN ('active', 'archived')),
    created_at      BIGINT  NOT NULL,
    updated_at      BIGINT  NOT NULL,
    PRIMARY KEY (team_id, mode, id)
);

-- A list by status reads its page and nothing else.
CREATE INDEX product_status ON product (team_id, mode, status, id);

-- Two active products never share a sku; archived ones do not count.
CREATE UNIQUE INDEX product_sku ON product (team_id, mode, sku)
    WHERE status = 'active' AND sku IS NOT NULL;

-- The first success of each idempotency key: what was asked for, as a digest, and what was answered. The
-- answer is empty only inside of the transaction that is about to give it.
CREATE TABLE idempotency (
    team_id    UUID   NOT NULL REFERENCES team (id),
    mode       TEXT   NOT NULL CHECK (mode IN ('live', 'test')),
    key        TEXT   NOT NULL,
    request    BYTEA  NOT NULL CHECK (octet_length(request) = 32),
    answer     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, mode, key)
);

-- The background task finds what has expired without reading the rest.
CREATE INDEX idempotency_created_at ON idempotency (created_at);
