-- The key that took this one's place when it was rotated.
ALTER TABLE api_key ADD COLUMN replaced_by UUID;

-- Sign-ins that were refused on an account, from an address in a minute. What is beyond the rows that a day may have is in one
-- of the whole day, without an address.
CREATE TABLE refused_sign_in (
    user_id        UUID   NOT NULL REFERENCES "user" (id),
    minute         BIGINT NOT NULL,
    client_address TEXT   NOT NULL,
    count          BIGINT NOT NULL,
    PRIMARY KEY (user_id, minute, client_address)
);

CREATE INDEX refused_sign_in_minute ON refused_sign_in (minute);
