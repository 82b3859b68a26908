-- Few tokens are in a grace, or none when rows were last counted. Then the smallest index of those was read, all of it, also
-- for the one of a single session. This one is usable only by a statement that asks when a grace ends; the next version drops
-- the one that it replaces. Both in one transaction would need a stronger lock after a weaker one, and deadlock with refreshes.
CREATE INDEX IF NOT EXISTS refresh_token_grace_end ON refresh_token (spent_at)
    WHERE successor IS NOT NULL AND spent_at IS NOT NULL;
