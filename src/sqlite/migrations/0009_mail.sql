-- What mail is for: how much of it there was, and emails that are to be a user's.

-- Letters to a user, or invitations of a team, since `begun_at`.
CREATE TABLE mail_count (
    -- The user or the team.
    subject  BLOB    NOT NULL CHECK (length(subject) = 16),
    occasion TEXT    NOT NULL,
    count    INTEGER NOT NULL,
    begun_at INTEGER NOT NULL,
    PRIMARY KEY (subject, occasion)
) STRICT, WITHOUT ROWID;

CREATE INDEX mail_count_begun_at ON mail_count (begun_at);

-- The email that a user wants to have, until the link that was mailed to it is followed. A user has one at most.
CREATE TABLE email_change (
    user_id    BLOB    NOT NULL PRIMARY KEY REFERENCES user (id),
    digest     BLOB    NOT NULL CHECK (length(digest) = 32),
    email      TEXT    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX email_change_expires_at ON email_change (expires_at);
