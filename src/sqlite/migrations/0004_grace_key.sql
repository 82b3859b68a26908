-- Pairs are wrapped under keys that are forgotten, each of ten seconds: `../pair.rs`.
CREATE TABLE grace_key (
    -- Which ten seconds since 1970.
    number INTEGER NOT NULL PRIMARY KEY,
    key    BLOB    NOT NULL CHECK (length(key) = 32)
) STRICT;

INSERT INTO grace_key (number, key)
SELECT spent_at / 10000, randomblob(32) FROM refresh_token WHERE successor IS NOT NULL GROUP BY spent_at / 10000;

UPDATE refresh_token
SET successor = wrap_pair(successor, (SELECT key FROM grace_key WHERE number = spent_at / 10000))
WHERE successor IS NOT NULL;
