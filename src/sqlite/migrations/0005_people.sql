-- How people sign in, the browsers in which they are, and what was done by whom.

CREATE TABLE password (
    user_id    BLOB    NOT NULL PRIMARY KEY REFERENCES user (id),
    -- Argon2id, as a PHC string.
    hash       TEXT    NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A browser in which somebody is signed in. One that is over is deleted.
CREATE TABLE browser_session (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    digest       BLOB    NOT NULL CHECK (length(digest) = 32),
    user_id      BLOB    NOT NULL REFERENCES user (id),
    user_agent   TEXT,
    created_at   INTEGER NOT NULL,
    -- When the user last proved who they are.
    signed_in_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX browser_session_digest ON browser_session (digest);
CREATE INDEX browser_session_user_id ON browser_session (user_id);
CREATE INDEX browser_session_last_used_at ON browser_session (last_used_at);

-- Links that are good once. A purpose and a user have one at most; setting up has no user.
CREATE TABLE one_time_link (
    digest     BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    purpose    TEXT    NOT NULL CHECK (purpose IN ('set-up', 'reset')),
    user_id    BLOB    REFERENCES user (id),
    expires_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX one_time_link_user ON one_time_link (purpose, coalesce(user_id, x''));
CREATE INDEX one_time_link_expires_at ON one_time_link (expires_at);

-- Wrong passwords since `begun_at`. The account is the digest of an email, whether somebody has it or not; the source that
-- of a network or of a browser, or zeros for all of them.
CREATE TABLE wrong_password (
    account  BLOB    NOT NULL CHECK (length(account) = 32),
    source   BLOB    NOT NULL CHECK (length(source) = 32),
    count    INTEGER NOT NULL,
    begun_at INTEGER NOT NULL,
    PRIMARY KEY (account, source)
) STRICT, WITHOUT ROWID;

CREATE INDEX wrong_password_begun_at ON wrong_password (begun_at);

-- Who did what. It outlives what it is about, so it refers to nothing.
CREATE TABLE audit_event (
    id             BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    team_id        BLOB,
    -- Null: the command line.
    actor          BLOB,
    action         TEXT    NOT NULL,
    -- The key, session, invitation or user that it was done to.
    subject        BLOB,
    detail         TEXT,
    client_address TEXT,
    user_agent     TEXT,
    created_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX audit_event_team_id ON audit_event (team_id, id) WHERE team_id IS NOT NULL;
CREATE INDEX audit_event_actor ON audit_event (actor, id) WHERE actor IS NOT NULL;
CREATE INDEX audit_event_created_at ON audit_event (created_at);
