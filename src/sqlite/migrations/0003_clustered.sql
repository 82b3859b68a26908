-- A create wrote to seven trees; from here on it writes to four. See bench/WHERE.md.

-- A list by status is one range of the table itself, and a product is found by its id in one of two places.
-- Archiving moves the row, in one statement. That no id is in both places, only the service sees to: it makes
-- the ids, never one twice.
ALTER TABLE product RENAME TO product_before;

CREATE TABLE product (
    team_id         BLOB    NOT NULL REFERENCES team (id),
    mode            TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    status          TEXT    NOT NULL CHECK (status IN ('active', 'archived')),
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    name            TEXT    NOT NULL,
    unit_price      TEXT    NOT NULL,
    currency        TEXT    NOT NULL,
    description     TEXT,
    sku             TEXT,
    tax_rate        TEXT,
    type            TEXT,
    unit_of_measure TEXT,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    PRIMARY KEY (team_id, mode, status, id)
) STRICT, WITHOUT ROWID;

INSERT INTO product (team_id, mode, status, id, name, unit_price, currency, description, sku,
    tax_rate, type, unit_of_measure, created_at, updated_at)
SELECT team_id, mode, status, id, name, unit_price, currency, description, sku,
    tax_rate, type, unit_of_measure, created_at, updated_at
FROM product_before ORDER BY team_id, mode, status, id;

DROP TABLE product_before;

-- Two active products never share a sku; archived ones do not count.
CREATE UNIQUE INDEX product_sku ON product (team_id, mode, sku)
    WHERE status = 'active' AND sku IS NOT NULL;

-- Records are appended, so their rowids are in the order of time: what has expired is at the beginning.
-- A record is found by the first half of a SHA-256 of team, mode and key.
ALTER TABLE idempotency RENAME TO idempotency_before;

CREATE TABLE idempotency (
    key_hash   BLOB    NOT NULL CHECK (length(key_hash) = 16),
    team_id    BLOB    NOT NULL REFERENCES team (id),
    mode       TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    key        TEXT    NOT NULL,
    request    BLOB    NOT NULL CHECK (length(request) = 32),
    answer     TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

INSERT INTO idempotency (key_hash, team_id, mode, key, request, answer, created_at)
SELECT hash_key(team_id, mode, key), team_id, mode, key, request, answer, created_at
FROM idempotency_before ORDER BY created_at;

DROP TABLE idempotency_before;

CREATE UNIQUE INDEX idempotency_key_hash ON idempotency (key_hash);
