-- What mail is for: how much of it there was, and emails that are to be a user's.

-- Letters to a user, or invitations of a team, since `begun_at`.
CREATE TABLE mail_count (
    -- The user or the team.
    subject  UUID   NOT NULL,
    occasion TEXT   NOT NULL,
    count    BIGINT NOT NULL,
    begun_at BIGINT NOT NULL,
    PRIMARY KEY (subject, occasion)
);

CREATE INDEX mail_count_begun_at ON mail_count (begun_at);

-- The email that a user wants to have, until the link that was mailed to it is followed. A user has one at most.
CREATE TABLE email_change (
    user_id    UUID   NOT NULL PRIMARY KEY REFERENCES "user" (id),
    digest     BYTEA  NOT NULL CHECK (octet_length(digest) = 32),
    email      TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX email_change_expires_at ON email_change (expires_at);
