-- WebAuthn credentials by which users sign in, and the challenges that were answered.

CREATE TABLE passkey (
    id            UUID   NOT NULL PRIMARY KEY,
    user_id       UUID   NOT NULL REFERENCES "user" (id),
    name          TEXT   NOT NULL,
    -- The host at which it was made, and alone is good.
    rp_id         TEXT   NOT NULL,
    credential_id BYTEA  NOT NULL CHECK (octet_length(credential_id) BETWEEN 16 AND 1023),
    -- How the three columns behind it are written.
    format        BIGINT NOT NULL,
    transports    BIGINT NOT NULL,
    public_key    BYTEA  NOT NULL CHECK (octet_length(public_key) <= 1024),
    -- The counter, and whether it is backed up, as it last said.
    state         BYTEA  NOT NULL CHECK (octet_length(state) <= 64),
    created_at    BIGINT NOT NULL,
    last_used_at  BIGINT
);

CREATE UNIQUE INDEX passkey_credential_id ON passkey (credential_id);
CREATE INDEX passkey_user_id ON passkey (user_id, id);

-- Challenges that were answered rightly, until they would have expired: each is good once.
CREATE TABLE spent_challenge (
    digest     BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(digest) = 32),
    expires_at BIGINT NOT NULL
);

CREATE INDEX spent_challenge_expires_at ON spent_challenge (expires_at);
