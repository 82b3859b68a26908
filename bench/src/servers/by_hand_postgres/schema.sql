-- What the server written by hand keeps on PostgreSQL: the columns, keys and indexes that it has on SQLite.

CREATE TABLE api_key (
    digest     BYTEA NOT NULL PRIMARY KEY,
    team_id    UUID NOT NULL,
    mode       TEXT NOT NULL,
    scope      TEXT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);

CREATE TABLE product (
    team_id         UUID NOT NULL,
    mode            TEXT NOT NULL,
    id              UUID NOT NULL,
    name            TEXT NOT NULL,
    unit_price      TEXT NOT NULL,
    currency        TEXT NOT NULL,
    description     TEXT,
    sku             TEXT,
    tax_rate        TEXT,
    type            TEXT,
    unit_of_measure TEXT,
    status          TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    PRIMARY KEY (team_id, mode, id)
);

CREATE INDEX product_status ON product (team_id, mode, status, id);
CREATE UNIQUE INDEX product_sku ON product (team_id, mode, sku)
    WHERE status = 'active' AND sku IS NOT NULL;

CREATE TABLE idempotency (
    team_id    UUID NOT NULL,
    mode       TEXT NOT NULL,
    key        TEXT NOT NULL,
    request    BYTEA NOT NULL,
    answer     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, mode, key)
);

CREATE INDEX idempotency_created_at ON idempotency (created_at);

CREATE TABLE member (
    team_id UUID NOT NULL,
    user_id UUID NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (team_id, user_id)
);

CREATE TABLE session (
    id           UUID NOT NULL PRIMARY KEY,
    user_id      UUID NOT NULL,
    client_id    TEXT NOT NULL,
    install_id   TEXT,
    user_agent   TEXT,
    last_used_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    ended_at     BIGINT
);

CREATE TABLE access_token (
    digest     BYTEA NOT NULL PRIMARY KEY,
    session_id UUID NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX access_token_session_id ON access_token (session_id);
CREATE INDEX access_token_expires_at ON access_token (expires_at);

CREATE TABLE refresh_token (
    digest     BYTEA NOT NULL PRIMARY KEY,
    session_id UUID NOT NULL,
    spent_at   BIGINT
);

CREATE INDEX refresh_token_session_id ON refresh_token (session_id);

CREATE TABLE file (
    team_id UUID NOT NULL,
    id      UUID NOT NULL,
    PRIMARY KEY (team_id, id)
);

CREATE TABLE share_link (
    id             UUID NOT NULL PRIMARY KEY,
    team_id        UUID NOT NULL,
    file_id        UUID NOT NULL,
    secret         TEXT NOT NULL,
    name           TEXT,
    audience       TEXT NOT NULL,
    can_view       BOOLEAN NOT NULL,
    can_download   BOOLEAN NOT NULL,
    password       TEXT,
    expires_at     BIGINT,
    view_count     BIGINT NOT NULL DEFAULT 0,
    download_count BIGINT NOT NULL DEFAULT 0,
    last_viewed_at BIGINT,
    created_by     UUID NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    revoked_at     BIGINT
);

CREATE INDEX share_link_file ON share_link (team_id, file_id, id) WHERE revoked_at IS NULL;
