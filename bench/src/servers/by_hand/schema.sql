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

CREATE TABLE member (
    team_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (team_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    id           BLOB    NOT NULL PRIMARY KEY,
    user_id      BLOB    NOT NULL,
    client_id    TEXT    NOT NULL,
    install_id   TEXT,
    user_agent   TEXT,
    last_used_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;

CREATE TABLE access_token (
    digest     BLOB    NOT NULL PRIMARY KEY,
    session_id BLOB    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX access_token_session_id ON access_token (session_id);
CREATE INDEX access_token_expires_at ON access_token (expires_at);

CREATE TABLE refresh_token (
    digest     BLOB    NOT NULL PRIMARY KEY,
    session_id BLOB    NOT NULL,
    spent_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX refresh_token_session_id ON refresh_token (session_id);

CREATE TABLE file (
    team_id BLOB NOT NULL,
    id      BLOB NOT NULL,
    PRIMARY KEY (team_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE share_link (
    id             BLOB    NOT NULL PRIMARY KEY,
    team_id        BLOB    NOT NULL,
    file_id        BLOB    NOT NULL,
    secret         TEXT    NOT NULL,
    name           TEXT,
    audience       TEXT    NOT NULL,
    can_view       INTEGER NOT NULL,
    can_download   INTEGER NOT NULL,
    password       TEXT,
    expires_at     INTEGER,
    view_count     INTEGER NOT NULL DEFAULT 0,
    download_count INTEGER NOT NULL DEFAULT 0,
    last_viewed_at INTEGER,
    created_by     BLOB    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    revoked_at     INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX share_link_file ON share_link (team_id, file_id, id) WHERE revoked_at IS NULL;
