-- People and their teams, the apps that sign them in, their sessions, and what they share.
-- A digest is the SHA-256 of a secret that the database does not hold. The one secret it does hold is
-- that of a share link, whose url the server must be able to print.

-- `user` is a word of SQL's own, and always quoted.
CREATE TABLE "user" (
    id         UUID   NOT NULL PRIMARY KEY,
    email      TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    -- A removed user stays as the creator of links; nothing else of them works.
    removed_at BIGINT
);

-- Collation C knows the case of ASCII letters alone, which is the rule.
CREATE UNIQUE INDEX user_email ON "user" (lower(email COLLATE "C")) WHERE removed_at IS NULL;

CREATE TABLE member (
    team_id    UUID   NOT NULL REFERENCES team (id),
    user_id    UUID   NOT NULL REFERENCES "user" (id),
    role       TEXT   NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, user_id)
);

CREATE INDEX member_user_id ON member (user_id);

CREATE TABLE oauth_client (
    id         TEXT   NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE oauth_redirect_uri (
    client_id    TEXT NOT NULL REFERENCES oauth_client (id),
    redirect_uri TEXT NOT NULL,
    PRIMARY KEY (client_id, redirect_uri)
);

-- Alive while ended_at is null and expires_at lies ahead. Whoever changes what belongs to a session locks
-- its row first.
CREATE TABLE session (
    id           UUID   NOT NULL PRIMARY KEY,
    user_id      UUID   NOT NULL REFERENCES "user" (id),
    client_id    TEXT   NOT NULL REFERENCES oauth_client (id),
    install_id   TEXT,
    user_agent   TEXT,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    ended_at     BIGINT
);

CREATE INDEX session_user_id ON session (user_id);

-- The background task finds the sessions that are over without reading the rest.
CREATE INDEX session_over ON session (coalesce(ended_at, expires_at));

-- An unused code goes once it has expired; a used one stays as long as the session that it began.
CREATE TABLE auth_code (
    digest         BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(digest) = 32),
    user_id        UUID   NOT NULL REFERENCES "user" (id),
    client_id      TEXT   NOT NULL REFERENCES oauth_client (id),
    redirect_uri   TEXT   NOT NULL,
    code_challenge BYTEA  NOT NULL CHECK (octet_length(code_challenge) = 32),
    expires_at     BIGINT NOT NULL,
    session_id     UUID   REFERENCES session (id)
);

CREATE INDEX auth_code_user_id ON auth_code (user_id);
CREATE INDEX auth_code_session_id ON auth_code (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX auth_code_unused ON auth_code (expires_at) WHERE session_id IS NULL;

CREATE TABLE access_token (
    digest     BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(digest) = 32),
    session_id UUID   NOT NULL REFERENCES session (id),
    expires_at BIGINT NOT NULL
);

CREATE INDEX access_token_session_id ON access_token (session_id);
CREATE INDEX access_token_expires_at ON access_token (expires_at);

-- A spent token stays as long as its session: whoever presents it again ends that session.
CREATE TABLE refresh_token (
    digest     BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(digest) = 32),
    session_id UUID  NOT NULL REFERENCES session (id),
    spent_at   BIGINT,
    -- The successor pair, under a key that only the spent token gives; null again after the grace.
    successor  BYTEA,
    CHECK (successor IS NULL OR spent_at IS NOT NULL)
);

CREATE INDEX refresh_token_session_id ON refresh_token (session_id);

-- Few sessions are in a grace, and each has one at most: found by session, and by when it ends.
CREATE INDEX refresh_token_grace ON refresh_token (session_id) WHERE successor IS NOT NULL;
CREATE INDEX refresh_token_successor ON refresh_token (spent_at) WHERE successor IS NOT NULL;

CREATE TABLE folder (
    team_id    UUID   NOT NULL REFERENCES team (id),
    id         UUID   NOT NULL,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, id)
);

-- The command line names a folder, a file or a link by its id alone.
CREATE INDEX folder_id ON folder (id);

CREATE TABLE file (
    team_id    UUID   NOT NULL REFERENCES team (id),
    id         UUID   NOT NULL,
    name       TEXT   NOT NULL,
    folder_id  UUID,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, id),
    FOREIGN KEY (team_id, folder_id) REFERENCES folder (team_id, id)
);

CREATE INDEX file_id ON file (id);

CREATE TABLE share_link (
    team_id        UUID    NOT NULL REFERENCES team (id),
    id             UUID    NOT NULL,
    item_type      TEXT    NOT NULL CHECK (item_type IN ('file', 'folder')),
    item_id        UUID    NOT NULL,
    secret         TEXT    NOT NULL,
    name           TEXT,
    audience       TEXT    NOT NULL CHECK (audience IN ('public', 'team')),
    can_view       BOOLEAN NOT NULL,
    can_download   BOOLEAN NOT NULL,
    -- Argon2id, as a PHC string.
    password       TEXT,
    expires_at     BIGINT,
    view_count     BIGINT  NOT NULL DEFAULT 0,
    download_count BIGINT  NOT NULL DEFAULT 0,
    last_viewed_at BIGINT,
    created_by     UUID    NOT NULL REFERENCES "user" (id),
    created_at     BIGINT  NOT NULL,
    updated_at     BIGINT  NOT NULL,
    revoked_at     BIGINT,
    PRIMARY KEY (team_id, id),
    UNIQUE (team_id, secret)
);

CREATE INDEX share_link_id ON share_link (id);

-- The links of an item, in order, and how many there are.
CREATE INDEX share_link_item ON share_link (team_id, item_type, item_id, id) WHERE revoked_at IS NULL;
