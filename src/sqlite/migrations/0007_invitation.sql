-- Who is invited to which team, and who made a key. It outlives who did it, so neither refers to a user.

CREATE TABLE invitation (
    team_id    BLOB    NOT NULL REFERENCES team (id),
    id         BLOB    NOT NULL CHECK (length(id) = 16),
    digest     BLOB    NOT NULL CHECK (length(digest) = 32),
    email      TEXT    NOT NULL,
    role       TEXT    NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    -- Null: the command line.
    invited_by BLOB,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, id),
    UNIQUE (team_id, digest)
) STRICT;

-- A team and an email have one at most.
CREATE UNIQUE INDEX invitation_email ON invitation (team_id, lower(email));

-- A user who is deleted is invited nowhere any more.
CREATE INDEX invitation_any_email ON invitation (lower(email));

-- Whoever follows the link brings its secret alone.
CREATE INDEX invitation_digest ON invitation (digest);
CREATE INDEX invitation_expires_at ON invitation (expires_at);

-- Null: the command line, or nobody knows.
ALTER TABLE api_key ADD COLUMN created_by BLOB;
