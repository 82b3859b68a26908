-- Who is invited to which team, and who made a key. It outlives who did it, so neither refers to a user.

CREATE TABLE invitation (
    team_id    UUID   NOT NULL REFERENCES team (id),
    id         UUID   NOT NULL,
    digest     BYTEA  NOT NULL CHECK (octet_length(digest) = 32),
    email      TEXT   NOT NULL,
    role       TEXT   NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    -- Null: the command line.
    invited_by UUID,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, id),
    UNIQUE (team_id, digest)
);

-- A team and an email have one at most.
CREATE UNIQUE INDEX invitation_email ON invitation (team_id, lower(email COLLATE "C"));

-- A user who is deleted is invited nowhere any more.
CREATE INDEX invitation_any_email ON invitation (lower(email COLLATE "C"));

-- Whoever follows the link brings its secret alone.
CREATE INDEX invitation_digest ON invitation (digest);
CREATE INDEX invitation_expires_at ON invitation (expires_at);

-- Null: the command line, or nobody knows.
ALTER TABLE api_key ADD COLUMN created_by UUID;
