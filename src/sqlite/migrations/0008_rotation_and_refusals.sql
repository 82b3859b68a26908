-- The key that took this one's place when it was rotated.
ALTER TABLE api_key ADD COLUMN replaced_by BLOB;

-- Sign-ins that were refused on an account, from an address in a minute. What is beyond the rows that a day may have is in one
-- of the whole day, without an address.
CREATE TABLE refused_sign_in (
    user_id        BLOB    NOT NULL REFERENCES user (id),
    minute         INTEGER NOT NULL,
    client_address TEXT    NOT NULL,
    count          INTEGER NOT NULL,
    PRIMARY KEY (user_id, minute, client_address)
) STRICT, WITHOUT ROWID;

CREATE INDEX refused_sign_in_minute ON refused_sign_in (minute);
