-- Few tokens are in a grace and few codes are unused, or none when rows were last counted. Then the smallest index of those
-- was read, all of it, also for the ones of a single session or user. The two by when they end are usable only by a statement
-- that asks for that, from here on.
CREATE INDEX IF NOT EXISTS refresh_token_grace_end ON refresh_token (spent_at)
    WHERE successor IS NOT NULL AND spent_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS auth_code_unused_end ON auth_code (expires_at)
    WHERE session_id IS NULL AND expires_at IS NOT NULL;

-- Last, since PostgreSQL lets nobody read a table from here on.
DROP INDEX refresh_token_successor;
DROP INDEX auth_code_unused;
