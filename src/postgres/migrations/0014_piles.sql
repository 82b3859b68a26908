-- What one person can pile up without end, such as keys that have ended, events and sessions, is not read to show or to count
-- a few of it: a page that reads all of it takes everybody else's time.

-- The keys of a team that may be valid, by their end.
CREATE INDEX IF NOT EXISTS api_key_unrevoked ON api_key (team_id, coalesce(expires_at, 9223372036854775807))
    WHERE revoked_at IS NULL;

-- Of what a user has done, the few kinds that the user's page shows.
CREATE INDEX IF NOT EXISTS audit_event_shown ON audit_event (actor, action, id)
    WHERE action IN ('sign-in', 'refuse-passkey');

-- What others have done to a user, and the keys that a user has made.
CREATE INDEX IF NOT EXISTS audit_event_by_others ON audit_event (subject, id) WHERE actor IS NULL OR actor <> subject;
CREATE INDEX IF NOT EXISTS api_key_of_maker ON api_key (created_by, id) WHERE created_by IS NOT NULL;

-- The sessions of a user, as they began.
CREATE INDEX IF NOT EXISTS session_of_user ON session (user_id, id);
CREATE INDEX IF NOT EXISTS browser_session_of_user ON browser_session (user_id, id);

-- What these were for is done by those above. Last, since PostgreSQL lets nobody read a table from here on.
DROP INDEX session_user_id;
DROP INDEX browser_session_user_id;
DROP INDEX audit_event_subject;
DROP INDEX api_key_created_by;
