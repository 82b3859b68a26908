-- Teams, API keys, products, idempotency. Times are milliseconds since 1970 in UTC, ids are UUIDs of
-- sixteen bytes, decimals are text. Keys lead with the team wherever there is one, so that the tables
-- can be spread over several machines by team.

-- Keys that every process on this database shares, such as the one that authenticates cursors.
CREATE TABLE secret (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL CHECK (length(value) = 32)
) STRICT;

CREATE TABLE team (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
    team_id      BLOB    NOT NULL REFERENCES team (id),
    id           BLOB    NOT NULL CHECK (length(id) = 16),
    digest       BLOB    NOT NULL CHECK (length(digest) = 32),
    mode         TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    scope        TEXT    NOT NULL CHECK (scope IN ('read-only', 'read-write')),
    name         TEXT,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    PRIMARY KEY (team_id, id)
) STRICT;

-- A request brings the key alone, and the command line its id alone.
CREATE UNIQUE INDEX api_key_digest ON api_key (digest);
CREATE UNIQUE INDEX api_key_id ON api_key (id);

CREATE TABLE product (
    team_id         BLOB    NOT NULL REFERENCES team (id),
    mode            TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    name            TEXT    NOT NULL,
    unit_price      TEXT    NOT NULL,
    currency        TEXT    NOT NULL,
    description     TEXT,
    sku             TEXT,
    tax_rate        TEXT,
    type            TEXT,
    unit_of_measure TEXT,
    status          TEXT    NOT NULL CHECK (status IN ('active', 'archived')),
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    PRIMARY KEY (team_id, mode, id)
) STRICT;

-- A list by status reads its page and nothing else.
CREATE INDEX product_status ON product (team_id, mode, status, id);

-- Two active products never share a sku; archived ones do not count.
CREATE UNIQUE INDEX product_sku ON product (team_id, mode, sku)
    WHERE status = 'active' AND sku IS NOT NULL;

-- The first success of each idempotency key: what was asked for, as a digest, and what was answered.
CREATE TABLE idempotency (
    team_id    BLOB    NOT NULL REFERENCES team (id),
    mode       TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    key        TEXT    NOT NULL,
    request    BLOB    NOT NULL CHECK (length(request) = 32),
    answer     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, mode, key)
) STRICT;

-- The background task finds what has expired without reading the rest.
CREATE INDEX idempotency_created_at ON idempotency (created_at);
