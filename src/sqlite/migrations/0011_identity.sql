-- Who a user is at an OpenID provider. An identity is one user's.

CREATE TABLE identity (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    user_id    BLOB    NOT NULL REFERENCES user (id),
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    -- What the provider said when it was linked, for its user to tell it from others.
    email      TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX identity_subject ON identity (issuer, subject);
CREATE INDEX identity_user_id ON identity (user_id);
