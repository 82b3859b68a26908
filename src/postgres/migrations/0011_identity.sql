-- Who a user is at an OpenID provider. An identity is one user's.

CREATE TABLE identity (
    id         UUID   NOT NULL PRIMARY KEY,
    user_id    UUID   NOT NULL REFERENCES "user" (id),
    issuer     TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    -- What the provider said when it was linked, for its user to tell it from others.
    email      TEXT,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX identity_subject ON identity (issuer, subject);
CREATE INDEX identity_user_id ON identity (user_id);
