-- WebAuthn credentials by which users sign in, and the challenges that were answered.

CREATE TABLE passkey (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    user_id       BLOB    NOT NULL REFERENCES user (id),
    name          TEXT    NOT NULL,
    -- The host at which it was made, and alone is good.
    rp_id         TEXT    NOT NULL,
    credential_id BLOB    NOT NULL CHECK (length(credential_id) BETWEEN 16 AND 1023),
    -- How the three columns behind it are written.
    format        INTEGER NOT NULL,
    transports    INTEGER NOT NULL,
    public_key    BLOB    NOT NULL CHECK (length(public_key) <= 1024),
    -- The counter, and whether it is backed up, as it last said.
    state         BLOB    NOT NULL CHECK (length(state) <= 64),
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER
) STRICT;

CREATE UNIQUE INDEX passkey_credential_id ON passkey (credential_id);
CREATE INDEX passkey_user_id ON passkey (user_id, id);

-- Challenges that were answered rightly, until they would have expired: each is good once.
CREATE TABLE spent_challenge (
    digest     BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX spent_challenge_expires_at ON spent_challenge (expires_at);
