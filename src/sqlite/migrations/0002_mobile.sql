-- People and their teams, the apps that sign them in, their sessions, and what they share.
-- A digest is the SHA-256 of a secret that the database does not hold. The one secret it does hold is
-- that of a share link, whose url the server must be able to print.

CREATE TABLE user (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    email      TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- A removed user stays as the creator of links; nothing else of them works.
    removed_at INTEGER
) STRICT;

CREATE UNIQUE INDEX user_email ON user (lower(email)) WHERE removed_at IS NULL;

CREATE TABLE member (
    team_id    BLOB    NOT NULL REFERENCES team (id),
    user_id    BLOB    NOT NULL REFERENCES user (id),
    role       TEXT    NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX member_user_id ON member (user_id);

CREATE TABLE oauth_client (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE oauth_redirect_uri (
    client_id    TEXT NOT NULL REFERENCES oauth_client (id),
    redirect_uri TEXT NOT NULL,
    PRIMARY KEY (client_id, redirect_uri)
) STRICT, WITHOUT ROWID;

-- Alive while ended_at is null and expires_at lies ahead.
CREATE TABLE session (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    user_id      BLOB    NOT NULL REFERENCES user (id),
    client_id    TEXT    NOT NULL REFERENCES oauth_client (id),
    install_id   TEXT,
    user_agent   TEXT,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;

CREATE INDEX session_user_id ON session (user_id);

-- The background task finds the sessions that are over without reading the rest.
CREATE INDEX session_over ON session (coalesce(ended_at, expires_at));

-- An unused code goes once it has expired; a used one stays as long as the session that it began.
CREATE TABLE auth_code (
    digest         BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    user_id        BLOB    NOT NULL REFERENCES user (id),
    client_id      TEXT    NOT NULL REFERENCES oauth_client (id),
    redirect_uri   TEXT    NOT NULL,
    code_challenge BLOB    NOT NULL CHECK (length(code_challenge) = 32),
    expires_at     INTEGER NOT NULL,
    session_id     BLOB    REFERENCES session (id)
) STRICT, WITHOUT ROWID;

CREATE INDEX auth_code_user_id ON auth_code (user_id);
CREATE INDEX auth_code_session_id ON auth_code (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX auth_code_unused ON auth_code (expires_at) WHERE session_id IS NULL;

CREATE TABLE access_token (
    digest     BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    session_id BLOB    NOT NULL REFERENCES session (id),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX access_token_session_id ON access_token (session_id);
CREATE INDEX access_token_expires_at ON access_token (expires_at);

-- A spent token stays as long as its session: whoever presents it again ends that session.
CREATE TABLE refresh_token (
    digest     BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    session_id BLOB    NOT NULL REFERENCES session (id),
    spent_at   INTEGER,
    -- The successor pair, under a key that only the spent token gives; null again after the grace.
    successor  BLOB,
    CHECK (successor IS NULL OR spent_at IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX refresh_token_session_id ON refresh_token (session_id);

-- Few sessions are in a grace, and each has one at most: found by session, and by when it ends.
CREATE INDEX refresh_token_grace ON refresh_token (session_id) WHERE successor IS NOT NULL;
CREATE INDEX refresh_token_successor ON refresh_token (spent_at) WHERE successor IS NOT NULL;

CREATE TABLE folder (
    team_id    BLOB    NOT NULL REFERENCES team (id),
    id         BLOB    NOT NULL CHECK (length(id) = 16),
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, id)
) STRICT, WITHOUT ROWID;

-- The command line names a folder or a file by its id alone.
CREATE UNIQUE INDEX folder_id ON folder (id);

CREATE TABLE file (
    team_id    BLOB    NOT NULL REFERENCES team (id),
    id         BLOB    NOT NULL CHECK (length(id) = 16),
    name       TEXT    NOT NULL,
    folder_id  BLOB,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, id),
    FOREIGN KEY (team_id, folder_id) REFERENCES folder (team_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX file_id ON file (id);

CREATE TABLE share_link (
    id             BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    team_id        BLOB    NOT NULL REFERENCES team (id),
    item_type      TEXT    NOT NULL CHECK (item_type IN ('file', 'folder')),
    item_id        BLOB    NOT NULL CHECK (length(item_id) = 16),
    secret         TEXT    NOT NULL,
    name           TEXT,
    audience       TEXT    NOT NULL CHECK (audience IN ('public', 'team')),
    can_view       INTEGER NOT NULL CHECK (can_view IN (0, 1)),
    can_download   INTEGER NOT NULL CHECK (can_download IN (0, 1)),
    -- Argon2id, as a PHC string.
    password       TEXT,
    expires_at     INTEGER,
    view_count     INTEGER NOT NULL DEFAULT 0,
    download_count INTEGER NOT NULL DEFAULT 0,
    last_viewed_at INTEGER,
    created_by     BLOB    NOT NULL REFERENCES user (id),
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    revoked_at     INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX share_link_secret ON share_link (secret);

-- The links of an item, in order, and how many there are. No other index begins with the team, so that
-- SQLite, which knows no numbers of rows, cannot take one that reads all links of the team.
CREATE INDEX share_link_item ON share_link (team_id, item_type, item_id, id) WHERE revoked_at IS NULL;
